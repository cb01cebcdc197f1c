"""From files to a run that is ready to go: what the command line and the window share.

Order (formats.md W9): read and check every file, then open the store under its lock, then run.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.cost import is_cost
from oma_desktop.engine.identity import check_run_id
from oma_desktop.engine.launching.beginning import Go, work_of
from oma_desktop.engine.launching.consent import Consent
from oma_desktop.engine.launching.documents import naming
from oma_desktop.engine.launching.endpoints import Endpoint
from oma_desktop.engine.launching.freezing import Freezing, freezing_file, freezing_goal
from oma_desktop.engine.launching.run_files import Files, declared_effects, read_files, saved_key
from oma_desktop.engine.launching.sample import effects_beside
from oma_desktop.engine.launching.script import EffectsLog
from oma_desktop.engine.launching.wiring import Wiring, World, check_workspaces, retry_events, wire
from oma_desktop.engine.options import CheckpointOptions, RestoreOptions
from oma_desktop.engine.orchestrator import OpenMultiAgent
from oma_desktop.engine.saving.masking import as_asked
from oma_desktop.engine.tools.builtin.workspace import Guard
from oma_desktop.model.errors import Conflict, InvalidInput, NotFound, StoreError
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.keys import checkpoint_key
from oma_desktop.model.named_functions import named_functions
from oma_desktop.model.result import TeamRunResult
from oma_desktop.model.trust import trust_question
from oma_desktop.store.access import Choose, OpenRun, open_run, read_only
from oma_desktop.store.address import StoreAddress, is_database, parse_address
from oma_desktop.store.catalog_paths import default_store_path
from oma_desktop.store.file_reading import Reader, read_container
from oma_desktop.store.memory import MemoryStore
from oma_desktop.store.origin import Origin, forget_origin, lost_files, read_origin, write_origin

__all__ = ["Files", "Launcher", "Prepared", "declared_effects", "known_origin", "read_files"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """One attempt, ready. The writer lock is held until `close`; close it in any case."""

    store_path: StoreAddress
    key: str
    run_id: str | None
    go: Go
    _opened: OpenRun
    _wiring: Wiring
    _lanes: Lanes

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Where model calls will go, one per agent; empty for scripted models."""
        return self._wiring.endpoints

    async def close(self) -> None:
        """Release connections, store and lock."""
        try:
            await self._wiring.close()
        finally:
            await self._lanes.store(_release, self._opened, self.store_path, self.key)


class Launcher:
    """Prepares attempts. `app` names us in the lock; `speed` scales scripted delays (0: none).

    `reader` reads store files; the window's parses big ones in another process.
    `consent` knows which folders code may come from; by default nobody is asked about new ones.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        supervisor: Supervisor,
        lanes: Lanes,
        app: str,
        speed: float = 1.0,
        force_lock: bool = False,
        reader: Reader = read_container,
        consent: Consent | None = None,
    ) -> None:
        self._consent = consent if consent is not None else Consent()
        self._clock = clock
        self._supervisor = supervisor
        self._lanes = lanes
        self._app = app
        self._speed = speed
        self._force = force_lock
        self._reader = reader

    async def new_run(
        self,
        origin: Origin,
        *,
        bus: EventBus,
        store: StoreAddress | None = None,
        run_id: str | None = None,
        effects: Path | None = None,
        token: CancelToken | None = None,
    ) -> Prepared:
        """Prepare a fresh run of a run file. A stop of `token` ends the wait for its servers.

        Raises InvalidInput, NotAllowed (files, a folder nobody trusts), ToolError (MCP servers),
        Locked, Corrupt, WriteFailed (store), Conflict CHECKPOINT_EXISTS when the store already
        holds the run; nothing is overwritten.
        """
        files = await self._lanes.work(read_files, origin)
        wanted = files.place
        given = run_id if run_id is not None else wanted.run_id
        identity = self._fresh_run_id(files.team_name) if given is None else check_run_id(given)
        path = store or _place(files, identity)
        await self._lanes.work(_refuse_folder, path)
        key = wanted.key or checkpoint_key(identity)
        wiring = await self._wire(files, origin, path, bus=bus, effects=effects, needs_work=True)
        async with self._opened(path, partial(_free, path, key), wiring, bus) as opened:
            await wiring.connect(clock=self._clock, supervisor=self._supervisor, token=token)
            await self._lanes.store(write_origin, path, key, origin)
        place = CheckpointOptions(as_asked(opened.store, wanted), key=wanted.key, lock=opened.lock)
        engine = self._engine(wiring, bus)
        go = work_of(engine, wiring, identity, place)

        return Prepared(path, key, identity, go, opened, wiring, self._lanes)

    async def saved_run(
        self,
        origin: Origin,
        *,
        bus: EventBus,
        store: StoreAddress,
        key: str | None = None,
        run_id: str | None = None,
        retry_failed: bool = False,
        effects: Path | None = None,
        run_masked: frozenset[str] = frozenset(),
        token: CancelToken | None = None,
    ) -> Prepared:
        """Prepare a restore. Files not named are those the run was started from.

        `run_masked`: calls a person accepted although their saved input is masked.

        Raises NotFound (no store, no such run), InvalidInput (no files, several runs), else as
        `new_run`.
        """
        origin = await self._lanes.work(
            partial(known_origin, store, origin, key, run_id, reader=self._reader)
        )
        files = await self._lanes.work(read_files, origin)
        wiring = await self._wire(files, origin, store, bus=bus, effects=effects, needs_work=False)
        choose = partial(saved_key, path=store, key=key, run_id=run_id, files=files)
        async with self._opened(store, choose, wiring, bus) as opened:
            await wiring.connect(clock=self._clock, supervisor=self._supervisor, token=token)
        options = _restore_options(files, opened)
        options = replace(
            options,
            run_id=run_id,
            retry_failed=retry_failed,
            coordinator=wiring.coordinator,
            specs=wiring.specs or None,  # the run is there; they still say who judges (W29)
        )
        if files.place.masked_inputs != "run":
            options = replace(options, run_masked=run_masked)
        engine = self._engine(wiring, bus)

        async def go(token: CancelToken) -> TeamRunResult:
            return await engine.restore(wiring.team, replace(options, token=token))

        return Prepared(store, opened.key, run_id, go, opened, wiring, self._lanes)

    async def plan(self, origin: Origin, *, bus: EventBus) -> Freezing:
        """Prepare to freeze what a run file would do; nothing of it runs and no store is opened.

        Raises as `new_run` does for files.
        """
        files = await self._lanes.work(read_files, origin)
        if files.run_file.goal is None:
            with naming(files.source):
                return await self._lanes.work(freezing_file, files, bus=bus)
        nowhere = _place(files, files.team_name)
        wiring = await self._wire(files, origin, nowhere, bus=bus, effects=None, needs_work=True)
        return freezing_goal(self._engine(wiring, bus), wiring)

    # ------------------------------------------------------------------ parts

    async def _wire(
        self,
        files: Files,
        origin: Origin,
        store: StoreAddress,
        *,
        bus: EventBus,
        effects: Path | None,
        needs_work: bool,
    ) -> Wiring:
        may_import = await self._agreed(files, bus)
        effects = effects or effects_beside(store)
        log = EffectsLog(effects, clock=self._clock, lanes=self._lanes) if effects else None
        workspace, guard = _own_places(origin, store, effects)
        world = World(
            self._clock,
            on_retry=retry_events(bus),
            speed=self._speed,
            effects=log,
            lanes=self._lanes,
            workspace=workspace,
            guard=guard,
            supervisor=self._supervisor,
            bus=bus,
            may_import=may_import,
        )
        with naming(files.source):
            wiring = await self._lanes.work(
                wire,
                files.run_file,
                base_dir=files.base_dir,
                world=world,
                script=files.script,
                needs_work=needs_work,
            )
            try:
                check_workspaces(wiring)
            except BaseException:
                await wiring.close()
                raise
            return wiring

    async def _agreed(self, files: Files, bus: EventBus) -> bool:
        """Ask before code of the run file's folder is used; True when there is such code.

        Where a script plays, nothing else asks (product.md 6): nothing of the folder is imported,
        and what the hooks would have done is said to be missing.
        """
        question = trust_question(files.run_file, files.base_dir, source=files.source)
        if files.script is not None:
            hooks = dict.fromkeys(hook.use for hook in named_functions(files.run_file))
            if hooks:
                facts = {"code": "SCRIPT_WITHOUT_HOOKS", "names": ", ".join(hooks)}
                bus.emit("warning", data=facts)
            return False
        if question is None:
            return False
        if not await self._consent.require(question, lanes=self._lanes):
            facts = {"folder": str(question.folder), "path": self._consent.place}
            bus.emit("warning", data={"code": "TRUST_NOT_KEPT", **facts})
        return True

    @asynccontextmanager
    async def _opened(
        self, path: StoreAddress, choose: Choose, wiring: Wiring, bus: EventBus
    ) -> AsyncIterator[OpenRun]:
        """Open the store under its lock; it stays open unless the block fails."""
        opened: OpenRun | None = None
        try:
            opened = await self._lanes.store(
                open_run,
                path,
                choose,
                app=self._app,
                clock=self._clock,
                force=self._force,
                reader=self._reader,
            )
            if (dead := opened.lock.replaced) is not None:
                told = {**dead.facts(), "code": "LOCK_TAKEN_OVER", "path": str(path)}
                bus.emit("warning", data=told)
            yield opened
        except BaseException:
            if opened is not None:
                await self._lanes.store(opened.close)
            await wiring.close()
            raise

    def _engine(self, wiring: Wiring, bus: EventBus) -> OpenMultiAgent:
        return OpenMultiAgent(
            wiring.orchestrator,
            clock=self._clock,
            supervisor=self._supervisor,
            lanes=self._lanes,
            bus=bus,
            recovery=wiring.recovery,
        )

    def _fresh_run_id(self, team: str) -> str:
        """`<team>-<UTC yyyymmdd-hhmmss>-<4 hex>` (product.md 7), at most 128 characters."""
        tail = f"-{self._clock.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        return team[: 128 - len(tail)] + tail


def _own_places(
    origin: Origin, store: StoreAddress, effects: Path | None
) -> tuple[Path | None, Guard]:
    """Return the run's folder (product.md 7 `cwd`) and what no file tool may write."""
    files = {path for path in (origin.run_file, origin.team, origin.script, effects) if path}
    if not isinstance(store, Path):
        return None, Guard(frozenset(files))
    folder = store.absolute().parent
    return folder, Guard(frozenset(files | {folder / "journal.jsonl"}), frozenset({store}))


def _refuse_folder(path: StoreAddress) -> None:
    if isinstance(path, Path) and path.is_dir():
        raise InvalidInput("PATH_IS_FOLDER", path=str(path))


def _place(files: Files, run_id: str) -> StoreAddress:
    wanted = files.place.path
    if wanted:
        return parse_address(wanted) if is_database(wanted) else files.base_dir / wanted
    return default_store_path(files.base_dir, files.team_name, run_id)


def _free(path: StoreAddress, key: str, store: MemoryStore) -> str:
    """Make sure the place of a new run is free."""
    if store.get(key) is not None:
        raise Conflict("CHECKPOINT_EXISTS", key=key, path=str(path))
    return key


def _release(opened: OpenRun, path: StoreAddress, key: str) -> None:
    """Give the store back; a run that was never saved leaves nothing behind."""
    try:
        # A server that is away now says nothing of the run; how that ended is known already.
        with suppress(StoreError):
            if opened.store.get(key) is None:
                forget_origin(path, key)
    finally:
        opened.close()


def known_origin(
    path: StoreAddress,
    origin: Origin,
    key: str | None,
    run_id: str | None,
    *,
    reader: Reader = read_container,
) -> Origin:
    """Return the files of a saved run: those named, else those it was started from. Blocking.

    Without one of those files a run would go on with another team, or with real models instead of
    its script: then a person has to name them. Raises NotFound PATH_NOT_FOUND, InvalidInput
    RESTORE_NEEDS_FILES, RESTORE_FILES_GONE.
    """
    if isinstance(path, Path) and not path.is_file():
        raise NotFound("PATH_NOT_FOUND", path=str(path))
    if not origin.is_empty:
        return origin
    held = read_only(path, reader=reader)
    saved = saved_key(held, path=path, key=key, run_id=run_id)
    if lost := lost_files(path, saved):
        raise InvalidInput("RESTORE_FILES_GONE", path=str(path), missing=[str(p) for p in lost])
    found = read_origin(path, saved)
    if found.is_empty:
        raise InvalidInput("RESTORE_NEEDS_FILES", path=str(path))
    return found


def _restore_options(files: Files, opened: OpenRun) -> RestoreOptions:
    extra: JsonObject = files.script.restore_options if files.script else {}
    metadata = extra.get("metadata")
    budget = extra.get("maxTokenBudget")
    cost = extra.get("maxCostBudget")
    return RestoreOptions(
        checkpoint=CheckpointOptions(
            as_asked(opened.store, files.place), key=opened.key, lock=opened.lock
        ),
        metadata=metadata if isinstance(metadata, dict) else None,
        max_token_budget=budget if isinstance(budget, int) else None,
        max_cost_budget=cost if is_cost(cost) else None,  # type: ignore[arg-type]
        run_masked=None,
    )
