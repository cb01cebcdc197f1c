"""Context strategies in whole runs: scripts, saves, crashes (engine.md 3.9, 3.13)."""

import json

import pytest

from oma_desktop.model.checkpoint_loader import load_snapshot
from tests.core.engine.run_world import RunWorld, spec, statuses

STRATEGIES = [
    {"contextStrategy": {"type": "sliding-window", "maxTurns": 1}},
    {"contextStrategy": {"type": "summarize", "maxTokens": 150}},
    {"contextStrategy": {"type": "compact", "maxTokens": 150, "preserveRecentTurns": 1}},
    {"compressToolResults": {"minChars": 200}},
]


def script(**agent):
    calls = [{"id": f"c{i}", "name": "look", "input": {"q": i}} for i in range(4)]
    usage = {"input_tokens": 10, "output_tokens": 1}
    turns = [{"text": f"step {c['id']}", "tools": [c], "usage": usage} for c in calls]
    return {
        "team": {"name": "t"},
        "agents": [{"name": "a", "tools": ["look"], **agent}],
        "tools": {"look": {"results": {"*": {"data": "r" * 400}}}},
        "replies": {
            "one": [*turns, {"text": "done one", "usage": usage}],
            "two": [{"text": "done two", "usage": usage}],
            "@summary": [{"text": "in short", "usage": {"input_tokens": 7, "output_tokens": 3}}],
        },
    }


@pytest.mark.parametrize("wish", STRATEGIES)
async def test_a_crash_at_any_save_of_a_run_ends_as_without_it(wish):
    world = RunWorld(script=script(**wish))
    whole = await world.run(spec("one"), spec("two", "one"), real_runner=True)
    assert statuses(whole) == {"one": "completed", "two": "completed"}
    conversations = [
        entry["conversationMessages"] for s in world.store.saved for entry in s["inFlightTasks"]
    ]
    full = next(r for r in whole.task_results.values() if r["output"] == "done one")["messages"]
    assert len(json.dumps(conversations[-1])) < len(json.dumps(full))
    for at in range(len(world.store.saved)):
        again = world.crashed(at)
        result = await again.restore(real_runner=True)
        assert statuses(result) == statuses(whole)
        mine = {k: (v["output"], v["messages"]) for k, v in result.task_results.items()}
        assert mine == {k: (v["output"], v["messages"]) for k, v in whole.task_results.items()}
        assert result.total_usage == whole.total_usage, at


@pytest.mark.parametrize("wish", STRATEGIES)
async def test_what_is_saved_is_what_the_loader_takes(wish):
    world = RunWorld(script=script(**wish))
    await world.run(spec("one"), spec("two", "one"), real_runner=True)
    for saved in world.store.saved:
        assert list(load_snapshot(saved).problems) == []
