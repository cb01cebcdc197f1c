"""Files to pictures of runs, whoever writes them. Does not know the engine."""
