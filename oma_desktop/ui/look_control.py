"""Theme, density, text size and language from the View menu, and from the last session."""

from __future__ import annotations

from typing import Final, cast

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication

from oma_desktop.base.text import LANGUAGES
from oma_desktop.ui.actions import CHOICES, Actions
from oma_desktop.ui.language import switch_language
from oma_desktop.ui.theme import Density, SchemeChoice, theme, theme_host

_STEP: Final = 0.1


class LookControl(QObject):
    """Applies choices at once and remembers them. Values from a file are checked, never trusted."""

    language_changed = Signal(str)

    def __init__(self, actions: Actions, parent: QObject) -> None:
        super().__init__(parent)
        self._actions = actions
        self._language = "en"
        actions.groups["scheme"].triggered.connect(self._on_scheme_chosen)
        actions.groups["density"].triggered.connect(self._on_density_chosen)
        actions.groups["language"].triggered.connect(self._on_language_chosen)
        actions.connect_all(
            {"larger": self.larger, "smaller": self.smaller, "normal_size": self.normal_size}
        )
        self._check()

    def values(self) -> dict[str, str]:
        """Return the choices as texts for `LayoutState`."""
        return {
            "scheme": theme_host().choice,
            "density": theme().density,
            "scale": f"{theme().scale:.2f}",
            "language": self._language,
        }

    def restore(self, values: dict[str, str]) -> None:
        """Apply remembered choices; what is not known is skipped."""
        if _is_choice("scheme", values):
            theme_host().set_scheme(cast("SchemeChoice", values["scheme"]))
        if _is_choice("density", values):
            theme_host().set_density(cast("Density", values["density"]))
        if values.get("scale", "").replace(".", "", 1).isdigit():
            theme_host().set_scale(float(values["scale"]))
        if values.get("language") in LANGUAGES:
            self.set_language(values["language"])
        self._check()

    def set_language(self, language: str) -> None:
        """Switch the language of the whole program."""
        app = QApplication.instance()
        self._language = language
        if isinstance(app, QApplication):
            switch_language(app, language)
        self.language_changed.emit(language)
        self._check()

    def larger(self) -> None:
        theme_host().set_scale(round(theme().scale + _STEP, 2))

    def smaller(self) -> None:
        theme_host().set_scale(round(theme().scale - _STEP, 2))

    def normal_size(self) -> None:
        theme_host().set_scale(1.0)

    def _check(self) -> None:
        actions = self._actions
        actions.choose("scheme", theme_host().choice)
        actions.choose("density", theme().density)
        actions.choose("language", self._language)

    def _on_scheme_chosen(self, action: QAction) -> None:
        theme_host().set_scheme(cast("SchemeChoice", action.data()))

    def _on_density_chosen(self, action: QAction) -> None:
        theme_host().set_density(cast("Density", action.data()))

    def _on_language_chosen(self, action: QAction) -> None:
        self.set_language(str(action.data()))


def _is_choice(group: str, values: dict[str, str]) -> bool:
    return values.get(group) in {choice for choice, _text in CHOICES[group]}
