"""Big answers travel in pieces, so that no single unpickling holds the interpreter for long.

One `pickle.loads` of thousands of views would keep the GIL, and with it the window, for a tenth of
a second and more (feasibility.md 3). Both ends are ours: only our child writes what is read here.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import Final, TypeVar, cast

from oma_desktop.model.container import Container, ContainerEntry
from oma_desktop.model.view import (
    ApprovalView,
    ConversationView,
    MessageView,
    RunView,
    StoreView,
    TaskView,
)
from oma_desktop.monitor.jobs import Answer, ContainerReading, StoreReading

T = TypeVar("T")

BATCH: Final = 25
"""Tasks in one piece, counted so that the same tasks come in the same piece again."""
_TEXT_BATCH: Final = 256_000


def split(answer: Answer) -> Iterator[bytes]:
    """Yield an answer as pickles: first the frame without its long lists, then these in batches."""
    if isinstance(answer, StoreReading):
        view = answer.view
        frame = replace(view, approvals=(), runs=tuple(replace(r, tasks=()) for r in view.runs))
        yield pickle.dumps(replace(answer, view=frame))
        for approval in view.approvals:
            yield pickle.dumps(approval)
        for index, run in enumerate(view.runs):
            for start in range(0, len(run.tasks), BATCH):
                yield pickle.dumps((index, run.tasks[start : start + BATCH]))
    elif isinstance(answer, ContainerReading):
        yield pickle.dumps(replace(answer, container=replace(answer.container, entries=[])))
        for entry in answer.container.entries:
            text = entry.value
            yield pickle.dumps(replace(entry, value=text[:_TEXT_BATCH]))
            for start in range(_TEXT_BATCH, len(text), _TEXT_BATCH):
                yield pickle.dumps(text[start : start + _TEXT_BATCH])
    elif isinstance(answer, ConversationView):
        yield pickle.dumps(replace(answer, messages=()))
        sizes = (sum(len(b.text) + 200 for b in m.blocks) for m in answer.messages)
        for messages in _batches(answer.messages, sizes, _TEXT_BATCH):
            yield pickle.dumps(messages)
    else:
        yield pickle.dumps(answer)


class Known:
    """The pieces of the last picture of one store, so that what did not change is not made anew.

    Saves that follow each other differ in a task or two. The same bytes give the very same objects,
    which makes comparing pictures on the loop cheap as well.
    """

    def __init__(self) -> None:
        self._last: dict[bytes, object] = {}
        self._now: dict[bytes, object] = {}

    def load(self, piece: bytes) -> object:
        """Return what a piece stands for."""
        digest = blake2b(piece, digest_size=16).digest()
        value = self._last.get(digest)
        if value is None:
            value = pickle.loads(piece)
        self._now[digest] = value
        return value

    def turn(self) -> None:
        """Forget what was not in the picture just put together."""
        self._last, self._now = self._now, {}


def join(pieces: Iterator[bytes], known: Known | None = None) -> Answer:
    """Put an answer together again; an exception that travelled as an answer is raised."""
    frame = next(pieces, None)
    if frame is None:
        raise EOFError
    first: object = pickle.loads(frame)
    if isinstance(first, BaseException):
        raise first
    if isinstance(first, StoreReading):
        return replace(first, view=_join_store(first.view, pieces, known or Known()))
    if isinstance(first, ContainerReading):
        return replace(first, container=_join_container(first.container, pieces))
    if isinstance(first, ConversationView):
        messages: list[MessageView] = []
        for piece in pieces:
            messages += cast("tuple[MessageView, ...]", pickle.loads(piece))
        return replace(first, messages=tuple(messages))
    for _ in pieces:
        raise TypeError("an answer in one piece has no second one")
    return cast("Answer", first)


def _join_store(frame: StoreView, pieces: Iterator[bytes], known: Known) -> StoreView:
    approvals: list[ApprovalView] = []
    tasks: list[list[TaskView]] = [[] for _ in frame.runs]
    for piece in pieces:
        part = known.load(piece)
        if isinstance(part, ApprovalView):
            approvals.append(part)
        else:
            index, batch = cast("tuple[int, tuple[TaskView, ...]]", part)
            tasks[index] += batch
    known.turn()
    runs: tuple[RunView, ...] = tuple(
        replace(run, tasks=tuple(own)) for run, own in zip(frame.runs, tasks, strict=True)
    )
    return replace(frame, runs=runs, approvals=tuple(approvals))


def _join_container(frame: Container, pieces: Iterator[bytes]) -> Container:
    entries: list[ContainerEntry] = []
    texts: list[str] = []
    for piece in pieces:
        part = cast("ContainerEntry | str", pickle.loads(piece))
        if isinstance(part, str):
            texts.append(part)
            continue
        _complete(entries, texts)
        entries.append(part)
    _complete(entries, texts)
    return replace(frame, entries=entries)


def _complete(entries: list[ContainerEntry], texts: list[str]) -> None:
    """Give the last entry the rest of its value."""
    if texts:
        entries[-1] = replace(entries[-1], value="".join((entries[-1].value, *texts)))
        texts.clear()


def _batches(items: Iterable[T], weights: Iterable[int], limit: int) -> Iterator[tuple[T, ...]]:
    batch: list[T] = []
    weight = 0
    for item, own in zip(items, weights, strict=True):
        if batch and weight + own > limit:
            yield tuple(batch)
            batch, weight = [], 0
        batch.append(item)
        weight += own
    if batch:
        yield tuple(batch)
