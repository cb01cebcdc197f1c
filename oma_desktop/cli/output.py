"""What a command prints: one JSON document or plain text on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from enum import IntEnum
from typing import Final, TextIO

from oma_desktop.base.sentences import describe, one_line
from oma_desktop.base.text import paragraph, tr
from oma_desktop.model.errors import (
    ApprovalError,
    ChangedOnDisk,
    EngineError,
    Locked,
    OmaError,
    PlanRejected,
    WriteFailed,
)
from oma_desktop.model.json_text import stringify
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.view import Problem


class Exit(IntEnum):
    """Exit codes of product.md 5."""

    OK = 0
    FAILED = 1
    USAGE = 2
    SUSPENDED = 3
    BUSY = 4
    UNEXPECTED = 5
    STOPPED = 130


def exit_of(error: OmaError) -> Exit:
    """Return the exit code of an error that ended a command."""
    if isinstance(error, Locked | ChangedOnDisk):
        return Exit.BUSY
    if isinstance(error, PlanRejected):
        return Exit.USAGE
    if isinstance(error, ApprovalError | EngineError | WriteFailed):
        return Exit.FAILED
    return Exit.UNEXPECTED if error.code == "UNEXPECTED" else Exit.USAGE


class Output:
    """Writes for one command. With `as_json`, stdout gets exactly one document.

    A reader that goes away (`| head`) ends the output, never the command, whose exit code stays
    true. A document or line that cannot be written for another reason raises WriteFailed
    OUTPUT_NOT_WRITTEN; what is said beside it on stderr is dropped then.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    def document(self, value: JsonValue) -> None:
        """Print a document, indented, valid for every JSON reader whatever the terminal can show.

        Characters that could steer or deceive a terminal are written as JSON escapes.
        """
        plain = json.loads(stringify(value))
        text = _IN_JSON.sub(_escape, json.dumps(plain, ensure_ascii=False, indent=2))
        if _printable(text, _stdout().encoding) != text:
            text = json.dumps(plain, indent=2)
        _give(text)

    def line(self, text: str = "") -> None:
        """Print one line of plain output; nothing with --json. What is no plain text is escaped."""
        if not self.as_json:
            _give(harmless(text))

    def note(self, text: str) -> None:
        """Say something beside the result, as one line: progress, places, warnings."""
        try:
            _write(sys.stderr, harmless(text))
        except OSError:
            silence(sys.stderr)

    def error(self, error: OmaError) -> None:
        """Say one clear line: what is wrong, where, what to do; with --json also the document."""
        message = sentence_of(error.code, error.facts)
        place = str(error.facts.get("path") or error.facts.get("where") or "")
        self.note(tr("oma-desktop: {message}", message=placed(message, place)))
        if self.as_json:
            with suppress(WriteFailed):  # the first error is the one that counts
                self.document({"error": _error_document(error)})


def placed(message: str, place: str) -> str:
    """Return the message with its place in front, unless the message names it itself."""
    return message if place in message else tr("{where}: {message}", where=place, message=message)


def filled(problems: JsonValue) -> list[JsonObject]:
    """Give findings of a document, which hold code and facts, their message instead of the facts.

    Changes the document; returns its findings.
    """
    found = [p for p in problems if isinstance(p, dict)] if isinstance(problems, list) else []
    for problem in found:
        facts = problem.pop("facts", None)
        place = {"where": problem.get("where")}
        known = {**place, **facts} if isinstance(facts, dict) else place
        problem["message"] = sentence_of(str(problem.get("code")), known)
    return found


def sentence_of(code: str, facts: Mapping[str, object]) -> str:
    """Return title, detail and hint of a code as one line."""
    return " ".join(one_line(code, readable(facts)).split())


def problem_facts(problem: Problem) -> dict[str, object]:
    """Return the facts of a finding with its place: sentences of single errors name it too."""
    return readable({"where": problem.where, **problem.facts})


def problem_line(problem: Problem) -> str:
    """Return the whole sentence of a finding as one line."""
    return sentence_of(problem.code, problem_facts(problem))


def readable(facts: Mapping[str, object]) -> dict[str, object]:
    """Return facts with lists as people write them."""
    return {
        k: ", ".join(map(str, v)) if isinstance(v, list | tuple | set | frozenset) else v
        for k, v in facts.items()
    }


def _error_document(error: OmaError) -> JsonObject:
    sentence = describe(error.code, readable(error.facts))
    message = paragraph((sentence.title, sentence.detail))
    document: JsonObject = {"code": error.code, "message": message}
    where = error.facts.get("where") or error.facts.get("place") or error.facts.get("path")
    if where:
        document["where"] = str(where)
    if sentence.hint:
        document["hint"] = sentence.hint
    return document


_DECEIVING: Final = r"\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_IN_JSON: Final = re.compile(f"[{_DECEIVING}]")
_IN_LINES: Final = re.compile(rf"[\x00-\x1f{_DECEIVING}]")


def harmless(text: str) -> str:
    """Return text of a run as one line that cannot steer a terminal or turn its direction."""
    return _IN_LINES.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def silence(stream: TextIO) -> None:
    """Send the rest of a stream nowhere: also what it still holds, which would fail at exit."""
    with suppress(OSError):  # not backed by a file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


_own: list[TextIO] = []
"""Where results go while the printing of others is kept from stdout."""


@contextmanager
def only_ours() -> Iterator[None]:
    """Keep stdout for results: what tools, and programs they start, print goes to stderr.

    Else one `print` in a tool would spoil the document of `--json` (product.md 5).
    """
    sys.stdout.flush()
    try:
        number, aside = sys.stdout.fileno(), sys.stderr.fileno()
        own = os.dup(number)
    except OSError:  # not backed by a file: nothing but Python can print there
        _own.append(sys.stdout)
        number = own = -1
    else:
        _own.append(os.fdopen(own, "w", encoding=sys.stdout.encoding))
        os.dup2(aside, number)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        stream = _own.pop()
        if own != -1:
            with suppress(OSError):  # the reader went away
                stream.flush()
            os.dup2(own, number)
            with suppress(OSError):
                stream.close()


def _stdout() -> TextIO:
    return _own[-1] if _own else sys.stdout


def _give(text: str) -> None:
    out = _stdout()
    try:
        _write(out, text)
    except BrokenPipeError:
        silence(out)
    except OSError as error:
        silence(out)
        raise WriteFailed("OUTPUT_NOT_WRITTEN", reason=error.strerror or "?") from error


def _write(out: TextIO, text: str) -> None:
    out.write(_printable(text, out.encoding) + "\n")
    out.flush()


def _printable(text: str, encoding: str | None) -> str:
    """Characters the terminal cannot show become escapes, never an error."""
    codec = encoding or "utf-8"
    return text.encode(codec, "backslashreplace").decode(codec)
