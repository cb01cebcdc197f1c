"""The operations of the front door, one file each (engine.md 1.1)."""
