"""What is said aloud: needs you at once, ends politely, at most every three seconds."""

from datetime import UTC, datetime

import pytest

from oma_desktop.model.view import RunState, RunView, StoreView
from oma_desktop.viewmodel.announcer import Announcer
from oma_desktop.viewmodel.feed import Feed
from oma_desktop.viewmodel.runs import RunRows

T0 = datetime(2026, 3, 1, tzinfo=UTC)


class Scene:
    def __init__(self):
        self.now = 100.0
        self.feed = Feed()
        self.runs = RunRows(self.feed)
        self.announcer = Announcer(self.feed, self.runs, monotonic=lambda: self.now)
        self.heard = []
        self.announcer.due.connect(self.heard.append)

    def put(self, name, state, waiting=0):
        run = RunView("k", name, state, n_open_approvals=waiting, saved_at=T0)
        self.feed.put(StoreView(f"/{name}.json", runs=(run,)))

    def names(self):
        return [([r.name for r in a.needs_you], [r.name for r in a.ended]) for a in self.heard]


@pytest.fixture
def scene(qapp):
    made = Scene()
    yield made
    made.announcer._timer.stop()


def test_the_first_sight_of_a_run_says_nothing(scene):
    scene.put("a", RunState.OK)
    scene.put("b", RunState.SUSPENDED, waiting=2)
    assert scene.heard == []


def test_a_run_that_needs_somebody_is_urgent_and_said_once(scene):
    scene.put("a", RunState.RUNNING)
    scene.put("a", RunState.SUSPENDED, waiting=1)
    scene.put("a", RunState.SUSPENDED, waiting=1)
    assert scene.names() == [(["a"], [])]
    assert scene.heard[0].is_urgent


def test_an_end_is_polite(scene):
    scene.put("a", RunState.RUNNING)
    scene.put("a", RunState.ERROR)
    assert scene.names() == [([], ["a"])]
    assert not scene.heard[0].is_urgent


def test_within_three_seconds_news_is_summed_up(scene):
    for name in "abc":
        scene.put(name, RunState.RUNNING)
    scene.put("a", RunState.OK)
    scene.put("b", RunState.OK)
    scene.put("c", RunState.SUSPENDED, waiting=1)
    assert len(scene.heard) == 1
    scene.now += 3.1
    scene.announcer._speak()
    assert scene.names()[1:] == [(["c"], ["b"])]
