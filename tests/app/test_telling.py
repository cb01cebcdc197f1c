"""Which events of a run become bars, which wait in Problems, and which are no notice at all."""

import pytest

from oma_desktop.app.telling import Telling
from oma_desktop.base.sentences import catalogue, describe
from oma_desktop.engine.tasks.judging import JUDGING
from oma_desktop.model.view import RunRef
from oma_desktop.viewmodel.feed import Feed

RUN = RunRef("/x/c.json", "k")


@pytest.fixture
def told():
    feed = Feed()
    telling = Telling(feed)
    telling.run = RUN
    telling.notices = []
    feed.notice.connect(telling.notices.append)
    telling.bus.emit("task_start", agent="writer", task="t1", data={"title": "Letters"})
    return telling


def sentence(notice):
    return describe(notice.code, notice.facts).whole


def test_a_failed_save_is_told_with_its_reason(told):
    facts = {"kind": "checkpoint_save_failed", "code": "STORE_NO_SPACE", "path": "/x/c.json"}
    told.bus.emit("error", data=facts)
    (notice,) = told.notices
    assert (notice.level, notice.code, notice.run) == ("error", "CHECKPOINT_SAVE_FAILED", RUN)
    assert not notice.quiet
    assert "the disk is full" in notice.facts["error"]


BARS = [
    ("error", {"kind": "approval_row_failed", "code": "STORE_NO_SPACE"}, "APPROVAL_ROW_NOT_SAVED"),
    ("error", {"kind": "synthesis_failed", "code": None, "error": "no"}, "ANSWER_FAILED"),
    ("warning", {"code": "CONFIRMATION_MISSING", "tool": "pay"}, "CALL_NOT_CONFIRMED"),
    ("warning", {"code": "APPROVAL_STALE_DECISION", "tool": "pay"}, "APPROVED_CALL_STALE"),
    ("warning", {"code": "VERIFICATION_REJECTED"}, "ANSWER_NOT_ACCEPTED"),
    ("warning", {"code": "ROUTING_FAILED", "error": "maybe"}, "GOAL_ROUTED_BY_WORDING"),
    ("warning", {"code": "PLAN_AGENTS_MISSING", "agents": ["a", "b"]}, "PLAN_AGENTS_MISSING"),
    ("warning", {"code": "RESUME_INPUT_MASKED", "tool": "pay"}, "RESUME_INPUT_MASKED"),
    (
        "budget_exceeded",
        {"code": "TOKEN_BUDGET_EXCEEDED", "used": 12, "budget": 10},
        "RUN_TOKENS_USED_UP",
    ),
    (
        "budget_exceeded",
        {"code": "COST_BUDGET_EXCEEDED", "used": 1.2, "budget": 1.0},
        "COST_BUDGET_EXCEEDED",
    ),
    ("error", {"kind": "recovery_policy_failed", "error": "x"}, "RECOVERY_POLICY_FAILED"),
    ("warning", {"code": "RUN_END_NOT_SAVED"}, "RUN_END_NOT_SAVED"),
    ("plan_revision", {"version": 1, "reason": "gone"}, "PLAN_REPAIRED"),
    (
        "error",
        {"kind": "synthesis_failed", "code": "PROVIDER_REFUSED", "error": "HTTP 400: no"},
        "ANSWER_FAILED",
    ),
]
QUIET = [
    (
        "warning",
        {"code": "INVALID_ASSIGNEE", "assignee": "x", "taskTitle": "Y", "fallback": "z"},
        "ASSIGNEE_REPLACED",
    ),
    ("error", {"kind": "memory_write_failed", "code": "STORE_NO_SPACE"}, "MEMORY_NOTE_NOT_SAVED"),
    ("error", {"kind": "memory_read_failed", "code": "STORE_NO_SPACE"}, "MEMORY_NOTES_NOT_READ"),
    ("loop_detected", {"kind": "tool", "repetitions": 4}, "AGENT_REPEATS"),
    ("task_retry", {"attempt": 1, "error": "down", "nextModel": "small"}, "TASK_GOES_TO_FALLBACK"),
    ("task_retry", {"attempt": 1, "error": "down"}, "TASK_TRIED_AGAIN"),
    ("budget_exceeded", {"used": 12, "budget": 10}, "TOKEN_BUDGET_EXCEEDED"),
    ("warning", {"code": "USAGE_UNKNOWN"}, "USAGE_UNKNOWN"),
    ("warning", {"code": "NEVER_HEARD_OF"}, "NEVER_HEARD_OF"),
]


@pytest.mark.parametrize(("type_", "facts", "code"), BARS)
def test_what_changes_trust_or_the_next_step_gets_a_bar(told, type_, facts, code):
    told.bus.emit(type_, agent="writer", task="t1", data=facts)
    assert [(n.code, n.quiet, n.run) for n in told.notices] == [(code, False, RUN)]
    assert "{" not in sentence(told.notices[0]), "every place of the sentence is filled"


@pytest.mark.parametrize(("type_", "facts", "code"), QUIET)
def test_everything_else_waits_in_problems(told, type_, facts, code):
    told.bus.emit(type_, agent="writer", task="t1", data=facts)
    assert [(n.code, n.quiet) for n in told.notices] == [(code, True)]
    assert "{" not in sentence(told.notices[0])
    assert code in catalogue() or code in sentence(told.notices[0])


def test_what_the_map_shows_is_no_notice(told):
    failed = {"success": False, "errorInfo": {"code": "X", "message": "y"}}
    told.bus.emit("error", agent="writer", task="t1", data=failed)
    told.bus.emit("task_failed", task="t1", data={"reason": "y"})
    told.bus.emit("approval_pending", task="t1", data={"id": "a"})
    told.bus.emit("text_delta", agent="writer", task="t1", data={"text": "a", "kind": "text"})
    assert told.notices == []


def test_a_refused_repair_of_the_plan_is_told_with_its_reason(told):
    facts = {"code": "RECOVERY_PATCH_INVALID", "problem": "PATCH_CYCLE", "cycle": "one -> two"}
    told.bus.emit("warning", task="t1", data={**facts, "error": "PATCH_CYCLE(...)"})
    (notice,) = told.notices
    assert (notice.level, notice.code, notice.quiet) == ("warning", "RECOVERY_PATCH_INVALID", False)
    assert "wait for each other in a circle: one -> two" in notice.facts["error"]


def test_a_judge_speaks_of_the_task_it_judges(told):
    told.bus.emit("loop_detected", agent="j", task=f"t1{JUDGING}1", data={"repetitions": 3})
    assert told.notices[0].facts["task"] == "Letters"
