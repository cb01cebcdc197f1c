"""The `recovery` of run files: shapes, names that exist, rules that can work (product.md 7)."""

from __future__ import annotations

import json

import jsonschema
import pytest

from oma_desktop.base.sentences import one_line
from oma_desktop.model.document_text import read_document
from oma_desktop.model.runfile import run_file_schema
from oma_desktop.model.runfile_limits import refuse_unsupported
from oma_desktop.model.runfile_reading import look_at_run_file

TEAM = {"name": "t", "agents": [{"name": "a", "model": "m"}, {"name": "b", "model": "m"}]}
TASKS = [
    {"title": "Search", "description": "d"},
    {"title": "Analysis", "description": "d", "dependsOn": ["Search"]},
]
ADDED = {"key": "k", "title": "Fallback", "description": "d"}
RULE = {"title": "Search", "addTasks": [ADDED], "supersede": ["analysis"]}


def document(*rules, mode="repairable", **recovery):
    return {
        "team": TEAM,
        "tasks": TASKS,
        "recovery": {"mode": mode, "rules": list(rules), **recovery},
    }


def look(doc):
    return look_at_run_file(read_document(json.dumps(doc).encode(), name="run.json"))


def problems(doc):
    found = look(doc).problems
    for each in found:
        assert "{" not in one_line(each.code, each.facts)
    return [(p.code, p.where) for p in found]


@pytest.mark.parametrize("mode", ["repairable", "adaptive"])
def test_a_rule_is_read_and_runs(mode):
    doc = document(RULE, mode=mode)
    assert problems(doc) == []
    run_file = look(doc).run_file
    refuse_unsupported(run_file)
    (rule,) = run_file.recovery.rules
    assert rule.on == ["failure", "verification_rejected"]
    assert run_file.recovery.max_plan_revisions == 3
    assert run_file.recovery.max_added_tasks == 20
    jsonschema.validate(doc, run_file_schema())


def test_one_word_for_a_list_of_one():
    doc = document({**RULE, "on": "failure", "errorKind": "provider"})
    assert problems(doc) == []
    (rule,) = look(doc).run_file.recovery.rules
    assert rule.on == ["failure"]
    assert rule.error_kind == ["provider"]
    jsonschema.validate(doc, run_file_schema())


def added(**facts):
    return {**RULE, "addTasks": [{**ADDED, **facts}]}


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        (document(RULE, mode="fixed"), ("RUNFILE_RECOVERY_FIXED", "$.recovery.mode")),
        (document(), ("RUNFILE_RECOVERY_NOBODY", "$.recovery.mode")),
        (document(RULE, replanner="a"), ("RUNFILE_RECOVERY_TWICE", "$.recovery.replanner")),
        (document(replanner="c"), ("RUNFILE_UNKNOWN_AGENT", "$.recovery.replanner")),
        (
            document({**RULE, "addTasks": []}),
            ("RUNFILE_RULE_NEEDS_TASKS", "$.recovery.rules[0].addTasks"),
        ),
        (document({"on": "success"}), ("RUNFILE_RULE_EMPTY", "$.recovery.rules[0]")),
        (
            document({**RULE, "addTasks": [ADDED, ADDED]}),
            ("RUNFILE_RULE_KEY", "$.recovery.rules[0].addTasks[1].key"),
        ),
        (
            document(added(key=" ")),
            ("RUNFILE_RULE_KEY", "$.recovery.rules[0].addTasks[0].key"),
        ),
        (
            document(added(assignee="nobody-here")),
            ("RUNFILE_UNKNOWN_AGENT", "$.recovery.rules[0].addTasks[0].assignee"),
        ),
        (
            document(added(verify=["nobody-here"])),
            ("RUNFILE_UNKNOWN_AGENT", "$.recovery.rules[0].addTasks[0].verify.judges[0]"),
        ),
        (
            document(added(dependsOn=["Sarch"])),
            ("RUNFILE_UNKNOWN_TASK_NEAR", "$.recovery.rules[0].addTasks[0].dependsOn[0]"),
        ),
        (
            document(added(metadata={"oma.x": 1})),
            ("RUNFILE_TASK_METADATA", "$.recovery.rules[0].addTasks[0].metadata.oma.x"),
        ),
        (
            document({**RULE, "supersede": ["zzzzzzzz"]}),
            ("RUNFILE_UNKNOWN_TASK", "$.recovery.rules[0].supersede[0]"),
        ),
        (
            document({**RULE, "retarget": [{"title": "Analysis", "assignee": "zzzzzz"}]}),
            ("RUNFILE_UNKNOWN_AGENT", "$.recovery.rules[0].retarget[0].assignee"),
        ),
    ],
)
def test_what_cannot_work_is_named_with_its_place(doc, expected):
    ((code, where),) = problems(doc)
    assert code == expected[0]
    assert where.replace('["oma.x"]', ".oma.x") == expected[1]


def test_rounds_and_repair_exclude_each_other():
    doc = {**document(RULE), "approvals": {"rounds": True}}
    assert problems(doc) == [("RUNFILE_RECOVERY_WITH_ROUNDS", "$.approvals.rounds")]


@pytest.mark.parametrize(
    "bad",
    [
        {"maxPlanRevisions": 0},
        {"maxAddedTasks": 0},
        {"maxAddedTasks": 1.5},
        {"mode": "sometimes"},
    ],
)
def test_limits_and_modes_are_checked_by_their_shape(bad):
    doc = document(RULE)
    doc["recovery"].update(bad)
    assert problems(doc) != []


def test_titles_of_tasks_another_rule_adds_may_be_named():
    second = {
        "title": "Fallback",
        "addTasks": [{"key": "z", "title": "Last", "description": "d"}],
        "supersede": ["fallback"],
    }
    assert problems(document(RULE, second)) == []
