"""Every function a run file names beside its tools: hooks of agents (engine.md 3.7, 3.9, 3.11)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from oma_desktop.model.context_options import CustomContext
from oma_desktop.model.hook_names import LoopDetection, is_callable_name
from oma_desktop.model.runfile import RunFile
from oma_desktop.model.team import AgentConfig

HookField: TypeAlias = Literal["before_run", "after_run", "compress", "on_loop"]
COORDINATOR = "coordinator"


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """One hook: whose, which, `use` (`module:function`), and where the run file says so."""

    agent: str
    hook: HookField
    use: str
    where: str


def named_functions(run_file: RunFile) -> list[NamedFunction]:
    """Return the hooks of all agents and of the coordinator, in the order of the file."""
    found = [
        hook
        for index, agent in enumerate(run_file.team.agents if run_file.team else ())
        for hook in _of_agent(agent, f"team.agents[{index}]")
    ]
    coordinator = run_file.coordinator
    if coordinator is not None:
        found += _of_loops(COORDINATOR, coordinator.loop_detection, "coordinator")
    return found


def _of_agent(agent: AgentConfig, where: str) -> Iterator[NamedFunction]:
    if agent.before_run is not None:
        yield NamedFunction(agent.name, "before_run", agent.before_run, f"{where}.beforeRun")
    if agent.after_run is not None:
        yield NamedFunction(agent.name, "after_run", agent.after_run, f"{where}.afterRun")
    strategy = agent.context_strategy
    if isinstance(strategy, CustomContext):
        place = f"{where}.contextStrategy.compress"
        yield NamedFunction(agent.name, "compress", strategy.compress, place)
    yield from _of_loops(agent.name, agent.loop_detection, where)


def _of_loops(agent: str, loops: LoopDetection | None, where: str) -> Iterator[NamedFunction]:
    if loops is not None and is_callable_name(loops.on_loop_detected):
        place = f"{where}.loopDetection.onLoopDetected"
        yield NamedFunction(agent, "on_loop", loops.on_loop_detected, place)
