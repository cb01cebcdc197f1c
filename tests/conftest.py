"""Settings that hold for every test, with and without Qt installed."""

import importlib.util
import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("PYTEST_QT_API", "pyside6")

HAS_QT = importlib.util.find_spec("PySide6") is not None

if importlib.util.find_spec("pytestqt") is None:

    def pytest_addoption(parser):
        """Know the two Qt settings of pyproject.toml where pytest-qt is not installed."""
        parser.addini("qt_api", "unused without Qt")
        parser.addini("qt_log_level_fail", "unused without Qt")


if not HAS_QT:
    collect_ignore = ["ui", "viewmodel", "app"]
