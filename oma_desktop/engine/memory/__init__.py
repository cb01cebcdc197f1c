"""What agents share: notes and messages (engine.md 1.2)."""
