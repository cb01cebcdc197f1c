"""Sentences for people: translation, and the catalogue that turns codes into sentences.

Only `ui/`, `cli/` and `base/sentences/` hold sentences; everything else speaks in codes and facts
(house.md 2.10). `tr` and `ntr` take whole sentences with named places, so that translators see
them whole. Extraction: Babel finds `tr(`, `ntr(` and `N_(`.
"""

from __future__ import annotations

import gettext
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from importlib import resources
from string import Formatter
from typing import Final
from unicodedata import east_asian_width

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from typing_extensions import override

DOMAIN: Final = "oma"
LANGUAGES: Final = ("en", "zh_CN")

_WIDE_MARKS: Final = ("。", "？", "！", "：", "；")  # full width: they end with white already
_MARKS: Final = (".", "!", "?", ":", ";", ",", "…", *_WIDE_MARKS)
_ASIDE: Final = re.compile(r"[.!?]\s*\([^()]*\)$")
"""A remark in brackets after the end of a sentence; it needs no mark."""
_CLOSING: Final = "\"'”’»)]）”"

_state: dict[str, gettext.NullTranslations] = {"now": gettext.NullTranslations()}


def N_(text: str) -> str:  # noqa: N802 - the usual name of a marker for extraction
    """Mark a text for extraction without translating it yet."""
    return text


def set_language(language: str) -> None:
    """Switch to `en` or `zh_CN`; unknown languages fall back to English."""
    if language not in LANGUAGES or language == "en":
        _state["now"] = gettext.NullTranslations()
        return
    po = resources.files("resources") / "i18n" / language / "LC_MESSAGES" / f"{DOMAIN}.po"
    compiled = io.BytesIO()
    with po.open("rb") as source:
        write_mo(compiled, read_po(source, locale=language))
    compiled.seek(0)
    _state["now"] = gettext.GNUTranslations(compiled)


class _Facts(Formatter):
    """Format named places; a missing fact shows as its name instead of raising."""

    @override
    def get_value(
        self, key: int | str, args: object, kwargs: object
    ) -> object:  # pragma: no cover - trivial
        facts = kwargs if isinstance(kwargs, dict) else {}
        return facts.get(key, f"{{{key}}}")


_format = _Facts()


def tr(text: str, /, **facts: object) -> str:
    """Translate a sentence and fill its named places."""
    translated = _state["now"].gettext(text)
    return _format.vformat(translated, (), facts) if facts else translated


def ntr(singular: str, plural: str, n: int, /, **facts: object) -> str:
    """Translate by number; `{n}` is always available."""
    translated = _state["now"].ngettext(singular, plural, n)
    return _format.vformat(translated, (), {"n": n, **facts})


def paragraph(sentences: Iterable[str]) -> str:
    """Set whole sentences one after the other, empty ones left out.

    A full-width mark brings its own space, so Chinese sentences stand close. A sentence that ends
    with the words of another program may lack its mark; it gets one.
    """
    return reduce(_follow, filter(None, sentences), "")


def _follow(text: str, sentence: str) -> str:
    if not text or text.endswith(_WIDE_MARKS):
        return text + sentence
    if text.rstrip(_CLOSING).endswith(_MARKS) or _ASIDE.search(text):
        return f"{text} {sentence}"
    return f"{text}。{sentence}" if east_asian_width(sentence[0]) in "WF" else f"{text}. {sentence}"


def _one_mark(text: str) -> str:
    """A fact that is a sentence of its own brings a mark where ours stands already."""
    doubled = text.endswith(("..", ".。", "。。")) and not text.endswith("...")
    return text[:-2] + text[-1] if doubled else text


def listed(facts: Iterable[str]) -> str:
    """Set facts of one thing side by side, empty ones left out: "bash, done, read only"."""

    def beside(before: str, fact: str) -> str:
        return tr("{before}, {next}", before=before, next=fact)

    present = [fact for fact in facts if fact]
    return reduce(beside, present) if present else ""


def named(names: Iterable[str]) -> str:
    """Set names of like things in a row; Chinese has a mark of its own for that."""

    def beside(before: str, name: str) -> str:
        return tr("{name}, {others}", name=before, others=name)

    every = list(names)
    return reduce(beside, every) if every else ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """What happened, what is known about it, what to do (ux.md C15). Texts are msgids."""

    title: str
    detail: str = ""
    hint: str = ""

    @property
    def whole(self) -> str:
        """Everything as one paragraph."""
        return paragraph((self.title, self.detail, self.hint))

    def fill(self, facts: Mapping[str, object]) -> Sentence:
        """Return the translated sentence with its places filled."""
        parts = (self.title, self.detail, self.hint)
        return Sentence(*(_one_mark(tr(part, **facts)) if part else "" for part in parts))
