"""Functions a team may hang into an agent's run (engine.md 3.7, 3.9, 3.11).

They are foreign code: what they raise or answer wrongly fails the run, kind `callback`, and never
reaches the engine. Nobody waits for one longer than for the run itself.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeAlias, TypeGuard, cast

from oma_desktop.engine.agents.loop_detection import LoopInfo
from oma_desktop.engine.agents.pairing import pairing_problem
from oma_desktop.engine.agents.runner_state import answered, text_of
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.llm.message_check import check_messages
from oma_desktop.engine.tools.race import Ended, Race
from oma_desktop.model.errors import EngineError, Refused
from oma_desktop.model.json_text import stringify
from oma_desktop.model.message import ContentBlock, Message
from oma_desktop.model.redaction import TextRules
from oma_desktop.model.result import AgentRunResult, RunStatus
from oma_desktop.model.team import AgentConfig


class HookFailed(EngineError):
    """HOOK_FAILED: a hook raised or answered with something undocumented.

    Facts: `hook`, `problem` (`raised`, `answer`, `stopped`) and `found`.
    """


@dataclass(frozen=True, slots=True)
class BeforeRun:
    """What a `beforeRun` hook gets, a copy, and may return changed with `dataclasses.replace`.

    `prompt` is the text of the last user message; `agent` is for reading only. Changed `messages`
    count first, then a changed `prompt` takes the place of that text.
    """

    prompt: str
    messages: list[Message]
    agent: AgentConfig


@dataclass(frozen=True, slots=True)
class AgentHooks:
    """The hooks of one agent; each may be a plain or an async function.

    before_run(BeforeRun) -> BeforeRun | None; after_run(AgentRunResult) -> AgentRunResult | None;
    compress(messages, tokens) -> messages (a context strategy); on_loop(LoopInfo) -> `warn`,
    `inject`, `terminate` or `continue`. None from the first two: nothing to change. A plain
    function holds up the program while it runs, so it should be quick.
    """

    before_run: Callable[[BeforeRun], object] | None = None
    after_run: Callable[[AgentRunResult], object] | None = None
    compress: Callable[[list[Message], int], object] | None = None
    on_loop: Callable[[LoopInfo], object] | None = None


NO_HOOKS = AgentHooks()
_MASKED: Final = TextRules(strict=True)  # what a hook raises is stored and shown
Hook: TypeAlias = Callable[..., object]


class Call(Protocol):
    """How a hook is called."""

    async def __call__(self, hook: str, function: Hook, *arguments: object) -> object:
        """Return its answer; raises HookFailed."""
        ...


class HookCalls:
    """Calls the hooks of one run: bounded by its token, guarded against what they raise."""

    def __init__(self, race: Race, token: CancelToken) -> None:
        self._race = race
        self._token = token

    async def __call__(self, hook: str, function: Hook, *arguments: object) -> object:
        """Return the answer of the hook; raises HookFailed, also when the run is aborted."""
        outcome = await self._race.run(
            _answer(function, arguments), name=f"hook {hook}", token=self._token, only_abort=True
        )
        if outcome.ended is Ended.DONE:
            return outcome.value
        problem = "raised" if outcome.ended is Ended.RAISED else "stopped"
        found = "" if outcome.error is None else f"{type(outcome.error).__name__}: {outcome.error}"
        raise HookFailed("HOOK_FAILED", hook=hook, problem=problem, found=_MASKED(found))

    async def before(
        self, hooks: AgentHooks, agent: AgentConfig, conversation: list[Message]
    ) -> list[Message]:
        """Return the conversation a run begins with, after `beforeRun`."""
        if hooks.before_run is None:
            return conversation
        bare = agent.model_copy(update={"before_run": None, "after_run": None})
        asked = BeforeRun(_last_said(conversation), copy.deepcopy(conversation), bare)
        answer = await self("beforeRun", hooks.before_run, asked)
        if answer is None:
            return conversation
        if not isinstance(answer, BeforeRun) or not answer.messages:
            raise _bad("beforeRun", answer)
        messages = list(answer.messages)
        try:
            check_messages(messages)
        except Refused:
            raise _bad("beforeRun", answer) from None
        if answer.prompt != asked.prompt:
            messages = _with_prompt(messages, answer.prompt)
        messages = answered(messages)
        if messages[-1]["role"] != "user" or pairing_problem(messages) is not None:
            raise _bad("beforeRun", answer)
        return messages

    async def after(self, hooks: AgentHooks, result: AgentRunResult) -> AgentRunResult:
        """Return what `afterRun` makes of a result.

        What was said, done, used and saved is a fact and stays: output, structured value, success,
        status and error are the hook's to change. Success and status are made to agree.
        """
        if hooks.after_run is None:
            return result
        answer = await self("afterRun", hooks.after_run, copy.deepcopy(result))
        if answer is None:
            return result
        if not _is_result(answer):
            raise _bad("afterRun", answer)
        changed = replace(
            result,
            success=answer.success,
            output=answer.output,
            status=answer.status,
            error_info=answer.error_info,
            structured=answer.structured,
            has_structured=answer.has_structured,
        )
        return _agreeing(changed, before=result)


async def _answer(function: Hook, arguments: tuple[object, ...]) -> object:
    answer = function(*arguments)
    return await cast("Awaitable[object]", answer) if inspect.isawaitable(answer) else answer


def _is_result(answer: object) -> TypeGuard[AgentRunResult]:
    """Whether an answer can be kept: a result whose values are text and JSON."""
    if not isinstance(answer, AgentRunResult) or not isinstance(answer.output, str):
        return False
    try:
        stringify(answer.structured)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _agreeing(result: AgentRunResult, *, before: AgentRunResult) -> AgentRunResult:
    """`success` and `status` say the same; a budget that was exceeded stays exceeded."""
    if before.budget_exceeded:
        return replace(result, success=False, status=before.status, error_info=before.error_info)
    if result.success:
        return replace(result, status=RunStatus("ok"), error_info=None)
    if result.status.code == "ok":
        return replace(result, status=RunStatus("error"))
    return result


def _bad(hook: str, answer: object) -> HookFailed:
    return HookFailed("HOOK_FAILED", hook=hook, problem="answer", found=type(answer).__name__)


def _last_user(messages: list[Message]) -> int:
    return max((i for i, m in enumerate(messages) if m["role"] == "user"), default=-1)


def _last_said(messages: list[Message]) -> str:
    at = _last_user(messages)
    return text_of(messages[at]) if at >= 0 else ""


def _with_prompt(messages: list[Message], prompt: str) -> list[Message]:
    """Put the text in the place of the first text of the last user message; others go."""
    at = _last_user(messages)
    if at < 0:
        return [*messages, {"role": "user", "content": [{"type": "text", "text": prompt}]}]
    content = messages[at]["content"]
    first = next((i for i, block in enumerate(content) if block["type"] == "text"), len(content))
    said: list[ContentBlock] = [{"type": "text", "text": prompt}]
    rest = [block for block in content[first:] if block["type"] != "text"]
    changed: Message = {**messages[at], "content": [*content[:first], *said, *rest]}
    return [*messages[:at], changed, *messages[at + 1 :]]
