"""Whether the models of a run file can be reached: one small question each, nothing else runs.

    from oma_desktop.engine.launching.connections import check_connections

    for found in await check_connections(run_file, base_dir=folder, clock=SystemClock()):
        print(found.address, found.latency_s, found.error)

Obeys egress policies: what they forbid is not asked (engine.md 8.7). A key is sent to its own
service and shown nowhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from oma_desktop.base.clock import Clock
from oma_desktop.engine.agent_defaults import with_defaults
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.coordination.coordinator import coordinator_agent
from oma_desktop.engine.launching.endpoints import Endpoint, Endpoints, preset_of
from oma_desktop.engine.llm.base import ModelReply, ModelRequest
from oma_desktop.engine.llm.http import checked_address, interruptible
from oma_desktop.engine.llm.keys import StoredKey, stored_key
from oma_desktop.engine.llm.streamed import StreamedAdapter
from oma_desktop.engine.model_routes import OF_AGENTS, OF_COORDINATOR, every_way
from oma_desktop.model.errors import InvalidInput, OmaError, Unreachable, UserError
from oma_desktop.model.runfile import Coordinator, RunFile
from oma_desktop.model.team import AgentConfig

LIMIT_S: Final = 30.0
QUESTION: Final = "Reply with the single word OK."


@dataclass(frozen=True, slots=True)
class Connection:
    """One model at one address, and whether it answered.

    `agents` use it. `proxy` is the one in use, without its password. `latency_s` is the time until
    the first piece of the answer. `error` is what is wrong, None when nothing is; with an error and
    no `address` nothing was sent, and none was asked.
    """

    provider: str
    model: str
    agents: tuple[str, ...]
    address: str = ""
    proxy: str | None = None
    latency_s: float | None = None
    answered_as: str = ""
    error: OmaError | None = None


async def check_connections(
    run_file: RunFile,
    *,
    base_dir: Path,
    clock: Clock,
    environ: Mapping[str, str] | None = None,
    stored: StoredKey = stored_key,
    token: CancelToken | None = None,
    limit_s: float = LIMIT_S,
) -> list[Connection]:
    """Ask every model that agents, coordinator and routes of the file may use, one after another.

    Scripted models and agents that are programs are left out. Nothing is asked twice, and no
    failed question is repeated. Raises InvalidInput RUNFILE_NO_TEAM; what is wrong with one model
    is in its `error`. A stop of `token` ends the question being asked and all others.
    """
    models = Endpoints(
        run_file.providers,
        {},
        clock=clock,
        environ=os.environ if environ is None else environ,
        stored=stored,
        on_retry=lambda notice: None,
        policy=run_file.orchestrator.egress_policy,
    )
    stop = token or CancelToken()
    try:
        return [
            await _asked(models, agent, names, clock=clock, token=stop, limit_s=limit_s)
            for agent, names in _distinct(_users(run_file, base_dir))
        ]
    finally:
        await models.close()


def model_places(
    run_file: RunFile, *, base_dir: Path, environ: Mapping[str, str]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return where model calls of the file would go, each with the variables its key may be in.

    For a person before a start (engine.md 8.7): no key is looked up. What the start itself refuses
    is left out: unknown providers, addresses with a password. Raises InvalidInput RUNFILE_NO_TEAM.
    """
    found: dict[tuple[str, tuple[str, ...]], None] = {}
    for agent in _users(run_file, base_dir):
        with suppress(UserError):
            preset = preset_of(agent, run_file.providers)
            address = agent.base_url or preset.resolved_base_url(environ)
            found[str(checked_address(address or "", preset.id)), preset.key_env] = None
    return tuple(found)


def _users(run_file: RunFile, base_dir: Path) -> list[AgentConfig]:
    """Everybody who may ask a model, once per model."""
    if run_file.team is None:
        raise InvalidInput("RUNFILE_NO_TEAM", place="$")
    options = run_file.orchestrator
    agents = with_defaults(run_file.team, run_file, base_dir).agents
    found = [agent for agent in agents if agent.backend is None]
    found += [way for agent in agents for way in every_way(agent, options, of=OF_AGENTS)]
    if run_file.goal is not None:
        settings = run_file.coordinator or Coordinator()
        coordinator = coordinator_agent(settings, options=options, roster=agents)
        found += [coordinator, *every_way(coordinator, options, of=OF_COORDINATOR)]
    scripted = {name for name, entry in run_file.providers.items() if entry.type == "scripted"}
    return [agent for agent in found if agent.provider not in scripted]


def _distinct(users: Iterable[AgentConfig]) -> list[tuple[AgentConfig, tuple[str, ...]]]:
    """Group by what is asked where; a policy of its own makes an agent's question another one."""
    groups: dict[tuple[str | None, ...], tuple[AgentConfig, tuple[str, ...]]] = {}
    for user in users:
        policy = user.egress_policy.model_dump_json() if user.egress_policy is not None else None
        where = (user.provider, user.base_url, user.model, policy)
        first, names = groups.get(where, (user, ()))
        groups[where] = (first, names if user.name in names else (*names, user.name))
    return list(groups.values())


async def _asked(
    models: Endpoints,
    agent: AgentConfig,
    names: tuple[str, ...],
    *,
    clock: Clock,
    token: CancelToken,
    limit_s: float,
) -> Connection:
    unknown = Connection(agent.provider or "", agent.model or "", names)
    try:
        endpoint = models.resolve(agent)
    except OmaError as error:
        return replace(unknown, error=error)
    adapter = models.adapter_for(agent)
    assert isinstance(adapter, StreamedAdapter)
    found = replace(unknown, address=endpoint.base_url, proxy=adapter.proxy)
    began = clock.monotonic()
    try:
        answered_as = await _first_piece(adapter, agent, endpoint, token=token, limit_s=limit_s)
    except OmaError as error:
        return replace(found, error=error)
    return replace(found, latency_s=clock.monotonic() - began, answered_as=answered_as)


async def _first_piece(
    adapter: StreamedAdapter,
    agent: AgentConfig,
    endpoint: Endpoint,
    *,
    token: CancelToken,
    limit_s: float,
) -> str:
    """Wait for the beginning of an answer; the rest is not paid for: the connection is closed."""
    request = ModelRequest(
        model=endpoint.model,
        messages=[{"role": "user", "content": [{"type": "text", "text": QUESTION}]}],
        max_tokens=agent.max_tokens,
        extra_body=agent.extra_body,
    )
    try:
        async with (
            interruptible(token, limit_s),
            aclosing(adapter.once(request, token)) as events,
        ):
            event = await anext(events)
            return event.model if isinstance(event, ModelReply) else ""
    except TimeoutError:
        raise Unreachable(
            "LLM_NO_ANSWER",
            provider=endpoint.provider,
            origin=adapter.origin,
            seconds=round(limit_s),
            retryable=True,
        ) from None
