"""What a run does as OpenTelemetry spans (engine.md 1.12; issue: tracing never fails a run)."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from oma_desktop.engine import spans as spans_module
from oma_desktop.engine.recovery_options import RecoveryOptions
from oma_desktop.engine.spans import span
from tests.core.engine.run_world import RunWorld, bad, ok, spec


@contextmanager
def provider(processor):
    """A tracer provider that only this test sees; the global one is set once per process."""
    made = TracerProvider()
    made.add_span_processor(processor)
    before = spans_module.get_tracer
    spans_module.get_tracer = lambda: made.get_tracer("test")
    try:
        yield made
    finally:
        spans_module.get_tracer = before
        made.shutdown()


@pytest.fixture
def spans():
    exporter = InMemorySpanExporter()
    with provider(SimpleSpanProcessor(exporter)):
        yield exporter.get_finished_spans


def by_name(found, name):
    return [s for s in found if s.name == name]


def one(found, name):
    (only,) = by_name(found, name)
    return only


def is_child(child, parent):
    return child.parent is not None and child.parent.span_id == parent.context.span_id


SCRIPT = {
    "team": {"name": "t"},
    "agents": [
        {"name": "boss", "tools": ["look"], "delegate": True},
        {"name": "hand", "tools": ["look"]},
    ],
    "tools": {"look": {"schema": {"q": "string"}, "results": {"*": {"data": "secret answer"}}}},
    "replies": {
        "boss::job": [
            {
                "text": "secret thought",
                "tools": [
                    {
                        "id": "d1",
                        "name": "delegate_to_agent",
                        "input": {"target_agent": "hand", "prompt": "secret order"},
                    }
                ],
            },
            {"text": "done"},
        ],
        "@default": [
            {"text": "", "tools": [{"id": "c1", "name": "look", "input": {"q": "secret input"}}]},
            {"text": "found"},
        ],
    },
}


async def test_one_trace_holds_run_task_agents_turns_and_tools_below_each_other(spans) -> None:
    world = RunWorld(script=SCRIPT)
    world.options = world.options.model_copy(update={"max_concurrency": 2})
    result = await world.run(spec("job", assignee="boss"), real_runner=True)
    assert result.success
    found = spans()
    root = one(found, "oma.run")
    assert root.parent is None
    assert {s.context.trace_id for s in found} == {root.context.trace_id}
    task = one(found, "execute_task")
    assert is_child(task, root)
    agents = {s.attributes["oma.agent.name"]: s for s in by_name(found, "invoke_agent")}
    assert is_child(agents["boss"], task)
    tools = {s.attributes["oma.tool.name"]: s for s in by_name(found, "execute_tool")}
    assert is_child(tools["delegate_to_agent"], agents["boss"])
    assert is_child(agents["hand"], tools["delegate_to_agent"])
    assert is_child(tools["look"], agents["hand"])
    turns = [s for s in by_name(found, "chat") if is_child(s, agents["boss"])]
    assert [t.attributes["oma.llm.turn"] for t in turns] == [0, 1]
    saves = by_name(found, "save_checkpoint")
    assert saves
    assert all(is_child(s, root) for s in saves)
    assert all(s.end_time is not None for s in found)


async def test_no_text_of_the_run_is_in_a_span(spans) -> None:
    world = RunWorld(script=SCRIPT)
    world.options = world.options.model_copy(update={"max_concurrency": 2})
    await world.run(spec("job", assignee="boss"), real_runner=True, goal="secret goal")
    for found in spans():
        told = repr(
            (found.name, dict(found.attributes), [dict(e.attributes) for e in found.events])
        )
        assert "secret" not in told


async def test_the_ids_of_the_trace_are_those_of_the_checkpoint_and_attempts_are_linked(
    spans,
) -> None:
    tries = []

    async def work(world, agent, job):
        tries.append(job.task_title)
        return bad() if len(tries) == 1 else ok()

    world = RunWorld(work=work)
    await world.run(spec("job", assignee="a"), metadata={"ticket": "T-7"})
    first = one(spans(), "oma.run")
    saved = world.snapshot()["identity"]
    assert saved["lastTraceId"] == f"{first.context.trace_id:032x}"
    assert saved["lastRootSpanId"] == f"{first.context.span_id:016x}"
    assert first.attributes["oma.meta.ticket"] == "T-7"
    assert first.attributes["oma.run.attempt"] == 1
    assert not first.status.is_ok

    result = await world.restore(retry_failed=True)
    second = by_name(spans(), "oma.run")[1]
    assert result.identity.trace_id == f"{second.context.trace_id:032x}"
    assert result.identity.root_span_id == world.snapshot()["identity"]["lastRootSpanId"]
    (link,) = second.links
    assert link.context.trace_id == first.context.trace_id
    assert link.context.span_id == first.context.span_id
    assert link.attributes["oma.link.relation"] == "continued_from"
    assert second.context.trace_id != first.context.trace_id


async def test_metadata_that_a_restore_replaced_is_marked(spans) -> None:
    async def work(world, agent, job):
        return bad()

    world = RunWorld(work=work)
    await world.run(spec("job", assignee="a"), metadata={"ticket_no": "T-7", "who": ["a", "b"]})
    await world.restore(retry_failed=True)
    await world.restore(retry_failed=True, metadata={"ticket_no": "T-7", "who": ["a", "b"]})
    await world.restore(retry_failed=True, metadata={"ticket_no": "T-8"})
    runs = [dict(s.attributes) for s in by_name(spans(), "oma.run")]
    assert runs[0]["oma.meta.who"] == ("a", "b")
    assert [r.get("oma.meta._overridden") for r in runs] == [None, None, None, True]
    assert [r["oma.meta.ticket_no"] for r in runs] == ["T-7", "T-7", "T-7", "T-8"]


async def test_a_failed_task_and_a_retry_are_told(spans) -> None:
    async def work(world, agent, job):
        return bad(retryable=True)

    world = RunWorld(work=work)
    await world.run(spec("job", assignee="a", max_retries=1))
    task = one(spans(), "execute_task")
    assert task.status.description == "TASK_FAILED"
    assert task.attributes["oma.task.status"] == "failed"
    assert [e.name for e in task.events] == ["retry_scheduled"]


async def test_every_decision_about_the_plan_is_in_the_span_of_its_task(spans) -> None:
    """Policy, validation, approval, revision and save: what progress events say, spans say too."""
    fix = {"key": "x", "title": "Fix", "description": "d", "assignee": "a"}
    answers = {
        "none": None,
        "bad": {"reason": " ", "addTasks": [fix]},
        "late": {"reason": "late", "addTasks": [fix]},
        "good": {"reason": "good", "addTasks": [fix]},
    }

    def policy(outcome):
        return answers.get(outcome.task["title"]) if outcome.kind == "failure" else None

    async def work(world, agent, job):
        return ok() if job.task_title == "Fix" else bad(retryable=False)

    world = RunWorld(work=work, agents=("a",))
    recovery = RecoveryOptions(
        "repairable",
        on_task_outcome=policy,
        on_plan_patch=lambda patch, _outcome: patch["reason"] != "late",
    )
    await world.run(*map(spec, answers), recovery=recovery)
    said = [
        (s.name, e.attributes["oma.recovery.decision"])
        for s in spans()
        for e in s.events
        if e.name == "recovery_decision"
    ]
    assert sorted(said) == [
        ("apply_plan_revision", "applied"),
        ("execute_task", "RECOVERY_PATCH_INVALID"),
        ("execute_task", "no_patch"),
        ("execute_task", "no_patch"),
        ("execute_task", "rejected"),
    ]
    gates = by_name(spans(), "plan_patch_approval_callback")
    assert [s.events[0].attributes["oma.decision"] for s in gates] == ["deny", "allow"]
    assert len(by_name(spans(), "recovery_policy_callback")) == 5
    saves = [s.attributes["oma.checkpoint.boundary"] for s in by_name(spans(), "save_checkpoint")]
    assert saves.count("plan_revision") == 1


async def test_a_gate_and_a_request_are_spans(spans) -> None:
    gated = dict(SCRIPT, gates={"tool": {"look": "suspend"}})
    fresh = RunWorld(script=gated)
    await fresh.run(spec("other", assignee="hand"), real_runner=True)
    found = spans()
    gate = one(found, "tool_gate")
    assert gate.events[0].attributes["oma.decision"] == "suspend"
    request = one(found, "request_approval")
    assert request.attributes["oma.approval.scope"] == "tool_call"
    assert request.attributes["oma.approval.id"].startswith("apr_")


class Broken(SpanProcessor):
    """A processor of a host that raises at every chance."""

    def on_start(self, span, parent_context=None):
        raise RuntimeError("no collector")

    def on_end(self, span):
        raise RuntimeError("no collector")


async def test_a_broken_processor_never_fails_a_run(caplog) -> None:
    with provider(Broken()):
        world = RunWorld()
        result = await world.run(spec("job", assignee="a"))
    assert result.success
    assert "a span could not be recorded" in caplog.text


async def test_without_an_sdk_nothing_changes() -> None:
    world = RunWorld()
    result = await world.run(spec("job", assignee="a"))
    assert result.success
    assert result.identity.trace_id == world.snapshot()["identity"]["lastTraceId"]


def test_an_exception_marks_its_span_and_goes_through(spans) -> None:
    with pytest.raises(ValueError, match="secret"), span("tool", "execute_tool"):
        raise ValueError("secret")
    (failed,) = spans()
    assert failed.status.description == "ValueError"
