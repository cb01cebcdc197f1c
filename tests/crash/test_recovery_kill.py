"""Kill -9 around the repair of a plan: every restore ends with the plan an undisturbed run has.

A task fails after it used a tool, its branch is replaced, a success adds work. After any kill no
committed call runs again, no outcome changes the plan twice, and history is never rewritten.
`OMA_CRASH_ALL=1` tries every point.
"""

from __future__ import annotations

import random

import pytest

from tests.crash.test_restore_kill import (
    EVERY,
    Server,
    call,
    committed,
    outcome,
    place,
    points,
    pytestmark,
    snapshot,
    started,
)

__all__ = ["pytestmark"]

SCRIPT = {
    "team": {"name": "crash", "sharedMemory": "memory"},
    "orchestrator": {"maxConcurrency": 2},
    "agents": [{"name": n, "tools": ["work"]} for n in ("a", "b")],
    "tools": {
        "work": {
            "schema": {"n": "number"},
            "results": {"*": {"data": "did", "delayMs": 2}},
        }
    },
    "replies": {
        "search": [
            {"tools": [call("search", 1)]},
            {"error": {"message": "HTTP 404: gone", "status": 404}},
        ],
        "side": [{"tools": [call("side", 1)]}, {"text": "side ready", "delayMs": 3}],
        "mirror": [{"tools": [call("mirror", 1)]}, {"text": "mirror ready"}],
        "report again": [{"tools": [call("report", 1)]}, {"text": "report ready"}],
        "extra": [{"tools": [call("extra", 1)]}, {"text": "extra ready"}],
    },
    "recovery": {
        "patches": {
            "search:failure": {
                "reason": "use the mirror",
                "supersede": ["report"],
                "retarget": [{"title": "last", "assignee": "a"}],
                "addTasks": [
                    {"key": "m", "title": "mirror", "description": "d", "assignee": "a"},
                    {
                        "key": "r",
                        "title": "report again",
                        "description": "d",
                        "assignee": "b",
                        "dependsOn": ["m", "side"],
                    },
                ],
            },
            "side:success": {
                "reason": "more to see",
                "addTasks": [{"key": "x", "title": "extra", "description": "d", "assignee": "b"}],
            },
        }
    },
}
SCRIPT["replies"]["last"] = [{"text": "last ready"}]
TASKS = [
    {"title": "search", "description": "d", "assignee": "a"},
    {"title": "report", "description": "d", "assignee": "b", "dependsOn": ["search"]},
    {"title": "side", "description": "d", "assignee": "b"},
    {"title": "last", "description": "d", "assignee": "b", "dependsOn": ["side"]},
]


@pytest.fixture(scope="module")
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture(scope="module")
def undisturbed(server, tmp_path_factory):
    return server.play(place(tmp_path_factory.mktemp("undisturbed"), SCRIPT, TASKS))


def revisions(document):
    return [] if document is None else document["queue"].get("planRevisions", [])


def ended(answer):
    """Titles, statuses and outputs; what a failed agent said is not kept in a checkpoint."""
    return [(t, s, out if s == "completed" else None) for t, s, out in outcome(answer)]


def check_after_kills(server, folder, undisturbed, kills):
    """Kill as often as asked, then let it end."""
    for kill in [*kills, {}]:
        saved = snapshot(folder)
        before, history = committed(saved), revisions(saved)
        ran = len(started(folder))
        answer = server.play(folder, **kill)
        again = set(started(folder)[ran:])
        assert not again & before, f"committed calls ran again: {again & before}"
        kept = revisions(snapshot(folder))
        assert kept[: len(history)] == history, "history is never rewritten"
        pairs = [(r["triggerTaskId"], r["trigger"]) for r in kept]
        assert len(pairs) == len(set(pairs)), "no outcome changes the plan twice"
        if answer is not None:
            break
    assert answer is not None
    assert ended(answer) == ended(undisturbed)
    assert answer["document"]["planRevisions"] == 2
    assert snapshot(folder)["omaDesktop"]["end"]["status"] == "ok"


def test_nobody_kills_it(undisturbed):
    assert {title: status for title, status, _ in outcome(undisturbed)} == {
        "search": "failed",
        "report": "skipped",
        "side": "completed",
        "last": "completed",
        "mirror": "completed",
        "report again": "completed",
        "extra": "completed",
    }
    assert undisturbed["points"]["after_save"] > 15


def test_a_kill_at_any_boundary_ends_with_the_same_plan(server, undisturbed, tmp_path):
    for what, n in points(undisturbed):
        folder = tmp_path / f"{what}-{n}"
        folder.mkdir()
        place(folder, SCRIPT, TASKS)
        check_after_kills(server, folder, undisturbed, [{"at": [what, n]}])


def test_several_kills_in_a_row(server, undisturbed, tmp_path):
    rnd = random.Random(5)
    for turn in range(40 if EVERY else 8):
        folder = tmp_path / str(turn)
        folder.mkdir()
        place(folder, SCRIPT, TASKS)
        kills = [
            {"at": [rnd.choice(["before_save", "after_save", "effect"]), n]}
            for n in (rnd.randint(2, 14), rnd.randint(1, 8), rnd.randint(1, 5))
        ]
        check_after_kills(server, folder, undisturbed, kills)
