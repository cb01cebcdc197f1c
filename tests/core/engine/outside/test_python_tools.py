"""Python functions as tools: schemas, arguments, answers, and what is refused."""

import asyncio
import json
import sys
import textwrap
import threading
from dataclasses import replace

import pytest

from oma_desktop.base.lanes import Lanes
from oma_desktop.base.sentences import one_line
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.tools.outside.folder_modules import FolderModules
from oma_desktop.engine.tools.outside.python_tools import (
    declared_python_tools,
    load_python_tools,
)
from oma_desktop.engine.tools.registry import ToolContext
from oma_desktop.engine.tools.schema import ArgumentSchema
from oma_desktop.model.errors import InvalidInput, ToolFailed
from oma_desktop.model.runfile import PythonTool
from oma_desktop.model.view import Effect


@pytest.fixture
def lanes():
    made = Lanes()
    yield made
    made.close()


@pytest.fixture
def load(tmp_path, lanes):
    """Write `tools.py` and load functions from it."""
    opened = []

    def load(source, *uses, **entry):
        (tmp_path / "tools.py").write_text(textwrap.dedent(source), "utf-8")
        modules = FolderModules(tmp_path)
        opened.append(modules)
        entries = [PythonTool(use=use if ":" in use else f"tools:{use}", **entry) for use in uses]
        return load_python_tools(entries, modules, lanes=lanes)

    yield load
    for modules in opened:
        modules.close()
    assert not [n for n in sys.modules if n.startswith("_oma_folder_")]


def context(token=None):
    return ToolContext("run", "task", "call", "ann", "/w", token or CancelToken())


async def call(spec, /, **input_):
    checked = ArgumentSchema(spec.input_schema).check(input_)
    assert not checked.issues, checked.issues
    assert spec.problems(checked.value) == ()
    return await spec.run(checked.value, context())


def refused(load, source, use="f"):
    with pytest.raises(InvalidInput) as caught:
        load(source, use)
    assert "{" not in one_line(caught.value.code, caught.value.facts)
    return caught.value


# --- schemas -------------------------------------------------------------------------------------

EVERYTHING = '''
from __future__ import annotations
from datetime import date
from enum import Enum
from typing import Annotated, Literal, Optional
from pydantic import BaseModel, Field
from oma_desktop.tools import ToolContext, tool

class Colour(Enum):
    RED = "red"
    BLUE = "blue"

class Point(BaseModel):
    x: int
    y: int = 2

@tool(effect="repeatable")
def paint(
    where: Point,
    colour: Colour = Colour.RED,
    mode: Literal["fast", "slow"] = "fast",
    note: Annotated[Optional[str], Field(description="a word", max_length=9)] = None,
    times: int = Field(default=1, ge=1, description="how often"),
    more: list[Point] = [],
    _hidden: bool = False,
    *,
    on: date = date(2026, 1, 2),
    context: ToolContext,
) -> str:
    """Paint a point.

    With care.

    Args:
        where: the place
            to paint
        mode (str): how

    Returns:
        what was done
    """
    values = [where, colour, mode, note, times, more, _hidden, on, context.agent]
    return " ".join(repr(v) for v in values)
'''


async def test_a_signature_becomes_a_schema(load):
    (spec,) = load(EVERYTHING, "paint")
    assert (spec.name, spec.description) == ("paint", "Paint a point.\n\nWith care.")
    assert (spec.effect, spec.consequential) == (Effect.REPEATABLE, False)
    properties = spec.input_schema["properties"]
    assert list(properties) == [
        *("where", "colour", "mode", "note", "times", "more", "_hidden", "on"),
    ]
    assert spec.input_schema["required"] == ["where"]
    assert spec.input_schema["additionalProperties"] is False
    assert properties["where"]["description"] == "the place to paint"
    assert properties["mode"] == {
        "default": "fast",
        "description": "how",
        "enum": ["fast", "slow"],
        "type": "string",
    }
    assert properties["note"]["description"] == "a word"
    assert properties["times"] == {
        "default": 1,
        "description": "how often",
        "minimum": 1,
        "type": "integer",
    }
    assert properties["on"]["default"] == "2026-01-02"
    json.dumps(spec.input_schema)


async def test_arguments_arrive_as_the_types_say(load):
    (spec,) = load(EVERYTHING, "paint")
    output = await call(spec, where={"x": 1}, colour="blue", more=[{"x": 3, "y": 4}])
    assert output.data == (
        "Point(x=1, y=2) <Colour.BLUE: 'blue'> 'fast' None 1 [Point(x=3, y=4)] False "
        "datetime.date(2026, 1, 2) 'ann'"
    )


def test_what_the_schema_cannot_say_is_found_before_the_call(load):
    source = """
    from typing import Annotated
    from pydantic import AfterValidator
    def even(n):
        if n % 2: raise ValueError("must be even")
        return n
    def f(n: Annotated[int, AfterValidator(even)]): return str(n)
    """
    (spec,) = load(source, "f")
    assert spec.problems({"n": 2}) == ()
    (problem,) = spec.problems({"n": 3})
    assert "must be even" in problem


async def test_functions_without_types_positional_ones_and_objects_work(load):
    source = """
    class Adder:
        def __call__(self, a: int, b: int = 1) -> int:
            "Add."
            return a + b
    add = Adder()
    def loose(a, b="x"): return [a, b]
    def first(a: int, /, c: int): return a * c
    """
    add, loose, first = load(source, "add", "loose", "first")
    assert (await call(add, a=2)).data == "3"
    assert (await call(loose, a={"any": None})).data == '[{"any":null},"x"]'
    assert (await call(first, a=2, c=5)).data == "10"


@pytest.mark.parametrize(
    "source",
    ["def f(*values: int): ...", "def f(**values): ...", "def f(x: 'Missing'): ...",
     "class Own: ...\ndef f(x: Own): ..."],
)  # fmt: skip
def test_parameters_no_schema_can_say_are_refused(load, source):
    assert refused(load, source).code == "PYTHON_TOOL_SIGNATURE"


@pytest.mark.parametrize(
    ("decorator", "entry", "expected"),
    [
        ("", {}, (Effect.UNKNOWN, False)),
        ("@tool", {}, (Effect.UNKNOWN, False)),
        ("@tool(effect='consequential')", {}, (Effect.CONSEQUENTIAL, True)),
        ("@tool(consequential=True)", {}, (Effect.CONSEQUENTIAL, True)),
        ("@tool(effect='consequential')", {"effect": "read_only"}, (Effect.READ_ONLY, False)),
        ("@tool(effect='read_only')", {"consequential": True}, (Effect.READ_ONLY, True)),
        ("", {"consequential": True}, (Effect.CONSEQUENTIAL, True)),
    ],
)
def test_the_run_file_has_the_last_word_on_effects(load, decorator, entry, expected):
    source = f"from oma_desktop.tools import tool\n{decorator}\ndef f(): ...\n"
    (spec,) = load(source, "f", **entry)
    assert (spec.effect, spec.consequential) == expected


def test_declared_tools_know_names_and_effects_without_an_import():
    entries = [PythonTool(use="no.such:f", effect="read_only"), PythonTool(use="m:g", name="h")]
    found = [(s.name, s.effect) for s in declared_python_tools(entries)]
    assert found == [("f", Effect.READ_ONLY), ("h", Effect.UNKNOWN)]


# --- answers -------------------------------------------------------------------------------------

ANSWERS = """
import dataclasses, sys
from pydantic import BaseModel
from oma_desktop.tools import ToolOutput, file, image
class Point(BaseModel):
    x: int
@dataclasses.dataclass
class Pair:
    a: int
def nothing(): ...
def model(): return Point(x=1)
def pair(): return {"p": Pair(2), "s": {3}}
def picture(): return image(b"png")
def parts(): return [{"type": "text", "text": "t"}, file(b"x", filename="a.csv", media_type="a/b")]
def output(): return ToolOutput("mine", is_error=True)
def unusable(): return object()
def broken(): raise LookupError("not here")
def stops(): return next(iter([]))
def leaves(): sys.exit(3)
async def later(): return "async"
async def leaves_later(): sys.exit(3)
"""


async def test_answers_of_every_kind(load):
    names = ("nothing", "model", "pair", "picture", "parts", "output", "later")
    nothing, model, pair, picture, parts, output, later = load(ANSWERS, *names)
    assert (await call(nothing)).data == ""
    assert (await call(model)).data == '{"x":1}'
    assert (await call(pair)).data == '{"p":{"a":2},"s":[3]}'
    assert (await call(picture)).model_output[0]["source"]["data"] == "cG5n"
    assert [p["type"] for p in (await call(parts)).model_output] == ["text", "file"]
    assert (await call(output)).is_error is True
    assert (await call(later)).data == "async"


async def test_failures_are_errors_of_the_call_only(load):
    broken, stops, unusable = load(ANSWERS, "broken", "stops", "unusable")
    with pytest.raises(LookupError, match="not here"):
        await call(broken)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await call(stops)
    with pytest.raises(ToolFailed, match="PYTHON_TOOL_RETURNED"):
        await call(unusable)


@pytest.mark.parametrize("name", ["leaves", "leaves_later"])
async def test_a_tool_cannot_end_the_program(load, name):
    (spec,) = load(ANSWERS, name)
    with pytest.raises(ToolFailed, match="PYTHON_TOOL_EXIT"):
        await call(spec)


async def test_a_blocking_function_holds_nobody_up_and_may_see_the_stop(load):
    source = """
    import threading
    from oma_desktop.tools import ToolContext
    begun, ended = threading.Event(), threading.Event()
    def wait(context: ToolContext):
        begun.set()
        while not context.token.aborted:
            threading.Event().wait(0.01)
        ended.set()
    def signs(): return [begun.is_set(), ended.is_set()]
    """
    wait, signs = load(source, "wait", "signs")
    token = CancelToken()
    async with asyncio.timeout(20):
        running = asyncio.gather(wait.run({}, context(token)))
        while (await call(signs)).data != "[true,false]":  # noqa: ASYNC110 - a thread is waited for
            await asyncio.sleep(0)
        token.stop(StopReason.CANCEL)
        await running
        assert (await call(signs)).data == "[true,true]"


async def test_a_message_of_a_blocking_function_is_sent_on_the_loop(load):
    source = """
    from oma_desktop.tools import ToolContext
    def tell(context: ToolContext): return context.send_message("bob", "hello")
    """
    (tell,) = load(source, "tell")
    heard = []

    def send(to, content):
        heard.append((to, content, threading.get_ident()))
        if len(heard) > 1:
            raise TypeError("no")
        return "sent"

    about = replace(context(), send_message=send)
    async with asyncio.timeout(20):
        assert (await tell.run({}, about)).data == "sent"
        with pytest.raises(TypeError, match="no"):
            await tell.run({}, about)
    assert heard == [("bob", "hello", threading.get_ident())] * 2


# --- finding and importing -----------------------------------------------------------------------


def test_an_error_while_importing_names_its_place(load, tmp_path):
    error = refused(load, "x = 1\ny = 1 / 0\n")
    assert error.code == "PYTHON_TOOL_IMPORT"
    assert error.facts["place"] == f"{tmp_path / 'tools.py'}:2"
    assert "ZeroDivisionError" in error.facts["found"]
    assert refused(load, "def (:\n").facts["place"] == f"{tmp_path / 'tools.py'}:1"
    assert "SystemExit" in refused(load, "raise SystemExit(1)").facts["found"]
    assert "no_such_thing" in refused(load, "import no_such_thing").facts["found"]


def test_a_missing_function_is_named_with_the_nearest(load):
    error = refused(load, "def lookup(): ...", "tools:lokup")
    assert (error.code, error.facts["nearest"]) == ("PYTHON_TOOL_NO_FUNCTION", "lookup")
    assert refused(load, "class f: ...").code == "PYTHON_TOOL_NO_FUNCTION"
    assert refused(load, "f = 3").code == "PYTHON_TOOL_NO_FUNCTION"


@pytest.mark.parametrize("use", ["other:f", "tools.sub:f", "..tools:f", "a..b:f", "tools.:f"])
def test_only_files_of_the_folder_are_found(load, tmp_path, use):
    (tmp_path.parent / "other.py").write_text("raise SystemError('imported')", "utf-8")
    with pytest.raises((InvalidInput, ValueError)) as caught:
        load("def f(): ...", use)
    if isinstance(caught.value, InvalidInput):
        assert caught.value.code == "PYTHON_TOOL_NOT_FOUND"


@pytest.mark.parametrize("name", ["json", "httpx", "oma_desktop"])
def test_nothing_stands_in_for_an_installed_module(load, tmp_path, name):
    (tmp_path / f"{name}.py").write_text("raise SystemError('imported')", "utf-8")
    assert refused(load, "", f"{name}:f").code == "PYTHON_TOOL_SHADOWS"


async def test_a_neighbour_never_replaces_an_installed_module(load, tmp_path):
    (tmp_path / "json.py").write_text("raise SystemError('imported')", "utf-8")
    (spec,) = load("import json\ndef f(): return json.dumps([1])\n", "f")
    assert (await call(spec)).data == "[1]"


def test_a_link_out_of_the_folder_is_not_followed(load, tmp_path):
    outside = tmp_path.parent / f"{tmp_path.name}_outside.py"
    outside.write_text("raise SystemError('imported')", "utf-8")
    (tmp_path / "linked.py").symlink_to(outside)
    assert refused(load, "", "linked:f").code == "PYTHON_TOOL_OUTSIDE"
    error = refused(load, "import linked\ndef f(): ...\n")
    assert (error.code, "leads out" in error.facts["found"]) == ("PYTHON_TOOL_IMPORT", True)


async def test_neighbours_packages_and_late_imports_work(load, tmp_path):
    (tmp_path / "helper.py").write_text("NAME = 'helper'\n", "utf-8")
    package = tmp_path / "kit"
    package.mkdir()
    (package / "__init__.py").write_text("from . import inner\n", "utf-8")
    (package / "inner.py").write_text("import helper\nNAME = 'inner ' + helper.NAME\n", "utf-8")
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "leaf.py").write_text("def f(): return 'leaf'\n", "utf-8")
    source = """
    import helper, kit.inner
    from kit import inner as same
    import bare.leaf
    def f():
        from kit.inner import NAME
        import helper as late
        return [helper.NAME, kit.inner.NAME, same.NAME, NAME, late.NAME, bare.leaf.f()]
    """
    one, leaf = load(source, "f", "bare.leaf:f")
    expected = '["helper","inner helper","inner helper","inner helper","helper","leaf"]'
    assert (await call(one)).data == expected
    assert (await call(leaf)).data == "leaf"
    assert "helper" not in sys.modules
    assert not list(tmp_path.rglob("__pycache__"))


async def test_two_folders_and_two_times_do_not_meet(load, tmp_path, lanes):
    (first,) = load("def f(): return 'first'", "f")
    (again,) = load("def f(): return 'again'", "f")  # the file as it is now
    other = tmp_path / "other"
    other.mkdir()
    (other / "tools.py").write_text("def f(): return 'other'", "utf-8")
    modules = FolderModules(other)
    (third,) = load_python_tools([PythonTool(use="tools:f")], modules, lanes=lanes)
    modules.close()
    assert [(await call(s)).data for s in (first, again, third)] == ["first", "again", "other"]


ENDINGS = """
import asyncio
class Panic(BaseException): ...
def interrupts(): raise KeyboardInterrupt
def panics(): raise Panic("index out of bounds")
def cancels(): raise asyncio.CancelledError
"""


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("interrupts", ToolFailed, "PYTHON_TOOL_EXIT"),
        ("panics", RuntimeError, "Panic: index out of bounds"),
        ("cancels", RuntimeError, "CancelledError"),
    ],
)
async def test_what_is_no_exception_ends_the_call_only(load, name, error, said):
    (spec,) = load(ENDINGS, name)
    with pytest.raises(error, match=said):
        await call(spec)
