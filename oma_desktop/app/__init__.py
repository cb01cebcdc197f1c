"""Wiring of window, engine and monitor on one loop."""
