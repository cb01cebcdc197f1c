"""Bytes on disk. Blocking and loop-free."""
