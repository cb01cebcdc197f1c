"""Every sentence has its Chinese, with the same named places (ux.md C19)."""

import importlib.util
from pathlib import Path

import pytest

from oma_desktop.base import text

TOOL = Path(__file__).parents[2] / "packaging" / "translations.py"


@pytest.fixture
def tool():
    spec = importlib.util.spec_from_file_location("translations", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def chinese():
    text.set_language("zh_CN")
    yield
    text.set_language("en")


def test_every_sentence_is_translated_with_the_same_places(tool):
    assert tool.problems(tool.read()) == []


def test_switching_language_changes_what_is_said(chinese):
    assert text.tr("Approve") == "批准"


def test_missing_facts_show_their_name_instead_of_failing():
    assert text.tr("at {path}", other=1) == "at {path}"


def test_unknown_language_is_english():
    text.set_language("xx")
    assert text.tr("Approve") == "Approve"
