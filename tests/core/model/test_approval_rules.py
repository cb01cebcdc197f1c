"""Approval requests, decisions and rows (formats.md 3), and their binding to a checkpoint."""

import copy
import json
import math
from datetime import UTC, datetime
from pathlib import Path

import pytest

from oma_desktop.base.clock import to_ms_iso
from oma_desktop.model import approval_rules as rules
from oma_desktop.model import json_reader
from oma_desktop.model.canonical import canonical, sha256_hex
from oma_desktop.model.container import parse_container
from oma_desktop.model.dates import parse_js_date
from oma_desktop.model.errors import (
    ApprovalError,
    ApprovalInvalid,
    IntegrityMismatch,
    StaleDecision,
)
from oma_desktop.model.json_text import js_trim, parse, replace_halves, stringify
from oma_desktop.model.keys import is_reserved_key

GOLDEN = Path(__file__).parents[2] / "golden"
VECTORS = json.loads((GOLDEN / "vectors/approvals.json").read_text("utf-8"))["vectors"]
AT = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)


def as_javascript(text):
    return json.loads(text, parse_int=json_reader._integer, parse_float=json_reader._double)


@pytest.mark.parametrize(
    "vector", [v for v in VECTORS if "contentJson" in v], ids=lambda v: v["name"]
)
def test_requests_of_the_peer(vector):
    content, output = as_javascript(vector["contentJson"]), vector["output"]
    more = {"reason": vector["reason"]} if "reason" in vector else {}
    request = rules.create_request(
        run_id=vector["runId"],
        scope=vector["scope"],
        boundary=vector["boundary"],
        content=content,
        requested_at=parse_js_date(vector["requestedAt"]),
        **more,
    )
    hashed = {"scope": vector["scope"], "boundary": output["boundary"], "content": content}
    id_input = (output["runId"], vector["scope"], output["boundary"], output["requestHash"])
    assert canonical(hashed) == output["canonicalHashInput"]
    assert "\n".join(map(replace_halves, id_input)) == replace_halves(output["idInput"])
    for name in ("id", "requestHash", "runId", "boundary"):
        assert request[name] == output[name]
    assert list(request)[:7] == [
        "version", "id", "runId", "scope", "boundary", "requestHash", "requestedAt",
    ]  # fmt: skip
    assert rules.validate_request(request, "$") is request


class NotJson:
    """Stands for what JavaScript has and JSON has not: undefined, dates, functions, maps."""


def cyclic():
    loop = {"kind": "tool_call"}
    loop["a"] = loop
    return loop


def tool(**inputs):
    return {"kind": "tool_call", "input": inputs}


REFUSED = {
    "empty runId": {"run_id": "  ", "boundary": "b", "content": tool()},
    "empty boundary": {"boundary": "", "content": tool()},
    "scope/kind mismatch": {"scope": "plan", "content": tool()},
    "reason number": {"scope": "plan", "content": {"kind": "plan"}, "reason": 5},
    "NaN": {"content": tool(n=math.nan)},
    "Infinity": {"content": tool(n=math.inf)},
    "1e999 from JSON text": {"content": tool(n=parse("1e999"))},
    "undefined field": {"content": tool(n=NotJson())},
    "Date": {"content": tool(d=AT)},
    "BigInt": {"content": tool(b=10**400)},
    "function": {"content": tool(f=len)},
    "Map": {"content": tool(m=NotJson())},
    "cycle": {"content": cyclic()},
}


def test_every_refusing_vector_has_its_counterpart():
    refusing = {v["name"] for v in VECTORS if "error" in v.get("output", {})}
    assert refusing == set(REFUSED)


@pytest.mark.parametrize("name", REFUSED)
def test_creation_is_refused_as_in_the_peer(name):
    given = {"run_id": "r", "scope": "tool_call", "boundary": "b", "requested_at": AT}
    with pytest.raises(ApprovalInvalid) as caught:
        rules.create_request(**{**given, **REFUSED[name]})
    assert caught.value.code == "APPROVAL_VALIDATION_ERROR"


def test_idea_41_the_hash_is_of_the_content_only():
    """Neither the order of keys nor the reason nor the moment is part of what is approved."""
    kind = {"run_id": "r", "scope": "tool_call", "boundary": "b"}
    one = tool(a=1, b={"c": [1, 2], "d": None})
    other = {"input": {"b": {"d": None, "c": [1, 2]}, "a": 1}, "kind": "tool_call"}
    first = rules.create_request(**kind, content=one, requested_at=AT, reason="because")
    later = datetime(2027, 1, 1, tzinfo=UTC)
    second = rules.create_request(**kind, content=other, requested_at=later, reason="why not")
    third = rules.create_request(**kind, content=other, requested_at=later)
    assert first["requestHash"] == second["requestHash"] == third["requestHash"]
    assert first["id"] == second["id"] == third["id"]
    assert first["requestedAt"] != second["requestedAt"]
    for changed in (tool(a=1, b={"c": [2, 1], "d": None}), tool(a=1, b={"c": [1, 2]})):
        made = rules.create_request(**kind, content=changed, requested_at=AT, reason="because")
        assert made["requestHash"] != first["requestHash"]
    for wrong in (math.nan, math.inf, NotJson(), AT, {1, 2}, b"x", (1, object())):
        with pytest.raises(ApprovalInvalid):
            rules.create_request(**kind, content=tool(a=wrong), requested_at=AT)


def test_the_same_object_twice_is_fine():
    vector = next(v for v in VECTORS if v["name"] == "same object twice is fine")
    shared = {"x": 1}
    content = tool(a=shared, b=shared)
    got = rules.request_hash("tool_call", "b", content)
    assert got == vector["output"]["requestHash"]
    assert rules.request_id("r", "tool_call", "b", got) == vector["output"]["id"]


def test_vectors_of_the_format_description():
    deploy = {"environment": "staging"}
    content = {
        "kind": "tool_call", "toolName": "deploy", "rawInput": deploy, "input": deploy,
        "agentName": "operator", "taskId": "task-1", "toolCallId": "call-1", "consequential": True,
    }  # fmt: skip
    hash_1 = rules.request_hash("tool_call", "task-1:call-1", content)
    assert hash_1 == "fa826ced7dd18bf33a8577d29217491374964623eaa06d0b8cf08a086102acb4"
    wanted = "apr_e5bc291a3d5a66ff35b802b0f1715fa9"
    assert rules.request_id("run-1", "tool_call", "task-1:call-1", hash_1) == wanted

    at = "2026-01-01T00:00:00.000Z"
    task = {
        "id": "t", "title": "T", "description": "D", "status": "pending", "assignee": "w",
        "createdAt": at, "updatedAt": at,
    }  # fmt: skip
    hash_2 = rules.request_hash("task_dispatch", "t", {"kind": "task_dispatch", "task": task})
    assert hash_2 == "f6f449c37806c8f1df2913c5f09ff081af5b81e27fa21bb26d930c512e32c0a4"
    wanted = "apr_5acd0b5978df806b8da3946eb13bd95f"
    assert rules.request_id("run-1", "task_dispatch", "t", hash_2) == wanted

    raw = parse(
        '{"b":1.0,"a":[1e21,1e-7,0.1,-0,123456789012345680000,1e16,5e-324,true,null],'
        '"\\ue000":"x","\\ud83d\\ude00":"y","é":"\\u0001\\u007f\\u2028\\ud800","10":1,"9":2}'
    )
    content = {
        "kind": "tool_call", "toolName": "t", "rawInput": raw, "input": {}, "agentName": "a",
        "taskId": "t1", "toolCallId": "c1", "consequential": False,
    }  # fmt: skip
    hash_3 = rules.request_hash("tool_call", "t1:c1", content)
    assert hash_3 == "f66c16817fbf1b8bf5db9cb79127af7487ef3259872735310235f7c9feb6339d"
    wanted = "apr_b1a61444e0eb9066d4ae763d930a3a82"
    assert rules.request_id("  run x ", "tool_call", "t1:c1", hash_3) == wanted


def test_lone_surrogates_in_a_run_id_are_hashed_as_javascript_does():
    got = rules.request_id("r\ud83d", "plan", "b", "0" * 64)
    assert got == "apr_" + sha256_hex("r\ufffd\nplan\nb\n" + "0" * 64)[:32]


def sample():
    content = {
        "kind": "tool_call", "toolName": "t", "rawInput": {}, "input": {}, "agentName": "a",
        "taskId": "t1", "toolCallId": "c1", "consequential": False,
    }  # fmt: skip
    return rules.create_request(
        run_id="r",
        scope="tool_call",
        boundary="t1:c1",
        content=content,
        requested_at=AT,
        reason="y",
    )


def rehashed(request, **changes):
    """A request whose hash and id fit its (wrong) content: only the named rule is broken."""
    request.update(changes)
    request["requestHash"] = rules.request_hash(
        request["scope"], request["boundary"], request["content"]
    )
    request["id"] = rules.request_id(
        request["runId"], request["scope"], request["boundary"], request["requestHash"]
    )
    return request


TASK = {
    "id": "t", "title": "T", "description": "D", "status": "pending",
    "createdAt": to_ms_iso(AT), "updatedAt": to_ms_iso(AT),
}  # fmt: skip
PLAN = {"kind": "plan", "continuation": "execute"}
DISPATCH = {"kind": "task_dispatch"}
CONTINUATION = "$.content.continuation"


@pytest.mark.parametrize(
    ("change", "where", "reason"),
    [
        ({"version": 2}, "$.version", "version_unknown"),
        ({"version": True}, "$.version", "version_unknown"),
        ({"id": "apr_x"}, "$.id", "id_form"),
        ({"id": "apr_" + "0" * 32}, "$.id", "id_differs"),
        ({"runId": "r2"}, "$.id", "id_differs"),
        ({"runId": None}, "$.runId", "no_text"),
        ({"boundary": 1}, "$.boundary", "no_text"),
        ({"scope": "other"}, "$.scope", "scope_unknown"),
        ({"scope": "plan"}, "$.content.kind", "kind_differs_from_scope"),
        ({"requestHash": "0" * 64}, "$.requestHash", "hash_differs"),
        ({"requestHash": "A" * 64}, "$.requestHash", "hash_form"),
        ({"requestedAt": "soon"}, "$.requestedAt", "no_date"),
        ({"reason": None}, "$.reason", "no_text"),
        ({"content": []}, "$.content", "no_object"),
        ({"content": {"kind": "x"}}, "$.content.kind", "kind_unknown"),
        ({"content": PLAN | {"continuation": 1}}, CONTINUATION, "continuation_unknown"),
        ({"content": PLAN}, "$.content.tasks", "no_list"),
        ({"content": {"kind": "task_dispatch"}}, "$.content.task", "no_object"),
        ({"content": DISPATCH | {"task": TASK | {"title": 1}}}, "$.content.task.title", "no_text"),
        (
            {"content": {"kind": "task_round", "completedTasks": [TASK], "nextTasks": [TASK, {}]}},
            "$.content.nextTasks[1].id",
            "no_text",
        ),
    ],
)  # fmt: skip
def test_a_stored_request_is_checked_completely(change, where, reason):
    with pytest.raises(IntegrityMismatch) as caught:
        rules.validate_request({**sample(), **change}, "$")
    assert caught.value.code == "APPROVAL_INTEGRITY_ERROR"
    assert (caught.value.facts["where"], caught.value.facts["reason"]) == (where, reason)


@pytest.mark.parametrize(
    "name", ["toolName", "rawInput", "input", "agentName", "taskId", "toolCallId", "consequential"]
)
def test_each_field_of_a_tool_request_is_needed(name):
    request = sample()
    del request["content"][name]
    with pytest.raises(IntegrityMismatch) as caught:
        rules.validate_request(rehashed(request), "$")
    assert caught.value.facts["where"] == f"$.content.{name}"


def test_content_without_canonical_form_is_a_validation_error():
    request = sample()
    request["content"]["input"] = {"n": math.inf}
    with pytest.raises(ApprovalInvalid):
        rules.validate_request(request, "$")


def decide(request=None, **change):
    made = rules.make_decision(
        request or sample(), verdict="approved", reviewer={"id": " me "}, decided_at=AT
    )
    return {**made, **change}


def test_a_decision_has_the_peers_form():
    decision = rules.make_decision(
        sample(),
        verdict="rejected",
        reviewer={"id": " me\u00a0", "displayName": " Me "},
        decided_at=AT,
    )
    request = sample()
    assert stringify(decision) == (
        f'{{"version":1,"requestId":"{request["id"]}","runId":"r","scope":"tool_call",'
        f'"requestHash":"{request["requestHash"]}","decision":"rejected",'
        '"reviewer":{"id":"me","displayName":" Me "},"decidedAt":"2026-01-02T03:04:05.678Z"}'
    )
    assert rules.validate_decision(decision, "$", request) is decision
    with pytest.raises(ApprovalInvalid):
        rules.make_decision(request, verdict="approved", reviewer={"id": " \t"}, decided_at=AT)


@pytest.mark.parametrize(
    ("change", "where", "error"),
    [
        ({"version": 0}, "$.version", IntegrityMismatch),
        ({"requestId": "x"}, "$.requestId", IntegrityMismatch),
        ({"requestId": "apr_" + "0" * 32}, "$.requestId", IntegrityMismatch),
        ({"runId": " "}, "$.runId", IntegrityMismatch),
        ({"runId": "r2"}, "$.runId", IntegrityMismatch),
        ({"scope": "plan"}, "$.scope", IntegrityMismatch),
        ({"requestHash": "0" * 64}, "$.requestHash", IntegrityMismatch),
        ({"decision": "approve"}, "$.decision", IntegrityMismatch),
        ({"decidedAt": "x"}, "$.decidedAt", IntegrityMismatch),
        ({"reviewer": None}, "$.reviewer", ApprovalInvalid),
        ({"reviewer": {"id": " "}}, "$.reviewer.id", ApprovalInvalid),
        ({"reviewer": {"id": "a", "displayName": None}}, "$.reviewer.displayName", ApprovalInvalid),
    ],
)
def test_a_stored_decision_is_checked_completely(change, where, error):
    with pytest.raises(error) as caught:
        rules.validate_decision(decide(**change), "$", sample())
    assert caught.value.facts["where"] == where


def test_a_row_must_carry_the_id_of_its_key():
    request = sample()
    row = {"version": 1, "request": request, "decision": decide()}
    assert rules.validate_row(row, "$", expected_id=request["id"]) is row
    for broken in ({**row, "version": 2}, {**row, "decision": None}, {"version": 1}, []):
        with pytest.raises(ApprovalError):
            rules.validate_row(broken, "$", expected_id=request["id"])
    with pytest.raises(IntegrityMismatch) as caught:
        rules.validate_row(row, "$", expected_id="apr_" + "1" * 32)
    assert caught.value.facts["reason"] == "id_differs_from_key"


def test_a_row_that_is_no_json_is_an_integrity_error():
    with pytest.raises(IntegrityMismatch) as caught:
        rules.parse_row("{", "$", expected_id="apr_x")
    assert caught.value.facts["reason"] == "JSON_TRUNCATED"


# ---- binding to the checkpoint -------------------------------------------------------------------


def stored(name):
    container = parse_container((GOLDEN / name / "checkpoint.json").read_bytes(), path=name)
    values = {e.key: parse(e.value) for e in container.entries if is_reserved_key(e.key)}
    snapshot = next(v for k, v in values.items() if k.startswith("__oma_checkpoint__/"))
    rows = [v for k, v in values.items() if k.startswith("__oma_approval__/")]
    return snapshot, rows


def has_pending(path):
    return bool(stored(path.parent.name)[0].get("pendingApprovals"))


SUSPENDED = [p.parent.name for p in sorted(GOLDEN.glob("[cd]*/checkpoint.json")) if has_pending(p)]


@pytest.mark.parametrize("name", SUSPENDED)
def test_pending_requests_of_the_peer_fit_their_checkpoint(name):
    snapshot, rows = stored(name)
    for request in snapshot["pendingApprovals"]:
        rules.validate_request(request, "$")
        rules.check_request(snapshot, request)
        assert rules.rebuild_content(snapshot, request) == request["content"]
        row = next(r for r in rows if r["request"]["id"] == request["id"])
        rules.check_same_request(request, row["request"])


def test_all_four_scopes_are_covered():
    scopes = {r["scope"] for n in SUSPENDED for r in stored(n)[0]["pendingApprovals"]}
    assert scopes == set(rules.SCOPES)


def stale(snapshot, request):
    with pytest.raises(StaleDecision) as caught:
        rules.check_request(snapshot, request)
    assert caught.value.code == "APPROVAL_STALE_DECISION"
    return caught.value.facts["reason"]


def mismatch(snapshot, request):
    with pytest.raises(IntegrityMismatch) as caught:
        rules.check_request(snapshot, request)
    return caught.value.facts["reason"]


def pending(name):
    snapshot, _ = stored(name)
    snapshot = copy.deepcopy(snapshot)
    return snapshot, snapshot["pendingApprovals"][0]


def test_a_changed_task_makes_the_approval_of_its_dispatch_stale():
    snapshot, request = pending("d1_dispatch_gate_1_suspended")
    task = next(t for t in snapshot["queue"]["tasks"] if t["id"] == request["boundary"])
    task["updatedAt"] = "2026-01-01T00:00:00.000Z"
    assert stale(snapshot, request) == "content_changed"
    snapshot["queue"]["tasks"].remove(task)
    assert stale(snapshot, request) == "task_gone"


def test_another_run_is_an_integrity_error():
    snapshot, request = pending("d1_dispatch_gate_1_suspended")
    snapshot["identity"]["runId"] = "other"
    assert mismatch(snapshot, request) == "other_run"


def test_a_plan_has_one_boundary_and_all_tasks():
    snapshot, request = pending("d2_plan_gate_1_suspended")
    assert mismatch(snapshot, {**request, "boundary": "p"}) == "boundary_differs"
    snapshot["queue"]["tasks"].pop()
    assert stale(snapshot, request) == "content_changed"


def test_a_round_is_bound_by_its_ids():
    snapshot, request = pending("d4_round_gate_1_suspended")
    assert mismatch(snapshot, {**request, "boundary": "a->b"}) == "boundary_differs"
    snapshot["queue"]["tasks"][0]["result"] = "x"
    assert stale(snapshot, request) == "content_changed"
    snapshot["queue"]["tasks"].pop(0)
    assert stale(snapshot, request) == "task_gone"


def tool_case():
    snapshot, request = pending("c_tool_gate_1_suspended")
    entry = next(
        e for e in snapshot["inFlightTasks"] if e["taskId"] == request["content"]["taskId"]
    )
    call_id = request["content"]["toolCallId"]
    call = next(c for c in entry["pendingToolCalls"] if c["call"]["id"] == call_id)
    return snapshot, request, entry, call


def test_a_tool_call_is_bound_in_every_field():
    snapshot, request, _, call = tool_case()
    call["call"]["input"]["version"] = "9.9.9"
    assert stale(snapshot, request) == "content_changed"

    snapshot, request, _, call = tool_case()
    call["call"]["name"] = "other"
    assert stale(snapshot, request) == "other_tool"

    snapshot, request, entry, _ = tool_case()
    entry["assignee"] = "other"
    assert stale(snapshot, request) == "other_agent"

    snapshot, request, _, call = tool_case()
    call["call"]["id"] = "other"
    assert stale(snapshot, request) == "call_gone"

    snapshot, request, _, call = tool_case()
    del call["approvalRequest"]
    assert stale(snapshot, request) == "other_request"
    call["commit"] = {}
    assert stale(snapshot, request) == "call_committed"

    snapshot, request, _, _ = tool_case()
    assert stale(snapshot, {**request, "boundary": "x"}) == "boundary_differs"
    snapshot["inFlightTasks"] = []
    assert stale(snapshot, request) == "no_state_of_task"


def test_a_checkpointed_decision_must_be_the_ledgers():
    decision = decide()
    row = {"version": 1, "request": sample(), "decision": decide()}
    rules.check_same_decision(decision, row)
    other = {**row, "decision": decide(decidedAt="2026-01-02T03:04:05.679Z")}
    for wrong in (None, {"version": 1, "request": sample()}, other):
        with pytest.raises(IntegrityMismatch) as caught:
            rules.check_same_decision(decision, wrong)
        assert caught.value.facts["reason"] == "decision_not_in_ledger"


def test_a_changed_reason_is_another_request():
    request = sample()
    with pytest.raises(IntegrityMismatch):
        rules.check_same_request(request, {**request, "reason": "z"})
    assert js_trim(request["runId"]) == "r"
