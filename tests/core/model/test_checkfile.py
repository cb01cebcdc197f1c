"""`check`: what a file is, and every problem with its place (product.md 5)."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.base.sentences import one_line
from oma_desktop.model.checkfile import check_document

ROOT = Path(__file__).parents[2]
TEAM = {"name": "t", "agents": [{"name": "a"}]}
TASK = {"title": "x", "description": "d"}
PLAN_TASK = {"id": "1", **TASK}
EVENT = {"type": "turn/start", "seq": 1, "timestampUnixMs": 1, "runId": "r", "attempt": 1}


def check(document, name="f.json"):
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return check_document(data, name=name)


def found(report):
    return [(p.code, p.where) for p in report.problems]


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ({"team": TEAM, "tasks": [TASK]}, "run"),
        ({"team": TEAM, "goal": "g"}, "run"),
        (TEAM, "team"),
        ({"team": TEAM}, "team"),
        ([TASK], "tasks"),
        ({"tasks": [TASK]}, "tasks"),
        ({"version": 1, "tasks": [PLAN_TASK]}, "plan"),
        ({"version": 1, "entries": []}, "store"),
    ],
)
def test_kinds(document, kind):
    report = check(document)
    assert (report.kind, report.ok, report.problems) == (kind, True, ())


@pytest.mark.parametrize("path", sorted(ROOT.glob("golden/*/checkpoint.json")), ids=str)
def test_every_store_of_the_peer_is_a_store(path):
    assert check(path.read_bytes(), name=path.name).kind == "store"


def test_plans_are_checked():
    twice = {"version": 1, "tasks": [PLAN_TASK, {**PLAN_TASK, "dependsOn": ["9"]}]}
    assert found(check(twice)) == [
        ("RUNFILE_TASK_ID_TWICE", "$.tasks[1].id"),
        ("RUNFILE_UNKNOWN_TASK", "$.tasks[1].dependsOn[0]"),
    ]
    assert found(check({"version": 2, "tasks": []})) == [("PLAN_VERSION", "$.version")]


def test_yaml_is_checked_with_lines():
    report = check(b"team:\n  name: t\n  agents:\n    - nam: a\n", name="t.yaml")
    places = [p.facts["place"] for p in report.problems]
    assert places == ["t.yaml:4 $.team.agents[0].name", "t.yaml:4 $.team.agents[0].nam"]
    assert report.kind == "team"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "JSON_EMPTY"),
        (b"\0\0\0", "JSON_NUL_BYTES"),
        (b'{"version": 1, "entries"', "JSON_TRUNCATED"),
        (b'{"version": 99, "entries": []}', "STORE_TOO_NEW"),
        (b"7", "RUNFILE_NOT_A_RUN_FILE"),
        (b"{}", "RUNFILE_NOT_A_RUN_FILE"),
    ],
)
def test_damage_is_named(data, code):
    report = check(data)
    assert not report.ok
    assert [p.code for p in report.problems] == [code]


def test_journals():
    good = json.dumps(EVENT).encode()
    assert check(good + b"\n" + good + b"\n", name="x").kind == "journal"
    assert check(b"\xef\xbb\xbf" + good + b"\r\n", name="j.jsonl").ok
    torn = check(good + b'\n{"seq":', name="j.jsonl")
    assert found(torn) == [("JOURNAL_TORN_TAIL", "line 2")]
    assert torn.ok
    damaged = check(b"oops\n" + good + b"\n\n", name="j.jsonl")
    assert found(damaged) == [("JOURNAL_LINE_DAMAGED", "line 1")]
    assert not damaged.ok


@pytest.mark.parametrize("key", ["type", "seq", "timestampUnixMs", "runId", "attempt"])
@pytest.mark.parametrize("value", [None, "x", True, -1.5])
def test_the_envelope_of_events(key, value):
    report = check(json.dumps({**EVENT, key: value}).encode() + b"\n", name="j.jsonl")
    fits = (key, value) in {("timestampUnixMs", -1.5), ("attempt", -1.5), ("runId", "x")}
    assert [p.facts["problem"] for p in report.problems] == ([] if fits else [key])


def test_unicode_line_separators_do_not_end_lines():
    data = (ROOT / "cases/s18-unicode-line-separators/journal.jsonl").read_bytes()
    assert {p.facts["line"] for p in check(data, name="j.jsonl").problems} <= {1, 2, 3, 4}


@given(st.binary(max_size=200), st.sampled_from(["a", "a.json", "a.yaml", "a.jsonl"]))
def test_any_bytes_get_a_report_and_sentences(data, name):
    report = check(data, name=name)
    for problem in report.problems:
        assert "(" + problem.code + ")" not in one_line(problem.code, problem.facts)
