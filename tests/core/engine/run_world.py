"""A world for whole runs: scripted teams, virtual time, a store lane without threads."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import shutil
from contextlib import suppress
from pathlib import Path

from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.agents.team import Team
from oma_desktop.engine.bus import EventBus, ProgressEvent
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.launching.script import read_script, team_from_script
from oma_desktop.engine.options import CheckpointOptions, RestoreOptions, RunOptions, TeamRunOptions
from oma_desktop.engine.orchestrator import OpenMultiAgent
from oma_desktop.engine.tasks.recovery_policies import recovery_of_script
from oma_desktop.engine.tools.gate import Gates
from oma_desktop.engine.tools.registry import ToolOutput, ToolRegistry, ToolSpec
from oma_desktop.model.errors import WriteFailed
from oma_desktop.model.keys import is_checkpoint_key
from oma_desktop.model.result import AgentRunResult, RunStatus
from oma_desktop.model.runfile import Coordinator
from oma_desktop.model.team import AgentConfig, OrchestratorOptions, TaskSpec, TeamConfig
from oma_desktop.store.filestore import FileStore
from oma_desktop.store.in_memory import InMemoryStore
from oma_desktop.store.ledger import ApprovalLedger
from tests.core.engine.runner_world import VirtualClock

GOLDEN = Path(__file__).parents[2] / "golden"
CASES = Path(__file__).parents[2] / "cases"


async def drive(task, clock, patience=4000):
    """Run the loop until `task` is done, moving time on whenever nothing else moves."""
    idle = 0
    while not task.done():
        for _ in range(40):
            await asyncio.sleep(0)
        if not task.done() and not clock.advance():
            idle += 1
            assert idle < patience, "the run hangs"


class InlineLanes(Lanes):
    """The store lane without threads: work is done in order, with a turn of the loop around it."""

    async def store(self, fn, /, *args, **kwargs):
        await asyncio.sleep(0)
        result = fn(*args, **kwargs)
        await asyncio.sleep(0)
        return result

    work = store


class CountingIds:
    """t1, t2, ... and traces that differ."""

    def __init__(self):
        self._n = itertools.count(1)

    def uuid(self):
        return f"id-{next(self._n)}"

    def trace_id(self):
        return f"{next(self._n):032x}"

    def span_id(self):
        return f"{next(self._n):016x}"


class RecordingStore(InMemoryStore):
    """Keeps every checkpoint that was written; `fail` makes the next writes fail."""

    def __init__(self, clock):
        super().__init__(clock=clock)
        self.saved = []
        self.fail = False
        self.on_save = None

    def _put(self, key, value, metadata, expires_at_turn):
        if is_checkpoint_key(key):
            if self.fail:
                raise WriteFailed("STORE_WRITE_FAILED")
            self.saved.append(json.loads(value))
            if self.on_save is not None:
                self.on_save(self.saved[-1])
        super()._put(key, value, metadata, expires_at_turn)


def ok(output="done", usage=(10, 2)):
    spent = {"input_tokens": usage[0], "output_tokens": usage[1]}
    return AgentRunResult(True, output, token_usage=spent)


def bad(output="boom", usage=(5, 1), retryable=None, **facts):
    from oma_desktop.model.result import ErrorInfo

    spent = {"input_tokens": usage[0], "output_tokens": usage[1]}
    info = ErrorInfo("provider", code="BOOM", message=output, retryable=retryable)
    status = RunStatus("error", output)
    return AgentRunResult(False, output, token_usage=spent, error_info=info, status=status, **facts)


def spec(title, *deps, **facts):
    return TaskSpec(title=title, description=f"do {title}", depends_on=list(deps), **facts)


class RunWorld:
    """One store, one bus, as many attempts as wanted.

    `script` gives a whole scripted team; without it `agents` are names and `work` is a coroutine
    function (world, agent, job) -> AgentRunResult that stands in for the runner.
    """

    def __init__(
        self,
        *,
        script=None,
        agents=("a", "b"),
        work=None,
        store=None,
        gates=None,
        memory=False,
        tools=(),
        rng=lambda: 0.0,
        team=None,
        recovery_default=None,
        **options,
    ):
        self.recovery_default = recovery_default
        self.clock = VirtualClock()
        self.bus = EventBus()
        self.events: list[ProgressEvent] = []
        self.bus.subscribe(self.events.append)
        self.store = store if store is not None else RecordingStore(self.clock)
        self.ids = CountingIds()
        self.rng = rng
        self.work = work
        self.token = CancelToken()
        self.estimate = None
        self.prompts = {}
        if script is not None:
            parsed = read_script(script)
            self.team = team_from_script(parsed, clock=self.clock, speed=1.0)
            self.options = parsed.orchestrator
            self.recovery_default = recovery_default or recovery_of_script(parsed.recovery)
        else:
            config = TeamConfig(
                name="t",
                agents=[a if isinstance(a, AgentConfig) else AgentConfig(name=a) for a in agents],
                shared_memory=memory,
            )
            self.team = Team(
                config=config,
                tools=ToolRegistry(tools),
                adapter_for=lambda _a: None,
                gates=gates or Gates(),
            )
            self.options = OrchestratorOptions(**options)
        if team is not None:
            self.team = team

    async def _execute(self, _team, agent, job):
        self.prompts[job.task_title] = job.prompt
        await asyncio.sleep(0)
        if self.work is None:
            return ok(f"{job.task_title} done")
        return await self.work(self, agent, job)

    async def _with(self, call, real_runner):
        supervisor = Supervisor()
        oma = OpenMultiAgent(
            self.options,
            clock=self.clock,
            supervisor=supervisor,
            lanes=InlineLanes(),
            bus=self.bus,
            ids=self.ids,
            rng=self.rng,
            execute=None if real_runner else self._execute,
            estimate_cost=self.estimate,
            recovery=self.recovery_default,
        )
        self.oma = oma
        main = supervisor.spawn(call(oma), name="the run")
        self.main = main
        await drive(main, self.clock)
        left = [n for n in supervisor.names if n != "the run"]
        assert left == [], f"tasks left behind: {left}"
        await supervisor.close()
        return main.result()

    async def run(self, *specs, checkpoint=True, lock=None, real_runner=False, **options):
        place = CheckpointOptions(self.store, lock=lock) if checkpoint is True else checkpoint
        run = RunOptions(checkpoint=place or None, token=self.token, **options)
        return await self._with(lambda oma: oma.run_tasks(self.team, list(specs), run), real_runner)

    async def replay(self, plan, *, checkpoint=True, real_runner=False, **options):
        place = CheckpointOptions(self.store) if checkpoint else None
        run = RunOptions(checkpoint=place, token=self.token, **options)
        return await self._with(lambda oma: oma.run_from_plan(self.team, plan, run), real_runner)

    async def run_team(self, goal, *, checkpoint=True, real_runner=True, **options):
        place = CheckpointOptions(self.store) if checkpoint is True else checkpoint
        run = TeamRunOptions(checkpoint=place or None, token=self.token, **options)
        return await self._with(lambda oma: oma.run_team(self.team, goal, run), real_runner)

    async def restore(self, *, key=None, lock=None, real_runner=False, fresh=True, **options):
        if fresh:
            self.token = CancelToken()
        place = CheckpointOptions(self.store, key=key, lock=lock)
        wish = RestoreOptions(place, token=self.token, **options)
        return await self._with(lambda oma: oma.restore(self.team, wish), real_runner)

    # what can be looked at

    def snapshot(self, key=None):
        keys = [e.key for e in self.store.list() if is_checkpoint_key(e.key)]
        entry = self.store.get(key or keys[0])
        return json.loads(entry.value)

    def statuses(self, document=None):
        tasks = (document or self.snapshot())["queue"]["tasks"]
        return {t["title"]: t["status"] for t in tasks}

    def of(self, type_):
        return [e for e in self.events if e.type == type_]

    def forget_events(self):
        self.events.clear()

    def ledger(self):
        return ApprovalLedger(self.store, clock=self.clock)

    def decide(self, verdict="approve", reviewer="ann"):
        """Decide every open request."""
        for row in self.ledger().list():
            if "decision" not in row:
                self.ledger().decide(
                    row["request"]["id"], row["request"]["requestHash"], verdict, {"id": reviewer}
                )

    def crashed(self, at=-1):
        """A world on a copy of the store as it was at one save: what a kill would leave."""
        copy_ = RecordingStore(self.clock)
        for entry in self.store.list():
            if not is_checkpoint_key(entry.key):
                copy_.set(entry.key, entry.value, entry.metadata)
        key = next(e.key for e in self.store.list() if is_checkpoint_key(e.key))
        copy_.set(key, json.dumps(self.store.saved[at], separators=(",", ":"), ensure_ascii=False))
        copy_.saved.clear()
        other = copy.copy(self)
        other.store = copy_
        other.token = CancelToken()
        return other


def statuses(result):
    return {t["title"]: t["status"] for t in result.tasks}


def golden_world(case, tmp_path, script=None):
    """A world on a copy of a golden store, with the script that belongs to it."""
    folder = case if isinstance(case, Path) else GOLDEN / case
    file = tmp_path / "checkpoint.json"
    shutil.copy(folder / "checkpoint.json", file)
    document = script or json.loads((folder / "peer_script.json").read_text("utf-8"))
    clock_first = VirtualClock()
    world = RunWorld(script=document, store=FileStore(file, clock=clock_first))
    world.script = document
    return world


def restore_options(document):
    """key, run id and further options a script asks for."""
    where = document.get("checkpoint", {})
    options = {k: v for k, v in where.items() if k == "key"}
    if "runId" in where:
        options["run_id"] = where["runId"]
    extra = document.get("restoreOptions", {})
    if "maxTokenBudget" in extra:
        options["max_token_budget"] = extra["maxTokenBudget"]
    if "metadata" in extra:
        options["metadata"] = extra["metadata"]
    if document.get("coordinator") is not False:
        options["coordinator"] = Coordinator()
    return options


async def eventually(check, turns=400):
    """Let the loop turn until `check` holds."""
    for _ in range(turns):
        if check():
            return
        await asyncio.sleep(0)
    raise AssertionError("did not happen")


__all__ = [
    "CASES",
    "GOLDEN",
    "CountingIds",
    "InlineLanes",
    "RecordingStore",
    "RunWorld",
    "ToolOutput",
    "ToolSpec",
    "bad",
    "eventually",
    "golden_world",
    "ok",
    "restore_options",
    "spec",
    "statuses",
    "suppress",
]
