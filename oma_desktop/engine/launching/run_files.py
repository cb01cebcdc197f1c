"""The files of one run: run file, team file, script; and which saved run they speak of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from oma_desktop.base.clock import Clock
from oma_desktop.engine.launching.documents import document_at, naming
from oma_desktop.engine.launching.script import load_script
from oma_desktop.engine.launching.wiring import World, wire
from oma_desktop.engine.options import CheckpointOptions
from oma_desktop.engine.saving.places import place_of_saved_run
from oma_desktop.engine.tools.outside.mcp_tools import declared_mcp_effects
from oma_desktop.model.errors import NotFound, OmaError
from oma_desktop.model.keys import checkpoint_key
from oma_desktop.model.plan import PlanArtifact
from oma_desktop.model.plan_reading import is_plan, plan_in
from oma_desktop.model.runfile import Checkpoint, RunFile
from oma_desktop.model.runfile_reading import replaying, run_file_in, with_team
from oma_desktop.model.script import Script
from oma_desktop.model.view import Effect
from oma_desktop.store.address import StoreAddress
from oma_desktop.store.memory import MemoryStore
from oma_desktop.store.origin import Origin, read_origin

_NAMELESS: Final = "run"


@dataclass(frozen=True, slots=True)
class Files:
    """The parsed files of one run; relative paths in them start at `base_dir`."""

    run_file: RunFile
    script: Script | None
    base_dir: Path
    source: Path | None = None
    """What to name when the files do not fit together."""

    @property
    def team_name(self) -> str:
        """The name of the team; wiring refuses files that bring none."""
        if self.run_file.team is not None:
            return self.run_file.team.name
        return self.script.team.name if self.script is not None else _NAMELESS

    @property
    def place(self) -> Checkpoint:
        """Where the run file, else the script, wants the checkpoint."""
        named = self.run_file.checkpoint
        scripted = self.script.checkpoint if self.script is not None else None
        if scripted is None:
            return named
        return named.model_copy(
            update={
                "run_id": named.run_id or scripted.run_id,
                "key": named.key or scripted.key,
            }
        )


def read_files(origin: Origin) -> Files:
    """Read run file, team file and script. Blocking. Raises InvalidInput."""
    run_file = RunFile()
    base_dir = Path.cwd()
    plan: PlanArtifact | None = None
    if origin.run_file is not None:
        document = document_at(origin.run_file)
        with naming(origin.run_file):
            if is_plan(document.value):
                plan = plan_in(document)
                run_file = RunFile(plan=plan)
            else:
                run_file = run_file_in(document)
        base_dir = origin.run_file.resolve().parent
    elif origin.script is not None:
        base_dir = origin.script.resolve().parent
    if origin.team is not None:
        with naming(origin.team):
            settings = run_file_in(document_at(origin.team))
        if plan is None:
            run_file = with_team(run_file, settings)
        else:  # everything but the work is that file's, so its paths start where it lies
            run_file = replaying(settings, plan)
            base_dir = origin.team.resolve().parent
    script = load_script(origin.script) if origin.script is not None else None
    return Files(run_file, script, base_dir, origin.run_file or origin.script)


def saved_key(
    store: MemoryStore,
    *,
    path: StoreAddress,
    key: str | None = None,
    run_id: str | None = None,
    files: Files | None = None,
) -> str:
    """Return the key of the saved run that is meant (product.md 5: `restore`).

    What the caller names wins; then what the files say, where the store really holds that; else the
    default key or the only run. Raises NotFound CHECKPOINT_NOT_FOUND, InvalidInput
    CHECKPOINT_AMBIGUOUS.
    """
    if key is None and run_id is None and files is not None:
        wanted = files.place
        named = wanted.key or (checkpoint_key(wanted.run_id) if wanted.run_id else None)
        if named is not None and store.get(named) is not None:
            return named
    found = place_of_saved_run(CheckpointOptions(store, key=key), run_id).key
    if store.get(found) is None:
        raise NotFound("CHECKPOINT_NOT_FOUND", path=str(path), key=found)
    return found


def declared_effects(
    store: StoreAddress, *, clock: Clock, origin: Origin | None = None, key: str | None = None
) -> dict[str, Effect] | None:
    """Return what the files of a run say of its tools; None where nothing is declared. Blocking.

    Files named in `origin` must be good (InvalidInput); the remembered ones of an earlier time may
    be gone or changed: the resume plan then stands without them. Nothing is imported or started.
    """
    named = origin is not None and not origin.is_empty
    known = origin if origin is not None and named else read_origin(store, key)
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
    servers = files.run_file.tools.mcp if files.script is None else {}
    effects = {tool.name: tool.effect for tool in wiring.team.tools}
    return {**effects, **declared_mcp_effects(servers)}
