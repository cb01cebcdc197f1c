"""Settings that hold for every test, with and without Qt installed."""

import importlib.util
import os
import shutil
import sys

import pytest

from tests.foreign import missing_foreign
from tests.servers import PostgresServer, RedisServer, missing_servers, server_folder

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("PYTEST_QT_API", "pyside6")

HAS_QT = importlib.util.find_spec("PySide6") is not None

if importlib.util.find_spec("pytestqt") is None:

    def pytest_addoption(parser):
        """Know the Qt settings of pyproject.toml where pytest-qt is not installed."""
        parser.addini("qt_api", "unused without Qt")
        parser.addini("qt_log_level_fail", "unused without Qt")
        parser.addini("qt_log_ignore", "unused without Qt", type="linelist")


if not HAS_QT:
    collect_ignore = ["ui", "viewmodel", "app"]


PACKAGES = {"redis": "redis-server", "postgresql": "postgresql"}
MISSING = missing_servers()
MISSING_FOREIGN = missing_foreign()


def pytest_report_header():
    """Say what is not tested here."""
    if missing := [*MISSING, *MISSING_FOREIGN]:
        return f"not installed, tests that need it are deselected: {', '.join(missing)}"
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Deselect tests of servers that are not installed; in CI their absence is a failure."""
    absent = [
        i for i in items for m in i.iter_markers("database") if PACKAGES[m.args[0]] in MISSING
    ]
    absent += [i for i in items for m in i.iter_markers("foreign") if m.args[0] in MISSING_FOREIGN]
    if not absent:
        return
    if os.environ.get("CI") == "true":
        raise pytest.UsageError(f"tests need: {', '.join([*MISSING, *MISSING_FOREIGN])}")
    gone = set(absent)
    config.hook.pytest_deselected(items=[i for i in items if i in gone])
    items[:] = [i for i in items if i not in gone]


@pytest.fixture(scope="session")
def redis_server():
    """One Redis for the whole session; tests take a prefix of their own."""
    folder = server_folder("redis")
    server = RedisServer(folder, append_only=True)
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server():
    """One PostgreSQL for the whole session; tests take a table of their own."""
    folder = server_folder("postgres")
    server = PostgresServer(folder)
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def _close_stores_of_databases():
    """Close what a test opened with `tests.databases.opened`."""
    yield
    if "tests.databases" in sys.modules:
        sys.modules["tests.databases"].close_opened()
