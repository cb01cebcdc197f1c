"""Colour, type and density by role: the only door from `tokens.json` to pixels (look.md 2, 10).

There is one `ThemeHost` per application, made by `install` and reached by `theme_host()`; `theme()`
is short for the theme in force now. Views keep neither colours nor fonts: they ask at paint time,
and repaint on `theme_host().theme_changed`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, cast

from PySide6.QtCore import QObject, Qt, QTemporaryDir, Signal
from PySide6.QtGui import QAccessibilityHints, QColor, QFont, QGuiApplication, QPalette, QStyleHints
from PySide6.QtWidgets import QApplication

from oma_desktop.ui import fonts

Scheme = Literal["light", "dark", "contrast"]
SchemeChoice = Literal["light", "dark", "contrast", "system"]
Density = Literal["compact", "normal", "roomy"]

SCHEMES: Final[tuple[Scheme, ...]] = ("light", "dark", "contrast")
_TOKEN_SETS: Final[dict[Scheme, str]] = {"light": "light", "dark": "dark", "contrast": "hc"}

# look.md 3, pixels at text scale 1: compact, normal, roomy
_HEIGHTS: Final[dict[str, tuple[int, int, int]]] = {
    "row": (22, 28, 36),
    "run": (28, 56, 68),
    "journal": (22, 28, 36),
    "button": (24, 28, 36),
    "field": (24, 26, 34),
    "tab": (28, 32, 36),
    "header": (22, 24, 32),
    "inbox": (44, 52, 60),
}
_DENSITIES: Final[tuple[Density, ...]] = ("compact", "normal", "roomy")


@cache
def tokens() -> Mapping[str, Mapping[str, str]]:
    """Return all colours of `tokens.json`: token set, then role, then hex text."""
    text = (resources.files("resources") / "themes" / "tokens.json").read_text("utf-8")
    return cast("Mapping[str, Mapping[str, str]]", json.loads(text))


@dataclass(frozen=True, slots=True)
class Theme:
    """One scheme at one text scale and density. Values only; asking for an unknown role raises."""

    scheme: Scheme
    roles: Mapping[str, str]
    scale: float = 1.0
    density: Density = "normal"
    _colors: dict[str, QColor] = field(default_factory=dict, compare=False, repr=False)
    _fonts: dict[fonts.FontUse, QFont] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_dark(self) -> bool:
        """Whether text is lighter than its ground."""
        return self.scheme != "light"

    def hex(self, role: str) -> str:
        """Return `#RRGGBB` of a role; KeyError for a role that does not exist."""
        return self.roles[role]

    def color(self, role: str) -> QColor:
        """Return the colour of a role; KeyError for a role that does not exist."""
        if role not in self._colors:
            self._colors[role] = QColor(self.roles[role])
        return self._colors[role]

    def font(self, use: fonts.FontUse) -> QFont:
        """Return the font of a use at this text scale; copy it before changing it."""
        if use not in self._fonts:
            self._fonts[use] = fonts.make_font(use, scale=self.scale)
        return self._fonts[use]

    def px(self, pixels: float) -> int:
        """Return a length of look.md at this text scale, in whole pixels."""
        return round(pixels * self.scale)

    def height(self, kind: str) -> int:
        """Return the height of a row or control of look.md 3 at this density and text scale."""
        return self.px(_HEIGHTS[kind][_DENSITIES.index(self.density)])

    @property
    def focus_width(self) -> int:
        """Width of the focus ring: 2 px, 3 px in high contrast (look.md 2)."""
        return 3 if self.scheme == "contrast" else 2


def make_theme(scheme: Scheme, *, scale: float = 1.0, density: Density = "normal") -> Theme:
    """Return the theme of a scheme."""
    roles = MappingProxyType(dict(tokens()[_TOKEN_SETS[scheme]]))
    return Theme(scheme=scheme, roles=roles, scale=scale, density=density)


class ThemeHost(QObject):
    """Keeps the theme in force and applies it to the application.

    Invariant: palette, style sheet, fonts and `theme` always belong to one another; `theme_changed`
    comes after all of them are in place.
    """

    theme_changed = Signal(object)  # Theme

    def __init__(self, app: QApplication, choice: SchemeChoice) -> None:
        super().__init__(app)
        self._app = app
        self._choice: SchemeChoice = choice
        self._icons = QTemporaryDir()
        self._theme = make_theme(self._resolve())
        fonts.load()
        app.setStyle("Fusion")
        self._apply()
        self._style_hints().colorSchemeChanged.connect(self._on_system_changed)

    @property
    def theme(self) -> Theme:
        """The theme in force."""
        return self._theme

    @property
    def choice(self) -> SchemeChoice:
        """What the operator chose; `system` follows the desktop."""
        return self._choice

    def set_scheme(self, choice: SchemeChoice) -> None:
        """Choose a scheme and apply it at once."""
        self._choice = choice
        self._change(self._resolve(), scale=self._theme.scale, density=self._theme.density)

    def set_scale(self, scale: float) -> None:
        """Set the text scale, held between 1 and 2 (ux.md C18: text to 200 %)."""
        held = min(2.0, max(1.0, scale))
        self._change(self._theme.scheme, scale=held, density=self._theme.density)

    def set_density(self, density: Density) -> None:
        """Set the density of rows and controls."""
        self._change(self._theme.scheme, scale=self._theme.scale, density=density)

    def _change(self, scheme: Scheme, *, scale: float, density: Density) -> None:
        new = make_theme(scheme, scale=scale, density=density)
        if new != self._theme:
            self._theme = new
            self._apply()
            self.theme_changed.emit(new)

    def _apply(self) -> None:
        theme = self._theme
        self._app.setPalette(make_palette(theme))
        self._app.setFont(theme.font("body"))
        folder = Path(self._icons.path()) / f"{theme.scheme}"
        if not folder.is_dir():
            write_icons(theme, folder)  # the same at every size and density
        self._app.setStyleSheet(make_style_sheet(theme, icons=folder))

    def _resolve(self) -> Scheme:
        if self._choice != "system":
            return self._choice
        if self._wants_contrast():
            return "contrast"
        dark = self._style_hints().colorScheme() == Qt.ColorScheme.Dark
        return "dark" if dark else "light"

    def _wants_contrast(self) -> bool:
        hints = self._style_hints()
        access: QAccessibilityHints = hints.accessibility()
        return access.contrastPreference() == Qt.ContrastPreference.HighContrast

    def _style_hints(self) -> QStyleHints:
        return QGuiApplication.styleHints()

    def _on_system_changed(self) -> None:
        if self._choice == "system":
            self.set_scheme("system")


_hosts: dict[str, ThemeHost] = {}


def install(app: QApplication, scheme: SchemeChoice = "system") -> ThemeHost:
    """Make the one host of this application, or set the scheme of the host that is there."""
    host = _hosts.get("now")
    if host is None:
        host = _hosts["now"] = ThemeHost(app, scheme)
        app.destroyed.connect(_hosts.clear)
    else:
        host.set_scheme(scheme)
    return host


def theme_host() -> ThemeHost:
    """Return the host; RuntimeError before `install`."""
    host = _hosts.get("now")
    if host is None:
        raise RuntimeError("no theme is installed")
    return host


def theme() -> Theme:
    """Return the theme in force; RuntimeError before `install`."""
    return theme_host().theme


def make_palette(theme: Theme) -> QPalette:
    """Return the palette of look.md 10."""
    palette = QPalette()
    for role, name in _PALETTE.items():
        palette.setColor(role, theme.color(name))
    inactive = QPalette.ColorGroup.Inactive
    palette.setColor(inactive, QPalette.ColorRole.Highlight, theme.color("selection.inactive"))
    for role in _TEXT_ROLES:
        palette.setColor(QPalette.ColorGroup.Disabled, role, theme.color("text.disabled"))
    return palette


_PALETTE: Final[dict[QPalette.ColorRole, str]] = {
    QPalette.ColorRole.Window: "window",
    QPalette.ColorRole.Base: "surface",
    QPalette.ColorRole.AlternateBase: "hover",
    QPalette.ColorRole.Text: "text",
    QPalette.ColorRole.WindowText: "text",
    QPalette.ColorRole.ButtonText: "text",
    QPalette.ColorRole.BrightText: "on.danger",
    QPalette.ColorRole.Button: "surface",
    QPalette.ColorRole.Highlight: "selection",
    QPalette.ColorRole.HighlightedText: "selection.text",
    QPalette.ColorRole.Link: "link",
    QPalette.ColorRole.LinkVisited: "link",
    QPalette.ColorRole.PlaceholderText: "text.muted",
    QPalette.ColorRole.ToolTipBase: "tooltip",
    QPalette.ColorRole.ToolTipText: "tooltip.text",
    QPalette.ColorRole.Accent: "accent",
    QPalette.ColorRole.Light: "surface",
    QPalette.ColorRole.Midlight: "hover",
    QPalette.ColorRole.Mid: "border",
    QPalette.ColorRole.Dark: "border.strong",
    QPalette.ColorRole.Shadow: "border.strong",
}
_TEXT_ROLES: Final = (
    QPalette.ColorRole.Text,
    QPalette.ColorRole.WindowText,
    QPalette.ColorRole.ButtonText,
)

_ROLE_PLACE: Final = re.compile(r"\{([a-z0-9.]+)\}")
_LENGTH: Final = re.compile(r"\b(\d+)px")


def make_style_sheet(theme: Theme, *, icons: Path) -> str:
    """Return `theme.qss` with roles and icon folder filled in and lengths scaled.

    Lines (1 to 3 px) keep their width at every text scale. KeyError for an unknown role.
    """
    text = (resources.files("resources") / "themes" / "theme.qss").read_text("utf-8")
    places = {
        **theme.roles,
        "icons": icons.as_posix(),
        "button.height": f"{theme.height('button') - 2}px",
        "field.height": f"{theme.height('field') - 2}px",
        "field.inner": f"{theme.height('field') - 4}px",
        # a radius above half the box, lines included, would be dropped
        "radio.radius": f"{(_scaled(14, theme.scale) + 2) // 2}px",
        "tab.height": f"{theme.height('tab') - 2}px",
    }
    scaled = _LENGTH.sub(lambda m: f"{_scaled(int(m[1]), theme.scale)}px", text)
    return _ROLE_PLACE.sub(lambda m: places[m[1]], scaled)


def _scaled(length: int, scale: float) -> int:
    return length if length <= 3 else round(length * scale)


# The few marks QSS needs as files: 14 unit grid, stroke 1.75
_MARKS: Final[dict[str, tuple[str, str]]] = {
    "chevron-down": ("text.2", "M3.5 5.25 7 8.75 10.5 5.25"),
    "chevron-down-disabled": ("text.disabled", "M3.5 5.25 7 8.75 10.5 5.25"),
    "chevron-up": ("text.2", "M3.5 8.75 7 5.25 10.5 8.75"),
    "chevron-right": ("text.2", "M5.25 3.5 8.75 7 5.25 10.5"),
    "check-on-accent": ("on.accent", "M3 7.4 5.8 10.2 11 4.4"),
    "check": ("text", "M3 7.4 5.8 10.2 11 4.4"),
    "dot-on-accent": ("on.accent", "M7 6.99 7 7.01"),
    "dot": ("text", "M7 6.99 7 7.01"),
}


def write_icons(theme: Theme, folder: Path) -> None:
    """Write the marks that QSS refers to, tinted for this theme."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (role, path) in _MARKS.items():
        width = 5 if name.startswith("dot") else 1.75
        svg = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="14" height="14" viewBox="0 0 14 14">'
            f'<path d="{path}" fill="none" stroke="{theme.hex(role)}" stroke-width="{width}"'
            ' stroke-linecap="round" stroke-linejoin="round"/></svg>'
        )
        (folder / f"{name}.svg").write_text(svg, "utf-8")
