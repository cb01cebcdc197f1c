"""The six built-in tools as the pipeline knows them (engine.md 9.2)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, cast

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.engine.tools.builtin.bash import DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS, run_bash
from oma_desktop.engine.tools.builtin.file_edit import edit_file
from oma_desktop.engine.tools.builtin.file_read import read_file
from oma_desktop.engine.tools.builtin.file_write import write_file
from oma_desktop.engine.tools.builtin.glob import MAX_FILES, find_files
from oma_desktop.engine.tools.builtin.grep import run_search
from oma_desktop.engine.tools.builtin.refusal import Refusal, quoted
from oma_desktop.engine.tools.builtin.search import MAX_RESULTS, Search
from oma_desktop.engine.tools.builtin.shell import Shell
from oma_desktop.engine.tools.builtin.workspace import Guard, Workspace
from oma_desktop.engine.tools.registry import ToolContext, ToolOutput, ToolRun, ToolSpec
from oma_desktop.model.effects import BUILT_IN_EFFECTS
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.view import Effect

MOST: Final = 10_000
"""The highest number of files or lines a model may ask for."""
_TEXT: Final[JsonObject] = {"type": "string"}
_PATH: Final[JsonObject] = {
    "type": "string",
    "description": "Absolute path inside the workspace; other paths are refused and the answer "
    "names the workspace.",
}
_FOLDER: Final[JsonObject] = {
    "type": "string",
    "description": "Absolute path inside the workspace; default: the workspace.",
}


def builtin_tools(
    *,
    clock: Clock,
    lanes: Lanes,
    shell_environ: Mapping[str, str],
    guard: Guard | None = None,
    confined: bool = True,
    workspace: str | None = None,
) -> tuple[ToolSpec, ...]:
    """Return all six; registering grants nothing (engine.md 3.3).

    They work in the folder of the agent's `cwd`. `shell_environ` is all that commands see of the
    environment (`shell_environment`). `confined` False lets the file tools leave the folder.
    `workspace` is told to models where all agents have the same one; else an answer tells it.
    """
    where = f" The workspace is {quoted(workspace)}." if workspace is not None else ""
    box = _Toolbox(clock, lanes, shell_environ, guard or Guard(), confined=confined)
    return (
        _spec(
            "file_read",
            "Read a text file. Returns numbered lines; long files come in parts." + where,
            {"path": _PATH, "offset": _count("First line, from 1."), "limit": _count("Lines.")},
            box.file_read,
            required=("path",),
        ),
        _spec(
            "file_write",
            "Write a whole text file; missing folders are made, an existing file is replaced."
            + where,
            {"path": _PATH, "content": _TEXT},
            box.file_write,
            required=("path", "content"),
        ),
        _spec(
            "file_edit",
            "Replace one text in a file by another, both taken literally. The old text must occur "
            "exactly once, unless replace_all is true." + where,
            {
                "path": _PATH,
                "old_string": _TEXT,
                "new_string": _TEXT,
                "replace_all": {"type": "boolean", "default": False},
            },
            box.file_edit,
            required=("path", "old_string", "new_string"),
        ),
        _spec(
            "glob",
            "List files whose names fit a pattern with *, ?, ** and {a,b}, sorted. Paths are "
            "relative to the workspace." + where,
            {
                "pattern": _TEXT,
                "path": _FOLDER,
                "maxFiles": {
                    **_count("Most files to list."),
                    "default": MAX_FILES,
                    "maximum": MOST,
                },
            },
            box.glob,
            required=("pattern",),
        ),
        _spec(
            "grep",
            "List lines that fit a regular expression (Python syntax) as file:line:text." + where,
            {
                "pattern": _TEXT,
                "path": {**_FOLDER, "description": "Absolute path of a file or folder."},
                "glob": {**_TEXT, "description": "Only files whose names fit."},
                "maxResults": {
                    **_count("Most lines to list."),
                    "default": MAX_RESULTS,
                    "maximum": MOST,
                },
            },
            box.grep,
            required=("pattern",),
        ),
        _spec(
            "bash",
            "Run a command with bash in the workspace. Returns output and exit code. Input is "
            "closed; what still runs when the command ends is ended." + where,
            {
                "command": {**_TEXT, "minLength": 1},
                "timeout": {
                    **_count("Milliseconds."),
                    "default": DEFAULT_TIMEOUT_MS,
                    "maximum": MAX_TIMEOUT_MS,
                },
                "cwd": {**_TEXT, "description": "Folder to run in; default: the workspace."},
            },
            box.bash,
            required=("command",),
        ),
    )


def _count(description: str) -> JsonObject:
    return {"type": "integer", "minimum": 1, "description": description}


def _spec(
    name: str,
    description: str,
    properties: Mapping[str, JsonObject],
    run: ToolRun,
    *,
    required: tuple[str, ...],
) -> ToolSpec:
    effect = BUILT_IN_EFFECTS[name]
    schema: JsonObject = {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }
    consequential = effect is Effect.CONSEQUENTIAL
    return ToolSpec(name, description, schema, run, effect=effect, consequential=consequential)


class _Toolbox:
    """What the tools share. Arguments were validated by the pipeline, so they are only cast."""

    def __init__(
        self,
        clock: Clock,
        lanes: Lanes,
        shell_environ: Mapping[str, str],
        guard: Guard,
        *,
        confined: bool,
    ) -> None:
        self._clock = clock
        self._lanes = lanes
        self._guard = guard
        self._confined = confined
        self._shell = Shell(clock=clock, lanes=lanes, environ=shell_environ)
        # Two edits of one file in one turn must see each other's work.
        self._writing = threading.Lock()

    def _workspace(self, context: ToolContext) -> Workspace:
        if context.cwd is None:
            raise Refusal("NO_WORKSPACE", "This agent has no workspace (cwd), so nothing was done.")
        return Workspace(Path(context.cwd), confined=self._confined, guard=self._guard)

    async def file_read(self, input_: JsonObject, context: ToolContext) -> ToolOutput:
        path, offset, limit = _str(input_, "path"), _int(input_, "offset"), _int(input_, "limit")
        return await self._work(
            partial(read_file, self._workspace(context), path, offset=offset or 1, limit=limit)
        )

    async def file_write(self, input_: JsonObject, context: ToolContext) -> ToolOutput:
        path, content = _str(input_, "path"), _str(input_, "content")
        return await self._write(partial(write_file, self._workspace(context), path, content))

    async def file_edit(self, input_: JsonObject, context: ToolContext) -> ToolOutput:
        path, old = _str(input_, "path"), _str(input_, "old_string")
        new, all_ = _str(input_, "new_string"), input_.get("replace_all") is True
        return await self._write(
            partial(edit_file, self._workspace(context), path, old, new, replace_all=all_)
        )

    async def glob(self, input_: JsonObject, context: ToolContext) -> ToolOutput:
        pattern, path = _str(input_, "pattern"), _str_or_none(input_, "path")
        limit = _int(input_, "maxFiles") or MAX_FILES
        return await self._work(
            partial(find_files, self._workspace(context), pattern, path, max_files=limit)
        )

    async def grep(self, input_: JsonObject, context: ToolContext) -> ToolOutput:
        search = Search(
            self._workspace(context),
            _str(input_, "pattern"),
            path=_str_or_none(input_, "path"),
            glob=_str_or_none(input_, "glob"),
            max_results=_int(input_, "maxResults") or MAX_RESULTS,
        )
        found = run_search(search, clock=self._clock, lanes=self._lanes, token=context.token)
        return ToolOutput(await found)

    async def bash(self, input_: JsonObject, context: ToolContext) -> ToolOutput:
        return await run_bash(
            self._shell,
            _str(input_, "command"),
            key=f"{context.run_id}:{context.task_id}:{context.tool_call_id}",
            root=self._workspace(context).root,
            lanes=self._lanes,
            cwd=_str_or_none(input_, "cwd"),
            timeout_ms=_int(input_, "timeout") or DEFAULT_TIMEOUT_MS,
            token=context.token,
        )

    async def _work(self, act: Callable[[], str]) -> ToolOutput:
        return ToolOutput(await self._lanes.work(act))

    async def _write(self, act: Callable[[], str]) -> ToolOutput:
        def alone() -> str:
            with self._writing:
                return act()

        return ToolOutput(await self._lanes.work(alone))


def _str(input_: JsonObject, name: str) -> str:
    return cast("str", input_[name])


def _str_or_none(input_: JsonObject, name: str) -> str | None:
    return cast("str | None", input_.get(name))


def _int(input_: JsonObject, name: str) -> int | None:
    return cast("int | None", input_.get(name))
