"""The graph of tasks and who does what: no task runs here (engine.md 2.1, 2.5, 2.6)."""
