"""Every listed idea, defect and deviation has a test of its own, found by its name.

The lists are engine.md 12 (ideas), engine.md 13 (DEV) and the peer's reproduced defects (P). A test
that pins row 7 of a list is named `test_idea_07_*`, `test_dev_07_*` or `test_p_07_*`, wherever it
lives. Sources are read, never imported: what counts does not depend on what is installed.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
ROWS = {"idea": 66, "dev": 33, "p": 19}
NAME = re.compile(r"test_(idea|dev|p)_(\d\d)_\w+")
LOOSE = re.compile(r"test_(idea|dev|p)_?\d+(?!\d)")


@cache
def functions():
    """(file, function) of everything named like a test."""
    return list(_functions())


def _functions():
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if is_function and node.name.startswith("test_"):
                yield path.relative_to(TESTS), node


def covered():
    """List of a row's tests by (list, number)."""
    found = defaultdict(list)
    for path, node in functions():
        if match := NAME.fullmatch(node.name):
            found[match[1], int(match[2])].append(f"{path}::{node.name}")
    return found


def can_fail(node):
    """It asserts something, or expects an error."""
    return any(
        isinstance(part, ast.Assert)
        or (isinstance(part, ast.Call) and "raises" in ast.dump(part.func))
        or (isinstance(part, ast.Call) and re.search("check|refused", ast.dump(part.func)))
        for part in ast.walk(node)
    )


@pytest.mark.parametrize("kind", ROWS)
def test_every_row_has_a_test(kind):
    found = covered()
    numbers = range(1, ROWS[kind] + 1)
    assert [n for n in numbers if not found[kind, n]] == []
    assert {n for k, n in found if k == kind and found[k, n]} == set(numbers), "no such row"


def test_names_are_spelled_so_that_they_count():
    loose = [
        f"{path}::{node.name}"
        for path, node in functions()
        if LOOSE.match(node.name) and not NAME.fullmatch(node.name)
    ]
    assert loose == []


def test_what_counts_can_fail():
    empty = [
        f"{path}::{node.name}"
        for path, node in functions()
        if NAME.fullmatch(node.name) and not can_fail(node)
    ]
    assert empty == []


def test_what_counts_is_not_skipped():
    """Skipping by platform is told by its own mark; a row whose only tests are skipped is none."""
    skipped = {
        node.name
        for _, node in functions()
        for mark in node.decorator_list
        if re.search(r"'(skip|xfail)'", ast.dump(mark))
    }
    only = [
        (kind, number)
        for (kind, number), tests in covered().items()
        if tests and all(name.split("::")[1] in skipped for name in tests)
    ]
    assert only == []
