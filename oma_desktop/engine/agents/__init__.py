"""One agent at work: turns, context, hooks, limits, its end (engine.md 3)."""
