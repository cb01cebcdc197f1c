"""Places on the map: deterministic, apart, stable; links never behind a node."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oma_desktop.viewmodel.graph_geometry import NODE_HEIGHT, PITCH, Box, Geometry
from oma_desktop.viewmodel.graph_layout import Spot, arrange, spread
from oma_desktop.viewmodel.graph_routes import ARROW, Gap, lanes, routes_of


@st.composite
def graphs(draw, max_size=24):
    """A DAG in plan order, each task needing up to three of any before it."""
    n = draw(st.integers(1, max_size))
    return {
        f"k{i}": draw(st.lists(st.sampled_from([f"k{j}" for j in range(i)]), max_size=3))
        if i
        else []
        for i in range(n)
    }


@st.composite
def grown_graphs(draw):
    """A graph, how many of its tasks were there before, and new needs of old tasks (a retarget)."""
    deps = draw(graphs())
    keys = list(deps)
    n_old = draw(st.integers(1, len(keys)))
    for old in draw(st.lists(st.sampled_from(keys[:n_old]), max_size=2, unique=True)):
        later = [k for k in keys[n_old:] if old not in _above(k, deps)]
        if later:
            deps[old] = [*deps[old], draw(st.sampled_from(later))]
    return deps, keys[:n_old]


def _above(key, deps):
    found, ahead = {key}, [key]
    while ahead:
        for d in deps[ahead.pop()]:
            if d not in found:
                found.add(d)
                ahead.append(d)
    return found


def _links(deps):
    return list(dict.fromkeys((d, k) for k, needs in deps.items() for d in needs))


def _curve(piece, n=16):
    """Return points on a piece, as it is drawn: cubic, level at both ends."""
    kind, x0, y0, x1, y1 = piece
    if kind == "line":
        ax, bx = x0, x1
    elif kind == "bend":
        ax = bx = (x0 + x1) / 2
    else:
        bulge = 10 if kind == "turn.right" else -10
        ax, bx = x0 + bulge, x1 + bulge
    for i in range(n + 1):
        t = i / n
        u = 1 - t
        w = (u**3, 3 * u * u * t, 3 * u * t * t, t**3)
        yield (
            w[0] * x0 + w[1] * ax + w[2] * bx + w[3] * x1,
            (w[0] + w[1]) * y0 + (w[2] + w[3]) * y1,
        )


def assert_links_are_free(geometry, links):
    for link, route in zip(links, routes_of(geometry, links), strict=True):
        source, target = (geometry.boxes[k] for k in link)
        assert (route[0].x0, route[0].y0) == (source.right, source.middle)
        assert (route[-1].x1, route[-1].y1) == (target.x - ARROW, target.middle)
        for a, b in pairwise(route):
            assert (a.x1, a.y1) == (b.x0, b.y0), (link, route)
        for piece in route:
            for x, y in _curve(piece):
                dot = Box(x - 0.25, y - 0.25, 0.5, 0.5)
                hit = [k for k in geometry.keys_in(dot) if k not in link]
                assert not hit, f"{link} runs behind {hit}"
                for end in (source, target):
                    inside = end.x + 1 < x < end.right - 1 and end.y < y < end.bottom
                    assert not inside, f"{link} runs behind its own end"


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_same_plan_same_places_and_nothing_overlaps(deps):
    keys = list(deps)
    spots = arrange(keys, deps)
    assert spots == arrange(keys, {k: list(reversed(deps[k])) for k in keys})
    assert list(spots) == keys
    assert min(s.row for s in spots.values()) >= 0
    boxes = [b.grown(-0.01) for b in Geometry(spots).boxes.values()]
    assert not any(a.meets(b) for i, a in enumerate(boxes) for b in boxes[:i])


@given(graphs())
@settings(max_examples=100, deadline=None)
def test_what_is_needed_stands_left_of_what_needs_it(deps):
    spots = arrange(list(deps), deps)
    assert all(spots[d].column < spots[k].column for k, needs in deps.items() for d in needs)


@given(graphs(), st.data())
@settings(max_examples=150, deadline=None)
def test_links_never_run_behind_a_node(deps, data):
    stacks = frozenset(data.draw(st.lists(st.sampled_from(list(deps)), max_size=3)))
    geometry = Geometry(arrange(list(deps), deps), stacks=stacks)
    assert_links_are_free(geometry, _links(deps))


@given(grown_graphs())
@settings(max_examples=150, deadline=None)
def test_a_new_task_never_moves_an_old_one(grown):
    deps, old = grown
    before = arrange(old, {k: [d for d in deps[k] if d in old] for k in old})
    after = arrange(list(deps), deps, kept=before)
    assert {k: after[k] for k in old} == before
    boxes = [b.grown(-0.01) for b in Geometry(after).boxes.values()]
    assert not any(a.meets(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert_links_are_free(Geometry(after), _links(deps))  # also those that go back


@given(st.lists(st.floats(-50, 50), max_size=30))
def test_rows_keep_order_and_distance_on_half_rows(wanted):
    rows = spread(wanted)
    assert all(b - a >= 1 for a, b in pairwise(rows))
    assert all(r * 2 == int(r * 2) for r in rows)
    if len(wanted) == 1:
        assert abs(rows[0] - wanted[0]) <= 0.25


@given(
    st.floats(-100, 100), st.floats(1, 200), st.lists(st.floats(-200, 300), min_size=1, max_size=30)
)
def test_lanes_stay_in_their_gap_and_in_order(low, room, wanted):
    gap = Gap(low, low + room)
    heights = lanes(gap, sorted(gap.nearest(y) for y in wanted))
    assert all(gap.low - 1e-6 <= y <= gap.high + 1e-6 for y in heights)
    assert heights == sorted(heights)


def test_siblings_stand_around_their_parent():
    deps = {"a": [], **{f"b{i}": ["a"] for i in range(4)}, "c": ["b0", "b1", "b2", "b3"]}
    spots = arrange(list(deps), deps)
    assert spots["a"] == Spot(0, 1.5)
    assert [spots[f"b{i}"].row for i in range(4)] == [0, 1, 2, 3]
    assert spots["c"] == Spot(2, 1.5)


def test_lone_tasks_stand_in_rows_below_the_rest():
    deps = {"a": [], "b": ["a"], **{f"x{i}": [] for i in range(5)}}
    spots = arrange(list(deps), deps)
    assert (spots["a"], spots["b"]) == (Spot(0, 0), Spot(1, 0))
    assert [spots[f"x{i}"] for i in range(5)] == [(0, 1), (1, 1), (2, 1), (0, 2), (1, 2)]


def test_a_long_link_runs_level_through_the_gap_between_rows():
    deps = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c", "a"]}
    geometry = Geometry(arrange(list(deps), deps))
    (route,) = routes_of(geometry, [("a", "d")])
    crossing = [p for p in route if p.kind == "line" and p.x0 == geometry.bands[1].x]
    assert [p.y0 for p in crossing] == [NODE_HEIGHT + (PITCH - NODE_HEIGHT) / 2]


def test_a_link_over_very_many_columns_runs_outside_everything():
    n = 60
    deps = {f"k{i}": [f"k{i - 1}"] if i else [] for i in range(n)}
    deps[f"k{n - 1}"].append("k0")
    geometry = Geometry(arrange(list(deps), deps))
    (route,) = routes_of(geometry, [("k0", f"k{n - 1}")])
    outside = [p for p in route if p.kind == "line" and p.x0 > 0]
    assert all(p.y0 > geometry.bounds.bottom or p.y0 < 0 for p in outside)
    assert_links_are_free(geometry, [("k0", f"k{n - 1}")])


def test_many_links_of_one_source_share_a_lane_others_do_not():
    deps = {"a": [], "b": [], "m": ["a"], "n": ["b"], "z": ["m", "n", "a", "b"], "y": ["m", "a"]}
    geometry = Geometry(arrange(list(deps), deps))
    links = [("a", "z"), ("a", "y"), ("b", "z")]
    band = geometry.bands[1]
    heights = [
        next(p.y0 for p in route if p.kind == "line" and p.x0 == band.x)
        for route in routes_of(geometry, links)
    ]
    assert heights[0] == heights[1]
    assert heights[2] != heights[0]


@pytest.mark.parametrize(
    ("key", "direction", "found"),
    [
        ("a", "right", "b1"),
        ("a", "left", None),
        ("b1", "up", "b0"),
        ("b1", "down", "b2"),
        ("b2", "down", None),
        ("b2", "right", "c"),
        ("c", "left", "b1"),
    ],
)
def test_arrows_lead_to_the_nearest_neighbour(key, direction, found):
    deps = {"a": [], "b0": ["a"], "b1": ["a"], "b2": ["a"], "c": ["b0", "b1", "b2"]}
    geometry = Geometry(arrange(list(deps), deps))
    assert geometry.next_to(key, direction) == found


def test_a_point_finds_its_node_and_only_it():
    deps = {"a": [], "b": ["a"]}
    geometry = Geometry(arrange(list(deps), deps))
    assert geometry.key_at(1, 1) == "a"
    assert geometry.key_at(160, 1) is None
    assert geometry.key_at(173, 63) == "b"
    assert geometry.key_at(-1, 1) is None
    assert list(geometry.keys_in(Box(-50, -50, 1000, 1000))) == ["a", "b"]
    assert geometry.first() == "a"
    assert Geometry({}).first() is None
