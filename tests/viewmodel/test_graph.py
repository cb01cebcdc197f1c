"""The map's model, printed as lines."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oma_desktop.model.view import RunRef
from oma_desktop.viewmodel.feed import PLANNING, LiveActivity, LiveRun
from oma_desktop.viewmodel.graph import GraphModel
from oma_desktop.viewmodel.graph_checks import MAX_DEPTH, MAX_NODES, Why
from oma_desktop.viewmodel.graph_focus import Focus
from tests.viewmodel.graph_world import (
    NOW,
    PATH,
    REF,
    T,
    approval,
    now,
    plan,
    stack_plan,
    store,
    task,
    world,
)


class Heard:
    """Counts what a model announced."""

    def __init__(self, model):
        self.rearranged = 0
        self.changed = []
        self.described = 0
        model.rearranged.connect(self._on_rearranged)
        model.changed.connect(self.changed.append)
        model.described.connect(self._on_described)

    def _on_rearranged(self):
        self.rearranged += 1

    def _on_described(self):
        self.described += 1


def make(tasks=(), **more):
    feed, selection = world(tasks, **more)
    model = GraphModel(feed, selection, now=now)
    return feed, selection, model


def put(feed, tasks, **more):
    feed.put(store(tasks, **more))


def with_state(tasks, id_, state):
    return tuple(replace(t, state=state) if t.id == id_ else t for t in tasks)


def test_the_plan_of_the_mock_up():
    _, _, model = make(plan(), approvals=(approval(),))
    assert model.picture.lines() == [
        "14 tasks, 0 hidden",
        "t1 done @0,2",
        "t2 done @1,1.5",
        "t3 done @1,2.5",
        "t4 done @1,0.5",
        "t5 done @1,3.5",
        "t6 replaced @2,0",
        "t13 running @2,2",
        "t7 done @2,1",
        "t8 running @2,3",
        "t9 failed @2,4",
        "t10 needsyou @3,1",
        "t11 waiting waits for 2 @3,2",
        "t12 blocked waits for 2 blocked by Exchange rates @3,3",
        "t14 waiting waits for 3 blocked by Exchange rates @4,2",
        "t1 -> t2 satisfied",
        "t1 -> t3 satisfied",
        "t1 -> t4 satisfied",
        "t1 -> t5 satisfied",
        "t2 -> t6 replaced",
        "t2 -> t13 feeds",
        "t3 -> t13 feeds",
        "t4 -> t7 satisfied",
        "t2 -> t8 feeds",
        "t3 -> t8 feeds",
        "t5 -> t9 satisfied",
        "t2 -> t10 feeds",
        "t7 -> t10 feeds",
        "t7 -> t11 satisfied",
        "t8 -> t11 not_yet",
        "t13 -> t11 not_yet",
        "t8 -> t12 not_yet",
        "t9 -> t12 failed",
        "t10 -> t14 not_yet",
        "t11 -> t14 not_yet",
        "t12 -> t14 not_yet",
    ]
    assert model.picture.nodes["t10"].asked_at == NOW - timedelta(minutes=6)
    assert model.picture.counts == (
        (T.DONE, 6), (T.RUNNING, 2), (T.NEEDS_YOU, 1), (T.FAILED, 1), (T.REPLACED, 1),
        (T.WAITING, 2), (T.BLOCKED, 1),
    )  # fmt: skip


def test_a_state_change_moves_nothing_and_names_the_node():
    feed, _, model = make(plan())
    placed = model.picture.placed
    heard = Heard(model)
    put(feed, with_state(plan(), "t8", T.DONE))
    assert heard.rearranged == 0
    assert heard.changed == [frozenset({"t8", "t11", "t12"})]  # two wait for one task less
    assert heard.described == 1
    assert model.picture.placed is placed
    assert "t8 -> t11 satisfied" in model.picture.lines()


def test_equal_facts_say_nothing():
    feed, _, model = make(plan())
    heard = Heard(model)
    feed.put(replace(store(plan()), revision=2))
    assert (heard.rearranged, heard.changed, heard.described) == (0, [], 0)


def test_a_new_task_moves_nothing():
    feed, _, model = make(plan())
    before = dict(model.picture.placed.geometry.spots)
    heard = Heard(model)
    put(feed, (*plan(), task("t15", "New", needs=["t13"])))
    assert heard.rearranged == 1
    after = model.picture.placed.geometry.spots
    assert {k: after[k] for k in before} == before
    assert after["t15"].column == 3
    model.tidy()
    assert model.picture.placed.geometry.spots != after or heard.rearranged == 2


def test_hiding_done_and_coming_home():
    _, _, model = make(plan())
    home = model.picture.placed.geometry.spots
    model.set_hide_done(True)
    assert model.picture.lines()[:3] == [
        "14 tasks, 6 hidden",
        "t6 replaced @0,4",
        "t13 running @0,0",
    ]
    model.set_hide_done(False)
    assert model.picture.placed.geometry.spots == home


@pytest.mark.parametrize(
    ("focus", "selected", "ids"),
    [
        (Focus.EVERYTHING, None, "t1 t2 t3 t4 t5 t6 t13 t7 t8 t9 t10 t11 t12 t14"),
        (Focus.UNFINISHED, None, "t13 t8 t9 t10 t11 t12 t14"),
        (Focus.AROUND_1, "t8", "t2 t3 t8 t11 t12"),
        (Focus.AROUND_2, "t9", "t1 t5 t9 t12 t14"),
        (Focus.AROUND_3, "t14", "t1 t2 t3 t4 t5 t13 t7 t8 t9 t10 t11 t12 t14"),
        (Focus.AROUND_1, None, "t1 t2 t3 t4 t5 t6 t13 t7 t8 t9 t10 t11 t12 t14"),
        (Focus.CRITICAL_PATH, None, "t1 t2 t8 t11 t14"),
        (Focus.FAILED, None, "t9 t12 t14"),
    ],
)
def test_focus(focus, selected, ids):
    _, selection, model = make(plan())
    selection.select_task(selected)
    model.set_focus(focus)
    assert list(model.picture.nodes) == ids.split()
    assert model.picture.n_hidden == 14 - len(ids.split())


def test_the_focus_around_the_selection_follows_it():
    _, selection, model = make(plan())
    model.set_focus(Focus.AROUND_1)
    selection.select_task("t9")
    assert list(model.picture.nodes) == ["t5", "t9", "t12"]
    selection.select_task("t5")
    assert list(model.picture.nodes) == ["t1", "t5", "t9"]


def test_more_than_eight_like_siblings_are_one_stack():
    _, selection, model = make(stack_plan())
    assert model.picture.lines() == [
        "16 tasks, 0 hidden",
        "r done @0,0",
        "s0 x14 running @1,0",
        "e waiting waits for 3 @2,0",
        "r -> s0 feeds",
        "s0 -> e not_yet",
    ]
    assert model.picture.nodes["s0"].counts() == [(T.DONE, 11), (T.RUNNING, 2), (T.WAITING, 1)]
    selection.select_task("s7")
    assert model.current == "s0"
    model.toggle_stack("s0")
    assert model.current == "s7"
    assert len(model.picture.nodes) == 16
    assert model.opened_stack_of("s7") == "s0"
    assert model.opened_stack_of("r") is None
    model.toggle_stack("s0")
    assert len(model.picture.nodes) == 3
    model.set_grouping(False)
    assert len(model.picture.nodes) == 16


def test_eight_siblings_stay_single_and_later_ones_do_not_fold_them():
    feed, _, model = make(stack_plan(8))
    assert len(model.picture.nodes) == 10
    before = dict(model.picture.placed.geometry.spots)
    put(feed, stack_plan(12))
    after = model.picture.placed.geometry.spots
    assert {k: after[k] for k in before} == before
    assert len(after) == 14
    model.tidy()
    assert len(model.picture.nodes) == 3


def test_a_new_sibling_joins_its_stack_in_place():
    feed, _, model = make(stack_plan(14))
    before = dict(model.picture.placed.geometry.spots)
    heard = Heard(model)
    put(feed, stack_plan(15))
    assert heard.rearranged == 0
    assert model.picture.placed.geometry.spots == before
    assert len(model.picture.nodes["s0"].tasks) == 15


def test_unlike_siblings_do_not_fold():
    tasks = list(stack_plan(12))
    tasks[3] = replace(tasks[3], assignee="somebody else")
    tasks.append(task("only", needs=["s5"]))  # branching
    _, _, model = make(tasks)
    assert [k for k, n in model.picture.nodes.items() if n.is_stack] == ["s0"]
    assert len(model.picture.nodes["s0"].tasks) == 10
    assert {"s2", "s5"} <= model.picture.nodes.keys()


def test_faulty_links_are_listed_and_nothing_is_placed():
    tasks = (
        task("a", needs=["b"]),
        task("b", needs=["a"]),
        task("c", needs=["c"]),
        task("d", needs=["ghost"]),
    )
    _, _, model = make(tasks)
    assert model.picture.placed is None
    assert model.picture.refusal.why is Why.FAULTY
    assert sorted(model.picture.refusal.links) == [
        ("a", "b", "cycle"),
        ("b", "a", "cycle"),
        ("c", "c", "self"),
        ("d", "ghost", "missing"),
    ]


def test_too_deep_is_refused_with_its_number_and_comes_back():
    ids = [f"k{i}" for i in range(MAX_DEPTH + 1)]
    chain = [task("k0"), *(task(b, needs=[a]) for a, b in pairwise(ids))]
    feed, _, model = make(chain)
    refusal = model.picture.refusal
    assert (refusal.why, refusal.n, refusal.limit) == (Why.DEPTH, MAX_DEPTH + 1, MAX_DEPTH)
    assert model.picture.n_tasks == MAX_DEPTH + 1
    put(feed, chain[:MAX_DEPTH])
    assert model.picture.refusal is None
    assert model.picture.placed is not None


def test_too_many_nodes_and_links_are_refused():
    many = [task(f"k{i}", agent=f"a{i}") for i in range(MAX_NODES + 1)]
    _, _, model = make(many)
    assert model.picture.refusal.why is Why.NODES
    last = [t.id for t in many[:175]]
    dense = [*many[:175], *(task(f"z{i}", needs=last, agent=f"z{i}") for i in range(175))]
    _, _, model = make(dense)
    assert model.picture.refusal.why is Why.LINKS


def test_no_run_no_tasks():
    feed, selection, model = make(())
    assert (model.picture.run is not None, model.picture.placed) == (True, None)
    selection.select_run(None)
    assert model.picture.run is None
    heard = Heard(model)
    feed.drop(PATH)
    assert heard.rearranged == 0
    put(feed, plan())
    selection.select_run(REF)
    assert model.picture.placed is not None


def test_live_activity_is_decoration_and_goes_with_its_run():
    feed, _, model = make(plan())
    heard = Heard(model)
    feed.set_live((LiveRun(REF),))
    feed.activity.emit(LiveActivity(REF, "t8", "tool", "http_get"))
    feed.activity.emit(LiveActivity(REF, "t8", "tool", "http_get"))
    assert heard.changed == [frozenset({"t8"})]
    assert (model.heard("t8").kind, model.heard("t8").text) == ("tool", "http_get")
    assert model.heard("t8").at == NOW
    for piece in ("Six", " suppliers"):
        feed.activity.emit(LiveActivity(REF, "t8", "text", piece, {"turn": 7}))
    assert len(heard.changed) == 2
    assert (model.heard("t8").text, model.heard("t8").turn) == ("", 7)
    feed.activity.emit(LiveActivity(REF, "t8", "idle"))
    assert model.heard("t8") is None
    feed.activity.emit(LiveActivity(REF, "t13", "model", ""))
    feed.activity.emit(LiveActivity(RunRef("/other", "k"), "t8", "model", ""))
    assert len(heard.changed) == 4
    feed.set_live(())
    assert model.heard("t13") is None
    assert heard.rearranged == 0


class Lane:
    """Keeps work until the test says so."""

    def __init__(self):
        self.jobs = []

    def __call__(self, work, done):
        self.jobs.append((work, done))

    def run(self, i=0):
        work, done = self.jobs.pop(i)
        done(work())


def wide(n, state=T.WAITING):
    return [task("r"), *(task(f"k{i}", needs=["r"], agent=f"a{i}", state=state) for i in range(n))]


def test_a_big_layout_goes_to_the_lane_and_takes_the_newest_facts():
    feed, selection = world(wide(400))
    lane = Lane()
    model = GraphModel(feed, selection, now=now, offload=lane)
    assert model.is_placing
    assert model.picture.placed is None
    put(feed, wide(400, T.RUNNING))
    assert len(lane.jobs) == 1  # same shape: the layout on its way still serves
    lane.run()
    assert not model.is_placing
    assert model.picture.nodes["k3"].state is T.RUNNING
    assert len(model.picture.placed.geometry.boxes) == 401


def test_a_late_layout_is_dropped_and_the_old_picture_stays_meanwhile():
    feed, selection = world(wide(400))
    lane = Lane()
    model = GraphModel(feed, selection, now=now, offload=lane)
    lane.run()
    put(feed, wide(401))
    put(feed, wide(402))
    assert len(model.picture.placed.geometry.boxes) == 401
    lane.run(1)
    assert len(model.picture.placed.geometry.boxes) == 403
    lane.run()
    assert len(model.picture.placed.geometry.boxes) == 403
    selection.select_run(None)
    assert model.picture.placed is None


def test_of_a_big_run_nothing_is_made_before_the_lane_made_it():
    feed, selection = world(wide(400))
    lane = Lane()
    model = GraphModel(feed, selection, now=now, offload=lane)
    assert (model.picture.nodes, model.picture.edges) == ({}, ())
    assert (model.picture.n_tasks, model.picture.counts) == (401, ((T.WAITING, 401),))
    lane.run()
    assert len(model.picture.nodes) == 401


def test_a_refused_big_run_says_so_after_the_lane_looked():
    feed, selection = world([*wide(400), task("k5x", needs=["ghost"])])
    lane = Lane()
    model = GraphModel(feed, selection, now=now, offload=lane)
    lane.run()
    assert model.picture.refusal is not None
    assert not model.is_placing
    put(feed, wide(400))
    lane.run()
    assert model.picture.refusal is None
    assert model.picture.placed is not None


saves = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(["r", "k3", "k9"]),
            st.sampled_from([T.WAITING, T.RUNNING, T.FAILED, T.DONE]),
            st.integers(0, 2),
        ),
        max_size=3,
    ),
    min_size=1,
    max_size=5,
)


@given(saves, st.booleans())
@settings(max_examples=30, deadline=None)
def test_save_by_save_equals_at_once_with_a_lane(drawn, hide):
    tasks = [*wide(310), *(task(f"s{i}", needs=["k1"]) for i in range(12))]
    feed, selection = world(tasks)
    lane = Lane()
    model = GraphModel(feed, selection, now=now, offload=lane)
    model.set_hide_done(hide)
    for number, changes in enumerate(drawn):
        for id_, state, turns in changes:
            tasks = [replace(t, state=state, turns=turns) if t.id == id_ else t for t in tasks]
        put(feed, tasks)
        if number % 2:
            while lane.jobs:
                lane.run(-1)
    while lane.jobs:
        lane.run()
    fresh = GraphModel(feed, selection, now=now)
    fresh.set_hide_done(hide)
    assert model.picture.nodes == fresh.picture.nodes
    assert model.picture.edges == fresh.picture.edges
    assert model.picture.counts == fresh.picture.counts
    assert model.picture.placed.geometry.boxes.keys() == fresh.picture.nodes.keys()


@given(
    st.lists(
        st.lists(
            st.tuples(
                st.integers(0, 400),
                st.sampled_from([T.WAITING, T.BLOCKED, T.RUNNING, T.FAILED, T.DONE, T.REPLACED]),
                st.sampled_from(["", "Another title"]),
            ),
            max_size=4,
        ),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=60, deadline=None)
def test_save_by_save_equals_at_once_with_stacks_and_failures(drawn):
    tasks = list(stack_plan())
    feed, selection = world(tasks)
    model = GraphModel(feed, selection, now=now)
    for changes in drawn:
        for place_, state, title in changes:
            i = place_ % len(tasks)
            tasks[i] = replace(tasks[i], state=state, title=title or tasks[i].title)
        put(feed, tasks)
    fresh = GraphModel(feed, selection, now=now)
    assert model.picture.nodes == fresh.picture.nodes
    assert model.picture.edges == fresh.picture.edges
    assert model.picture.counts == fresh.picture.counts


def test_a_save_that_moves_no_state_keeps_the_links_and_the_other_nodes():
    feed, selection = world(plan())
    model = GraphModel(feed, selection, now=now)
    before = model.picture
    put(feed, [replace(t, turns=t.turns + 1) if t.id == "t10" else t for t in plan()])
    after = model.picture
    assert after.edges is before.edges
    assert [k for k in after.nodes if after.nodes[k] is not before.nodes[k]] == ["t10"]


def test_a_small_graph_does_not_wait_for_a_lane():
    feed, selection = world(plan())
    lane = Lane()
    assert GraphModel(feed, selection, now=now, offload=lane).picture.placed is not None
    assert lane.jobs == []


def test_who_works_inside_a_task_is_heard_until_its_own_agent_goes_on():
    feed, _, model = make(plan())
    feed.set_live((LiveRun(REF),))
    feed.activity.emit(LiveActivity(REF, "t8", "tool", "delegate_to_agent"))
    feed.activity.emit(LiveActivity(REF, "t8", "tool", "look", agent="expert"))
    assert (model.heard("t8").agent, model.heard("t8").text) == ("expert", "look")
    feed.activity.emit(LiveActivity(REF, "t8", "idle", agent="expert"))
    assert (model.heard("t8").agent, model.heard("t8").text) == (None, "delegate_to_agent")
    feed.activity.emit(LiveActivity(REF, "t8", "model", agent="critic", judging=True))
    assert model.heard("t8").judging
    feed.activity.emit(LiveActivity(REF, "t8", "idle"))
    assert model.heard("t8") is None
    feed.activity.emit(LiveActivity(REF, "t8", "model", agent="critic", judging=True))
    feed.set_live(())
    assert model.heard("t8") is None


def test_the_plan_is_read_while_it_is_written():
    feed, _, model = make(plan())
    feed.set_live((LiveRun(REF),))
    feed.activity.emit(LiveActivity(REF, PLANNING, "model"))
    for piece in ("[Look", ", Write]"):
        feed.activity.emit(LiveActivity(REF, PLANNING, "text", piece))
    assert model.plan_text == "[Look, Write]"
    feed.activity.emit(LiveActivity(REF, PLANNING, "model"))
    assert model.plan_text == "", "a repaired plan begins anew"
    feed.activity.emit(LiveActivity(REF, PLANNING, "text", "x" * 50_000))
    assert 0 < len(model.plan_text) < 50_000
    feed.set_live(())
    assert model.plan_text == ""


@pytest.mark.parametrize(("scope", "part"), [("plan", "tasks"), ("task_round", "nextTasks")])
def test_tasks_of_a_plan_or_round_under_review_wait_for_it(scope, part):
    content = {"kind": scope, part: [{"id": "t13", "title": "x"}], "completedTasks": []}
    request = replace(
        approval(), scope=scope, boundary="b", task_id=None, open=True, content=content
    )
    feed, selection = world(plan(), approvals=(request,))
    model = GraphModel(feed, selection, now=lambda: NOW)
    asked = {key for key, node in model.picture.nodes.items() if node.asked_at is not None}
    assert asked == {"t13"}
