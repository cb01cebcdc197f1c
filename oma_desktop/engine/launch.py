"""From files to a run that is ready to go: what the command line and the window share.

Order (formats.md W9): read and check every file, then open the store under its lock, then run.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.endpoints import Endpoint
from oma_desktop.engine.options import CheckpointOptions, RestoreOptions, RunOptions
from oma_desktop.engine.orchestrator import OpenMultiAgent
from oma_desktop.engine.script import EffectsLog, load_script
from oma_desktop.engine.wiring import Wiring, World, retry_events, wire
from oma_desktop.model.errors import Conflict, InvalidInput, NotFound, OmaError
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.keys import checkpoint_key
from oma_desktop.model.result import TeamRunResult
from oma_desktop.model.runfile import Checkpoint, RunFile
from oma_desktop.model.runfile_reading import read_run_file, with_team
from oma_desktop.model.script import Script
from oma_desktop.model.view import Effect
from oma_desktop.store.catalog_paths import default_store_path
from oma_desktop.store.origin import Origin, read_origin, write_origin
from oma_desktop.store.writers import OpenStore, open_for_writing

Go = Callable[[CancelToken], Awaitable[TeamRunResult]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """One attempt, ready. The writer lock is held until `close`; close it in any case."""

    store_path: Path
    key: str | None
    run_id: str | None
    go: Go
    _opened: OpenStore
    _wiring: Wiring
    _lanes: Lanes

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Where model calls will go, one per agent; empty for scripted models."""
        return self._wiring.endpoints

    async def close(self) -> None:
        """Release connections, store and lock."""
        await self._wiring.close()
        await self._lanes.store(self._opened.close)


@dataclass(frozen=True, slots=True)
class Files:
    """The parsed files of one run."""

    run_file: RunFile
    script: Script | None
    base_dir: Path


class Launcher:
    """Prepares attempts. `app` names us in the lock; `speed` scales scripted delays (0: none)."""

    def __init__(
        self,
        *,
        clock: Clock,
        supervisor: Supervisor,
        lanes: Lanes,
        app: str,
        speed: float = 1.0,
        force_lock: bool = False,
    ) -> None:
        self._clock = clock
        self._supervisor = supervisor
        self._lanes = lanes
        self._app = app
        self._speed = speed
        self._force = force_lock

    async def new_run(
        self,
        origin: Origin,
        *,
        bus: EventBus,
        store: Path | None = None,
        run_id: str | None = None,
        effects: Path | None = None,
    ) -> Prepared:
        """Prepare a fresh run of a run file.

        Raises InvalidInput, NotAllowed (files), Locked, Corrupt, WriteFailed (store), Conflict
        CHECKPOINT_EXISTS when the store already holds the run; nothing is overwritten.
        """
        files = await self._lanes.work(read_files, origin)
        wiring = await self._wire(files, bus, effects, needs_work=True)
        wanted = _place(files)
        team = wiring.team.config.name
        identity = run_id or wanted.run_id or self._fresh_run_id(team)
        path = (
            store
            or _configured(files, wanted)
            or default_store_path(files.base_dir, team, identity)
        )
        key = wanted.key or checkpoint_key(identity)
        opened = await self._open(path)
        try:
            await self._lanes.store(_claim, opened, path, key, origin)
        except BaseException:
            await self._lanes.store(opened.close)
            raise
        options = RunOptions(
            run_id=identity,
            checkpoint=CheckpointOptions(opened.store, key=wanted.key, lock=opened.lock),
        )
        engine = self._engine(wiring, bus)

        async def go(token: CancelToken) -> TeamRunResult:
            return await engine.run_tasks(wiring.team, wiring.specs, replace(options, token=token))

        return Prepared(path, key, identity, go, opened, wiring, self._lanes)

    async def saved_run(
        self,
        origin: Origin,
        *,
        bus: EventBus,
        store: Path,
        key: str | None = None,
        run_id: str | None = None,
        retry_failed: bool = False,
        effects: Path | None = None,
    ) -> Prepared:
        """Prepare a restore. Files not named are those the run was started from.

        Raises NotFound (no store, no files), else as `new_run`.
        """
        origin = await self._lanes.work(_known_origin, store, origin)
        if origin.is_empty:
            raise InvalidInput("RESTORE_NEEDS_FILES", path=str(store))
        files = await self._lanes.work(read_files, origin)
        wiring = await self._wire(files, bus, effects, needs_work=False)
        opened = await self._open(store)
        options = _restore_options(files, opened, key, run_id)
        options = replace(options, retry_failed=retry_failed)
        engine = self._engine(wiring, bus)

        async def go(token: CancelToken) -> TeamRunResult:
            return await engine.restore(wiring.team, replace(options, token=token))

        return Prepared(store, options.checkpoint.key, run_id, go, opened, wiring, self._lanes)

    # ------------------------------------------------------------------ parts

    async def _wire(
        self, files: Files, bus: EventBus, effects: Path | None, *, needs_work: bool
    ) -> Wiring:
        log = EffectsLog(effects, clock=self._clock, lanes=self._lanes) if effects else None
        world = World(self._clock, on_retry=retry_events(bus), speed=self._speed, effects=log)
        return await self._lanes.work(
            wire,
            files.run_file,
            base_dir=files.base_dir,
            world=world,
            script=files.script,
            needs_work=needs_work,
        )

    async def _open(self, path: Path) -> OpenStore:
        return await self._lanes.store(
            open_for_writing, path, app=self._app, clock=self._clock, force=self._force
        )

    def _engine(self, wiring: Wiring, bus: EventBus) -> OpenMultiAgent:
        return OpenMultiAgent(
            wiring.orchestrator,
            clock=self._clock,
            supervisor=self._supervisor,
            lanes=self._lanes,
            bus=bus,
        )

    def _fresh_run_id(self, team: str) -> str:
        """`<team>-<UTC yyyymmdd-hhmmss>-<4 hex>` (product.md 7), at most 128 characters."""
        tail = f"-{self._clock.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        return team[: 128 - len(tail)] + tail


def _claim(opened: OpenStore, path: Path, key: str, origin: Origin) -> None:
    """Make sure the place of a new run is free, then remember what it is started from."""
    if opened.store.get(key) is not None:
        raise Conflict("CHECKPOINT_EXISTS", key=key, path=str(path))
    write_origin(path, origin)


def _known_origin(store: Path, origin: Origin) -> Origin:
    if not store.is_file():
        raise NotFound("STORE_MISSING", path=str(store))
    return read_origin(store) if origin.is_empty else origin


def read_files(origin: Origin) -> Files:
    """Read run file, team file and script. Blocking. Raises InvalidInput."""
    run_file = RunFile()
    base_dir = Path.cwd()
    if origin.run_file is not None:
        run_file = _read(origin.run_file)
        base_dir = origin.run_file.resolve().parent
    elif origin.script is not None:
        base_dir = origin.script.resolve().parent
    if origin.team is not None:
        run_file = with_team(run_file, _read(origin.team))
    script = load_script(origin.script) if origin.script is not None else None
    return Files(run_file, script, base_dir)


def declared_effects(
    store: Path, *, clock: Clock, origin: Origin | None = None
) -> dict[str, Effect] | None:
    """Return what the files of a run say of its tools; None where nothing is declared. Blocking.

    Files named in `origin` must be good (InvalidInput); the remembered ones of an earlier time may
    be gone or changed: the resume plan then stands without them.
    """
    named = origin is not None and not origin.is_empty
    known = origin if origin is not None and named else read_origin(store)
    if known.is_empty:
        return None
    try:
        files = read_files(known)
        wiring = wire(
            files.run_file,
            base_dir=files.base_dir,
            world=World(clock),
            script=files.script,
            needs_work=False,
        )
    except OmaError:
        if named:
            raise
        return None
    return {tool.name: tool.effect for tool in wiring.team.tools}


def _read(path: Path) -> RunFile:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput("RUNFILE_UNREADABLE", path=str(path), found=error.strerror) from error
    return read_run_file(data, name=str(path))


def _place(files: Files) -> Checkpoint:
    """Where the run file, else the script, wants the checkpoint."""
    named = files.run_file.checkpoint
    scripted = files.script.checkpoint if files.script else None
    if scripted is None:
        return named
    return named.model_copy(
        update={
            "run_id": named.run_id or scripted.run_id,
            "key": named.key or scripted.key,
        }
    )


def _configured(files: Files, wanted: Checkpoint) -> Path | None:
    return files.base_dir / wanted.path if wanted.path else None


def _restore_options(
    files: Files, opened: OpenStore, key: str | None, run_id: str | None
) -> RestoreOptions:
    """What the caller names wins; then what the files say when the store really holds that."""
    if key is None and run_id is None:
        wanted = _place(files)
        named = wanted.key or (checkpoint_key(wanted.run_id) if wanted.run_id else None)
        if named is not None and opened.store.get(named) is not None:
            key = named
    extra: JsonObject = files.script.restore_options if files.script else {}
    metadata = extra.get("metadata")
    budget = extra.get("maxTokenBudget")
    return RestoreOptions(
        checkpoint=CheckpointOptions(opened.store, run_id=run_id, key=key, lock=opened.lock),
        metadata=metadata if isinstance(metadata, dict) else None,
        max_token_budget=budget if isinstance(budget, int) else None,
    )
