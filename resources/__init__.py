"""Data files of the program, read by importlib.resources."""
