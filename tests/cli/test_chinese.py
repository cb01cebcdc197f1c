"""The command line in Chinese: whole sentences, also where argparse speaks (ux.md C19)."""

import argparse
import inspect
import re
from pathlib import Path
from unicodedata import east_asian_width

import pytest

from oma_desktop.base import text
from oma_desktop.cli import report
from oma_desktop.cli.argparse_words import WORDS
from oma_desktop.cli.main import run

GATE = Path(__file__).parents[1] / "golden" / "c_tool_gate_1_suspended" / "checkpoint.json"


@pytest.fixture(autouse=True)
def chinese(monkeypatch):
    monkeypatch.setenv("OMA_DESKTOP_LANG", "zh_CN")
    yield
    text.set_language("en")


@pytest.fixture
def say(capsys):
    def play(*arguments: str) -> str:
        run([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return out + err

    return play


def test_argparse_has_every_word_we_translate():
    source = inspect.getsource(argparse)
    assert [w for w in WORDS if w not in source] == []


def test_help_is_chinese(say):
    said = say("restore", "--help")
    for head in ("用法：", "位置参数", "选项", "显示此帮助信息并退出"):
        assert head in said
    assert "usage" not in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["inspect"],
            "oma-desktop：无法理解此命令行：缺少必需的参数：path。请参阅 `oma-desktop inspect ",
        ),
        (["inspect", GATE, "--nope"], "无法识别的参数：--nope"),
        (["restore", "--store"], "参数 --store：需要一个值"),
        (["inspect", "nowhere.json"], "nowhere.json 不存在。请检查路径的拼写。"),
        (["inspct"], "您是否想写 `inspect`？"),
    ],
)
def test_wrong_usage_is_one_chinese_line(say, arguments, said):
    line = say(*arguments)
    assert said in line
    assert line.count("\n") == 1


def test_a_plan_has_no_english_of_ours(say):
    said = say("restore", "--plan-only", "--store", GATE)
    assert "release-77 的恢复计划：第 1 次尝试变为第 2 次。未作任何更改。" in said
    assert "  保留：Plan release" in said
    assert "  重放：read_status call_status_1  （Deploy billing）" in said
    assert said.rstrip().endswith("0 个调用可能重复执行。")


def test_states_stand_in_one_column(say):
    said = say("inspect", GATE)
    rows = [line for line in said.splitlines() if re.search(r"\[\w+\]$", line)]
    titles = ("Plan release", "Deploy billing", "Notify")
    columns = {_cells(r[: r.index(t)]) for r, t in zip(rows, titles, strict=True)}
    assert columns == {15}
    assert "  1 个已完成，1 个运行中，1 个受阻" in said


@pytest.mark.parametrize("status", ["pending", "blocked", "in_progress", "completed", "failed"])
def test_the_column_of_a_state_is_as_wide_in_both_languages(status):
    text.set_language("zh_CN")
    assert _cells(report.task_column(status)) == 12
    text.set_language("en")
    assert _cells(report.task_column(status)) == 12


def _cells(line: str) -> int:
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in line)
