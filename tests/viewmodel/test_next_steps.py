"""The next step is offered once, when it is one, and never taken (ux.md C8)."""

from dataclasses import replace

import pytest

from oma_desktop.model.view import OwnerKind, RunRef, RunState, RunView
from oma_desktop.viewmodel.feed import DecisionOutcome, LiveRun
from oma_desktop.viewmodel.next_steps import NextSteps
from tests.viewmodel.review_world import STORE, World, approved, request, store

pytestmark = pytest.mark.usefixtures("qapp")

REF = RunRef(STORE, "__oma_checkpoint__/q3-supply-risk/latest")


class Room:
    def __init__(self, *requests):
        self.world, self.told = World(*requests), []
        self.feed = self.world.feed
        self.steps = NextSteps(self.feed)
        self.feed.notice.connect(self.told.append)

    def decided(self, request_id, *, ok=True):
        self.feed.decided.emit(DecisionOutcome(STORE, request_id, ok=ok))

    def codes(self):
        return [(n.level, n.code, n.run) for n in self.told]


def test_after_the_last_decision_the_way_on_is_offered():
    a, b = request("a"), request("b")
    room = Room(a, b)
    room.decided("apr_a")
    room.world.put(approved(a), b)
    assert room.codes() == [], "another decision still waits"
    room.decided("apr_b")
    assert room.codes() == [], "the file does not say so yet"
    room.world.put(approved(a), approved(b))
    assert room.codes() == [("info", "DECISION_RECORDED_RESUME", REF)]
    room.world.put(approved(a), approved(b), request("c"))
    assert len(room.told) == 1


def test_a_refused_decision_and_one_made_elsewhere_offer_nothing():
    room = Room(request("a"))
    room.decided("apr_a", ok=False)
    room.world.put(approved(request("a")))
    assert room.told == []


def test_a_run_that_goes_on_by_itself_needs_no_offer():
    room = Room(request("a"))
    room.feed.set_live((LiveRun(REF),))
    room.decided("apr_a")
    room.world.put(approved(request("a")))
    assert room.told == []


def stopped(n, *, owner=OwnerKind.NO_WRITER):
    made = store(path=f"/runs/{n}.json", owner=owner)
    return replace(made, runs=(RunView(f"key{n}", f"run-{n}", RunState.INTERRUPTED),))


def test_runs_without_an_end_are_told_once_and_counted():
    room = Room()
    room.feed.put(stopped(1))
    room.feed.put(stopped(2))
    room.feed.put(stopped(3, owner=OwnerKind.OTHER_PROCESS))
    assert room.told == [], "the first look is not over"
    room.steps.tell_interrupted()
    room.steps.tell_interrupted()
    assert [(n.code, n.facts) for n in room.told] == [("RUNS_INTERRUPTED", {"n": 2})]


def test_one_run_without_an_end_is_named():
    room = Room()
    room.feed.put(stopped(1))
    room.steps.tell_interrupted()
    assert [(n.code, n.facts) for n in room.told] == [("RUN_INTERRUPTED", {"run": "run-1"})]
