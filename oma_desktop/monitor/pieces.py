"""Big answers travel in pieces, so that no single unpickling holds the interpreter for long.

One `pickle.loads` of thousands of views would keep the GIL, and with it the window, for a tenth of
a second and more (feasibility.md 3). Both ends are ours: only our child writes what is read here.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, TypeVar, cast

from oma_desktop.model.view import (
    ApprovalView,
    ConversationView,
    MessageView,
    RunView,
    StoreView,
    TaskView,
)
from oma_desktop.monitor.jobs import Answer, StoreReading

T = TypeVar("T")

BATCH: Final = 200
"""Views in one piece: some milliseconds of unpickling."""
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
            for batch in _batches(run.tasks, (1 + len(t.calls) for t in run.tasks), BATCH):
                yield pickle.dumps((index, batch))
    elif isinstance(answer, ConversationView):
        yield pickle.dumps(replace(answer, messages=()))
        sizes = (sum(len(b.text) + 200 for b in m.blocks) for m in answer.messages)
        for messages in _batches(answer.messages, sizes, _TEXT_BATCH):
            yield pickle.dumps(messages)
    else:
        yield pickle.dumps(answer)


def join(pieces: Iterator[bytes]) -> Answer:
    """Put an answer together again; an exception that travelled as an answer is raised."""
    frame = next(pieces, None)
    if frame is None:
        raise EOFError
    first: object = pickle.loads(frame)
    if isinstance(first, BaseException):
        raise first
    if isinstance(first, StoreReading):
        return replace(first, view=_join_store(first.view, pieces))
    if isinstance(first, ConversationView):
        messages: list[MessageView] = []
        for piece in pieces:
            messages += cast("tuple[MessageView, ...]", pickle.loads(piece))
        return replace(first, messages=tuple(messages))
    for _ in pieces:
        raise TypeError("an answer in one piece has no second one")
    return cast("Answer", first)


def _join_store(frame: StoreView, pieces: Iterator[bytes]) -> StoreView:
    approvals: list[ApprovalView] = []
    tasks: list[list[TaskView]] = [[] for _ in frame.runs]
    for piece in pieces:
        part: object = pickle.loads(piece)
        if isinstance(part, ApprovalView):
            approvals.append(part)
        else:
            index, batch = cast("tuple[int, tuple[TaskView, ...]]", part)
            tasks[index] += batch
    runs: tuple[RunView, ...] = tuple(
        replace(run, tasks=tuple(own)) for run, own in zip(frame.runs, tasks, strict=True)
    )
    return replace(frame, runs=runs, approvals=tuple(approvals))


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
