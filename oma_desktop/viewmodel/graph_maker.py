"""From a run to the picture of its graph; remembers what is folded and what the last check found.

Runs on every save of a run, so everything that depends only on who needs whom is kept while that
stays the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import dataclass

from oma_desktop.model import graph
from oma_desktop.model.view import ApprovalView, RunRef, RunView, StoreView, TaskView
from oma_desktop.viewmodel.graph_checks import FaultyLink, Refusal, Why, faulty_links
from oma_desktop.viewmodel.graph_focus import Focus, visible_ids
from oma_desktop.viewmodel.graph_nodes import (
    MapEdge,
    MapNode,
    blockers,
    bundle_kind,
    count_states,
    edges_of,
    make_node,
)
from oma_desktop.viewmodel.graph_picture import GraphPicture
from oma_desktop.viewmodel.graph_stacks import fold


@dataclass(frozen=True, slots=True)
class View:
    """What the operator chose to see."""

    focus: Focus = Focus.EVERYTHING
    hide_done: bool = False
    grouping: bool = True
    opened: frozenset[str] = frozenset()

    @property
    def is_plain(self) -> bool:
        """Whether every task is on the map."""
        return self.focus is Focus.EVERYTHING and not self.hide_done


@dataclass(frozen=True, slots=True)
class _Shape:
    """What follows from the dependencies alone."""

    deps: Mapping[str, tuple[str, ...]]
    faults: tuple[FaultyLink, ...]
    order: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a picture is made of."""

    tasks: Mapping[str, TaskView]
    shape: _Shape
    shown_as: Mapping[str, str]
    stacks: Mapping[str, Sequence[str]]
    asked: Mapping[str, ApprovalView]


class PictureMaker:
    """Makes pictures without places. `forget_stacks` lets new stacks form at the next picture.

    A save usually changes few tasks: then only their nodes are made anew and those that hang on
    them. Where no task moved to another state, links stay the very same object.
    """

    def __init__(self) -> None:
        self._shape = _Shape({}, (), ())
        self._stacks: dict[str, list[str]] | None = None
        self._folded: tuple[Sequence[str], _Shape] | None = None
        self._nodes: dict[str, MapNode] = {}
        self._edges: tuple[MapEdge, ...] = ()
        self._facts: _Facts | None = None

    def copy(self) -> PictureMaker:
        """Return one that knows the same, for a lane: what it learns does not show here."""
        return copy(self)

    def forget_stacks(self) -> None:
        """Fold anew at the next picture; otherwise what is shown by itself stays so."""
        self._stacks = None
        self._folded = None

    def make(
        self, ref: RunRef, run: RunView, store: StoreView, view: View, *, selected: str | None
    ) -> GraphPicture:
        """Return nodes and links of a run, or why there are none."""
        tasks = {t.id: t for t in run.tasks}
        shape = self._shape_of(tasks)
        counts = tuple(count_states(run.tasks))
        if shape.faults:
            refusal = Refusal(Why.FAULTY, n=len(shape.faults), links=shape.faults)
            return GraphPicture(ref, run, len(tasks), counts=counts, refusal=refusal)
        ids = visible_ids(tasks, view.focus, hide_done=view.hide_done, selected=selected)
        stacks = self._fold(ids, tasks, view) if view.grouping else {}
        home = {i: key for key, members in stacks.items() for i in members}
        shown_as = {i: home.get(i, i) for i in ids}
        old, new = self._facts, _Facts(tasks, shape, shown_as, stacks, _asked(store, run))
        if old is None or not _stand(old, new):
            self._edges = tuple(edges_of(tasks, shown_as))
            nodes = _all_nodes(new)
        else:
            moved = {i for i, t in tasks.items() if _is_moved(old.tasks[i], t)}
            if moved:
                self._edges = tuple(_moved_edges(self._edges, new, moved))
            nodes = self._refreshed(old, new, moved)
        nodes = self._nodes = _same_or_new(self._nodes, nodes)
        self._facts = new
        return GraphPicture(
            ref=ref,
            run=run,
            n_tasks=len(tasks),
            n_hidden=len(tasks) - len(ids),
            nodes=nodes,
            edges=self._edges,
            counts=counts,
            shown_as=shown_as,
        )

    def _refreshed(self, old: _Facts, new: _Facts, moved: AbstractSet[str]) -> dict[str, MapNode]:
        """Return the nodes with what changed tasks say now, and those that hang on them."""
        nodes = dict(self._nodes)
        tasks, deps = new.tasks, new.shape.deps
        touched = {i for i in new.shown_as if tasks[i] is not old.tasks[i]}
        if moved:
            touched.update(i for i in new.shown_as if not moved.isdisjoint(deps[i]))
            blocked = blockers(tasks, new.shape.order)
            touched.update(
                i for i in new.shown_as if nodes[new.shown_as[i]].blocked_by != blocked.get(i)
            )
        for key in {new.shown_as[i] for i in touched}:
            known = nodes[key]
            members = [tasks[t.id] for t in known.tasks]
            nodes[key] = make_node(
                key,
                members,
                tasks,
                is_stack=known.is_stack,
                blocked_by=blocked.get(members[0].id) if moved else known.blocked_by,
                asked=new.asked,
            )
        return nodes

    def _shape_of(self, tasks: Mapping[str, TaskView]) -> _Shape:
        deps = {k: t.depends_on for k, t in tasks.items()}
        if deps != self._shape.deps or list(deps) != list(self._shape.deps):
            order = graph.topological_order(list(deps), deps)
            self._shape = _Shape(deps, faulty_links(tasks), order)
        return self._shape

    def _fold(
        self, ids: Sequence[str], tasks: Mapping[str, TaskView], view: View
    ) -> Mapping[str, Sequence[str]]:
        if self._stacks is not None and self._folded == (ids, self._shape):
            return self._stacks
        known: Sequence[str] = self._folded[0] if self._folded else ()
        self._stacks = fold(ids, tasks, opened=view.opened, single=set(known), stacks=self._stacks)
        self._folded = (ids, self._shape)
        return self._stacks


def _stand(old: _Facts, new: _Facts) -> bool:
    """Whether the same nodes are shown and asked about, whatever their tasks say."""
    return (
        new.shape is old.shape
        and new.shown_as == old.shown_as
        and new.asked == old.asked
        and new.stacks == old.stacks
    )


def _is_moved(old: TaskView, new: TaskView) -> bool:
    """Whether a task says something else about those that need it."""
    return old is not new and (old.state is not new.state or old.title != new.title)


def _moved_edges(
    edges: Iterable[MapEdge], facts: _Facts, moved: AbstractSet[str]
) -> Iterator[MapEdge]:
    """Yield the links again, those of moved tasks with the kind they have now."""
    keys = {facts.shown_as[i] for i in moved if i in facts.shown_as}
    members: dict[str, list[TaskView]] = {}
    for i, key in facts.shown_as.items():
        members.setdefault(key, []).append(facts.tasks[i])
    for edge in edges:
        if edge.source in keys or edge.target in keys:
            kind = bundle_kind(edge.source, members[edge.target], facts.tasks, facts.shown_as)
            yield edge if kind is edge.kind else MapEdge(edge.source, edge.target, kind)
        else:
            yield edge


def _all_nodes(facts: _Facts) -> dict[str, MapNode]:
    members: dict[str, list[TaskView]] = {}
    for i, key in facts.shown_as.items():
        members.setdefault(key, []).append(facts.tasks[i])
    blocked = blockers(facts.tasks, facts.shape.order)
    return {
        key: make_node(
            key,
            each,
            facts.tasks,
            is_stack=key in facts.stacks,
            blocked_by=blocked.get(each[0].id),
            asked=facts.asked,
        )
        for key, each in members.items()
    }


def _same_or_new(old: Mapping[str, MapNode], new: Mapping[str, MapNode]) -> dict[str, MapNode]:
    """Keep the old object where nothing changed: who compares later does so by identity."""
    kept = {key: old.get(key, node) for key, node in new.items()}
    return {
        key: node if kept[key] is node or kept[key] != node else kept[key]
        for key, node in new.items()
    }


def _asked(store: StoreView, run: RunView) -> dict[str, ApprovalView]:
    """Which request each task waits for: its own, or one about a plan or round it is part of."""
    mine = [a for a in store.approvals if a.open and a.run_id == run.run_id]
    found = {task_id: a for a in mine if not a.task_id for task_id in _held_by(a)}
    return found | {a.task_id: a for a in mine if a.task_id}


def _held_by(request: ApprovalView) -> Iterator[str]:
    tasks = request.content.get("nextTasks" if request.scope == "task_round" else "tasks")
    for task in tasks if isinstance(tasks, list) else ():
        if isinstance(task, dict) and isinstance(task.get("id"), str):
            yield str(task["id"])
