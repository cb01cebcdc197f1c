"""Whether code of a run file's folder may be imported and started: asked on a terminal only."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Final

from oma_desktop.base.text import tr
from oma_desktop.cli.output import Output
from oma_desktop.engine.launching.consent import Consent
from oma_desktop.engine.launching.run_files import read_files
from oma_desktop.model.errors import NotAllowed
from oma_desktop.model.trust import TrustQuestion, trust_question
from oma_desktop.store.origin import Origin
from oma_desktop.store.trust import TrustedFolders

_YES: Final = frozenset({"y", "yes", "是"})


def add_trust_argument(parser: argparse.ArgumentParser) -> None:
    """Describe the flag `run` and `restore` share."""
    parser.add_argument(
        "--trust-folder",
        action="store_true",
        help=tr(
            "import and start the tools of the run file's folder, now and later, without asking"
        ),
    )


def consent_for(
    origin: Callable[[], Origin], options: argparse.Namespace, output: Output
) -> Consent:
    """Return the consent of this command line, asking where it can; nothing is imported here.

    `origin` says which files the run comes from; it is called only where a person can be asked.
    Where nobody can be asked, the launcher refuses with one sentence that names folder and flag.
    Raises NotAllowed FOLDER_REFUSED after a no, else as `read_files`.
    """
    if options.trust_folder:
        return Consent(ask=_yes)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return Consent()
    question = _open_question(origin())
    if question is None:
        return Consent()
    if not _asked(question, output):
        raise NotAllowed("FOLDER_REFUSED", folder=str(question.folder))
    return Consent(ask=_yes)


async def _yes(_question: TrustQuestion) -> bool:
    return True


def _open_question(origin: Origin) -> TrustQuestion | None:
    """Return what a person has not agreed to yet."""
    if origin.script is not None:
        return None
    files = read_files(origin)
    question = trust_question(files.run_file, files.base_dir, source=files.source)
    if question is None or TrustedFolders().trusts(question.folder):
        return None
    return question


def _asked(question: TrustQuestion, output: Output) -> bool:
    output.note(
        tr("This run wants to run code of its own; its folder is {folder}:", folder=question.folder)
    )
    for name in question.functions:
        output.note(tr("  imports {name}", name=name))
    for command in question.commands:
        output.note(tr("  starts {command}", command=command))
    output.note(tr("It can do whatever you can do on this computer, whenever a run uses it."))
    output.note(tr("Trust this folder, now and for later runs? Type y or n, then Enter."))
    return sys.stdin.readline().strip().lower() in _YES
