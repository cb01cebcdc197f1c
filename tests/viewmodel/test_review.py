"""The rules of ux.md C7 as a machine: arming, stale content, owner rule, undo, exactly once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oma_desktop.model.view import Effect, OwnerKind, Problem
from oma_desktop.viewmodel.feed import DecisionOutcome
from oma_desktop.viewmodel.review import Bar, Phase, needs_hold
from oma_desktop.viewmodel.review_model import ReviewModel
from tests.viewmodel.review_world import STORE, World, approved, request, store_requests


def why(model: ReviewModel, verdict: str = "approve") -> Bar | None:
    return model.review.bar(verdict, model.now)


def test_approve_arms_only_when_shown_activated_and_settled() -> None:
    world = World(request("a"))
    model = world.model()
    assert why(model) is Bar.NOT_SHOWN
    model.content_shown()
    assert why(model) is Bar.NOT_ACTIVATED
    model.activate()
    assert why(model) is Bar.TOO_SOON
    world.wait(0.99, model)
    assert why(model) is Bar.TOO_SOON
    world.wait(0.01, model)
    assert why(model) is None


def test_reject_needs_no_reading_to_the_end_but_everything_else() -> None:
    world = World(request("a"))
    model = world.model()
    assert why(model, "reject") is Bar.NOT_ACTIVATED
    model.activate()
    world.wait(1.0, model)
    assert why(model, "reject") is None


def test_losing_the_window_disarms_and_coming_back_settles_anew() -> None:
    world = World(request("a"))
    model = world.armed()
    model.deactivate()
    assert why(model) is Bar.NOT_ACTIVATED
    model.activate()
    assert why(model) is Bar.TOO_SOON


def test_typing_keeps_it_off() -> None:
    world = World(request("a"))
    model = world.armed()
    model.field_focus(inside=True)
    assert why(model) is Bar.TYPING
    model.typed()
    model.field_focus(inside=False)
    assert why(model) is Bar.TYPING
    world.wait(1.0, model)
    assert why(model) is None


def test_every_change_of_a_reason_is_announced() -> None:
    world = World(request("a"))
    model = world.armed()
    reasons: list[Bar | None] = []
    model.changed.connect(lambda: reasons.append(why(model)))
    model.typed()
    world.wait(1.0, model)
    assert reasons == [Bar.TYPING, None]


def test_the_decision_is_sent_after_the_undo_time_and_once() -> None:
    world = World(request("a"))
    model = world.armed()
    assert model.press("approve", held=True)
    world.wait(4.9, model)
    assert world.commands.decided == []
    world.wait(0.1, model)
    world.wait(9, model)
    (intent,) = world.commands.decided
    assert (intent.store, intent.request_id, intent.verdict) == (STORE, "apr_a", "approve")
    assert intent.request_hash == request("a").request_hash
    assert intent.reviewer_id == "operator-1"
    assert why(model) is Bar.SENT


def test_the_file_is_looked_at_again_before_writing() -> None:
    world = World(request("a"))
    world.armed().press("approve", held=True)
    assert world.commands.looks == 1


@pytest.mark.parametrize(("undo_s", "kept"), [(-1, 0), (0, 0), (12, 12), (99, 30)])
def test_undo_time_is_kept_between_0_and_30(undo_s: float, kept: float) -> None:
    world = World(request("a"))
    model = world.armed(undo_s=undo_s)
    model.press("reject")
    assert len(world.commands.decided) == (1 if kept == 0 else 0)
    world.wait(kept, model)
    assert len(world.commands.decided) == 1


def test_undo_takes_it_back_and_another_press_is_needed() -> None:
    world = World(request("a"))
    model = world.armed()
    model.press("approve", held=True)
    world.wait(2, model)
    model.undo()
    world.wait(10, model)
    assert world.commands.decided == []
    assert why(model) is None
    assert model.press("approve", held=True)


def test_the_second_half_of_a_double_click_is_no_undo() -> None:
    world = World(request("a"))
    model = world.armed()
    model.press("approve", held=True)
    world.wait(0.3, model)
    model.undo()
    assert model.review.phase is Phase.RECORDING


def test_a_click_is_not_a_hold() -> None:
    world = World(request("a"))
    model = world.armed()
    assert not model.press("approve")
    assert model.review.phase is Phase.READING


def test_the_typed_code_is_the_twin_of_holding() -> None:
    world = World(request("a"))
    model = world.armed()
    model.set_code("9c4")
    assert not model.press("approve")
    model.set_code(" 9C41 ")
    assert model.press("approve")


@pytest.mark.parametrize(
    ("effect", "consequential", "hold"),
    [
        (Effect.CONSEQUENTIAL, False, True),
        (Effect.UNKNOWN, False, True),
        (Effect.READ_ONLY, True, True),
        (Effect.READ_ONLY, False, False),
        (Effect.REPEATABLE, False, False),
    ],
)
def test_who_needs_a_hold(effect: Effect, *, consequential: bool, hold: bool) -> None:
    world = World(request("a", effect=effect, consequential=consequential))
    assert needs_hold(world.model().review.shown) is hold


def test_a_plan_is_approved_by_a_plain_press() -> None:
    plan = request("a", scope="plan", content={"kind": "plan", "tasks": []}, effect=Effect.UNKNOWN)
    world = World(plan)
    assert world.armed().press("approve")


# -- the request moves while it is being read ------------------------------------------------------


def test_changed_content_stops_everything_and_starts_over() -> None:
    world = World(request("a"))
    model = world.armed()
    model.press("approve", held=True)
    changed = request("a", tool_input={"to": "y@example.com"})
    world.put(changed)
    assert why(model) is Bar.CHANGED
    world.wait(10, model)
    assert world.commands.decided == []
    assert model.review.shown.request.content["input"] == {"to": "x@example.com"}
    model.start_over()
    assert model.review.shown.request == changed
    assert why(model) is Bar.NOT_SHOWN


def test_one_changed_byte_that_only_the_hash_tells_is_refused() -> None:
    world = World(request("a"))
    model = world.armed()
    world.put(request("a", hash_matches=False))
    assert why(model) is why(model, "reject") is Bar.HASH


def test_true_is_not_one() -> None:
    world = World(request("a", tool_input={"force": True}))
    model = world.armed()
    world.put(request("a", tool_input={"force": 1}, hash_matches=False))
    assert why(model) is Bar.CHANGED


def test_content_that_comes_back_is_fine_but_settles_anew() -> None:
    world = World(request("a"))
    model = world.armed()
    world.put(request("a", tool_input={}))
    world.put(request("a"))
    assert why(model) is Bar.TOO_SOON


@pytest.mark.parametrize(
    ("change", "bar"),
    [
        ({"hash_matches": False}, Bar.HASH),
        ({"matches_checkpoint": False}, Bar.CHECKPOINT),
        ({"problem": Problem("APPROVAL_INTEGRITY_ERROR", "error")}, Bar.DAMAGED),
        ({"open": False}, Bar.GONE),
    ],
)
def test_both_buttons_are_off(change: dict[str, object], bar: Bar) -> None:
    world = World(replace(request("a"), **change))
    model = world.armed()
    assert why(model) is why(model, "reject") is bar
    assert not model.press("approve", held=True)
    assert not model.press("reject")


def test_no_checkpoint_to_compare_with_is_no_mismatch() -> None:
    assert why(World(request("a", matches_checkpoint=None)).armed()) is None


def test_another_live_process_owns_the_store() -> None:
    world = World(request("a"), owner=OwnerKind.OTHER_PROCESS)
    model = world.armed()
    assert why(model) is Bar.OWNED
    world.put(request("a"), owner=OwnerKind.NO_WRITER)
    assert why(model) is Bar.TOO_SOON


def test_an_owner_that_appears_stops_the_countdown() -> None:
    world = World(request("a"))
    model = world.armed()
    model.press("approve", held=True)
    world.put(request("a"), owner=OwnerKind.OTHER_PROCESS)
    world.wait(10, model)
    assert world.commands.decided == []


def test_decided_elsewhere_shows_the_winner() -> None:
    world = World(request("a"))
    model = world.armed()
    model.press("approve", held=True)
    world.put(approved(request("a"), verdict="rejected"))
    world.wait(10, model)
    assert world.commands.decided == []
    assert why(model) is Bar.DECIDED
    current = model.review.current
    assert current is not None
    assert current.request.reviewer_id == "operator-2"


def test_a_request_that_is_gone() -> None:
    world = World(request("a"), request("b"))
    model = world.armed()
    world.put(request("b"))
    assert why(model) is Bar.GONE


def test_the_successor_of_a_stale_request_is_offered() -> None:
    world = World(request("a"))
    model = world.armed()
    newer = request("n", boundary=request("a").boundary)
    world.put(request("a", open=False), newer)
    assert model.successor is not None
    assert model.successor.request.id == "apr_n"
    assert model.show(model.successor.key)
    assert why(model) is Bar.NOT_SHOWN


def test_beats_of_the_owner_do_not_disarm() -> None:
    world = World(request("a"), owner=OwnerKind.THIS_APP)
    model = world.armed()
    view = world.feed.stores()[0]
    world.feed.put(replace(view, owner=replace(view.owner, heartbeat_at=world.clock.now())))
    assert why(model) is None


def test_a_refused_decision_opens_the_review_again() -> None:
    world = World(request("a"))
    model = world.armed(undo_s=0)
    model.press("approve", held=True)
    world.feed.decided.emit(DecisionOutcome(STORE, "apr_a", ok=False, code="store.locked"))
    assert model.review.failure is not None
    assert why(model) is Bar.TOO_SOON
    world.wait(1, model)
    assert why(model) is None


def test_somebody_elses_outcome_means_nothing() -> None:
    world = World(request("a"), request("b"))
    model = world.armed(undo_s=0)
    model.press("approve", held=True)
    world.feed.decided.emit(DecisionOutcome(STORE, "apr_b", ok=False, code="x"))
    world.feed.decided.emit(DecisionOutcome("/else", "apr_a", ok=False, code="x"))
    assert model.review.phase is Phase.SENT


def test_without_a_reviewer_nothing_can_be_decided() -> None:
    world = World(request("a"))
    world.reviewer = replace(world.reviewer, id="  ")
    assert why(world.armed()) is Bar.NO_REVIEWER


# -- two requests, two windows (case s38) ----------------------------------------------------------


def test_s38_twice_approve_is_one_decision() -> None:
    world = World(request("a"), request("b"))
    model = world.armed()
    assert model.press("approve", held=True)
    assert not model.press("approve", held=True)
    world.wait(5, model)
    assert [d.request_id for d in world.commands.decided] == ["apr_a"]


def test_s38_approve_then_deny_is_the_first() -> None:
    world = World(request("a"), request("b"))
    model = world.armed()
    model.press("approve", held=True)
    world.wait(0.05, model)
    assert not model.press("reject")
    world.wait(5, model)
    assert [d.verdict for d in world.commands.decided] == ["approve"]


def test_s38_two_windows_cannot_both_decide() -> None:
    world = World(request("a"), request("b"))
    first, second = world.armed(), world.armed()
    assert first.press("approve", held=True)
    assert why(second, "reject") is Bar.OTHER_WINDOW
    assert not second.press("reject")
    world.wait(5, first, second)
    assert [d.verdict for d in world.commands.decided] == ["approve"]


def test_a_closed_window_sends_nothing_and_frees_the_request() -> None:
    world = World(request("a"))
    first, second = world.armed(), world.armed()
    first.press("approve", held=True)
    first.close()
    world.wait(9, first, second)
    assert world.commands.decided == []
    assert second.press("approve", held=True)


def test_the_next_request_starts_unarmed() -> None:
    world = World(request("a"), request("b"))
    model = world.armed()
    assert model.position == (1, 2)
    assert model.go(1)
    assert model.position == (2, 2)
    assert why(model) is Bar.NOT_SHOWN
    assert why(model, "reject") is Bar.NOT_ACTIVATED
    assert not model.go(1)


def test_moving_on_takes_a_press_back() -> None:
    world = World(request("a"), request("b"))
    model = world.armed()
    model.press("approve", held=True)
    model.go(1)
    world.wait(9, model)
    assert world.commands.decided == []


def test_s39_each_call_follows_its_own_verdict() -> None:
    requests = store_requests("s39-parallel-approvals")
    world = World(*requests)
    for view, verdict in zip(requests, ("approve", "reject", "approve"), strict=True):
        model = world.armed(view.id, undo_s=0)
        assert model.press(verdict, held=True)
        model.close()
    assert [(d.request_id, d.request_hash, d.verdict) for d in world.commands.decided] == [
        (r.id, r.request_hash, v)
        for r, v in zip(requests, ("approve", "reject", "approve"), strict=True)
    ]


# -- any order of events ---------------------------------------------------------------------------

NOT_DELIBERATE = (
    "typed", "in", "out", "activate", "deactivate", "press", "press_code3", "undo", "next", "back",
    "change", "restore", "gone", "decided", "owned", "start_over", "shown", "tick", "wait",
)  # fmt: skip


def step(world: World, model: ReviewModel, event: str) -> None:
    a, b = request("a"), request("b")
    acts = {
        "typed": model.typed,
        "in": lambda: model.field_focus(inside=True),
        "out": lambda: model.field_focus(inside=False),
        "activate": model.activate,
        "deactivate": model.deactivate,
        "press": lambda: model.press("approve"),
        "press_code3": lambda: (model.set_code("9c4"), model.press("approve")),
        "hold": lambda: model.press("approve", held=True),
        "undo": model.undo,
        "next": lambda: model.go(1),
        "back": lambda: model.go(-1),
        "change": lambda: world.put(request("a", tool_input={"to": "z"}), b),
        "restore": lambda: world.put(a, b),
        "gone": lambda: world.put(b),
        "decided": lambda: world.put(approved(a), b),
        "owned": lambda: world.put(a, b, owner=OwnerKind.OTHER_PROCESS),
        "start_over": model.start_over,
        "shown": model.content_shown,
        "tick": model.tick,
        "wait": lambda: world.wait(0.7, model),
        "long_wait": lambda: world.wait(5.0, model),
    }
    acts[event]()


@given(st.lists(st.sampled_from(NOT_DELIBERATE), max_size=40))
@settings(max_examples=200, deadline=None)
def test_without_holding_there_is_never_a_decision(events: list[str]) -> None:
    world = World(request("a"), request("b"))
    model = world.model()
    for event in events:
        step(world, model, event)
    world.wait(30, model)
    assert world.commands.decided == []


@given(st.lists(st.sampled_from((*NOT_DELIBERATE, "hold", "hold", "long_wait")), max_size=60))
@settings(max_examples=300, deadline=None)
def test_what_is_sent_is_what_is_shown_and_there(events: list[str]) -> None:
    """A sent decision names the shown hash, while the newest picture still shows just that."""
    world = World(request("a"), request("b"))
    model = world.model()
    for event in events:
        n = len(world.commands.decided)
        step(world, model, event)
        for intent in world.commands.decided[n:]:
            shown = model.review.shown.request
            now = next(r for r in world.feed.stores()[0].approvals if r.id == shown.id)
            assert (intent.request_id, intent.request_hash) == (shown.id, shown.request_hash)
            assert (now.content, now.state, now.open) == (shown.content, "pending", True)
            assert world.feed.stores()[0].owner.kind is not OwnerKind.OTHER_PROCESS
