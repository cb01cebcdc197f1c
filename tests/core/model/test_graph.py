"""Task graphs: checks, readiness, layers, counts, longest path."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.model import graph


def task(task_id, status="pending", depends=()):
    return {
        "id": task_id,
        "title": "",
        "description": "",
        "status": status,
        "dependsOn": list(depends),
    }


DIAMOND = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": []}


def test_layers_are_longest_paths():
    assert graph.layers(list(DIAMOND), DIAMOND) == {"a": 0, "b": 1, "c": 1, "d": 2, "e": 0}
    deps = {"a": [], "b": ["a"], "c": ["a", "b", "ghost", "c"]}
    assert graph.layers(list(deps), deps) == {"a": 0, "b": 1, "c": 2}


def test_descendants_are_counted_once():
    counts = graph.descendant_counts(list(DIAMOND), DIAMOND)
    assert counts == {"a": 3, "b": 1, "c": 1, "d": 0, "e": 0}


def test_critical_path_follows_the_weights():
    ids = list(DIAMOND)
    assert graph.critical_path(ids, DIAMOND) in (["a", "b", "d"], ["a", "c", "d"])
    heavy = {"c": 5.0, "e": 100.0}
    assert graph.critical_path(ids, DIAMOND, lambda i: heavy.get(i, 1.0)) == ["e"]
    assert graph.critical_path(ids, DIAMOND, lambda i: {"c": 5.0}.get(i, 1.0)) == ["a", "c", "d"]
    assert graph.critical_path([], {}) == []


def test_ready_tasks_have_all_dependencies_completed():
    tasks = [
        task("a", "completed"), task("b", "blocked", ["a"]), task("c", "pending", ["b"]),
        task("d", "in_progress", ["a"]), task("e", "pending"), task("f", "blocked", ["ghost"]),
    ]  # fmt: skip
    assert graph.ready(tasks) == ["b", "e"]


def test_checks_name_task_and_place():
    problems = graph.check_graph(
        [
            task("a", depends=["a"]), task("b", depends=["x"]), task("c", depends=["d"]),
            task("d", depends=["c", "e"]), task("e"),
        ]
    )  # fmt: skip
    assert [(p.code, p.where) for p in problems] == [
        ("GRAPH_SELF_DEPENDENCY", "$.queue.tasks[0].dependsOn[0]"),
        ("GRAPH_UNKNOWN_DEPENDENCY", "$.queue.tasks[1].dependsOn[0]"),
        ("GRAPH_CYCLE", "$.queue.tasks"),
    ]
    assert problems[2].facts["cycle"] == "c → d → c"


def test_broken_graphs_can_still_be_drawn():
    deps = {"r": [], "a": ["b", "r"], "b": ["a"], "after": ["b"]}
    assert set(graph.layers(list(deps), deps)) == set(deps)
    assert graph.descendant_counts(list(deps), deps)["r"] >= 1
    assert graph.critical_path(list(deps), deps) == ["r"]
    assert sorted(graph.find_cycle(deps)) == ["a", "b"]


EDGES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=40)


@given(EDGES)
def test_agrees_with_plain_definitions(edges):
    deps = {str(i): [str(a) for a, b in edges if b == i and a < b] for i in range(13)}
    ids = list(deps)
    layer = graph.layers(ids, deps)
    for each, wanted in deps.items():
        assert layer[each] == max((layer[w] + 1 for w in wanted), default=0)

    def reach(start):
        found, todo = set(), [start]
        while todo:
            at = todo.pop()
            new = {i for i in ids if at in deps[i]} - found
            found |= new
            todo += new
        return found

    assert graph.descendant_counts(ids, deps) == {i: len(reach(i)) for i in ids}
    assert len(graph.critical_path(ids, deps)) == max(layer.values()) + 1
    assert graph.find_cycle(deps) == []


@given(EDGES)
def test_a_cycle_found_is_a_cycle(edges):
    deps = {str(i): [str(a) for a, b in edges if b == i] for i in range(13)}
    cycle = graph.find_cycle(deps)
    assert bool(cycle) is (len(graph.topological_order(list(deps), deps)) < 13)
    for at, each in enumerate(cycle):
        assert cycle[(at + 1) % len(cycle)] in deps[each]


@pytest.mark.parametrize("shape", ["chain", "wide", "dense"])
def test_five_thousand_tasks_take_no_time(shape):
    n = 5_000
    waits = {
        "chain": lambda i: range(max(0, i - 1), i),
        "wide": lambda i: [0] if i else [],
        "dense": lambda i: range(max(0, i - 20), i),
    }[shape]
    deps = {str(i): [str(d) for d in waits(i)] for i in range(n)}
    ids = list(deps)
    begin = time.thread_time()
    graph.layers(ids, deps)
    counts = graph.descendant_counts(ids, deps)
    graph.critical_path(ids, deps)
    assert counts["0"] == n - 1
    assert time.thread_time() - begin < 2
