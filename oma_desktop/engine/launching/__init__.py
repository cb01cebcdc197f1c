"""From files people wrote to a run that is ready to go (product.md 7)."""
