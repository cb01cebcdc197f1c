"""`run_agent`: one agent, no queue, never saved (engine.md 1.1, 5.4, 5.7)."""

import pytest

from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.agents.team import Team
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.options import RunAgentOptions
from oma_desktop.engine.orchestrator import OpenMultiAgent
from oma_desktop.engine.tools.gate import Gates, deny, suspend
from oma_desktop.engine.tools.registry import ToolOutput, ToolRegistry, ToolSpec
from oma_desktop.model.errors import InvalidInput, Refused
from oma_desktop.model.team import AgentConfig, OrchestratorOptions, TeamConfig
from tests.core.engine.run_world import CountingIds, InlineLanes, drive
from tests.core.engine.runner_world import FakeModel, VirtualClock, say, until_stopped

SCHEMA = {"type": "object", "properties": {}}
CALL = ("c1", "act", {})


class Lone:
    """A team that lends one model and one tool, and what happened."""

    def __init__(self, *turns, gate=None, consequential=False, **options):
        self.clock = VirtualClock()
        self.bus = EventBus()
        self.events = []
        self.bus.subscribe(self.events.append)
        self.model = FakeModel(*turns)
        self.ran = []
        tools = [
            ToolSpec("act", "acts", SCHEMA, self._act, consequential=consequential),
            ToolSpec("delegate_to_agent", "delegates", SCHEMA, self._act),
        ]
        self.team = Team(
            TeamConfig(name="t", agents=[AgentConfig(name="other")]),
            ToolRegistry(tools),
            adapter_for=lambda _agent: self.model,
            gates=Gates(tool=gate),
        )
        self.options = OrchestratorOptions(**options)

    async def _act(self, _input, context):
        self.ran.append(context.tool_call_id)
        return ToolOutput("acted")

    async def run(self, prompt="hello", *, token=None, ask=None, **agent):
        supervisor = Supervisor()
        oma = OpenMultiAgent(
            self.options,
            clock=self.clock,
            supervisor=supervisor,
            lanes=InlineLanes(),
            bus=self.bus,
            ids=CountingIds(),
        )
        config = AgentConfig(**{"name": "w", "tools": ["act"], **agent})
        wish = ask or RunAgentOptions(token=token or CancelToken())
        task = supervisor.spawn(oma.run_agent(self.team, config, prompt, wish), name="run")
        await drive(task, self.clock)
        assert supervisor.names == []
        await supervisor.close()
        return task.result()

    def types(self):
        return [event.type for event in self.events]


def told(result):
    """The texts of tool results the model was given."""
    blocks = [b for m in result.messages for b in m["content"] if b["type"] == "tool_result"]
    return [b["content"] for b in blocks]


async def test_an_agent_answers_alone_and_says_when_it_starts_and_ends():
    lone = Lone(say("", CALL), say("done"))
    result = await lone.run(ask=RunAgentOptions(run_id="r-7", metadata={"who": "me"}))
    assert (result.success, result.output, lone.ran) == (True, "done", ["c1"])
    assert (result.identity.run_id, result.identity.attempt) == ("r-7", 1)
    assert (lone.types()[0], lone.types()[-1]) == ("agent_start", "agent_complete")
    start, end = lone.events[0], lone.events[-1]
    assert (start.agent, start.task) == ("w", None)
    assert start.data == {"prompt": "hello", "metadata": {"who": "me"}}
    assert end.data["output"] == "done"
    assert {event.task for event in lone.events} == {None}


async def test_a_conversation_may_be_given_instead_of_a_prompt():
    lone = Lone(say("never"), say("second answer"))
    history = [
        {"role": "user", "content": [{"type": "text", "text": "one"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "first answer"}]},
        {"role": "user", "content": [{"type": "text", "text": "two"}]},
    ]
    result = await lone.run(history)
    assert result.output == "second answer"
    assert lone.model.requests[0].messages == history
    assert lone.events[0].data == {"messages": history}
    with pytest.raises(Refused, match="INVALID_MESSAGE"):
        await lone.run([{"role": "user", "content": "text"}])


@pytest.mark.parametrize(
    ("own", "asked", "all_", "ends"),
    [(5, None, None, True), (None, 5, None, True), (None, None, 5, True), (50, 50, 50, False)],
)
async def test_the_smallest_ceiling_counts(own, asked, all_, ends):
    lone = Lone(say("hi", usage=(10, 1)), max_token_budget=all_)
    result = await lone.run(ask=RunAgentOptions(max_token_budget=asked), max_token_budget=own)
    assert result.budget_exceeded is ends
    assert result.status.code == ("budget_exhausted" if ends else "ok")


async def test_an_agent_alone_cannot_delegate():
    lone = Lone(say("", ("d", "delegate_to_agent", {})), say("ok"))
    result = await lone.run(tools=["act", "delegate_to_agent"], delegate=True)
    assert [t["name"] for t in lone.model.requests[0].tools] == ["act"]
    assert lone.ran == []
    assert "not available" in told(result)[0]


async def test_what_would_wait_for_a_person_fails_closed_and_says_why():
    async def wait(_call):
        return suspend("look first")

    lone = Lone(say("", CALL), say("then not"), gate=wait)
    result = await lone.run()
    assert lone.ran == []
    assert "no decision can be recorded here" in told(result)[0]
    assert (result.success, result.pending_approvals) == (True, ())
    assert "approval_pending" not in lone.types()


@pytest.mark.parametrize("reason", [StopReason.SUSPEND, StopReason.CANCEL])
async def test_a_stop_of_any_kind_ends_it(reason):
    token = CancelToken()
    lone = Lone(say("", CALL), say("late"))
    lone.bus.subscribe(lambda event: event.type == "tool_start" and token.stop(reason))
    result = await lone.run(token=token)
    assert result.status.code == "cancelled"
    assert (result.success, result.suspended, result.entry is None) == (
        False,
        False,
        reason is StopReason.SUSPEND,
    )


async def test_its_own_time_limit_holds():
    result = await Lone(until_stopped).run(timeout_ms=100)
    assert result.status.code == "timeout"


async def test_bad_run_ids_and_metadata_are_refused_before_anything():
    lone = Lone(say("x"))
    with pytest.raises(InvalidInput, match="RUN_ID_INVALID"):
        await lone.run(ask=RunAgentOptions(run_id=" r"))
    with pytest.raises(InvalidInput, match="RUN_METADATA_INVALID"):
        await lone.run(ask=RunAgentOptions(metadata={"oma.x": 1}))
    assert lone.events == []


@pytest.mark.parametrize("asked", [True, False])
async def test_consequential_calls_of_a_lone_agent_need_a_gate_where_that_is_asked(asked):
    lone = Lone(
        say("", CALL),
        say("done"),
        consequential=True,
        require_consequential_confirmation=asked,
    )
    result = await lone.run()
    assert result.flags == ("consequential-no-independence",)
    assert lone.ran == ([] if asked else ["c1"])
    assert result.confirmation_required is asked
    assert result.status.code == ("rejected" if asked else "ok")
    assert result.success is not asked


async def test_a_gate_decides_alone():
    async def no(_call):
        return deny("no")

    lone = Lone(
        say("", CALL),
        say("done"),
        gate=no,
        consequential=True,
        require_consequential_confirmation=True,
    )
    result = await lone.run()
    assert (result.success, result.confirmation_required, lone.ran) == (True, False, [])


async def test_harmless_tools_raise_no_flag():
    result = await Lone(say("", CALL), say("x"), require_consequential_confirmation=True).run()
    assert (result.success, result.flags) == (True, ())


@pytest.mark.parametrize(("ceiling", "ends"), [(1.0, True), (1.5, False)])
async def test_the_ceiling_for_cost_counts_for_a_lone_agent_too(ceiling, ends):
    prices = {"*": {"input": 100_000, "output": 0}}
    lone = Lone(say("answer", usage=(15, 9)), prices=prices, max_cost_budget=9)
    result = await lone.run(ask=RunAgentOptions(max_cost_budget=ceiling))
    assert result.output == "answer"
    assert (result.status.code == "budget_exhausted") is ends
    told = [e for e in lone.events if e.type == "budget_exceeded"]
    assert [e.data["code"] for e in told] == ["COST_BUDGET_EXCEEDED"] * ends
