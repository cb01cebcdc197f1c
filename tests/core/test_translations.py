"""Every sentence has its Chinese, of the same kind and in the fixed terms (ux.md C6, C19)."""

import importlib.util
import io
import re
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

from oma_desktop.base import text

TOOL = Path(__file__).parents[2] / "packaging" / "translations.py"

NAMES = {
    "OMA Desktop",
    "OMA Desktop {version}",
    "Token",
    "{n} B",
    "{n} KB",
    "{n} MB",
    "oma-desktop：{message}",
}
"""Chinese sentences without a Chinese word: proper names and units."""

# What is no prose: places, commands, paths, flags, keys of files, names of formats and products.
CODE = re.compile(
    r"\{\w+\}|`[^`]*`|\S*[./_@<>*]\w\S*|--\w\S*|\b[a-z]+[A-Z]\w*|\b[A-Z][A-Z_0-9]+\b"
    r"|OMA Desktop|oma-desktop|FileStore|compare-and-set|TypeScript|Python"
)

TERMS = [
    (r"(?i)\bcheckpoints?\b", "检查点"),
    (r"(?i)\bagents?\b", "智能体"),
    (r"(?i)\btool calls?\b", "工具调用"),
    (r"(?i)\bjournal\b", "事件日志"),
    (r"(?i)\bsnapshot shelf\b", "快照库"),
    (r"(?i)\bresume plan\b", "恢复计划"),
    (r"(?i)\breplay(ed)?\b", "重放"),
    (r"(?i)\bsaved results?\b", "已保存结果"),
    (r"(?i)\boutcome unknown\b", "结果未知"),
    (r"(?i)\bmay run twice\b", "可能重复执行"),
    (r"(?i)\bneeds? you\b", "待您处理"),
    (r"(?i)\bapproved?\b", "批准"),
    (r"(?i)\b(rejected|reject|denied)\b", "拒绝"),
    (r"(?i)\bnot now\b", "稍后再说"),
    (r"(?i)\bwriter\b", "写入进程"),
    (r"\b[Tt]asks?\b", "任务"),
    (r"\b(this|the|that|another|a|of) runs?\b|\b[Rr]uns?\b(?= \{)|^Runs?\b", "运行"),
]
"""The fixed terms of ux.md C19: where the English has one, the Chinese has its own."""

KEYS = {
    "Set journal to false.",
    "{place}: only one of tasks, goal and plan can be given ({given}).",
}
"""Sentences in which a fixed term is a key of a file, so that it stays as it is written there."""

STATES = {
    "Waiting": "等待中",
    "Blocked": "受阻",
    "Running": "运行中",
    "Needs you": "待您处理",
    "Done": "已完成",
    "Failed": "失败",
    "Failed, replaced": "失败（已替代）",
    "Skipped": "已跳过",
    "Unknown": "未知",
}
"""The words of ux.md C6, to the letter."""


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("translations", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pairs(tool) -> list[tuple[str, str]]:
    """English (the plural where there is one) and Chinese of every sentence."""
    return [
        (tool.texts(m.id)[-1], tool.texts(m.string)[0])
        for m in tool.read()
        if m.id and any(tool.texts(m.string))
    ]


@pytest.fixture
def chinese():
    text.set_language("zh_CN")
    yield
    text.set_language("en")


def test_every_sentence_is_translated_with_the_same_places(tool):
    assert tool.problems(tool.read()) == []


def test_the_file_is_written_the_same_on_every_machine(tool):
    assert tool.render(tool.read()) == tool.PO.read_bytes()
    assert tool.render(tool.merge(tool.read())) == tool.render(tool.merge(tool.read()))
    assert b"POT-Creation-Date" not in tool.PO.read_bytes()


def test_updating_keeps_every_translation_that_is_still_wanted(tool):
    before = {m.id: m.string for m in tool.read() if m.id}
    after = {m.id: m.string for m in tool.merge(tool.read()) if m.id}
    assert {i: s for i, s in after.items() if i in before} == {
        i: s for i, s in before.items() if i in after
    }


def test_nothing_is_left_in_english_but_names(pairs):
    assert [
        (english, said)
        for english, said in pairs
        if re.search(r"[A-Za-z]", re.sub(r"\{\w+\}", "", said))
        and not re.search(r"[一-鿿]", said)
        and said not in NAMES
    ] == []


def test_fixed_terms_are_used(pairs):
    assert [
        (english, said, term)
        for english, said in pairs
        for pattern, term in TERMS
        if re.search(pattern, CODE.sub("", english)) and term not in said and english not in KEYS
    ] == []


def test_states_are_called_as_agreed(pairs):
    said = dict(pairs)
    assert {state: said.get(state) for state in STATES} == STATES


def test_chinese_is_set_as_chinese(pairs):
    """Full-width punctuation after Chinese, one space between Chinese and Latin letters."""
    half_width = re.compile(
        r"[一-鿿][,;:?!]|[一-鿿]\((?!&)|[，。；：？！（）“”、] (?!$)| [，。；：？！）]"
    )
    no_space = re.compile(r"[一-鿿][A-Za-z0-9`]|[A-Za-z0-9`][一-鿿]")
    assert [(e, said) for e, said in pairs if half_width.search(said.strip())] == []
    assert [(e, said) for e, said in pairs if no_space.search(said)] == []


def test_one_menu_has_no_accelerator_twice_that_english_has_once(tool, pairs):
    keys = {e: (tool.accelerator(e), tool.accelerator(said)) for e, said in pairs}
    assert [e for e, (english, chinese_key) in keys.items() if english != chinese_key] == []


@pytest.mark.parametrize(
    ("english", "said", "problem"),
    [
        ("Open {path}.", "打开。", "other places"),
        ("Open {path}.", "打开 {Path}。", "other places"),
        ("Open {path}.", "打开 {path}", "another end"),
        ("Open", "打开。", "another end"),
        ("Which file?", "哪个文件", "another end"),
        ("&Open…", "打开…", "no accelerator (&O)"),
        ("&Open…", "打开(&P)…", "no accelerator (&O)"),
        ("&Open…", "打开(&O)", "another end"),
        ("Open", "打开(&O)", "an accelerator of its own"),
        ("  at {path}", "在 {path}", "other spaces"),
        ("{n} of {m}", "{n} / {m", "no named place"),
        ("{n} of {m}", "{} / {m}", "no named place"),
        ("no %(name)s", "没有 %(Name)s", "other places"),
    ],
)
def test_differences_are_named(tool, english, said, problem):
    assert any(problem in d for d in tool.differences(english, said))


@pytest.mark.parametrize(
    ("english", "said"),
    [
        ("&Open…", "打开(&O)…"),
        ("Find in {name}?", "在 {name} 中查找？"),
        ("Save && quit", "保存并退出"),
    ],
)
def test_good_translations_pass(tool, english, said):
    assert list(tool.differences(english, said)) == []


def test_other_catalogues_are_measured_against_the_source(tool):
    """Vanished, missing and many-formed sentences are named, not passed over."""
    po = 'msgid "No such sentence"\nmsgstr "没有"\n\nmsgid "Approve"\nmsgstr ""\n'
    found = tool.problems(read_po(io.BytesIO(po.encode()), locale="zh_CN"))
    assert "unused: 'No such sentence'" in found
    assert "untranslated: 'Approve'" in found
    assert "missing: 'Reject…'" in found


def test_sentences_put_together_at_run_time_are_named(tool, tmp_path, monkeypatch):
    (tmp_path / "view.py").write_text(
        'tr("known")\ntr(f"{a} b")\nN_("a" + b)\nntr("one" if a else "two", "more", 2)\ntr(name)\n'
    )
    monkeypatch.setattr(tool, "SOURCE", tmp_path)
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    marked = Catalog()
    marked.add("known")
    assert list(tool.unmarked(marked)) == [f"not extracted: view.py:{n}" for n in (2, 3, 4)]


def test_switching_language_changes_what_is_said(chinese):
    assert text.tr("Approve") == "批准"


def test_chinese_has_one_form_for_every_number(chinese):
    said = [text.ntr("{n} tool call", "{n} tool calls", n) for n in (0, 1, 2, 11)]
    assert said == [f"{n} 个工具调用" for n in (0, 1, 2, 11)]


def test_facts_and_names_stand_side_by_side_as_the_language_does_it(chinese):
    assert text.listed(["bash", "", "已保存"]) == "bash，已保存"
    assert text.named(["港口", "关税", "价格"]) == "港口、关税、价格"
    assert text.paragraph(["已保存。", "", "请重试。"]) == "已保存。请重试。"
    assert text.paragraph(["已保存。", "Try again.", "请重试。"]) == "已保存。Try again. 请重试。"


def test_facts_and_names_in_english():
    assert text.listed(["bash", "", "saved"]) == "bash, saved"
    assert text.named(["a", "b", "c"]) == "a, b, c"
    assert text.named([]) == text.listed([]) == text.paragraph([]) == ""
    assert text.listed(["{odd}", "b", "c"]) == "{odd}, b, c"
    assert text.paragraph(["Saved.", "", "Try again."]) == "Saved. Try again."
    assert text.Sentence("Full.", "", "Clean up.").whole == "Full. Clean up."


def test_missing_facts_show_their_name_instead_of_failing():
    assert text.tr("at {path}", other=1) == "at {path}"


def test_unknown_language_is_english():
    text.set_language("xx")
    assert text.tr("Approve") == "Approve"
