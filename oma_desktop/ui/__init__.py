"""Pixels. Widgets over view models; no stores, no engine."""
