"""Scripts of small teams with a coordinator."""

import json

GOAL = "First find three venues, then draft a budget and finally build the agenda"
PLAN = [
    {"title": "Venues", "description": "Find three venues.", "assignee": "scout"},
    {"title": "Budget", "description": "Draft a budget.", "assignee": "clerk"},
    {"title": "Agenda", "description": "Build it.", "dependsOn": ["venues ", "Budget"]},
]


def turn(text, tokens=10):
    """One scripted reply with known usage."""
    return {"text": text, "usage": {"input_tokens": tokens, "output_tokens": 1}}


def plan(tasks, tokens=50):
    """A reply of the coordinator; texts are given as they are."""
    return turn(tasks if isinstance(tasks, str) else json.dumps(tasks), tokens)


def script(*plans, synthesis="All set.", replies=None, **extra):
    """A team of a scout and a clerk."""
    return {
        "team": {"name": "desk", "sharedMemory": "memory"},
        "agents": [
            {"name": "scout", "description": "Finds venues."},
            {"name": "clerk", "description": "Counts money."},
        ],
        "replies": {
            "@decompose": [plan(p) for p in plans or (PLAN,)],
            "@synthesis": [turn(synthesis, 100)],
            "@default": [turn("done")],
            **(replies or {}),
        },
        **extra,
    }
