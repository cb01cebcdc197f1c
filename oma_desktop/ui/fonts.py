"""Type: the two families, their fallbacks and the sizes of look.md 4. Knows no colours.

The bundled families are variable fonts. Qt does not map `QFont.setWeight` to the `wght` axis of an
application font (measured: equal advances for 400 to 900), so the axis is set beside the weight,
and QSS never sets a font: it would drop the axis.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final, Literal, NamedTuple

from PySide6.QtGui import QFont, QFontDatabase

SANS: Final = (
    "Inter",
    "Noto Sans CJK SC",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "Microsoft YaHei UI",
    "PingFang SC",
    "sans-serif",
)
MONO: Final = (
    "JetBrains Mono",
    "Noto Sans Mono CJK SC",
    "WenQuanYi Micro Hei Mono",
    "Microsoft YaHei UI",
    "PingFang SC",
    "monospace",
)
PACKAGES: Final = ("fontpkg_inter", "fontpkg_jetbrains_mono")
WEIGHT_AXIS: Final = "wght"

FontUse = Literal[
    "title",
    "heading",
    "body",
    "name",
    "strong",
    "secondary",
    "state",
    "secondary.strong",
    "caption",
    "section",
    "mono",
    "mono.strong",
    "mono.caption",
]


class _Spec(NamedTuple):
    size: int
    weight: int
    mono: bool = False


USES: Final[dict[FontUse, _Spec]] = {
    "title": _Spec(20, 600),
    "heading": _Spec(15, 600),
    "body": _Spec(13, 400),
    "name": _Spec(13, 500),
    "strong": _Spec(13, 600),
    "secondary": _Spec(12, 400),
    "state": _Spec(12, 500),
    "secondary.strong": _Spec(12, 600),
    "caption": _Spec(11, 400),
    "section": _Spec(11, 600),
    "mono": _Spec(12, 400, mono=True),
    "mono.strong": _Spec(12, 600, mono=True),
    "mono.caption": _Spec(11, 400, mono=True),
}


@cache
def load() -> tuple[str, ...]:
    """Register the bundled font files once per process; return the families found.

    A missing package is not an error: the fallbacks of the system serve (look.md 4).
    """
    families: list[str] = []
    for package in PACKAGES:
        families += _load_package(package)
    return tuple(dict.fromkeys(families))


def _load_package(package: str) -> list[str]:
    try:
        origin = import_module(package).__file__
    except ImportError:
        return []
    folder = Path(origin or "").parent / "files"
    found: list[str] = []
    for file in sorted(folder.glob("*.ttf")):
        found += QFontDatabase.applicationFontFamilies(QFontDatabase.addApplicationFont(str(file)))
    return found


def make_font(use: FontUse, *, scale: float = 1.0) -> QFont:
    """Return a fresh font for a use of look.md 4, its size multiplied by the text scale."""
    spec = USES[use]
    font = QFont()
    font.setFamilies(list(MONO if spec.mono else SANS))
    font.setPixelSize(max(1, round(spec.size * scale)))
    font.setWeight(QFont.Weight(spec.weight))
    font.setVariableAxis(_tag(WEIGHT_AXIS), spec.weight)
    if spec.mono:
        # `!=` stays two characters: a diff or an input must show what is there
        font.setFeature(_tag("calt"), 0)
        font.setFeature(_tag("liga"), 0)
    return font


def tabular(font: QFont) -> QFont:
    """Return a copy with figures of one width, for number cells only (it widens hyphens too)."""
    copy = QFont(font)
    copy.setFeature(_tag("tnum"), 1)
    return copy


def italic(font: QFont) -> QFont:
    """Return a slanted copy: the mark of text that is not saved yet."""
    copy = QFont(font)
    copy.setItalic(True)
    return copy


def _tag(name: str) -> QFont.Tag:
    tag = QFont.Tag.fromString(name)
    if tag is None:  # pragma: no cover - the names above are valid tags
        raise ValueError(name)
    return tag
