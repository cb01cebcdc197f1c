"""What every layer is handed: clock, tasks, executors, places, sentences. No format, no Qt."""
