"""Resume stays off while one item may run twice undecided; one press, one intent (ux.md C8)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from oma_desktop.model.resume import CallItem, NeedsYouItem, ResumePlan, TaskItem
from oma_desktop.model.view import (
    Effect,
    Owner,
    OwnerKind,
    RunRef,
    RunState,
    RunView,
    StoreView,
)
from oma_desktop.viewmodel.feed import Feed, LiveRun
from oma_desktop.viewmodel.resume import Line, Obstacle, ResumeModel, preselected, summaries
from tests.viewmodel.review_world import START, ScriptedCommands

KEY = "__oma_checkpoint__/nightly-audit/latest"
REF = RunRef("/runs/nightly-audit/checkpoint.json", KEY)


def call(name: str, effect: Effect = Effect.UNKNOWN, **changes: Any) -> CallItem:
    item = CallItem(
        "t1", "Publish", "writer", name, "bash", {"command": "git push"}, effect, "cannot_tell"
    )
    return replace(item, **changes)


def plan(*twice: CallItem, **changes: Any) -> ResumePlan:
    done = TaskItem("t0", "Research", "analyst", "completed", "completed")
    made = ResumePlan("nightly-audit", 2, 3, 4, kept=(done,), may_run_twice=twice)
    return replace(made, **changes)


class Planner(ScriptedCommands):
    """Counts what is asked for; plans are given by the test."""

    asked: int = 0

    def request_resume_plan(self, run: RunRef) -> None:
        assert run == REF
        self.asked += 1


class Table:
    def __init__(self, first: ResumePlan | None = None) -> None:
        self.feed, self.commands = Feed(), Planner()
        self.put()
        self.model = ResumeModel(REF, feed=self.feed, commands=self.commands)
        if first is not None:
            self.give(first)

    def put(self, owner: OwnerKind = OwnerKind.NO_WRITER, **changes: Any) -> None:
        run = RunView(
            key=KEY, run_id="nightly-audit", state=RunState.INTERRUPTED, attempt=2, saved_at=START
        )
        self.feed.put(StoreView(REF.store, runs=(replace(run, **changes),), owner=Owner(owner)))

    def give(self, made: ResumePlan) -> None:
        self.feed.plan_ready.emit((REF, made))


@pytest.mark.parametrize(
    ("effect", "approved_by", "chosen"),
    [
        (Effect.READ_ONLY, None, True),
        (Effect.REPEATABLE, None, True),
        (Effect.CONSEQUENTIAL, None, False),
        (Effect.UNKNOWN, None, False),
        (Effect.READ_ONLY, "operator-1", False),
        (Effect.CONSEQUENTIAL, "operator-1", False),
    ],
)
def test_only_what_does_no_harm_is_preselected(
    effect: Effect, approved_by: str | None, *, chosen: bool
) -> None:
    assert preselected(call("c", effect, approved_by=approved_by)) is chosen


def test_a_masked_input_is_never_preselected() -> None:
    assert not preselected(call("c", Effect.READ_ONLY, masked=True))


def test_undecided_items_keep_resume_off() -> None:
    push, fetch = call("c1"), call("c2", Effect.READ_ONLY)
    table = Table(plan(push, fetch))
    assert table.model.obstacle is Obstacle.UNDECIDED
    assert table.model.undecided == (push,)
    assert not table.model.resume()
    table.model.choose(push, again=True)
    assert table.model.obstacle is None
    table.model.choose(fetch, again=False)
    assert table.model.obstacle is Obstacle.UNDECIDED
    table.model.choose(fetch, again=True)
    assert table.model.resume()
    (intent,) = table.commands.resumed
    assert (intent.run, intent.run_again, intent.retry_failed) == (REF, ("c1", "c2"), False)


def test_resume_is_asked_for_once() -> None:
    table = Table(plan())
    assert table.model.resume()
    assert not table.model.resume()
    assert table.model.obstacle is Obstacle.SENT
    assert len(table.commands.resumed) == 1


def test_equal_call_ids_of_two_tasks_are_two_items() -> None:
    first, second = call("c1"), call("c1", task_id="t2")
    table = Table(plan(first, second))
    table.model.choose(first, again=True)
    assert table.model.undecided == (second,)


def test_a_changed_file_asks_for_a_new_plan_and_forgets_answers_to_changed_items() -> None:
    push = call("c1")
    table = Table(plan(push))
    table.model.choose(push, again=True)
    assert table.commands.asked == 1
    table.put(attempt=3)
    assert table.commands.asked == 2
    assert table.model.obstacle is Obstacle.STALE
    table.give(plan(push, attempt=3))
    assert table.model.obstacle is None, "the same item keeps its answer"
    table.put(attempt=4)
    table.give(plan(call("c1", input={"command": "rm -rf /"})))
    assert table.model.obstacle is Obstacle.UNDECIDED


@pytest.mark.parametrize(
    ("owner", "obstacle"),
    [
        (OwnerKind.OTHER_PROCESS, Obstacle.OWNED),
        (OwnerKind.THIS_APP, None),
        (OwnerKind.NO_WRITER, None),
    ],
)
def test_owner_rule(owner: OwnerKind, obstacle: Obstacle | None) -> None:
    table = Table()
    table.put(owner)
    table.give(plan())
    assert table.model.obstacle is obstacle


def test_other_obstacles() -> None:
    table = Table()
    assert table.model.obstacle is Obstacle.NO_PLAN
    table.give(plan(needs_you=(NeedsYouItem("apr_a", "tool_call", "t1", "Publish", "bash"),)))
    assert table.model.obstacle is Obstacle.WAITS
    table.give(plan())
    table.feed.set_live((LiveRun(REF),))
    assert table.model.obstacle is Obstacle.RUNNING
    table.feed.set_live(())
    table.put(readable=False)
    assert table.model.obstacle is Obstacle.UNREADABLE
    table.feed.drop(REF.store)
    assert table.model.obstacle is Obstacle.GONE


def test_a_plan_of_another_run_is_ignored() -> None:
    table = Table()
    table.feed.plan_ready.emit((RunRef("/else", KEY), plan()))
    assert table.model.plan is None


def test_rows_of_a_plan() -> None:
    made = plan(call("c1"), denied=(call("c2"),), will_run=())
    assert [(s.line, s.n) for s in summaries(made)] == [
        (Line.KEPT, 1),
        (Line.REPLAYED, 0),
        (Line.ASKED, 0),
        (Line.TASKS_WILL_RUN, 0),
        (Line.DENIED, 1),
        (Line.MAY_RUN_TWICE, 1),
    ]


def test_every_list_of_a_plan_has_a_row() -> None:
    """Nothing a restore does may be missing from the screen."""
    task = TaskItem("t", "T", None, "pending", "not_started")
    lists: dict[str, tuple[Any, ...]] = {
        "kept": (task,),
        "replayed": (call("a"),),
        "asked": (task,),
        "will_run": (task,),
        "calls_will_run": (call("b"),),
        "needs_you": (NeedsYouItem("apr_a", "plan", None, None, None),),
        "may_run_twice": (call("c"),),
        "denied": (call("d"),),
        "tasks_run_again": (task,),
        "stay_failed": (task,),
    }
    assert set(lists) == {
        name for name, kind in ResumePlan.__annotations__.items() if "Item" in str(kind)
    }
    made = replace(plan(), **lists)
    assert {s.line for s in summaries(made)} == set(Line)
    assert all(s.n == 1 for s in summaries(made))


def test_a_closed_dialog_hears_nothing() -> None:
    table = Table(plan())
    table.model.close()
    table.put(attempt=9)
    assert table.commands.asked == 1
