"""The life of tasks: dispatch, gates, tries, judges, delegation, repair (engine.md 2, 5, 6)."""
