"""Keeping a conversation within bounds before a model call (engine.md 3.9)."""
