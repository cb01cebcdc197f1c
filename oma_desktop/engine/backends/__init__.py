"""Agents that are programs of their own: started commands and ACP agents (engine.md 10)."""
