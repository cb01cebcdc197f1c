"""The command line of product.md 5: parsing, the error boundary, exit codes."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final, NoReturn

from typing_extensions import override

from oma_desktop import __version__
from oma_desktop.base.text import N_, set_language, tr
from oma_desktop.cli.argparse_words import translate_argparse
from oma_desktop.cli.output import Exit, Output, exit_of
from oma_desktop.cli.screen import require_display
from oma_desktop.model.errors import InvalidInput, OmaError
from oma_desktop.model.nearest import nearest
from oma_desktop.store.address import is_database, parse_address


@dataclass(frozen=True, slots=True)
class Command:
    """One subcommand: its module under `cli/` offers `add_arguments` and `run`."""

    name: str
    module: str
    summary: str

    def load(self) -> ModuleType:
        """Import the module only when it is asked for: starting stays quick."""
        return importlib.import_module(f"oma_desktop.cli.{self.module}")


COMMANDS: Final = (
    Command("demo", "demo", N_("Play the bundled sample run on the real engine.")),
    Command("run", "run", N_("Run a run file to its end or to a suspension.")),
    Command("plan", "plan", N_("Freeze what a run file would do, to be replayed exactly.")),
    Command("restore", "restore", N_("Resume a run, or show what a resume would do.")),
    Command("inspect", "inspect", N_("Show every run, approval and key of a store.")),
    Command("approvals", "approvals", N_("List approval requests with full content and hash.")),
    Command("approve", "decide", N_("Approve one request, bound to the hash you read.")),
    Command("reject", "decide", N_("Reject one request, bound to the hash you read.")),
    Command("check", "check", N_("Check a run file, plan, store or journal.")),
)
NAMES: Final = tuple(command.name for command in COMMANDS)


class _Parser(argparse.ArgumentParser):
    """Wrong usage is an error like any other: one line, exit 2. Nothing may be abbreviated."""

    @override
    def error(self, message: str) -> NoReturn:
        raise InvalidInput("USAGE", detail=message, command=self.prog)


def build_parser(wanted: str | None = None) -> argparse.ArgumentParser:
    """Build the parser; only the module of the command that is `wanted` is imported."""
    parser = _Parser(
        prog="oma-desktop",
        description=tr("Supervise, steer and resume long multi-agent runs."),
        epilog=tr(
            "Without a command the window opens; paths are store files, run files, folders or "
            "addresses of databases."
        ),
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"oma-desktop {__version__}",
        help=tr("show the version and exit"),
    )
    commands = parser.add_subparsers(dest="command", metavar=tr("COMMAND"), parser_class=_Parser)
    for command in COMMANDS:
        summary = tr(command.summary)
        sub = commands.add_parser(
            command.name, help=summary, description=summary, allow_abbrev=False
        )
        if command.name == wanted:
            _describe(sub, command)
    return parser


def _describe(parser: argparse.ArgumentParser, command: Command) -> None:
    parser.add_argument("--json", action="store_true", help=tr("print exactly one JSON document"))
    # Accepted everywhere (product.md 5); commands that only read never lock.
    parser.add_argument(
        "--force-lock",
        action="store_true",
        help=tr("take over a lock whose owner cannot be told (see the message of exit code 4)"),
    )
    command.load().add_arguments(parser, command.name)
    parser.set_defaults(handler=command)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; never raises, never prints a traceback."""
    output = Output(as_json="--json" in arguments)
    try:
        _keep_libraries_quiet()
        _choose_language()
        translate_argparse()
        _require_folder()
        return int(_dispatch(list(arguments), output))
    except OmaError as error:
        output.error(error)
        return exit_of(error)
    except KeyboardInterrupt:
        return Exit.STOPPED
    except SystemExit as end:  # argparse after --help and --version
        return Exit.OK if end.code in (None, 0) else Exit.USAGE
    except Exception as bug:  # noqa: BLE001 - the command boundary (house.md 2.6)
        return _unexpected(bug, output)


def _dispatch(arguments: list[str], output: Output) -> int:
    first = arguments[0] if arguments else ""
    if first not in NAMES and not first.startswith("-"):
        return _window(arguments)
    command = next((word for word in arguments if word in NAMES), None)
    options = build_parser(command).parse_args(arguments)
    if not hasattr(options, "handler"):
        return _window([])
    handler: Callable[[argparse.Namespace, Output], int] = options.handler.load().run
    return handler(options, output)


def _unexpected(bug: Exception, output: Output) -> int:
    output.error(OmaError("UNEXPECTED", kind=type(bug).__name__, detail=str(bug)[:300]))
    if os.environ.get("OMA_DESKTOP_DEBUG"):
        traceback.print_exception(bug)
    return Exit.UNEXPECTED


def _window(paths: list[str]) -> int:
    """Open the window; its package is found by name because the command line knows no Qt."""
    places = [_place(path) for path in paths]
    require_display()
    try:
        window = importlib.import_module("oma_desktop.app.main")
    except ImportError as error:
        raise InvalidInput("WINDOW_NOT_AVAILABLE", detail=str(error)) from error
    return int(window.run(places))


def _place(path: str) -> str:
    """Return a path that exists, or the address of a database as it may be shown and kept."""
    if is_database(path):
        return str(parse_address(path))
    if not Path(path).exists():
        raise _nothing_there(path)
    if not (Path(path).is_file() or Path(path).is_dir()):
        raise InvalidInput("FILE_NOT_REGULAR", path=path)
    return path


def _nothing_there(path: str) -> InvalidInput:
    """A word that is no path may have been meant as a command."""
    meant = nearest(path, NAMES) if Path(path).name == path else None
    if meant is not None:
        return InvalidInput("COMMAND_UNKNOWN", found=path, nearest=meant)
    return InvalidInput("PATH_NOT_FOUND", path=path)


def _require_folder() -> None:
    """Every relative path starts in the folder we were started in; it may be gone."""
    try:
        Path.cwd()
    except OSError as error:
        raise InvalidInput("WORKING_FOLDER_GONE", reason=error.strerror or "?") from error


def _keep_libraries_quiet() -> None:
    """What libraries log, tracebacks included, is for whoever looks for a defect (product.md 5).

    Without a handler the first record of the root logger would set up one that prints.
    """
    if not os.environ.get("OMA_DESKTOP_DEBUG"):
        logging.lastResort = None
        if not logging.getLogger().handlers:
            logging.getLogger().addHandler(logging.NullHandler())


def _choose_language() -> None:
    """`OMA_DESKTOP_LANG` or the usual locale variables; English where there is no translation."""
    for name in ("OMA_DESKTOP_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name, "").split(".")[0]
        if value:
            break
    try:
        set_language("zh_CN" if value.startswith("zh") else "en")
    except OSError:
        set_language("en")
