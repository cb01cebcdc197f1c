"""Loader rules L1-L36, the null cases, W36 contradictions, newer versions (formats.md 2.5, 2.6)."""

import copy
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from oma_desktop.model import approval_rules as rules
from oma_desktop.model.checkpoint_loader import (
    examine_snapshot,
    load_snapshot,
    load_snapshot_text,
    own_facts,
)
from oma_desktop.model.container import parse_container
from oma_desktop.model.errors import Corrupt, SchemaTooNew, StoreError
from oma_desktop.model.json_text import stringify
from oma_desktop.model.keys import is_checkpoint_key

TESTS = Path(__file__).parents[2]
GOLDEN = TESTS / "golden"
CASES = TESTS / "cases"
AT = "2026-01-02T03:04:05.678Z"


def task(task_id="t1", status="in_progress", **more):
    texts = {"id": task_id, "title": "T", "description": "d", "status": status, "assignee": "w"}
    return {**texts, "createdAt": AT, "updatedAt": AT, **more}


def queue(*tasks, **more):
    names = ("pending", "inProgress", "completed", "failed", "blocked", "skipped")
    words = ("pending", "in_progress", "completed", "failed", "blocked", "skipped")
    parts = {
        n: [t["id"] for t in tasks if t["status"] == w] for n, w in zip(names, words, strict=True)
    }
    return {"version": 1, "tasks": list(tasks), **parts, **more}


def use(call_id="c1", name="go"):
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"k": "1"}}


def commit(call_id="c1", name="go"):
    return {
        "result": {"type": "tool_result", "tool_use_id": call_id, "content": "did"},
        "record": {"toolName": name, "input": {"k": "1"}, "output": "did", "duration": 2},
    }


def entry(phase="executing_tools", **more):
    base = {
        "taskId": "t1", "assignee": "w", "phase": phase,
        "conversationMessages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
        "messages": [], "tokenUsage": {"input_tokens": 1, "output_tokens": 1}, "toolCalls": [],
        "turns": 1,
    }  # fmt: skip
    if phase == "executing_tools":
        base["pendingToolCalls"] = [{"call": use(), "commit": commit()}, {"call": use("c2")}]
    if phase == "completed":
        base["finalOutput"] = "out"
    return base | more


def request(call_id="c2", run_id="r"):
    content = {
        "kind": "tool_call", "toolName": "go", "rawInput": {"k": "1"}, "input": {"k": "1"},
        "agentName": "w", "taskId": "t1", "toolCallId": call_id, "consequential": False,
    }  # fmt: skip
    return rules.create_request(
        run_id=run_id, scope="tool_call", boundary=f"t1:{call_id}", content=content,
        requested_at=datetime(2026, 1, 2, tzinfo=UTC),
    )  # fmt: skip


def decision(of=None):
    return rules.make_decision(
        of or request(), verdict="approved", reviewer={"id": "me"},
        decided_at=datetime(2026, 1, 2, tzinfo=UTC),
    )  # fmt: skip


def snapshot(version=5, **more):
    base = {"version": version, "mode": "runTasks", "createdAt": AT, "queue": queue(task())}
    if version >= 2:
        base["identity"] = {"runId": "r", "attempt": 1, "lastTraceId": "0", "lastRootSpanId": "1"}
    base["completedTaskResults"] = []
    if version >= 3:
        base["inFlightTasks"] = [entry()]
    if version >= 4:
        base |= {"pendingApprovals": [], "approvalDecisions": []}
    if version >= 5:
        base |= {"journalWatermarkSeq": 9, "journalRef": {"kind": "x", "path": "/p"}}
    return base | more


def suspended():
    value = snapshot(pendingApprovals=[request()], approvalDecisions=[decision()])
    call = value["inFlightTasks"][0]["pendingToolCalls"][1]
    call |= {"approvalRequest": request(), "approvalDecision": decision()}
    return value


def changed(value, path, new):
    """Set, or with `...` remove, what a dotted path names."""
    value = copy.deepcopy(value)
    at = value
    *way, last = [int(p) if p.isdigit() else p for p in path.split(".")]
    for step in way:
        at = at[step]
    if new is ...:
        del at[last]
    else:
        at[last] = new
    return value


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_every_version_is_accepted(version):
    value = snapshot(version)
    loaded = load_snapshot(value)
    assert loaded.problems == ()
    assert loaded.snapshot is value


@pytest.mark.parametrize("phase", ["awaiting_model", "executing_tools", "completed"])
def test_every_phase_is_accepted(phase):
    assert load_snapshot(snapshot(inFlightTasks=[entry(phase)])).problems == ()


def test_a_suspended_checkpoint_is_accepted():
    assert load_snapshot(suspended()).problems == ()


def test_everything_optional_is_accepted():
    flags = {"loopWarned": True, "loopDetected": True, "budgetExceeded": True}
    lineage = {"conversationLineage": [[[4], None]], "journalSeq": 0}
    more = {"metadata": {"a": 1}, "goal": "g", "turnCount": 2, "unknown": {"x": 1}}
    value = snapshot(inFlightTasks=[entry(pendingToolResultText="w", **flags, **lineage)], **more)
    value["inFlightTasks"][0]["pendingToolCalls"][0]["commit"]["delegationUsage"] = {
        "input_tokens": 0, "output_tokens": 0.5,
    }  # fmt: skip
    assert load_snapshot(value).problems == ()


CALL = "inFlightTasks.0.pendingToolCalls.0"
ASKED = "inFlightTasks.0.pendingToolCalls.1"
REFUSED = [
    ("L1", "version", ...), ("L1", "version", 0), ("L1", "version", "5"), ("L1", "version", True),
    ("L1", "version", 1.5),
    ("L2", "mode", "runAgent"), ("L2", "mode", None),
    ("L3", "createdAt", ...), ("L3", "createdAt", 5),
    ("L4", "completedTaskResults", ...), ("L4", "completedTaskResults", {}),
    ("L5", "metadata", {"Bad": 1}), ("L5", "metadata", None),
    ("L6", "identity", ...), ("L6", "identity.runId", 5), ("L6", "identity.attempt", 0),
    ("L6", "identity.attempt", True), ("L6", "identity.attempt", 1.5),
    ("L6", "identity.lastTraceId", ...), ("L6", "identity.lastRootSpanId", None),
    ("L7", "inFlightTasks", ...), ("L7", "inFlightTasks", {}), ("L7", "inFlightTasks.0", None),
    ("L7", "inFlightTasks", [entry(), entry()]),
    ("L8", "journalWatermarkSeq", ...), ("L8", "journalWatermarkSeq", -1),
    ("L8", "journalWatermarkSeq", 1.5), ("L8", "journalRef", "x"), ("L8", "journalRef.kind", 1),
    ("L8", "journalRef.path", None), ("L8", "journalRef", None),
    ("L9", "pendingApprovals", ...), ("L9", "approvalDecisions", None),
    ("L10", "pendingApprovals.0.requestHash", "0" * 64), ("L10", "pendingApprovals.0", []),
    ("L10", "pendingApprovals", [request(), request()]),
    ("L10", "pendingApprovals", [request(), request("c1", run_id="other")]),
    ("L11", "approvalDecisions.0.decision", "yes"),
    ("L11", "approvalDecisions", [decision(), decision()]),
    ("L11", "approvalDecisions", [decision(), decision(request(run_id="other"))]),
    ("L12", "pendingApprovals", []),
    ("L13", "approvalDecisions", []),
    ("L14", "queue", ...), ("L14", "queue", []), ("L14", "queue.version", 0),
    ("L14", "queue.version", "1"), ("L14", "queue.tasks", {}),
    ("L15", "queue", queue(task(), version=2)),
    ("L15", "queue", queue(task(), version=2, planRevision=1)),
    ("L15", "queue", queue(task(), version=2, planRevision=1.5, planRevisions=[])),
    ("L20", "inFlightTasks.0.taskId", ""), ("L20", "inFlightTasks.0.assignee", ...),
    ("L21", "inFlightTasks.0.phase", "sleeping"),
    ("L22", "inFlightTasks.0.conversationMessages", {}), ("L22", "inFlightTasks.0.messages", None),
    ("L22", "inFlightTasks.0.toolCalls", ...),
    ("L23", "inFlightTasks.0.turns", -1), ("L23", "inFlightTasks.0.turns", 1.5),
    ("L23", "inFlightTasks.0.turns", True), ("L23", "inFlightTasks.0.tokenUsage", {}),
    ("L23", "inFlightTasks.0.tokenUsage.input_tokens", -1),
    ("L23", "inFlightTasks.0.tokenUsage.output_tokens", float("inf")),
    ("L24", "inFlightTasks.0.loopWarned", 1), ("L24", "inFlightTasks.0.loopDetected", None),
    ("L24", "inFlightTasks.0.budgetExceeded", "x"),
    ("L25", "inFlightTasks.0.conversationLineage", None),
    ("L25", "inFlightTasks.0.conversationLineage", []),
    ("L25", "inFlightTasks.0.conversationLineage", [5]),
    ("L25", "inFlightTasks.0.conversationLineage", [[[0]]]),
    ("L25", "inFlightTasks.0.conversationLineage", [["x"]]),
    ("L26", "inFlightTasks.0.journalSeq", -1), ("L26", "inFlightTasks.0.journalSeq", None),
    ("L27", "inFlightTasks.0.pendingToolCalls", ...),
    ("L27", "inFlightTasks.0.pendingToolCalls", []),
    ("L27", "inFlightTasks.0.pendingToolCalls", None),
    ("L27", "inFlightTasks.0.pendingToolResultText", None),
    ("L28", "inFlightTasks.0", entry("awaiting_model", pendingToolCalls=[])),
    ("L28", "inFlightTasks.0", entry("awaiting_model", pendingToolCalls=None)),
    ("L28", "inFlightTasks.0", entry("completed", pendingToolResultText="x")),
    ("L28", "inFlightTasks.0", entry("completed", pendingToolResultText=None)),
    ("L29", "inFlightTasks.0", entry("completed", finalOutput=None)),
    ("L29", "inFlightTasks.0", entry("awaiting_model", finalOutput="x")),
    ("L29", "inFlightTasks.0.finalOutput", None),
    ("L30", CALL, None), ("L30", f"{CALL}.call", ...), ("L30", f"{CALL}.call.type", "x"),
    ("L30", f"{CALL}.call.id", ""), ("L30", f"{CALL}.call.name", 5),
    ("L30", f"{CALL}.call.input", []),
    ("L31", f"{ASKED}.approvalRequest", None), ("L31", f"{ASKED}.approvalRequest", request("c1")),
    ("L31", f"{ASKED}.approvalRequest.id", "apr_x"), ("L31", f"{ASKED}.call.name", "other"),
    ("L32", f"{ASKED}.approvalRequest", ...), ("L32", f"{ASKED}.approvalDecision", None),
    ("L32", f"{ASKED}.approvalDecision", decision(request("c1"))),
    ("L33", f"{CALL}.commit", None), ("L33", f"{ASKED}.commit", commit("c2")),
    ("L34", f"{CALL}.commit.result", ...), ("L34", f"{CALL}.commit.result.type", "text"),
    ("L34", f"{CALL}.commit.result.tool_use_id", "c2"),
    ("L34", f"{CALL}.commit.result.content", ...),
    ("L34", f"{CALL}.commit.result.content", []), ("L34", f"{CALL}.commit.result.is_error", None),
    ("L34", f"{CALL}.commit.result.content", [{"type": "video"}]),
    ("L35", f"{CALL}.commit.record", ...), ("L35", f"{CALL}.commit.record.toolName", "other"),
    ("L35", f"{CALL}.commit.record.input", []), ("L35", f"{CALL}.commit.record.output", None),
    ("L35", f"{CALL}.commit.record.duration", -1), ("L35", f"{CALL}.commit.record.duration", True),
    ("L35", f"{CALL}.commit.record.duration", float("inf")),
    ("L36", f"{CALL}.commit.delegationUsage", None), ("L36", f"{CALL}.commit.delegationUsage", {}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "path", "new"), REFUSED)
def test_each_rule_refuses_and_names_itself_and_the_place(rule, path, new):
    with pytest.raises(Corrupt) as caught:
        load_snapshot(changed(suspended(), path, new), where="key $")
    facts = caught.value.facts
    assert (caught.value.code, facts["rule"]) == ("CHECKPOINT_INVALID", rule)
    head = "key $." + path.split(".")[0]
    assert facts["where"].startswith(head) or rule in ("L12", "L13")
    assert facts["expected"]


def test_every_row_of_the_table_has_a_refusing_case():
    rows = {f"L{n}" for n in (*range(1, 16), *range(20, 37))}
    assert {rule for rule, _, _ in REFUSED} == rows


def test_the_place_is_exact():
    with pytest.raises(Corrupt) as caught:
        load_snapshot(changed(suspended(), f"{CALL}.commit.record.duration", -1))
    facts = caught.value.facts
    assert facts["where"] == "$.inFlightTasks[0].pendingToolCalls[0].commit.record.duration"
    assert (facts["expected"], facts["found"]) == ("number >= 0", "-1")


NULLABLE = [
    "metadata", "journalRef", "inFlightTasks.0.journalSeq", "inFlightTasks.0.conversationLineage",
    "inFlightTasks.0.pendingToolCalls", "inFlightTasks.0.pendingToolResultText",
    "inFlightTasks.0.finalOutput", "inFlightTasks.0.loopWarned", "inFlightTasks.0.loopDetected",
    "inFlightTasks.0.budgetExceeded", f"{CALL}.commit", f"{ASKED}.approvalRequest",
    f"{ASKED}.approvalDecision", f"{CALL}.commit.delegationUsage",
]  # fmt: skip


@pytest.mark.parametrize("path", NULLABLE)
def test_null_is_present_and_wrong(path):
    with pytest.raises(Corrupt):
        load_snapshot(changed(suspended(), path, None))


def test_rules_of_later_versions_do_not_bind_earlier_ones():
    assert load_snapshot(snapshot(1, inFlightTasks=None, identity=None)).problems == ()
    assert load_snapshot(snapshot(3, pendingApprovals=None, journalRef=5)).problems == ()
    lineage = entry(conversationLineage=[[None]], journalSeq=3)
    assert load_snapshot(snapshot(3, inFlightTasks=[lineage])).problems == ()


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ("L33", commit("c2")),
        ("L34", {**commit(), "result": commit("c2")["result"]}),
        ("L35", commit("c1", "other")),
    ],
    ids=["another id", "a result of another id", "another tool"],
)
def test_idea_03_a_commit_of_another_call_makes_the_snapshot_invalid(rule, wrong):
    """A result is never given to a call it does not belong to."""
    assert load_snapshot(changed(snapshot(), f"{CALL}.commit", commit())).problems == ()
    with pytest.raises(Corrupt) as caught:
        load_snapshot(changed(snapshot(), f"{CALL}.commit", wrong))
    assert caught.value.code == "CHECKPOINT_INVALID"
    assert caught.value.facts["rule"] in {rule, "L34"}


PNG = {"type": "base64", "media_type": "image/png", "data": "aGk="}
URL = {"type": "url", "media_type": "text/plain", "url": "https://example.org/a"}


@pytest.mark.parametrize(
    "parts",
    [
        [{"type": "text", "text": ""}],
        [{"type": "image", "source": PNG}, {"type": "image", "source": URL}],
        [{"type": "file", "filename": "a.txt", "source": URL}],
    ],
)
def test_rich_results_are_accepted(parts):
    """DEV-01: the peer refuses the whole checkpoint."""
    value = changed(snapshot(), f"{CALL}.commit.result.content", parts)
    assert load_snapshot(value).problems == ()
    with pytest.raises(Corrupt):
        load_snapshot(changed(value, f"{CALL}.commit.result.is_error", True))


@pytest.mark.parametrize(
    ("part", "place"),
    [
        (None, "[0]"),
        ({"type": "text"}, "[0].text"),
        ({"type": "image"}, "[0].source"),
        ({"type": "image", "source": PNG | {"data": ""}}, "[0].source.data"),
        ({"type": "image", "source": PNG | {"data": "aGk"}}, "[0].source.data"),
        ({"type": "image", "source": PNG | {"data": "aGl="}}, "[0].source.data"),
        ({"type": "image", "source": PNG | {"data": "a k="}}, "[0].source.data"),
        (
            {"type": "image", "source": PNG | {"media_type": "image/png;q=1"}},
            "[0].source.media_type",
        ),
        ({"type": "image", "source": PNG | {"type": "file"}}, "[0].source.type"),
        ({"type": "image", "source": URL | {"url": "ftp://x/y"}}, "[0].source.url"),
        ({"type": "image", "source": URL | {"url": "http://[x"}}, "[0].source.url"),
        ({"type": "file", "filename": " ", "source": URL}, "[0].filename"),
    ],
)
def test_invalid_rich_parts_are_refused(part, place):
    with pytest.raises(Corrupt) as caught:
        load_snapshot(changed(snapshot(), f"{CALL}.commit.result.content", [part]))
    assert caught.value.facts["where"].endswith(f".content{place}")


# ---- contradictions (W36) ------------------------------------------------------------------------


def codes(value):
    return [(p.code, p.severity) for p in examine_snapshot(value).problems]


def with_queue(*tasks, **more):
    entries = [e for e in [entry()] if any(t["id"] == "t1" for t in tasks)]
    return snapshot(queue=queue(*tasks, **more), inFlightTasks=entries)


REVISION = {
    "id": "x", "version": 1, "triggerTaskId": "t1", "trigger": "failure", "reason": "r",
    "addedTasks": {"a": "t1"}, "retargetedTasks": [{"taskId": "t1", "assignee": "w"}],
    "supersededTaskIds": ["t1"], "createdAt": AT,
}  # fmt: skip


def revised(number=1, **change):
    return with_queue(task(), version=2, planRevision=number, planRevisions=[REVISION | change])


@pytest.mark.parametrize("numbers", [[2], [0], [1, 3], [2, 1], [1, 1], [1, 2, 2]])
def test_idea_28_a_corrupt_revision_sequence_is_refused(numbers):
    """Revisions are numbered 1, 2, 3, ... without a gap, and the queue holds the last number."""

    def plan(versions):
        kept = [REVISION | {"id": f"r{at}", "version": v} for at, v in enumerate(versions)]
        tasks = (task(), task("t2", "pending"))
        return with_queue(*tasks, version=2, planRevision=len(kept), planRevisions=kept)

    whole = list(range(1, len(numbers) + 1))
    assert ("REVISION_NUMBER_WRONG", "error") not in codes(plan(whole))
    with pytest.raises(Corrupt):
        load_snapshot(plan(numbers))
    short = plan(whole)
    short["queue"]["planRevision"] += 1
    with pytest.raises(Corrupt):
        load_snapshot(short)


AGENT_RESULT = {
    "success": True, "output": "", "messages": [], "toolCalls": [],
    "tokenUsage": {"input_tokens": 0, "output_tokens": 0},
}  # fmt: skip


def with_result(**change):
    return snapshot(completedTaskResults=[{"taskId": "t1", "agentResult": AGENT_RESULT} | change])


CONTRADICTIONS = [
    (with_queue(task(), task("t2", "paused")), "TASK_STATUS_UNKNOWN"),
    (with_queue(task(), task("t2", "pending"), task("t2", "pending")), "TASK_ID_TWICE"),
    (with_queue(task(), task("t2", "pending", dependsOn=["t2"])), "GRAPH_SELF_DEPENDENCY"),
    (with_queue(task(), task("t2", "pending", dependsOn=["ghost"])), "GRAPH_UNKNOWN_DEPENDENCY"),
    (
        with_queue(
            task(), task("a", "blocked", dependsOn=["b"]), task("b", "blocked", dependsOn=["a"])
        ),
        "GRAPH_CYCLE",
    ),
    (with_queue(task(assignee=None)), "TASK_FIELD_INVALID"),
    (with_queue(task(priority="urgent")), "TASK_FIELD_INVALID"),
    (with_queue(task(requires={"requiredTools": "x"})), "TASK_FIELD_INVALID"),
    (with_queue(task(requires={"requiredProvider": 1})), "TASK_FIELD_INVALID"),
    (with_queue(task(requires=[])), "TASK_FIELD_INVALID"),
    (with_queue(task(metadata={"apiKey": "x"})), "TASK_METADATA_INVALID"),
    (snapshot(queue=queue(task(), inProgress=None)), "QUEUE_PARTITION_MISSING"),
    (revised(2), "REVISION_COUNT_DIFFERS"),
    (with_queue(task(), version=2, planRevision=0, planRevisions=[]), "REVISION_COUNT_DIFFERS"),
    (revised(version=2), "REVISION_NUMBER_WRONG"),
    (revised(triggerTaskId="ghost"), "REVISION_REFERENCE_UNKNOWN"),
    (revised(addedTasks={"a": "ghost"}), "REVISION_REFERENCE_UNKNOWN"),
    (revised(addedTasks=None), "REVISION_REFERENCE_UNKNOWN"),
    (revised(retargetedTasks=[{"taskId": "ghost"}]), "REVISION_REFERENCE_UNKNOWN"),
    (revised(supersededTaskIds=["ghost"]), "REVISION_REFERENCE_UNKNOWN"),
    (revised(supersededTaskIds="x"), "REVISION_REFERENCE_UNKNOWN"),
    (snapshot(inFlightTasks=[entry(taskId="ghost")]), "ENTRY_OF_UNKNOWN_TASK"),
    (with_queue(task("t1", "completed")), "ENTRY_OF_ENDED_TASK"),
    (snapshot(inFlightTasks=[entry(assignee="other")]), "ENTRY_OF_OTHER_AGENT"),
    (changed(snapshot(), "identity.runId", ""), "RUN_ID_LENGTH"),
    (changed(snapshot(), "identity.runId", "x" * 129), "RUN_ID_LENGTH"),
    (snapshot(1, runId="x" * 129), "RUN_ID_LENGTH"),
    (with_result(agentResult=AGENT_RESULT | {"tokenUsage": {}}), "RESULT_INVALID"),
    (with_result(agentResult=None), "RESULT_INVALID"),
    (with_result(result=5), "RESULT_INVALID"),
    (snapshot(sharedMemory={"version": 2}), "PART_VERSION_UNKNOWN"),
    (snapshot(sharedMemory={"version": 1, "turnCount": 0, "entries": [{}]}), "PART_INVALID"),
    (snapshot(sharedMemory={"version": 1, "turnCount": 0, "entries": [1]}), "PART_INVALID"),
    (snapshot(sharedMemory={"version": 1, "turnCount": "0", "entries": None}), "PART_INVALID"),
    (snapshot(sharedMemory=None), "PART_INVALID"),
    (snapshot(messageBus={"version": 2}), "PART_VERSION_UNKNOWN"),
    (snapshot(messageBus={"version": 1, "messages": [1], "readState": []}), "PART_INVALID"),
    (snapshot(messageBus={"version": 1, "messages": [], "readState": [{}]}), "PART_INVALID"),
    (snapshot(messageBus={"version": 1, "messages": {}}), "PART_INVALID"),
    (snapshot(goal=5), "PART_INVALID"),
    (snapshot(turnCount="1"), "PART_INVALID"),
]


@pytest.mark.parametrize(
    ("value", "code"), CONTRADICTIONS, ids=lambda v: v if isinstance(v, str) else ""
)
def test_contradictions_are_shown_and_refused(value, code):
    assert (code, "error") in codes(value)
    if code == "QUEUE_PARTITION_MISSING":
        assert load_snapshot(value).snapshot["queue"]["inProgress"] == ["t1"]
        return
    with pytest.raises(Corrupt) as caught:
        load_snapshot(value)
    assert caught.value.code == code
    assert caught.value.facts["where"].startswith("$.")


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (with_queue(task(createdAt="n/a")), "TASK_DATE_UNREADABLE"),
        (with_queue(task(updatedAt=None)), "TASK_DATE_UNREADABLE"),
        (with_queue(task(), completed=["t1"]), "QUEUE_PARTITION_DIFFERS"),
        (revised(addedTasks={"session-x": "[redacted]"}), "REVISION_REFERENCE_REDACTED"),
        (with_result(taskId="ghost"), "RESULT_OF_UNKNOWN_TASK"),
    ],
)
def test_what_is_only_odd_is_a_warning(value, code):
    assert [(p.code, p.severity) for p in load_snapshot(value).problems] == [(code, "warning")]


@pytest.mark.parametrize(
    ("path", "new", "where"),
    [
        ("queue.tasks.0", None, "$.queue.tasks[0]"),
        ("queue.tasks.0.id", ..., "$.queue.tasks[0].id"),
        ("queue.tasks.0.id", "", "$.queue.tasks[0].id"),
        ("queue.tasks.0.title", 5, "$.queue.tasks[0].title"),
        ("queue.tasks.0.status", None, "$.queue.tasks[0].status"),
        ("queue.tasks.0.dependsOn", "x", "$.queue.tasks[0].dependsOn"),
        ("completedTaskResults", [None], "$.completedTaskResults[0]"),
        ("completedTaskResults", [{}], "$.completedTaskResults[0].taskId"),
    ],
)
def test_what_cannot_be_shown_is_refused(path, new, where):
    with pytest.raises(Corrupt) as caught:
        examine_snapshot(changed(snapshot(), path, new))
    assert caught.value.facts["where"] == where


@pytest.mark.parametrize("status", ["pending", "blocked"])
def test_state_of_a_task_that_waits_is_accepted(status):
    """W2, DEV-03: the peer refuses the whole checkpoint."""
    assert load_snapshot(with_queue(task("t1", status))).problems == ()


def test_a_cycle_is_told_as_a_path():
    tasks = [task(n, "blocked", dependsOn=[d]) for n, d in (("a", "b"), ("b", "c"), ("c", "a"))]
    problem = examine_snapshot(snapshot(queue=queue(*tasks), inFlightTasks=[])).problems[0]
    assert problem.facts["path"] == ["a", "b", "c", "a"]


# ---- newer versions (cases s10) ------------------------------------------------------------------


def stored(path):
    container = parse_container(path.read_bytes(), path=path.name)
    return next(e.value for e in container.entries if is_checkpoint_key(e.key))


@pytest.mark.parametrize(
    ("name", "code", "versions"),
    [
        ("snapshot-v99", "CHECKPOINT_TOO_NEW", (99, 5)),
        ("queue-v7", "QUEUE_TOO_NEW", (7, 2)),
    ],
)
def test_newer_versions_name_both(name, code, versions):
    with pytest.raises(SchemaTooNew) as caught:
        load_snapshot_text(stored(CASES / f"s10-newer-schema/{name}.json"))
    facts = caught.value.facts
    assert (caught.value.code, (facts["found"], facts["supported"])) == (code, versions)


# ---- real checkpoints ----------------------------------------------------------------------------

STORES = sorted(GOLDEN.glob("*/checkpoint.json"))


@pytest.mark.parametrize("path", STORES, ids=lambda p: p.parent.name)
def test_checkpoints_of_the_peer_load_and_stay_as_they_are(path):
    text = stored(path)
    loaded = load_snapshot_text(text)
    assert stringify(loaded.snapshot) == text
    assert {p.code for p in loaded.problems} <= {"REVISION_REFERENCE_REDACTED"}


OURS = json.loads((GOLDEN / "n_corrupt/ours.json").read_text("utf-8"))


@pytest.mark.parametrize("name", [n for n in OURS if n.startswith("cp-")])
def test_damaged_checkpoints_are_refused_before_a_restore(name):
    path = GOLDEN / "n_corrupt" / name
    if OURS[name]["exit"] == 0 or name == "cp-partitions-missing.json":
        load_snapshot_text(stored(path))
        return
    with pytest.raises(StoreError):
        load_snapshot_text(stored(path))


# ---- our own facts -------------------------------------------------------------------------------


def test_own_facts_are_read_tolerantly():
    good = {
        "usage": {"input_tokens": 1, "output_tokens": 2, "cost": 0.5},
        "verify": {"t1": {"judges": ["a"]}},
        "end": {"status": "ok", "at": AT, "by": "user"},
        "retries": {"t1": 2},
        "fingerprint": {"a": 1},
    }
    assert own_facts(snapshot(omaDesktop=good)) == good
    bad = {
        "usage": {"input_tokens": "1"},
        "end": {"status": "ok"},
        "retries": {"t1": -1},
        "verify": 5,
    }
    assert own_facts(snapshot(omaDesktop=bad | {"fingerprint": {}})) == {"fingerprint": {}}
    for nothing in (None, [], "x", 5):
        assert own_facts(snapshot(omaDesktop=nothing)) == {}
    assert own_facts(snapshot()) == {}
    assert load_snapshot(snapshot(omaDesktop=None)).problems == ()
