"""`--help`, `--version`, the language, and what no command may do."""

import argparse
import subprocess
import sys

import pytest

from oma_desktop import __version__
from oma_desktop.base.text import set_language
from oma_desktop.cli import main
from oma_desktop.cli.main import COMMANDS, build_parser
from tests.cli.conftest import GOLDEN, ROOT

CONTRACT = {
    "demo": {"--headless", "--fast", "--json", "--store", "--screenshot", "--quit-after"},
    "run": {"--script", "--store", "--run-id", "--json", "--team"},
    "restore": {
        "--script", "--retry-failed", "--store", "--key", "--run-id", "--plan-only", "--json",
    },
    "plan": {"--output", "--force", "--team", "--script", "--json"},
    "inspect": {"--json"},
    "approvals": {"--json"},
    "approve": {"--hash", "--reviewer", "--name", "--json"},
    "reject": {"--hash", "--reviewer", "--name", "--json"},
    "check": {"--schema", "--json"},
}  # fmt: skip


def parser_of(name):
    parser = build_parser(name)
    action = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return action.choices[name]


@pytest.fixture(autouse=True)
def _back_to_english():
    yield
    set_language("en")


@pytest.mark.parametrize("name", CONTRACT)
def test_every_option_of_the_contract_is_there_and_explained(cli, name):
    actions = parser_of(name)._actions
    assert CONTRACT[name] | {"--force-lock"} <= {o for a in actions for o in a.option_strings}
    assert all(a.help for a in actions)
    done = cli(name, "--help")
    assert done.code == 0
    assert done.err == ""
    for action in actions:
        for option in action.option_strings:
            assert option in done.out


def test_the_list_of_commands(cli):
    done = cli("--help")
    assert done.code == 0
    assert {c.name for c in COMMANDS} == set(CONTRACT)
    assert all(name in done.out for name in CONTRACT)


def test_the_version(cli):
    done = cli("--version")
    assert (done.code, done.out.strip()) == (0, f"oma-desktop {__version__}")


def test_chinese_says_the_same_in_chinese(cli, monkeypatch):
    monkeypatch.setenv("OMA_DESKTOP_LANG", "zh_CN")
    done = cli("approvals", GOLDEN / "c_tool_gate_1_suspended" / "checkpoint.json")
    assert done.code == 0
    missing = cli("inspect", "/nowhere/at/all", "--json")
    assert missing.error["code"] == "PATH_NOT_FOUND"
    assert "undecided" not in done.out
    assert any("\u4e00" <= char <= "\u9fff" for char in missing.error["message"])


@pytest.mark.parametrize("value", ["", "C", "de_DE.UTF-8", "xx", "zh"])
def test_any_language_setting_works(cli, monkeypatch, value):
    monkeypatch.setenv("OMA_DESKTOP_LANG", value)
    monkeypatch.setenv("LANG", "C.UTF-8")
    assert cli("inspect", GOLDEN / "a_midrun_dag6" / "checkpoint.json").code == 0


def test_a_missing_translation_file_falls_back_to_english(cli, monkeypatch):
    def missing(language):
        if language != "en":
            raise FileNotFoundError(language)

    monkeypatch.setattr(main, "set_language", missing)
    monkeypatch.setenv("OMA_DESKTOP_LANG", "zh_CN")
    assert cli("inspect", GOLDEN / "a_midrun_dag6" / "checkpoint.json").code == 0


def test_a_bug_is_exit_5_one_line_and_one_document(cli, monkeypatch):
    def broken(_options, _output):
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr("oma_desktop.cli.inspect.run", broken)
    done = cli("inspect", "x", "--json")
    assert done.code == 5
    assert done.error["code"] == "UNEXPECTED"
    assert "ZeroDivisionError" in done.error["message"]
    assert len(done.err.splitlines()) == 1


def test_no_command_needs_the_window():
    """Importing every command loads no Qt: the program works where it is not installed."""
    code = (
        "import sys; sys.modules['PySide6'] = None; sys.modules['qasync'] = None\n"
        "from oma_desktop.cli.main import COMMANDS, build_parser\n"
        "[build_parser(c.name) for c in COMMANDS]\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)
