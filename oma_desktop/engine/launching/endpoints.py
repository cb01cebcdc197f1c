"""From the providers of a run file to adapters: address, key and protocol of every agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from oma_desktop.base.clock import Clock
from oma_desktop.engine.egress import judge
from oma_desktop.engine.llm.anthropic import AnthropicAdapter
from oma_desktop.engine.llm.azure import DEFAULT_VERSION, AzureChatAdapter
from oma_desktop.engine.llm.base import ModelAdapter
from oma_desktop.engine.llm.keys import StoredKey, find_key
from oma_desktop.engine.llm.openai import OpenAIChatAdapter
from oma_desktop.engine.llm.presets import PRESETS, SCRIPTED, Preset
from oma_desktop.engine.llm.retry_policy import RetryNotice
from oma_desktop.engine.llm.streamed import StreamedAdapter
from oma_desktop.model.egress import EgressPolicy
from oma_desktop.model.errors import EgressDenied, InvalidInput, NotAllowed
from oma_desktop.model.nearest import nearest
from oma_desktop.model.runfile import ProviderEntry
from oma_desktop.model.team import AgentConfig

# Ids of the peer that speak other protocols.
LATER: Final = frozenset({"bedrock", "copilot"})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the calls of an agent go; what a person should see before a run (engine.md 8.7).

    `key_variables` are where its key may come from, `has_key` whether there is one. `proxy` is the
    one of the environment that calls go through, without its password.
    """

    agent: str
    provider: str
    model: str
    base_url: str
    key_variables: tuple[str, ...]
    has_key: bool
    proxy: str | None = None


@dataclass(frozen=True, slots=True)
class _Service:
    preset: Preset
    base_url: str
    key: str | None


class Endpoints:
    """Resolves agents to services and keeps one adapter per service.

    Invariant: `resolve` has judged every agent before the first adapter is asked for, so a missing
    key is found before anything runs.
    """

    def __init__(
        self,
        providers: Mapping[str, ProviderEntry],
        scripted: Mapping[str, ModelAdapter],
        *,
        clock: Clock,
        environ: Mapping[str, str],
        stored: StoredKey,
        on_retry: Callable[[RetryNotice], None],
        policy: EgressPolicy | None = None,
    ) -> None:
        self._policy = policy
        self._providers = providers
        self._scripted = scripted
        self._clock = clock
        self._environ = environ
        self._stored = stored
        self._on_retry = on_retry
        self._adapters: dict[tuple[str, str], StreamedAdapter] = {}

    def resolve(self, agent: AgentConfig) -> Endpoint:
        """Return where the agent's calls go, and make the adapter ready.

        Raises InvalidInput (unknown provider, no model, bad address, malformed key, no key) or
        NotAllowed (RUNFILE_NEEDS_PROTOCOL, or where `policy` or the agent's own forbids the
        address).
        """
        provider = agent.provider or ""
        if provider in self._scripted:
            return Endpoint(agent.name, provider, agent.model or SCRIPTED, "", (), has_key=False)
        if not agent.model:
            raise InvalidInput("RUNFILE_NO_MODEL", agent=agent.name)
        service = self._service(agent)
        try:
            judge(agent, service.base_url, (self._policy,))
        except EgressDenied as denied:
            raise NotAllowed(denied.code, **denied.facts) from None
        adapter = self._adapter(service)
        return Endpoint(
            agent.name,
            provider,
            agent.model,
            service.base_url,
            service.preset.key_env,
            has_key=service.key is not None,
            proxy=adapter.proxy,
        )

    def adapter_for(self, agent: AgentConfig) -> ModelAdapter:
        """Return the adapter of an agent; raises like `resolve`."""
        scripted = self._scripted.get(agent.provider or "")
        return scripted if scripted is not None else self._adapter(self._service(agent))

    def _service(self, agent: AgentConfig) -> _Service:
        preset = preset_of(agent, self._providers)
        own = preset.resolved_base_url(self._environ)
        base_url = agent.base_url or own
        if not base_url:
            raise InvalidInput(
                "LLM_ADDRESS_MISSING",
                agent=agent.name,
                provider=preset.id,
                variable=preset.base_url_env,
            )
        key = find_key(preset.id, preset.key_env, environ=self._environ, stored=self._stored)
        if key is None and preset.needs_key and base_url == own:
            raise InvalidInput(
                "LLM_KEY_MISSING",
                agent=agent.name,
                provider=preset.id,
                variables=", ".join(preset.key_env),
            )
        return _Service(preset, base_url, key)

    def _adapter(self, service: _Service) -> StreamedAdapter:
        preset = service.preset
        where = (preset.id, service.base_url)
        if where not in self._adapters:
            self._adapters[where] = self._made(service)
        return self._adapters[where]

    def _made(self, service: _Service) -> StreamedAdapter:
        preset = service.preset
        common: dict[str, Any] = {
            "provider": preset.id,
            "base_url": service.base_url,
            "key": service.key,
            "clock": self._clock,
            "on_retry": self._on_retry,
            "streams": preset.streams,
        }
        match preset.protocol:
            case "anthropic":
                return AnthropicAdapter(**common)
            case "azure-openai":
                return AzureChatAdapter(**common, **self._azure(preset.id))
            case "openai":
                return OpenAIChatAdapter(**common, echo_reasoning=preset.echo_reasoning)

    def _azure(self, name: str) -> dict[str, Any]:
        """What the run file says of versions and deployments, else the environment."""
        entry, usual = self._providers.get(name), PRESETS["azure-openai"]
        version = entry.api_version if entry else None
        deployment = entry.deployment if entry else None
        return {
            "api_version": version or self._variable(usual.version_env) or DEFAULT_VERSION,
            "deployment": deployment or self._variable(usual.deployment_env),
        }

    def _variable(self, name: str | None) -> str | None:
        return self._environ.get(name or "", "").strip() or None

    async def close(self) -> None:
        """Release the connections of all adapters."""
        for adapter in self._adapters.values():
            await adapter.close()
        for scripted in self._scripted.values():
            await scripted.close()


def preset_of(agent: AgentConfig, providers: Mapping[str, ProviderEntry]) -> Preset:
    """Return the service an agent asks, as the run file describes it.

    Raises InvalidInput RUNFILE_UNKNOWN_PROVIDER(_NEAR), NotAllowed RUNFILE_NEEDS_PROTOCOL.
    """
    name = agent.provider or ""
    entry = providers.get(name)
    known = PRESETS.get(name)
    if name in LATER:
        raise NotAllowed("RUNFILE_NEEDS_PROTOCOL", agent=agent.name, name=name)
    if entry is None and known is None:
        near = nearest(name, [*providers, *PRESETS])
        code = "RUNFILE_UNKNOWN_PROVIDER_NEAR" if near else "RUNFILE_UNKNOWN_PROVIDER"
        raise InvalidInput(code, agent=agent.name, name=name, nearest=near)
    if entry is None:
        assert known is not None
        return known
    return _described(name, entry, known)


def _described(name: str, entry: ProviderEntry, known: Preset | None) -> Preset:
    """Return an entry as a preset; what it leaves out comes from the preset of the same name, else
    from the service its protocol is named after.
    """
    assert entry.type != SCRIPTED
    protocol = entry.type
    usual = PRESETS[protocol]
    same = known if known is not None and known.protocol == protocol else None
    base_url = entry.base_url or (same or usual).base_url
    key_env = tuple(entry.key_env) or (same.key_env if same else ())
    if not key_env and not entry.base_url:
        key_env = usual.key_env
    return Preset(
        name,
        base_url,
        key_env,
        (same or usual).base_url_env if not base_url else None,
        needs_key=bool(key_env),
        echo_reasoning=(
            entry.echo_reasoning
            if entry.echo_reasoning is not None
            else same is not None and same.echo_reasoning
        ),
        protocol=protocol,
        streams=entry.stream,
    )
