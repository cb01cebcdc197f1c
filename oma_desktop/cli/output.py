"""What a command prints: one JSON document or plain text on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from enum import IntEnum

from oma_desktop.base.sentences import describe
from oma_desktop.base.text import tr
from oma_desktop.model.errors import OmaError
from oma_desktop.model.json_text import stringify
from oma_desktop.model.json_value import JsonObject, JsonValue


class Exit(IntEnum):
    """Exit codes of product.md 5."""

    OK = 0
    FAILED = 1
    USAGE = 2
    SUSPENDED = 3
    BUSY = 4
    UNEXPECTED = 5
    STOPPED = 130


class Output:
    """Writes for one command. With `as_json`, stdout gets exactly one document."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    def document(self, value: JsonValue) -> None:
        """Print the document of the command, indented, valid for every JSON reader."""
        text = stringify(value)
        pretty = json.dumps(json.loads(text), ensure_ascii=False, indent=2)
        self._write(pretty)

    def line(self, text: str = "") -> None:
        """Print one line of plain output; nothing with --json."""
        if not self.as_json:
            self._write(text)

    def note(self, text: str) -> None:
        """Say something beside the result: progress, places, warnings."""
        sys.stderr.write(_printable(text, sys.stderr.encoding) + "\n")
        sys.stderr.flush()

    def error(self, error: OmaError) -> None:
        """Say one clear line: what is wrong, where, what to do; with --json also the document."""
        sentence = describe(error.code, error.facts)
        parts = [p for p in (sentence.title, sentence.detail, sentence.hint) if p]
        self.note(tr("oma-desktop: {message}", message=" ".join(parts).replace("\n", " ")))
        if self.as_json:
            document: JsonObject = {"code": error.code, "message": sentence.title}
            if sentence.detail:
                document["message"] = f"{sentence.title} {sentence.detail}"
            where = error.facts.get("where") or error.facts.get("path")
            if where:
                document["where"] = str(where)
            if sentence.hint:
                document["hint"] = sentence.hint
            self.document({"error": document})

    def _write(self, text: str) -> None:
        sys.stdout.write(_printable(text, sys.stdout.encoding) + "\n")
        sys.stdout.flush()


def _printable(text: str, encoding: str | None) -> str:
    """Lone surrogates and characters the terminal cannot show become escapes, never an error."""
    codec = encoding or "utf-8"
    return text.encode(codec, "backslashreplace").decode(codec)
