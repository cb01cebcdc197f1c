"""Rules no linter of ours can say (house.md 2.9, 4): read from the source, not by running it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "oma_desktop").rglob("*.py"))


def calls(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def name_of(call):
    return ast.unparse(call.func)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_nested_loops_no_lambda_slots(path):
    for call in calls(path):
        name = name_of(call)
        place = f"{path.name}:{call.lineno}"
        assert not name.endswith("processEvents"), place
        assert not name.endswith(("asyncClose", "asyncSlot")), place
        if name.endswith(".exec") and name not in {"app.exec", "self.__app.exec"}:
            pytest.fail(f"nested event loop at {place}")
        if name.endswith(".connect"):
            assert not any(isinstance(arg, ast.Lambda) for arg in call.args), (
                f"a lambda keeps its widget alive at {place}"
            )


def test_qasync_is_imported_in_one_module():
    importers = [
        p.relative_to(ROOT).as_posix()
        for p in SOURCES
        if re.search(r"^\s*(import|from) qasync", p.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert importers == ["oma_desktop/app/loop.py"]


def test_no_threads_of_qt():
    for path in SOURCES:
        assert not re.search(r"\bQThread(Pool)?\b", path.read_text(encoding="utf-8")), path.name


def test_no_hex_colours_in_views():
    """Colours come from roles only (look.md 9)."""
    for path in (ROOT / "oma_desktop" / "ui").rglob("*.py"):
        found = re.findall(r"[\"']#[0-9a-fA-F]{3,8}[\"']", path.read_text(encoding="utf-8"))
        allowed = {"'#fefefe'", '"#fefefe"', "'#020202'", '"#020202"'}  # placeholders of the SVGs
        assert not set(found) - allowed, (path.name, found)


def test_no_file_swallows_its_neighbours():
    """House limit: 450 lines."""
    long = {
        p.name: n for p in SOURCES if (n := len(p.read_text(encoding="utf-8").splitlines())) > 450
    }
    assert not long


def test_the_test_command_leaves_no_test_out():
    source = (ROOT / "packaging" / "bootstrap.py").read_text("utf-8")
    named = set(re.findall(r'"(tests/[\w./]+)"', source))
    found = {p.relative_to(ROOT / "tests").parts[0] for p in (ROOT / "tests").rglob("test_*.py")}
    assert {f"tests/{name}" for name in found} <= named
