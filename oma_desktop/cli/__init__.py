"""The same program without a window. Imports no Qt."""
