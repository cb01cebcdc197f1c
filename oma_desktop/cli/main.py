"""The command line of product.md 5: parsing, the error boundary, exit codes."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import NoReturn

from typing_extensions import override

from oma_desktop import __version__
from oma_desktop.base.sentences import describe
from oma_desktop.base.text import LANGUAGES, N_, set_language, tr
from oma_desktop.cli.output import Exit, Output
from oma_desktop.model.errors import InvalidInput, Locked, OmaError


@dataclass(frozen=True, slots=True)
class Command:
    """One subcommand: its module under `cli/` offers `add_arguments` and `run`."""

    name: str
    module: str
    summary: str

    def load(self) -> ModuleType:
        """Import the module only when it is asked for: starting stays quick."""
        return importlib.import_module(f"oma_desktop.cli.{self.module}")


COMMANDS = (
    Command("demo", "demo", N_("Play the bundled sample run on the real engine.")),
    Command("run", "run", N_("Run a run file to its end or to a suspension.")),
    Command("restore", "restore", N_("Resume a run, or show what a resume would do.")),
    Command("inspect", "inspect", N_("Show every run, approval and key of a store.")),
    Command("approvals", "approvals", N_("List approval requests with full content and hash.")),
    Command("approve", "decide", N_("Approve one request, bound to the hash you read.")),
    Command("reject", "decide", N_("Reject one request, bound to the hash you read.")),
    Command("check", "check", N_("Check a run file, plan, store or journal.")),
)


class _Parser(argparse.ArgumentParser):
    """Wrong usage is an error like any other: one line, exit 2."""

    @override
    def error(self, message: str) -> NoReturn:
        raise InvalidInput("USAGE", detail=message, command=self.prog)


def build_parser() -> argparse.ArgumentParser:
    """Build the parser; the modules of all commands describe their own arguments."""
    parser = _Parser(
        prog="oma-desktop",
        description=tr("Supervise, steer and resume long multi-agent runs."),
        epilog=tr(
            "Without a command the window opens; paths are store files, run files or folders."
        ),
    )
    parser.add_argument("--version", action="version", version=f"oma-desktop {__version__}")
    commands = parser.add_subparsers(dest="command", metavar=tr("COMMAND"), parser_class=_Parser)
    for command in COMMANDS:
        sub = commands.add_parser(
            command.name, help=tr(command.summary), description=tr(command.summary)
        )
        sub.add_argument("--json", action="store_true", help=tr("print one JSON document"))
        sub.add_argument(
            "--force-lock",
            action="store_true",
            help=tr("take over a lock whose owner cannot be told (see the message of exit code 4)"),
        )
        command.load().add_arguments(sub, command.name)
        sub.set_defaults(handler=command)
    return parser


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; never raises, never prints a traceback."""
    _choose_language()
    if not arguments or (
        arguments[0] not in {c.name for c in COMMANDS} and not arguments[0].startswith("-")
    ):
        return _window(list(arguments))
    as_json = "--json" in arguments
    output = Output(as_json=as_json)
    try:
        options = build_parser().parse_args(arguments)
        if not hasattr(options, "handler"):
            return _window([])
        handler: Callable[[argparse.Namespace, Output], int] = options.handler.load().run
        return int(handler(options, output))
    except OmaError as error:
        output.error(error)
        return Exit.BUSY if isinstance(error, Locked) else Exit.USAGE
    except BrokenPipeError:
        # The reader of our output went away (`| head`): not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except KeyboardInterrupt:
        return Exit.STOPPED
    except Exception as bug:  # noqa: BLE001 - the command boundary (house.md 2.6)
        return _unexpected(bug, output)


def _unexpected(bug: Exception, output: Output) -> int:
    output.error(OmaError("UNEXPECTED", kind=type(bug).__name__, detail=str(bug)[:300]))
    if os.environ.get("OMA_DESKTOP_DEBUG"):
        traceback.print_exception(bug)
    return Exit.UNEXPECTED


def _window(paths: list[str]) -> int:
    """Open the window; its package is found by name because the command line knows no Qt."""
    missing = [p for p in paths if not os.path.exists(p)]  # noqa: PTH110 - a yes or no
    if missing:
        Output(as_json=False).error(InvalidInput("PATH_NOT_FOUND", path=missing[0]))
        return Exit.USAGE
    try:
        window = importlib.import_module("oma_desktop.app.main")
    except ImportError as error:
        sentence = describe("WINDOW_NOT_AVAILABLE", {"detail": str(error)})
        Output(as_json=False).note(f"{sentence.title} {sentence.detail} {sentence.hint}")
        return Exit.USAGE
    return int(window.run(paths))


def _choose_language() -> None:
    """`OMA_DESKTOP_LANG` or the usual locale variables."""
    for name in ("OMA_DESKTOP_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name, "").split(".")[0]
        if value:
            set_language("zh_CN" if value.startswith("zh") else value)
            return
    set_language(LANGUAGES[0])
