"""Switching the language while the window is open (ux.md C19: without restart)."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QLibraryInfo, QTranslator
from PySide6.QtWidgets import QApplication, QWidget
from typing_extensions import override

from oma_desktop.base.text import set_language

_QT_FILES = {"zh_CN": "qtbase_zh_CN"}


class Retranslated(QWidget):
    """A widget whose visible words are all set in `retranslate`, again after each switch."""

    def retranslate(self) -> None:
        """Set every translated text again."""

    @override
    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)


_qt_translators: list[QTranslator] = []


def switch_language(app: QApplication, language: str) -> None:
    """Use `language` for our sentences and Qt's own, and tell every open window."""
    set_language(language)
    while _qt_translators:
        app.removeTranslator(_qt_translators.pop())
    if language in _QT_FILES:
        own = QTranslator(app)
        folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
        if own.load(_QT_FILES[language], folder):
            app.installTranslator(own)
            _qt_translators.append(own)
    for window in app.topLevelWidgets():
        app.sendEvent(window, QEvent(QEvent.Type.LanguageChange))
