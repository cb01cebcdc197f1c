"""What a run does, as OpenTelemetry spans (engine.md 1.12).

Only the API is used: without an SDK nothing is recorded and nothing costs; with one, the host's own
exporters get the spans. Parents come from the context, which every task of the loop inherits.
Prompts, answers, inputs, outputs and reasoning are never part of a span. Telemetry can never fail a
run: whatever a processor of the host raises is logged once and ends the recording of that span.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from typing import Final, TypeAlias, TypeVar

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import (
    INVALID_SPAN,
    Link,
    Span,
    SpanContext,
    Status,
    StatusCode,
    TraceFlags,
)

from oma_desktop.model.message import TokenUsage
from oma_desktop.model.result import AgentRunResult, RunIdentity

log = logging.getLogger(__name__)

T = TypeVar("T")
Value: TypeAlias = str | int | float | bool | tuple[str | int | float | bool, ...]

_LIBRARY: Final = "oma_desktop"
_root: ContextVar[Context | None] = ContextVar("oma_root_span", default=None)


@cache
def get_tracer() -> trace.Tracer:
    """Our tracer; it follows a provider the host sets later."""
    return trace.get_tracer(_LIBRARY)


class Recorded:
    """A span that is open; every method is safe to call, whatever became of it."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def set(self, **facts: Value | None) -> None:
        """Add attributes, `a_b` as `oma.a.b`; None is left out."""
        _guard(lambda: self._span.set_attributes(_named(facts)), None)

    def event(self, name: str, **facts: Value | None) -> None:
        """Add an event of this moment."""
        _guard(lambda: self._span.add_event(name, _named(facts)), None)

    def usage(self, usage: TokenUsage) -> None:
        """Add the tokens that were used."""
        self.set(usage_input=usage["input_tokens"], usage_output=usage["output_tokens"])

    def fail(self, code: str) -> None:
        """Mark it as failed, with a code and no text."""
        _guard(lambda: self._span.set_status(Status(StatusCode.ERROR, code)), None)

    def ended(self, result: AgentRunResult) -> None:
        """Add how an agent's work ended."""
        self.usage(result.token_usage)
        self.set(status=result.status.code)
        if not result.success and not result.suspended:
            info = result.error_info
            self.fail((info.code or info.kind) if info is not None else result.status.code)

    def close(self) -> None:
        """End it; a second end does nothing."""
        _guard(self._span.end, None)


def note(name: str, **facts: Value | None) -> None:
    """Add an event to the span that is open here."""
    Recorded(trace.get_current_span()).event(name, **facts)


@contextmanager
def span(
    kind: str, name: str, *, of_run: bool = False, **facts: Value | None
) -> Iterator[Recorded]:
    """Record the block as a span below the current one, or with `of_run` below the run's.

    An exception that passes marks it as failed with the exception's code or class.
    """
    parent = _root.get() if of_run else None
    with _open(kind, name, parent, (), facts) as recorded:
        yield recorded


@contextmanager
def run_span(
    identity: RunIdentity,
    *,
    mode: str,
    metadata: Mapping[str, object] | None,
    overridden: bool = False,
) -> Iterator[tuple[RunIdentity, Recorded]]:
    """Record a whole attempt; gives the identity with the ids the span really has.

    The ids of a checkpoint and of its trace are the same (formats.md 2.10). The attempt before is a
    link, not a parent: it may be long over. `overridden`: the metadata is not what was saved
    (formats.md 2.10.4).
    """
    links = [found for link in identity.links if (found := _link(link)) is not None]
    facts: dict[str, Value | None] = {
        "run_id": identity.run_id,
        "run_attempt": identity.attempt,
        "run_mode": mode,
    }
    for key, value in (metadata or {}).items():
        if isinstance(value, str | int | float | bool):
            facts[f"meta_{key}"] = value
        elif isinstance(value, list):
            facts[f"meta_{key}"] = tuple(value)
    if overridden:
        facts["meta__overridden"] = True
    with _open("run", "oma.run", Context(), links, facts) as recorded:
        token = _root.set(otel_context.get_current())
        try:
            yield _with_ids(identity), recorded
        finally:
            _root.reset(token)


@contextmanager
def _open(
    kind: str,
    name: str,
    parent: Context | None,
    links: list[Link] | tuple[()],
    facts: Mapping[str, Value | None],
) -> Iterator[Recorded]:
    def begin() -> Span:
        tracer = get_tracer()
        about = {"oma.kind": kind, **_named(facts)}
        return tracer.start_span(name, context=parent, links=links, attributes=about)

    nothing: Span = INVALID_SPAN
    started = _guard(begin, nothing)
    recorded = Recorded(started)
    below = trace.set_span_in_context(started, parent)
    token = otel_context.attach(below)
    try:
        yield recorded
    except BaseException as error:
        recorded.fail(str(getattr(error, "code", type(error).__name__)))
        raise
    finally:
        otel_context.detach(token)
        recorded.close()


def _with_ids(identity: RunIdentity) -> RunIdentity:
    found = trace.get_current_span().get_span_context()
    if not found.is_valid:
        return identity
    return replace(
        identity,
        trace_id=trace.format_trace_id(found.trace_id),
        root_span_id=trace.format_span_id(found.span_id),
    )


def _link(link: Mapping[str, object]) -> Link | None:
    """The link of an identity; ids that are no ids give none."""
    try:
        trace_id, span_id = int(str(link["traceId"]), 16), int(str(link["spanId"]), 16)
    except (KeyError, ValueError):
        return None
    to = SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(0))
    if not to.is_valid:
        return None
    return Link(to, {"oma.link.relation": str(link.get("relation", ""))})


def _named(facts: Mapping[str, Value | None]) -> dict[str, Value]:
    return {
        f"oma.{key.replace('_', '.', 1)}": value
        for key, value in facts.items()
        if value is not None
    }


def _guard(do: Callable[[], T], otherwise: T) -> T:
    """Do something with telemetry; a fault of it is the host's, not the run's."""
    try:
        return do()
    except Exception:
        log.exception("a span could not be recorded")
        return otherwise
