"""Talking to models. Knows messages, not tasks."""
