"""Shapes for the screen. QtCore only; no widgets, no stores, no verbs."""
