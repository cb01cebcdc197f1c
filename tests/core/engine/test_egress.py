"""A policy stands before every model call, whoever makes it (engine.md 8.7)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from oma_desktop.engine.llm.base import ModelReply
from oma_desktop.engine.options import CheckpointOptions, RestoreOptions, RunAgentOptions
from oma_desktop.model.egress import EgressPolicy
from oma_desktop.model.team import AgentConfig
from tests.core.engine.run_world import RunWorld, spec

POLICY = TypeAdapter(EgressPolicy)
OFFLINE = POLICY.validate_python({"mode": "offline"})
NOWHERE = POLICY.validate_python({"mode": "allowlist", "allowedOrigins": []})


class Far:
    """A model that says it is far away, and remembers whether it was asked."""

    name = "far"
    is_local = False
    is_offline = False
    goes_to = "https://models.example/v1"

    def __init__(self):
        self.asked = 0

    async def stream(self, request, token):
        self.asked += 1
        usage = {"input_tokens": 1, "output_tokens": 1}
        text = [{"type": "text", "text": "hello"}]
        yield ModelReply(content=text, stop_reason="end_turn", usage=usage)

    async def close(self):
        pass


def world(model, **agent):
    made = RunWorld(agents=[AgentConfig(name="a", **agent)])
    made.team = replace(made.team, adapter_for=lambda _a: model)
    return made


@pytest.mark.parametrize(
    ("of_engine", "of_run", "of_agent"),
    [(OFFLINE, None, None), (None, OFFLINE, None), (None, None, OFFLINE), (None, NOWHERE, OFFLINE)],
)
async def test_idea_58_any_policy_that_forbids_stops_the_call_before_it_is_made(
    of_engine, of_run, of_agent
) -> None:
    model = Far()
    box = world(model, egress_policy=of_agent)
    box.options = box.options.model_copy(update={"egress_policy": of_engine})
    result = await box.run(
        spec("x", assignee="a", max_retries=3), real_runner=True, egress_policy=of_run
    )
    assert model.asked == 0
    assert not result.success
    (task,) = result.task_results.values()
    assert task["status"]["code"] == "rejected"
    assert task["errorInfo"]["kind"] == "validation"
    assert task["errorInfo"]["code"] == "EGRESS_POLICY_DENIED"
    assert box.of("task_retry") == []


async def test_without_a_policy_and_with_a_fitting_one_calls_are_made() -> None:
    model = Far()
    assert (await world(model).run(spec("x", assignee="a"), real_runner=True)).success
    named = POLICY.validate_python(
        {"mode": "allowlist", "allowedOrigins": ["https://models.example"]}
    )
    box = world(model)
    assert (await box.run(spec("x", assignee="a"), real_runner=True, egress_policy=named)).success
    assert model.asked == 2


async def test_a_model_that_does_not_say_where_it_goes_is_refused() -> None:
    model = Far()
    model.goes_to = None
    box = world(model)
    result = await box.run(spec("x", assignee="a"), real_runner=True, egress_policy=OFFLINE)
    assert model.asked == 0
    (task,) = result.task_results.values()
    assert task["errorInfo"]["code"] == "EGRESS_POLICY_UNSUPPORTED"


async def test_a_restore_and_a_lone_agent_stand_under_their_policies_too() -> None:
    model = Far()
    box = world(model)
    box.options = box.options.model_copy(update={"egress_policy": OFFLINE})
    await box.run(spec("x", assignee="a"), real_runner=True)
    wish = RestoreOptions(CheckpointOptions(box.store), retry_failed=True)
    again = await box._with(lambda oma: oma.restore(box.team, wish), real_runner=True)
    agent = box.team.config.agents[0]
    alone = await box._with(
        lambda oma: oma.run_agent(box.team, agent, "hi", RunAgentOptions()), real_runner=True
    )
    assert model.asked == 0
    assert not again.success
    assert alone.status.code == "rejected"
