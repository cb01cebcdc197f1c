"""Run files for pictures: a goal that is planned and reviewed, a plan that is repaired, agents that
delegate and judge. All on the scripted model: no key, no network.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from oma_desktop.model.json_value import JsonObject, JsonValue

GOAL: Final = (
    "First look at what the ports announced, then compare the quarters and write a report for the "
    "board"
)
_PORTS: Final = ("Rotterdam", "Hamburg", "Antwerp", "Felixstowe")
_LOST: Final = f"Notices of {_PORTS[1]}"
_COMPARE: Final = "Compare the quarters"
_REPORT: Final = "Write the report"


def write_goal(folder: Path) -> Path:
    """A goal whose plan a person reviews; returns the run file. Blocking."""
    return _write(folder, {"goal": GOAL, "approvals": {"plan": True}}, _replies(0))


def write_live_goal(folder: Path) -> Path:
    """A goal planned before one's eyes; one task asks an expert, one is judged. Blocking."""
    return _write(folder, {"goal": GOAL, "checkpoint": {"runId": "port-watch"}}, _replies(250))


def write_repair(folder: Path) -> Path:
    """Tasks of which one fails and is replaced by a rule. Blocking."""
    rule: JsonObject = {
        "title": _LOST,
        "supersede": [_COMPARE, _REPORT],
        "addTasks": [
            _added("ask", "Ask the archive", []),
            _added("again", "Compare with the archive", ["ask"]),
            _added("say", "Report with a gap", ["again"]),
        ],
    }
    replies: JsonObject = {
        _LOST: [{"error": {"message": "HTTP 404: the page is gone", "status": 404}}],
        "@default": [_said("Three notices, all of March.")],
    }
    more: JsonObject = {"tasks": _plan(), "recovery": {"mode": "repairable", "rules": [rule]}}
    return _write(folder, more, replies)


def _replies(chunk_ms: int) -> JsonObject:
    ask: JsonObject = {
        "id": "call_expert",
        "name": "delegate_to_agent",
        "input": {"target_agent": "expert", "prompt": "How long do ships wait at Rotterdam?"},
    }
    first = f"Notices of {_PORTS[0]}"
    expert = (
        "Four days in March, says the harbour office; it counted twice. In February it was two "
        "days, and the storm of the 9th is in neither figure."
    )
    no = {"accept": False, "critique": "Name the notice each figure comes from."}
    return {
        "@decompose": [
            {**_said(json.dumps(_plan(judged=chunk_ms > 0))), "chunkMs": chunk_ms // 10}
        ],
        "@synthesis": [
            _said("Rotterdam lost four days, Hamburg two. Nine shipments are late.", chunk_ms * 2)
        ],
        first: [
            {**_said("I ask the expert about the waiting time."), "tools": [ask]},
            _said("Four days in March."),
        ],
        "expert::@other": [_said(expert, chunk_ms)],
        f"critic::{_COMPARE}": [_said(json.dumps(no), chunk_ms)],
        "@default": [_said("Three notices, all of March.", chunk_ms // 4)],
    }


def _said(text: str, chunk_ms: int = 0) -> JsonObject:
    usage: JsonObject = {"input_tokens": 1400 + 9 * len(text), "output_tokens": len(text) // 3}
    return {"text": text, "usage": usage, "chunkMs": chunk_ms}


def _plan(*, judged: bool = False) -> list[JsonValue]:
    notices = [f"Notices of {port}" for port in _PORTS]
    tasks: list[JsonValue] = [
        {
            "title": title,
            "description": "List what was announced in the quarter, with the date of each notice.",
            "assignee": "analyst",
        }
        for title in notices
    ]
    compare: JsonObject = {
        "title": _COMPARE,
        "description": "Set the delays of both quarters side by side, port by port.",
        "assignee": "analyst",
        "dependsOn": [*notices],
        **({"verify": True} if judged else {}),
    }
    report: JsonObject = {
        "title": _REPORT,
        "description": "One page for the board, every figure with its notice.",
        "assignee": "writer",
        "dependsOn": [_COMPARE],
    }
    return [*tasks, compare, report]


def _added(key: str, title: str, needs: list[JsonValue]) -> JsonObject:
    task: JsonObject = {"key": key, "title": title, "description": title, "assignee": "analyst"}
    return {**task, "dependsOn": needs} if needs else task


def _write(folder: Path, more: JsonObject, replies: JsonObject) -> Path:
    names = ("analyst", "expert", "critic", "writer")
    agents: list[JsonValue] = [
        {"name": name, "provider": "play", "delegate": name == "analyst"} for name in names
    ]
    document: JsonObject = {
        "team": {"name": "ports", "agents": agents, "sharedMemory": "memory"},
        "coordinator": {"verifyJudges": ["critic"]},
        "providers": {"play": {"type": "scripted", "script": "script.json"}},
        **more,
    }
    script: JsonObject = {"agents": [{"name": name} for name in names], "replies": replies}
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in (("script.json", script), ("ports.json", document)):
        (folder / name).write_text(json.dumps(value, ensure_ascii=False), "utf-8")
    return folder / "ports.json"
