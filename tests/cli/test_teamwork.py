"""Delegation, routed models and cost from a run file, without a window (product.md 7)."""

import json

import pytest

from tests.cli.files import write


def turn(text="", *calls, usage=(1000, 100)):
    return {
        "text": text,
        "tools": [{"id": i, "name": n, "input": a} for i, n, a in calls],
        "usage": {"input_tokens": usage[0], "output_tokens": usage[1]},
    }


ASK = ("d1", "delegate_to_agent", {"target_agent": "expert", "prompt": "measure the bridge"})


def run_file(folder, **orchestrator):
    """A team on the scripted provider: the boss delegates, the second story fails over."""
    replies = {
        "Story": [turn("", ASK), turn("filed")],
        "expert::@other": [turn("312 m", usage=(500_000, 0))],
        "Late": {
            "attempts": [[{"error": {"message": "busy", "status": 503}}], [turn("late")]],
        },
    }
    team = {
        "name": "paper",
        "sharedMemory": "file",
        "agents": [
            {"name": "boss", "provider": "play", "model": "big", "delegate": True},
            {"name": "expert", "provider": "play", "model": "small"},
        ],
    }
    document = {
        "team": team,
        "providers": {"play": {"type": "scripted", "script": "script.json"}},
        "orchestrator": orchestrator,
        "tasks": [
            {"title": "Story", "description": "file it", "assignee": "boss"},
            {"title": "Late", "description": "file it", "assignee": "boss", "retryDelayMs": 1,
             "dependsOn": ["Story"], "priority": "low"},
        ],
    }  # fmt: skip
    script = {"team": {"name": "x"}, "agents": [{"name": "x"}], "replies": replies}
    write(folder, run=document, script=script)
    return folder / "run.json"


PRICES = {"play/big": {"input": 10, "output": 50}, "small": {"input": 2, "output": 8}}
ROUTING = {
    "rules": [
        {
            "match": {"taskPriority": "low"},
            "route": {"model": "small", "fallback": [{"model": "big"}]},
        }
    ]
}


def test_agents_delegate_models_give_way_and_everything_is_paid_for(cli, tmp_path):
    path = run_file(tmp_path, prices=PRICES, modelRouting=ROUTING, maxCostBudget=2)
    assert cli("check", path).code == 0
    done = cli("run", path, "--store", tmp_path / "s.json", "--json")
    assert done.code == 0, done.err
    assert done.json["log"]["modelCalls"] == [
        "boss | Story | turn 0",
        "expert | Story | turn 0",
        "boss | Story | turn 1",
        "boss | Late | turn 0",
        "boss | Late | turn 0",
    ]
    assert done.json["totalTokenUsage"] == {"input_tokens": 503_000, "output_tokens": 300}
    big, small = 3 * (1000 * 10 + 100 * 50) / 1e6, 500_000 * 2 / 1e6
    assert done.json["totalCost"] == pytest.approx(big + small)
    rows = json.loads((tmp_path / "s.json").read_text("utf-8"))["entries"]
    assert [r["key"].split(":")[0] for r in rows if "delegation" in r["key"]] == ["boss/delegation"]


def test_a_run_that_costs_too_much_says_so_and_goes_on_with_more(cli, tmp_path):
    path = run_file(tmp_path, prices=PRICES, maxCostBudget=1)
    store = tmp_path / "s.json"
    done = cli("run", path, "--store", store)
    assert done.code == 1
    assert "ceiling" in done.out
    assert "cost so far: 1.0300" in done.out
    path = run_file(tmp_path, prices=PRICES, maxCostBudget=9)
    done = cli("restore", path, "--store", store, "--json")
    assert done.code == 1  # its one try failed: without a route there is no other way
    assert done.json["totalCost"] > 1
    statuses = {t["title"]: t["status"] for t in done.json["tasks"]}
    assert statuses == {"Story": "completed", "Late": "failed"}


def test_a_model_without_a_price_is_found_before_anything_runs(cli, tmp_path):
    path = run_file(tmp_path, prices={"small": PRICES["small"]})
    done = cli("run", path, "--store", tmp_path / "s.json", "--json")
    assert (done.code, done.error["code"]) == (2, "COST_PRICE_MISSING")
    assert not (tmp_path / "s.json").exists()


def test_the_schema_for_editors_knows_the_new_options(cli):
    schema = cli("check", "--schema").json
    options = schema["$defs"]["OrchestratorOptions"]["properties"]
    assert {"prices", "maxCostBudget", "modelRouting", "maxDelegationDepth"} <= options.keys()
    assert "apiKey" not in json.dumps(schema)
