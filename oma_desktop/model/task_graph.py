"""Task lists as people write them: do the references resolve, and is there an order?

Titles are compared trimmed and without case, as the peer does (engine.md 2.2). Nothing is changed:
what comes back are problems with their places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from oma_desktop.model.document_text import Path, json_path
from oma_desktop.model.graph import find_cycle
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.nearest import nearest
from oma_desktop.model.view import Problem


@dataclass(frozen=True, slots=True)
class Node:
    """One task. `names` are what others may call it by (its title, or its id)."""

    path: Path
    title: str
    name: str
    assignee: str | None
    depends_on: Sequence[str]


def title_key(title: str) -> str:
    """Return the form under which titles are compared."""
    return title.strip().lower()


def problem(code: str, path: Path, **facts: object) -> Problem:
    """Return an error at a place; `path` is kept as a fact for whoever knows the lines."""
    shown: JsonObject = {k: v for k, v in facts.items() if isinstance(v, (str, int, list))}
    return Problem(code, "error", json_path(path), {**shown, "steps": list(path)})


def unknown(code: str, path: Path, name: str, known: Iterable[str], **facts: object) -> Problem:
    """Return an error about an unknown name, with the nearest known one where there is one."""
    near = nearest(name, known)
    if near is None:
        return problem(code, path, name=name, **facts)
    return problem(f"{code}_NEAR", path, name=name, nearest=near, **facts)


def check_graph(nodes: Sequence[Node], *, key: Callable[[str], str] = title_key) -> list[Problem]:
    """Return references that do not resolve or are ambiguous, self-references and one cycle.

    `key` gives the form under which names are compared.
    """
    found: list[Problem] = []
    by_key: dict[str, list[int]] = {}
    for index, node in enumerate(nodes):
        by_key.setdefault(key(node.name), []).append(index)
    edges: list[list[int]] = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        for place, reference in enumerate(node.depends_on):
            path = (*node.path, "dependsOn", place)
            targets = by_key.get(key(reference), [])
            if not targets:
                names = [n.name for n in nodes if n is not node]
                found.append(unknown("RUNFILE_UNKNOWN_TASK", path, reference, names))
            elif len(targets) > 1:
                found.append(problem("RUNFILE_AMBIGUOUS_TASK", path, name=reference))
            elif targets[0] == index:
                found.append(problem("RUNFILE_TASK_NEEDS_ITSELF", path, task=node.title))
            else:
                edges[index].append(targets[0])
    cycle = [int(i) for i in find_cycle({str(i): [str(t) for t in e] for i, e in enumerate(edges)})]
    if cycle:
        shown = " -> ".join(nodes[index].title for index in [*cycle, cycle[0]])
        found.append(problem("RUNFILE_TASK_CYCLE", nodes[cycle[0]].path, cycle=shown))
    return found


def check_assignees(nodes: Iterable[Node], agents: Iterable[str]) -> list[Problem]:
    """Return assignees that are not in the roster (DEV-20)."""
    roster = list(agents)
    return [
        unknown("RUNFILE_UNKNOWN_AGENT", (*node.path, "assignee"), node.assignee, roster)
        for node in nodes
        if node.assignee is not None and node.assignee not in roster
    ]
