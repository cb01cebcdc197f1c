"""`run` and `restore` with plans that are repaired (product.md 7; case s11)."""

import json

import pytest

from tests.cli.conftest import CASES
from tests.cli.files import write

S11 = json.loads((CASES / "s11-replan-loop" / "patches.json").read_text("utf-8"))
FAILS = [{"error": {"message": "HTTP 404: gone", "status": 404}}]
WORKS = [{"text": "fine"}]


def team(*agents):
    return {"name": "desk", "agents": [{"name": a, "model": "m"} for a in agents]}


def scripted(recovery=None, **replies):
    document = {
        "team": {"name": "desk"},
        "agents": [{"name": "researcher"}, {"name": "writer"}],
        "replies": replies,
    }
    return document if recovery is None else {**document, "recovery": recovery}


def statuses(document):
    return [(t["title"], t["status"]) for t in document["tasks"]]


def play(cli, folder, run, script, *more):
    write(folder, run=run, script=script)
    files = (folder / "run.json", "--script", folder / "script.json")
    return cli("run", *files, "--json", "--store", folder / "store.json", *more)


SEARCH = [{"title": "t-search", "description": "find it", "assignee": "researcher"}]


def test_s11_a_replanner_that_never_gives_up_is_stopped(cli, tmp_path):
    *first, second, third, last = S11["proposals"]
    recovery = {
        "patches": {"t-search:failure": first[0], "Fallback:failure": [second, third, last]},
        **S11["limits"],
    }
    script = scripted(recovery, **{"t-search": FAILS, "Fallback": FAILS, "X": FAILS, "Y": FAILS})
    done = play(cli, tmp_path, {"tasks": SEARCH}, script)
    assert done.code == 1
    assert statuses(done.json) == [("t-search", "failed"), *[("Fallback", "failed")] * 3]
    assert done.json["planRevisions"] == 3
    assert "RECOVERY_REVISION_LIMIT" in done.json["warnings"]
    assert "it was repaired 3 times already" in done.err
    assert {"type": "warning", "code": "RECOVERY_REVISION_LIMIT"}.items() <= next(
        e for e in done.json["log"]["notableEvents"] if e["type"] == "warning"
    ).items()


@pytest.mark.parametrize("patch", S11["invalid"], ids=lambda p: p["reason"])
def test_s11_an_invalid_patch_is_refused_whole_and_told_why(cli, tmp_path, patch):
    titled = {
        "reason": patch["reason"],
        "addTasks": patch.get("addTasks", []),
        "supersede": patch.get("supersedePending", []),
        "retarget": [
            {"title": w["taskId"], "assignee": w["assignee"]}
            for w in patch.get("retargetPending", [])
        ],
    }
    done = play(
        cli,
        tmp_path,
        {"tasks": [*SEARCH, {"title": "t-done", "description": "d", "assignee": "writer"}]},
        scripted({"patches": {"t-search:failure": titled}}, **{"t-search": FAILS, "t-done": WORKS}),
    )
    assert done.code == 1
    assert done.json["planRevisions"] == 0
    assert [t for t, _ in statuses(done.json)] == ["t-search", "t-done"]
    assert "A repair of the plan was refused" in done.err
    assert "PATCH_" not in done.err, "in words, not in codes"


RULES = {
    "mode": "adaptive",
    "rules": [
        {
            "title": "Search*",
            "errorKind": "provider",
            "reason": "other source ({error})",
            "supersedeDependents": True,
            "addTasks": [
                {"key": "f", "title": "Fallback", "description": "d", "assignee": "writer"},
                {
                    "key": "r",
                    "title": "Report again",
                    "description": "about {task}",
                    "dependsOn": ["f"],
                    "assignee": "writer",
                },
            ],
        }
    ],
}
RUN = {
    "team": team("researcher", "writer"),
    "tasks": [
        {"title": "Search web", "description": "d", "assignee": "researcher"},
        {
            "title": "Report",
            "description": "d",
            "assignee": "writer",
            "dependsOn": ["search web"],
        },
    ],
    "recovery": RULES,
}
REPLIES = {"Search web": FAILS, "Fallback": WORKS, "Report again": WORKS}


def test_rules_of_a_run_file_repair_its_plan(cli, tmp_path):
    done = play(cli, tmp_path, RUN, scripted(**REPLIES))
    assert done.code == 0
    assert statuses(done.json) == [
        ("Search web", "failed"),
        ("Report", "skipped"),
        ("Fallback", "completed"),
        ("Report again", "completed"),
    ]
    assert done.json["planRevisions"] == 1
    (revision,) = done.json["revisions"]
    assert revision["reason"] == "other source (HTTP 404: gone)"
    assert "repair  Search web: other source" in done.err
    assert done.json["tasks"][1]["reason"].startswith("Superseded by plan revision 1")


def test_a_repaired_run_is_inspected_and_restored_as_it_is(cli, tmp_path):
    play(cli, tmp_path, RUN, scripted(**REPLIES))
    store = tmp_path / "store.json"
    seen = cli("inspect", store, "--json")
    assert seen.code == 0
    (checkpoint,) = seen.json["checkpoints"]
    assert checkpoint["planRevision"] == 1
    rows = {t["title"]: t for t in checkpoint["tasks"]}
    assert rows["Search web"]["recoveredByRevision"] == 1
    assert rows["Report"]["supersededByRevision"] == 1
    assert seen.json["problems"] == []
    plain = cli("inspect", store).out.splitlines()
    assert "  failed       Search web  [researcher]  replaced by plan revision 1" in plain
    assert "  skipped      Report  [writer]  replaced by plan revision 1" in plain
    assert "  done         Fallback  [writer]" in plain
    again = cli("restore", "--store", store, "--json")
    assert again.code == 0
    assert again.json["log"]["modelCalls"] == []
    assert again.json["planRevisions"] == 1


def test_a_rule_that_cannot_work_is_refused_before_anything_runs(cli, tmp_path):
    bad = {**RULES, "rules": [{**RULES["rules"][0], "supersede": ["Repor"]}]}
    done = play(cli, tmp_path, {**RUN, "recovery": bad}, scripted(**REPLIES))
    assert done.code == 2
    assert "no other task is called Repor." in done.error["message"]
    assert not (tmp_path / "store.json").exists()


def test_a_frozen_plan_is_not_repaired(cli, tmp_path):
    plan = {"version": 1, "tasks": [{"id": "p", "title": "t", "description": "d"}]}
    recovery = {"patches": {"t:failure": {"reason": "r"}}}
    done = play(cli, tmp_path, {"plan": plan}, scripted(recovery, t=FAILS))
    assert done.code == 2
    assert "replayed exactly" in done.error["message"]


def test_an_agent_of_the_team_repairs_the_plan(cli, tmp_path):
    patch = {
        "repair": True,
        "reason": "ask elsewhere",
        "addTasks": [
            {"key": "f", "title": "Fallback", "description": "d", "assignee": "researcher"}
        ],
    }
    run = {
        "team": team("researcher", "writer"),
        "tasks": RUN["tasks"][:1],
        "recovery": {"mode": "repairable", "replanner": "writer"},
    }
    script = scripted(
        **{"Search web": FAILS, "Fallback": WORKS, "@replan": [{"text": json.dumps(patch)}]}
    )
    done = play(cli, tmp_path, run, script)
    assert done.code == 0
    assert statuses(done.json) == [("Search web", "failed"), ("Fallback", "completed")]
    assert done.json["revisions"][0]["reason"] == "ask elsewhere"


def test_an_agent_that_cannot_be_asked_is_told_in_its_own_words(cli, tmp_path):
    run = {
        "team": team("researcher", "writer"),
        "tasks": RUN["tasks"][:1],
        "recovery": {"mode": "repairable", "replanner": "writer"},
    }
    refused = [{"error": {"message": "HTTP 403: not for you", "status": 403}}]
    done = play(cli, tmp_path, run, scripted(**{"Search web": FAILS, "@replan": refused}))
    assert done.code == 1
    assert "Asking how to repair the plan failed (HTTP 403: not for you)." in done.err
    (told,) = [
        e for e in done.json["log"]["notableEvents"] if e.get("kind") == "recovery_policy_failed"
    ]
    assert told["error"] == "HTTP 403: not for you"


def test_a_goal_is_reached_over_a_repaired_plan(cli, tmp_path):
    plan = [
        {"title": "Search", "description": "d", "assignee": "researcher"},
        {"title": "Report", "description": "d", "assignee": "writer", "dependsOn": ["Search"]},
    ]
    patch = {
        "reason": "source is down",
        "supersede": ["Report"],
        "addTasks": [{"key": "k", "title": "Other report", "description": "d"}],
    }
    script = scripted(
        {"patches": {"Search:failure": patch}},
        **{
            "@decompose": [{"text": json.dumps(plan)}],
            "@synthesis": [{"text": "the answer"}],
            "Search": FAILS,
            "Other report": WORKS,
        },
    )
    run = {"goal": "First find sources, then compare them, and finally write a report."}
    done = play(cli, tmp_path, run, script)
    assert done.code == 0
    assert ("Other report", "completed") in statuses(done.json)
    assert done.json["planRevisions"] == 1
    assert done.json["finalAnswer"] == "the answer"


def test_a_repaired_run_on_a_redacting_store_goes_on(cli, tmp_path):
    """P07: a key of a patch that looks like a secret's name keeps its task id."""
    rule = {**RULES["rules"][0], "addTasks": [dict(t) for t in RULES["rules"][0]["addTasks"]]}
    rule["addTasks"][0]["key"] = "session-retry"
    rule["addTasks"][1]["dependsOn"] = ["session-retry"]
    run = {**RUN, "recovery": {**RULES, "rules": [rule]}, "checkpoint": {"redact": True}}
    assert play(cli, tmp_path, run, scripted(**REPLIES)).code == 0
    store = tmp_path / "store.json"
    (found,) = cli("inspect", store, "--json").json["checkpoints"]
    (revision,) = found["planRevisions"]
    assert revision["addedTasks"]["session-retry"] in {t["id"] for t in found["tasks"]}
    again = cli("restore", "--store", store, "--json")
    assert again.code == 0
    assert again.json["planRevisions"] == 1
