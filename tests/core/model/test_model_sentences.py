"""Every code the model can tell has a sentence, and no sentence asks for a fact nobody gives."""

import ast
from pathlib import Path
from string import Formatter

import pytest

import oma_desktop.model
from oma_desktop.base.sentences import approval, catalogue, checkpoint, container
from oma_desktop.model import errors

FILES = (
    "approval_binding", "approval_forms", "canonical", "checkpoint_loader", "container",
    "file_names", "graph", "in_flight_checks", "inspection", "json_reader", "loader_rules",
    "queue_checks", "result_checks",
)  # fmt: skip
MAKERS = {*vars(errors), "Problem", "error", "warning"}
FOLDER = Path(oma_desktop.model.__file__).parent


def told():
    """(code, names of the facts given with it) of every place that makes an error or a finding."""
    for name in FILES:
        for node in ast.walk(ast.parse((FOLDER / f"{name}.py").read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
                continue
            code = node.args[0]
            if node.func.id in MAKERS and isinstance(code, ast.Constant):
                yield code.value, {k.arg for k in node.keywords if k.arg}


CODES = sorted({code for code, _ in told()})


def test_codes_are_found_in_the_source():
    assert {"CHECKPOINT_INVALID", "STORE_TOO_NEW", "GRAPH_CYCLE", "JSON_TOO_DEEP"} <= set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_sentence(code):
    assert code in catalogue()


GIVEN_ELSEWHERE = {
    "line", "column", "offset", "where",  # places come from json_scan.place and Problem.where
    "cycle", "key", "task", "dependency", "reason", "id",  # handed over as one object of facts
}  # fmt: skip


@pytest.mark.parametrize("code", CODES)
def test_every_place_in_a_sentence_is_filled(code):
    given = set().union(*(facts for each, facts in told() if each == code)) | GIVEN_ELSEWHERE
    sentence = catalogue()[code]
    for text in (sentence.title, sentence.detail, sentence.hint):
        wanted = {field for _, field, _, _ in Formatter().parse(text) if field}
        assert wanted <= given


@pytest.mark.parametrize("area", [container, checkpoint, approval], ids=lambda a: a.__name__)
def test_every_sentence_says_what_happened_and_what_is_safe(area):
    for sentence in area.SENTENCES.values():
        assert sentence.title.endswith(".")
        assert sentence.detail or sentence.hint
