"""A run file made ready to run: team, models, tools, gates, task specs (product.md 7).

Everything that can be wrong is found here, before the first task starts and before any file is
touched. No key is ever read from the file.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.agent_defaults import with_defaults, without_programs
from oma_desktop.engine.agents.team import Team
from oma_desktop.engine.backends.environment import environment
from oma_desktop.engine.backends.external import ExternalAgents
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.coordination.coordinator import coordinator_agent
from oma_desktop.engine.coordination.profiling import profiler_agent
from oma_desktop.engine.cost import check_prices, models_of
from oma_desktop.engine.launching.documents import plan_of
from oma_desktop.engine.launching.endpoints import Endpoint, Endpoints
from oma_desktop.engine.launching.named_tools import check_named_tools
from oma_desktop.engine.launching.outside import OutsideTools
from oma_desktop.engine.launching.rule_gates import gates_from_rules
from oma_desktop.engine.launching.script import (
    EffectsLog,
    apply_script,
    load_script,
    team_from_script,
)
from oma_desktop.engine.llm.base import ModelAdapter
from oma_desktop.engine.llm.keys import StoredKey, stored_key
from oma_desktop.engine.llm.presets import PRESETS
from oma_desktop.engine.llm.retry_policy import RetryNotice
from oma_desktop.engine.model_routes import OF_AGENTS, OF_COORDINATOR, every_way
from oma_desktop.engine.recovery_options import RecoveryOptions
from oma_desktop.engine.tasks.recovery_policies import recovery_of_file, recovery_of_script
from oma_desktop.engine.tools.builtin.shell_env import shell_environment
from oma_desktop.engine.tools.builtin.toolbox import builtin_tools
from oma_desktop.engine.tools.builtin.workspace import Guard
from oma_desktop.engine.tools.grants import is_granted
from oma_desktop.engine.tools.registry import ToolRegistry, ToolSpec
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.goal_rules import governance_of
from oma_desktop.model.governance import Governance
from oma_desktop.model.plan import PlanArtifact
from oma_desktop.model.runfile import Coordinator, RunFile
from oma_desktop.model.runfile_limits import refuse_unsupported
from oma_desktop.model.runfile_reading import refusal
from oma_desktop.model.runfile_rules import task_nodes
from oma_desktop.model.script import Script
from oma_desktop.model.task_graph import check_assignees
from oma_desktop.model.team import (
    AgentConfig,
    OrchestratorOptions,
    TaskSpec,
    TeamConfig,
)


@dataclass(frozen=True, slots=True)
class Wiring:
    """What the orchestrator needs, and where calls will go. `close` when the run is over.

    `homeless` names agents that have built-in tools and no folder to use them in. `goal` is given
    instead of `specs` where a coordinator plans; `mode` and `governance` say who reaches it;
    `coordinator` None: there is none (scripts only).
    """

    team: Team
    orchestrator: OrchestratorOptions
    specs: tuple[TaskSpec, ...]
    endpoints: tuple[Endpoint, ...] = ()
    homeless: tuple[str, ...] = ()
    plan: PlanArtifact | None = None
    goal: str | None = None
    coordinator: Coordinator | None = field(default_factory=Coordinator)
    recovery: RecoveryOptions | None = None
    mode: Literal["single", "team"] | None = None
    governance: Governance | None = None
    _models: Endpoints | None = None
    _outside: OutsideTools | None = None
    _check: Callable[[], None] = lambda: None

    async def connect(
        self, *, clock: Clock, supervisor: Supervisor, token: CancelToken | None = None
    ) -> None:
        """Start what the file wants started; its tools join the team. Once, before the run.

        A stop ends the wait; the run then stops before its first step.
        Raises InvalidInput or ToolError MCP_*; `close` is still due then.
        """
        if self._outside is not None:
            stop = token or CancelToken()
            found = await self._outside.connect(clock=clock, supervisor=supervisor, token=stop)
            for tool in found:
                self.team.tools.register(tool)
            if not stop.stopped:
                self._check()

    async def close(self) -> None:
        """Release connections, end programs and servers, forget what was imported."""
        try:
            if self.team.external is not None:
                await self.team.external.close()
            if self._models is not None:
                await self._models.close()
        finally:
            if self._outside is not None:
                await self._outside.close()


@dataclass(frozen=True, slots=True)
class World:
    """What wiring takes from outside the file: clock, environment, key store, listeners.

    `tools` are registered beside what the file brings; `speed` and `effects` are for scripted
    models and tools. Built-in tools work on `lanes`, in `workspace` where the file names no folder,
    and never write what `guard` names. Programs of agents need `supervisor` and `bus`.
    `may_import` says that a person agreed to the folder of the run file; without it nothing of that
    folder is imported.
    """

    clock: Clock
    environ: Mapping[str, str] | None = None
    stored_key: StoredKey = stored_key
    on_retry: Callable[[RetryNotice], None] = lambda notice: None
    tools: tuple[ToolSpec, ...] = ()
    speed: float = 1.0
    effects: EffectsLog | None = None
    lanes: Lanes = field(default_factory=Lanes)
    workspace: Path | None = None
    guard: Guard = field(default_factory=Guard)
    supervisor: Supervisor | None = None
    bus: EventBus | None = None
    may_import: bool = False

    def play(self, script: Script) -> Team:
        """Return the script's own team."""
        return team_from_script(script, clock=self.clock, speed=self.speed, effects=self.effects)


def retry_events(bus: EventBus) -> Callable[[RetryNotice], None]:
    """Return a listener that emits each repeat as `llm_retry` (engine.md 8.6)."""

    def announce(notice: RetryNotice) -> None:
        data = {
            "provider": notice.provider,
            "taskTitle": notice.task_title,
            "retry": notice.retry,
            "delayMs": round(notice.delay_s * 1000),
            "code": notice.code,
            "status": notice.status,
        }
        bus.emit("llm_retry", agent=notice.agent or None, data=data)

    return announce


def wire(
    run_file: RunFile,
    *,
    base_dir: Path,
    world: World,
    script: Script | None = None,
    needs_work: bool = True,
) -> Wiring:
    """Return the run file made ready; relative paths in it start at `base_dir`.

    With `script` every model, tool and gate is the script's (product.md 6), also the team where
    the file has none; hooks of the file are left out, as its Python tools are: to import them
    somebody would have to be asked, and with a script nothing else asks.

    `needs_work` False accepts a file without tasks, for `restore`. May block for
    a moment (key store, script files). Raises InvalidInput or NotAllowed.
    """
    refuse_unsupported(run_file)
    # A restore goes by what is saved: its plan file may be gone by then.
    plan = plan_of(run_file, base_dir) if needs_work else None
    wired = _wired(run_file, base_dir, world, script, needs_work=needs_work and plan is None)
    return replace(wired, plan=plan, mode=run_file.mode, governance=governance_of(run_file))


def _wired(
    run_file: RunFile, base_dir: Path, world: World, script: Script | None, *, needs_work: bool
) -> Wiring:
    specs = tuple(run_file.tasks or ())
    if needs_work and not specs and run_file.goal is None:
        raise InvalidInput("RUNFILE_NO_WORK", place="$")
    if script is not None:
        return _scripted(run_file, specs, base_dir, world, script)
    if run_file.team is None:
        raise InvalidInput("RUNFILE_NO_TEAM", place="$")
    config = with_defaults(run_file.team, run_file, base_dir, workspace=world.workspace)
    scripts = {name: world.play(script) for name, script in _scripts_of(run_file, base_dir).items()}
    registry = ToolRegistry(world.tools)
    for played in scripts.values():
        for tool in played.tools:
            registry.register(tool)
    settings = run_file.coordinator or Coordinator()
    coordinator = coordinator_agent(settings, options=run_file.orchestrator, roster=config.agents)
    homeless = _register_built_in(run_file, [*config.agents, coordinator], registry, world)
    outside = _outside(run_file, base_dir, world)
    check_named_tools(run_file, config, registry, later=outside.may_bring)
    models = _models(run_file, config, scripts, world)
    endpoints = [models.resolve(a) for a in config.agents if a.backend is None]
    if run_file.goal is not None and needs_work:
        endpoints.append(models.resolve(coordinator))
        endpoints += _profiler(run_file, settings, config, models)
    external = _external(config, world)
    options = _options(run_file)
    ways = [w for agent in config.agents for w in every_way(agent, options, of=OF_AGENTS)]
    if run_file.goal is not None:
        ways += every_way(coordinator, options, of=OF_COORDINATOR)
    endpoints = list(dict.fromkeys([*endpoints, *map(models.resolve, ways)]))
    uses = [(e.agent, e.provider, e.model) for e in endpoints]
    check_prices(options.prices, [*uses, *models_of(config.agents)])
    outside.join(registry, may_import=world.may_import)
    team = Team(
        config=config,
        tools=registry,
        adapter_for=models.adapter_for,
        gates=gates_from_rules(run_file.approvals),
        max_parallel_tool_calls=options.max_parallel_tool_calls,
        hooks=outside.hooks(run_file, may_import=world.may_import),
        external=external,
    )
    return Wiring(
        team,
        options,
        specs,
        tuple(endpoints),
        homeless,
        goal=run_file.goal,
        coordinator=settings,
        recovery=recovery_of_file(run_file.recovery),
        _models=models,
        _outside=outside,
        _check=partial(check_named_tools, run_file, config, registry),
    )


def check_workspaces(wiring: Wiring) -> None:
    """Refuse built-in tools without a folder; only a run in a database comes without one.

    Raises InvalidInput RUNFILE_NO_WORKSPACE.
    """
    for name in wiring.homeless:
        raise InvalidInput("RUNFILE_NO_WORKSPACE", agent=name)


def team_from_runfile(run_file: RunFile, *, base_dir: Path, clock: Clock) -> Team:
    """Return only the team; see `wire`, which also gives options, specs and a way to close."""
    return wire(run_file, base_dir=base_dir, world=World(clock), needs_work=False).team


def _scripted(
    run_file: RunFile, specs: tuple[TaskSpec, ...], base_dir: Path, world: World, script: Script
) -> Wiring:
    if run_file.team is None:
        team = world.play(script)
        problems = check_assignees(task_nodes(run_file), [a.name for a in team.config.agents])
        if problems and run_file.plan is None:  # a replay starts all the same (formats.md 6)
            raise refusal(tuple(problems))
    else:
        config = without_programs(with_defaults(run_file.team, run_file, base_dir))
        bare = Team(config, ToolRegistry(), adapter_for=_no_model)
        team = apply_script(
            bare, script, clock=world.clock, speed=world.speed, effects=world.effects
        )
    given = run_file.orchestrator.model_fields_set
    options = _options(run_file) if given else script.orchestrator
    check_prices(options.prices, models_of(team.config.agents))
    return Wiring(
        replace(team, max_parallel_tool_calls=options.max_parallel_tool_calls),
        options,
        specs,
        goal=run_file.goal,
        coordinator=_scripted_coordinator(run_file, script),
        recovery=recovery_of_script(script.recovery) or recovery_of_file(run_file.recovery),
    )


def _scripted_coordinator(run_file: RunFile, script: Script) -> Coordinator | None:
    """`coordinator: false` in a script leaves a restore without one (SCRIPTS.md)."""
    if script.coordinator is False:
        return None
    return run_file.coordinator or Coordinator()


def _no_model(agent: AgentConfig) -> ModelAdapter:
    raise InvalidInput("RUNFILE_NO_MODEL", agent=agent.name)


def _options(run_file: RunFile) -> OrchestratorOptions:
    """The team's own limit counts where the orchestrator names none."""
    options = run_file.orchestrator
    limit = run_file.team.max_concurrency if run_file.team else None
    if limit is None or "max_concurrency" in options.model_fields_set:
        return options
    return options.model_copy(update={"max_concurrency": limit})


def _scripts_of(run_file: RunFile, base_dir: Path) -> dict[str, Script]:
    return {
        name: load_script(base_dir / (entry.script or ""))
        for name, entry in run_file.providers.items()
        if entry.type == "scripted"
    }


def _models(
    run_file: RunFile, config: TeamConfig, scripts: Mapping[str, Team], world: World
) -> Endpoints:
    any_agent = config.agents[0]
    return Endpoints(
        run_file.providers,
        {name: played.adapter_for(any_agent) for name, played in scripts.items()},
        clock=world.clock,
        environ=os.environ if world.environ is None else world.environ,
        stored=world.stored_key,
        on_retry=world.on_retry,
        policy=run_file.orchestrator.egress_policy,
    )


def _profiler(
    run_file: RunFile, settings: Coordinator, config: TeamConfig, models: Endpoints
) -> list[Endpoint]:
    """Where the question of hybrid routing goes, so that it is known before the run."""
    routing = run_file.orchestrator.execution_routing
    if routing is None or routing.strategy != "hybrid":
        return []
    agent = profiler_agent(settings, options=run_file.orchestrator, roster=config.agents)
    return [models.resolve(agent)]


def _external(config: TeamConfig, world: World) -> ExternalAgents | None:
    """Return what starts the programs of the team, where it has some; each must exist."""
    environ = os.environ if world.environ is None else world.environ
    programs = [(agent.name, agent.backend) for agent in config.agents if agent.backend]
    for name, backend in programs:
        path = environment(environ, backend).get("PATH")
        if shutil.which(backend.command, path=path) is None:
            raise InvalidInput("BACKEND_COMMAND_MISSING", agent=name, command=backend.command)
    if not programs or world.supervisor is None or world.bus is None:
        return None
    return ExternalAgents(
        clock=world.clock,
        lanes=world.lanes,
        supervisor=world.supervisor,
        bus=world.bus,
        environ=environ,
    )


def _register_built_in(
    run_file: RunFile, agents: Sequence[AgentConfig], registry: ToolRegistry, world: World
) -> tuple[str, ...]:
    """Register the built-in tools that somebody is granted and nobody else provides.

    Returns the agents that have one and no folder.
    """
    shell = _shell_environment(run_file, world, added=run_file.tools.bash.env)
    folders = {agent.cwd for agent in agents}
    tools = builtin_tools(
        clock=world.clock,
        lanes=world.lanes,
        shell_environ=shell,
        guard=world.guard,
        workspace=folders.pop() if len(folders) == 1 else None,
    )
    homeless: dict[str, None] = {}
    for tool in tools:
        users = [agent for agent in agents if is_granted(agent, tool.name)]
        if users and registry.get(tool.name) is None:
            registry.register(tool)
            homeless.update((agent.name, None) for agent in users if agent.cwd is None)
    homeless.update((a.name, None) for a in agents if a.backend and _folder(a) is None)
    return tuple(homeless)


def _folder(agent: AgentConfig) -> str | None:
    return agent.cwd or (agent.backend.cwd if agent.backend else None)


def _shell_environment(
    run_file: RunFile, world: World, *, added: Sequence[str] = ()
) -> dict[str, str]:
    """Return all that commands and servers see of the environment; never a key of a provider."""
    own_keys = {name for entry in run_file.providers.values() for name in entry.key_env}
    return shell_environment(
        os.environ if world.environ is None else world.environ,
        added=added,
        key_names=own_keys.union(*(preset.key_env for preset in PRESETS.values())),
    )


def _outside(run_file: RunFile, base_dir: Path, world: World) -> OutsideTools:
    return OutsideTools(
        run_file.tools,
        base_dir=base_dir,
        lanes=world.lanes,
        environ=os.environ if world.environ is None else world.environ,
        passed=_shell_environment(run_file, world),
    )
