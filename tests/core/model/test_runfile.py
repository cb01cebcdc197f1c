# ruff: noqa: E501 - tables read better with one row a line
"""Run files: the peer's forms, unknown keys with the nearest known one, places (product.md 7)."""

import json
from contextlib import suppress

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.base.sentences import one_line
from oma_desktop.model.document_text import read_document
from oma_desktop.model.errors import InvalidInput, NotAllowed, OmaError
from oma_desktop.model.named_functions import named_functions
from oma_desktop.model.plan import PlanArtifact
from oma_desktop.model.runfile import Journal, run_file_schema
from oma_desktop.model.runfile_limits import refuse_unsupported
from oma_desktop.model.runfile_reading import look_at_run_file, read_run_file

FULL = """\
# yaml-language-server: $schema=run-file.json
team:
  name: news
  sharedMemory: file
  agents:
    - name: researcher
      model: gpt-5
      provider: openai
      tools: [grep, lookup]
      maxTurns: 6
      topP: 0.9
    - {name: 写手, model: qwen3, provider: local, baseURL: "http://localhost:8000/v1"}
tasks:
  - title: Gather
    description: yes
    assignee: researcher
  - title: Write
    description: |
      Write it.
    dependsOn: [ gather ]
    assignee: 写手
    retryDelayMs: 500
    requires: {requiredTools: [lookup]}
orchestrator: {maxConcurrency: 2, defaultModel: gpt-5}
checkpoint: {path: run/checkpoint.json, runId: r-1}
journal: false
cwd: work
approvals:
  dispatch: [{title: Write, reason: read first}]
  tools:
    - tool: file_write
      arguments: {path: drafts/*}
      action: allow
    - deploy
providers:
  local: {baseURL: "http://localhost:8000/v1", keyEnv: LOCAL_KEY}
tools: [mytools:lookup]
"""
TEAM = {"name": "t", "agents": [{"name": "a", "model": "m"}]}


def read(document, name="run.json"):
    data = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
    return read_run_file(data.encode(), name=name)


def problems(document, name="run.json"):
    """Return (code, where) of every problem."""
    data = document if isinstance(document, str) else json.dumps(document)
    found = look_at_run_file(read_document(data.encode(), name=name)).problems
    return [(p.code, p.where) for p in found]


# --- what is accepted ----------------------------------------------------------------------------


def test_everything_in_yaml():
    run = read(FULL, "run.yaml")
    assert [a.name for a in run.team.agents] == ["researcher", "写手"]
    assert run.tasks[0].description == "yes"
    assert run.tasks[1].depends_on == ["gather"]
    assert run.checkpoint.path == "run/checkpoint.json"
    assert run.journal is False
    assert [(r.tool, r.action) for r in run.approvals.tools] == [
        ("file_write", "allow"),
        ("deploy", "suspend"),
    ]
    assert run.providers["local"].key_env == ["LOCAL_KEY"]
    assert [t.use for t in run.tools.python] == ["mytools:lookup"]


def test_the_same_in_json():
    document = read_document(FULL.encode(), name="run.yaml").value
    assert read(document) == read(FULL, "run.yaml")


def test_the_peers_files():
    team_file = {**TEAM, "sharedMemory": True}
    assert read(team_file).team.shared_memory is True
    assert read({"team": TEAM, "orchestrator": {"maxConcurrency": 3}}).tasks is None
    tasks = [{"title": "x", "description": "d", "maxRetries": 1}]
    assert read({"tasks": tasks}).team is None
    assert read(tasks).tasks[0].max_retries == 1


def test_short_forms_of_approvals():
    short = {"tools": {"bash": "suspend", "read*": "allow"}, "dispatch": True, "plan": False}
    approvals = read({"team": TEAM, "goal": "g", "approvals": short}).approvals
    assert [(r.tool, r.action) for r in approvals.tools] == [
        ("bash", "suspend"),
        ("read*", "allow"),
    ]
    assert [(r.title, r.action) for r in approvals.dispatch] == [(None, "suspend")]
    assert approvals.plan == "allow"
    everything = read({"team": TEAM, "goal": "g", "approvals": {"tools": "allow"}})
    assert [(r.tool, r.action) for r in everything.approvals.tools] == [(None, "allow")]


def test_plans_by_name_and_inline():
    assert read({"team": TEAM, "plan": "plan.json"}).plan == "plan.json"
    plan = {"version": 1, "tasks": [{"id": "1", "title": "x", "description": "d"}]}
    assert isinstance(read({"team": TEAM, "plan": plan}).plan, PlanArtifact)
    assert read({"team": TEAM, "goal": "g", "journal": {"path": "j"}}).journal == Journal(path="j")


def test_a_byte_order_mark_and_crlf_do_no_harm():
    for name, text in (("r.yaml", FULL), ("r.json", json.dumps({"team": TEAM, "goal": "g"}))):
        data = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
        assert read_run_file(data, name=name).team


# --- what is refused, and where ------------------------------------------------------------------


def test_unknown_keys_name_the_nearest_and_their_place():
    text = FULL.replace("maxTurns: 6", "maxTurn: 6").replace("maxConcurrency", "max_concurency")
    with pytest.raises(InvalidInput) as caught:
        read(text, "run.yaml")
    error = caught.value
    assert error.code == "RUNFILE_UNKNOWN_KEY_NEAR"
    assert error.facts["place"] == "run.yaml:10 $.team.agents[0].maxTurn"
    assert (error.facts["nearest"], error.facts["n_more"]) == ("maxTurns", 1)
    assert "Did you mean maxTurns?" in one_line(error.code, error.facts)
    second = error.facts["problems"][1]
    assert second.facts["nearest"] == "maxConcurrency"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"zzzz": 1}, ("RUNFILE_UNKNOWN_KEY", "$.zzzz")),
        ({"aproval": {}}, ("RUNFILE_UNKNOWN_KEY_NEAR", "$.aproval")),
        ({"approvals": {"tools": [{"tol": "x"}]}}, ("RUNFILE_UNKNOWN_KEY_NEAR", "$.approvals.tools[0].tol")),
        ({"providers": {"x": {"apiKey": "sk-1"}}}, ("RUNFILE_SECRET", "$.providers.x.apiKey")),
        ({"providers": {"x": {"type": "scripted"}}}, ("RUNFILE_MISSING_KEY", "$.providers.x.script")),
        ({"orchestrator": {"defaultApiKey": "k"}}, ("RUNFILE_SECRET", "$.orchestrator.defaultApiKey")),
        ({"orchestrator": {"maxConcurrency": 0}}, ("RUNFILE_TOO_SMALL", "$.orchestrator.maxConcurrency")),
        ({"orchestrator": {"maxConcurrency": "2"}}, ("RUNFILE_WRONG_TYPE", "$.orchestrator.maxConcurrency")),
        ({"orchestrator": {"schedulingStrategy": "x"}}, ("RUNFILE_NOT_ONE_OF", "$.orchestrator.schedulingStrategy")),
        ({"checkpoint": {"runId": "r" * 129}}, ("RUNFILE_TOO_LONG", "$.checkpoint.runId")),
        ({"goal": None, "tasks": []}, ("RUNFILE_NO_TASKS", "$.tasks")),
        ({"tasks": [{"title": "x", "description": "d"}]}, ("RUNFILE_TWO_KINDS_OF_WORK", "$.goal")),
        ({"goal": None, "tasks": [{"title": "x"}]}, ("RUNFILE_MISSING_KEY", "$.tasks[0].description")),
        ({"goal": None, "tasks": [{"title": "", "description": "d"}]}, ("RUNFILE_EMPTY", "$.tasks[0].title")),
        ({"goal": None, "plan": {"version": 2, "tasks": []}}, ("RUNFILE_NOT_ONE_OF", "$.plan.version")),
        ({"goal": None, "tasks": [{"title": "x", "description": "d", "requires": {"requiredTool": []}}]}, ("RUNFILE_UNKNOWN_KEY_NEAR", "$.tasks[0].requires.requiredTool")),
        ({"goal": None, "tasks": [{"title": "x", "description": "d", "metadata": {"oma.x": 1}}]}, ("RUNFILE_TASK_METADATA", '$.tasks[0].metadata["oma.x"]')),
        ({"tools": ["nocolon"]}, ("RUNFILE_NOT_A_FUNCTION", "$.tools[0]")),
        ({"journal": {"pth": "x"}}, ("RUNFILE_UNKNOWN_KEY_NEAR", "$.journal.pth")),
        ({"journal": True}, ("RUNFILE_WRONG_TYPE", "$.journal")),
    ],
)  # fmt: skip
def test_places_of_problems(change, expected):
    assert problems({"team": TEAM, "goal": "g", **change}) == [expected]


def test_a_secret_is_never_quoted():
    with pytest.raises(InvalidInput) as caught:
        read({"team": TEAM, "goal": "g", "providers": {"x": {"apiKey": "sk-secret"}}})
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["a/b", "a:b", "__oma_checkpoint__", "__oma_x", " a", "a ", "\t", "a\nb", "a\u202eb", "a\\b"],
)
def test_agent_names_that_break_keys(name):
    team = {"name": "t", "agents": [{"name": name}]}
    assert problems({"team": team, "goal": "g"}) == [
        ("RUNFILE_BAD_AGENT_NAME", "$.team.agents[0].name")
    ]


def test_agents_must_differ_and_exist():
    twice = {"name": "t", "agents": [{"name": "a"}, {"name": "a"}]}
    assert problems(twice) == [("RUNFILE_AGENT_TWICE", "$.agents[1].name")]
    assert problems({"name": "t", "agents": []}) == [("RUNFILE_NO_AGENTS", "$.agents")]


def tasks(*rows):
    return [
        {
            "title": title,
            "description": "d",
            "dependsOn": needs,
            **({"assignee": who} if who else {}),
        }
        for title, needs, who in rows
    ]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("A", [], None), ("B", [" a "], None)], []),
        ([("Alpha", [], None), ("B", ["Alfa"], None)], [("RUNFILE_UNKNOWN_TASK_NEAR", "$.tasks[1].dependsOn[0]")]),
        ([("A", ["xyz"], None)], [("RUNFILE_UNKNOWN_TASK", "$.tasks[0].dependsOn[0]")]),
        ([("A", ["a"], None)], [("RUNFILE_TASK_NEEDS_ITSELF", "$.tasks[0].dependsOn[0]")]),
        ([("A", [], None), ("a", [], None)], []),
        ([("A", [], None), ("a", [], None), ("B", ["A"], None)], [("RUNFILE_AMBIGUOUS_TASK", "$.tasks[2].dependsOn[0]")]),
        ([("A", [], "b")], [("RUNFILE_UNKNOWN_AGENT", "$.tasks[0].assignee")]),
    ],
)  # fmt: skip
def test_the_graph_of_tasks(rows, expected):
    team = {"name": "t", "agents": [{"name": "a"}]}
    assert problems({"team": team, "tasks": tasks(*rows)}) == expected


def test_a_cycle_is_named_and_bare_lists_have_their_own_paths():
    rows = tasks(("S", ["A"], None), ("A", ["C"], None), ("B", ["A"], None), ("C", ["B"], None))
    (found,) = look_at_run_file(read_document(json.dumps(rows).encode(), name="t.json")).problems
    assert (found.code, found.facts["cycle"]) == ("RUNFILE_TASK_CYCLE", "A -> C -> B -> A")
    assert found.where == "$[1]"


def test_a_long_chain_is_no_problem():
    rows = [("0", [], None), *((str(i), [str(i - 1)], None) for i in range(1, 3000))]
    assert problems({"tasks": tasks(*reversed(rows))}) == []


@pytest.mark.parametrize("value", [7, '"text"', None, {}, {"x": 1}, True])
def test_no_run_file_at_all(value):
    assert problems(value) == [("RUNFILE_NOT_A_RUN_FILE", "$")]


# --- YAML is the 1.2 kind ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["yes", "no", "on", "off", "12:30", "2026-01-05", "1_000", "=", "0b1"]
)
def test_yaml_texts_stay_texts(text):
    assert read_document(f"a: {text}".encode(), name="x.yaml").value == {"a": text}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("010", 10),
        ("0o10", 8),
        ("0xff", 255),
        ("1e3", 1000.0),
        ("~", None),
        ("", None),
        ("True", True),
        ("-.5", -0.5),
    ],
)
def test_yaml_core_values(text, value):
    found = read_document(f"a: {text}".encode(), name="x.yaml").value["a"]
    assert found == value
    assert type(found) is type(value)


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(8)
)


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("a: 1\na: 2", "YAML_KEY_TWICE", "x.yaml:2"),
        ("a: [1", "YAML_INVALID", "x.yaml:1"),
        ("a: 1\n---\nb: 2", "YAML_INVALID", "x.yaml:2"),
        ("1: a", "YAML_KEY_NOT_TEXT", "x.yaml:1"),
        ("? [a]\n: b", "YAML_KEY_NOT_TEXT", "x.yaml:1"),
        ("a: .nan", "YAML_NOT_FINITE", "x.yaml:1"),
        ("a: 1e999", "YAML_NOT_FINITE", "x.yaml:1"),
        ("a: !!python/object/apply:os.system [x]", "YAML_TAG", "x.yaml:1"),
        ("a: !!int x", "YAML_INVALID", "x.yaml:1"),
        ("a: &x [*x]", "DOCUMENT_TOO_DEEP", "x.yaml:1"),
        (BOMB, "DOCUMENT_TOO_LARGE", "x.yaml:1"),
        ("[" * 3000, "DOCUMENT_TOO_DEEP", "x.yaml"),
        ("a: \x00", "DOCUMENT_NOT_TEXT", "x.yaml"),
    ],
)  # fmt: skip
def test_yaml_that_is_refused(text, code, place):
    with pytest.raises(InvalidInput) as caught:
        read_document(text.encode(), name="x.yaml")
    assert (caught.value.code, caught.value.facts["place"]) == (code, place)


@given(st.binary(max_size=60) | st.text(alphabet="ab:-[]{}&*!,\n '\"#|>?~1.", max_size=60))
def test_any_bytes_are_read_or_refused(data):
    raw = data if isinstance(data, bytes) else data.encode()
    for name in ("x.yaml", "x.json", "x"):
        with suppress(OmaError):
            look_at_run_file(read_document(raw, name=name))


json_like = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "", "team", "allow"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["team", "tasks", "plan", "agents", "name", "title", "journal", "approvals", "tools",
             "version", "id", "dependsOn", "providers", "x", "arguments", "python"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip


@given(json_like)
def test_any_document_is_judged_without_raising(value):
    found = look_at_run_file(read_document(json.dumps(value).encode(), name="x.json"))
    assert (found.run_file is None) <= bool(found.problems)
    for each in found.problems:
        sentence = one_line(each.code, each.facts)
        assert "{" not in sentence.replace(each.facts["place"], ""), sentence
        assert each.where.startswith("$")


# --- what this version cannot run ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"journal": {"path": "j.jsonl"}}, "RUNFILE_NEEDS_JOURNAL"),
    ],
)  # fmt: skip
def test_wishes_of_later_versions_are_named(change, code):
    run = read({"team": TEAM, **change})
    with pytest.raises(NotAllowed) as caught:
        refuse_unsupported(run)
    assert caught.value.code == code
    assert "{" not in one_line(code, caught.value.facts)


def test_a_plain_run_file_has_no_such_wish():
    refuse_unsupported(read(FULL.replace("tools: [mytools:lookup]\n", ""), "run.yaml"))


@pytest.mark.parametrize(
    ("tools", "where"),
    [
        ({"python": [{"use": "m:f", "name": "my tool"}]}, "$.tools.python[0].name"),
        ({"python": ["m f"]}, "$.tools.python[0]"),
        ({"mcp": {"my server": {"command": "x"}}}, "$.tools.mcp"),
    ],
)
def test_names_no_model_could_call_are_refused(tools, where):
    found = look_at_run_file(
        read_document(json.dumps({"team": TEAM, "tools": tools}).encode(), name="x.json")
    )
    assert found.run_file is None
    (problem,) = found.problems
    assert problem.where.startswith(where)


# --- the published schema ------------------------------------------------------------------------


def test_the_schema_accepts_what_we_accept():
    schema = run_file_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(read_document(FULL.encode(), name="run.yaml").value)
    validator.validate({"team": TEAM, "goal": "g", "approvals": {"plan": True, "tools": "allow"}})
    validator.validate({"team": TEAM, "goal": "g", "approvals": {"tools": {"bash": True}}})
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"team": TEAM, "goal": "g", "aproval": {}})


# --- long conversations, limits, hooks -----------------------------------------------------------


def one_agent(**more):
    return {"team": {"name": "t", "agents": [{"name": "a", **more}]}}


CONTEXTS = [
    {"contextStrategy": {"type": "sliding-window", "maxTurns": 5}},
    {"contextStrategy": {"type": "summarize", "maxTokens": 9000, "summaryModel": "small"}},
    {"contextStrategy": {"type": "compact", "maxTokens": 9000, "preserveRecentTurns": 2}},
    {"contextStrategy": {"type": "custom", "compress": "mine:shorten"}},
    {"compressToolResults": True},
    {"compressToolResults": {"minChars": 900}, "compressReasoningText": False},
    {"preserveReasoningAsText": True, "compressReasoningText": {"minChars": 90}},
    {"failOn": ["MAX_TURNS_REACHED", "OUTPUT_TRUNCATED"]},
    {"loopDetection": {"maxRepetitions": 2, "onLoopDetected": "inject"}},
    {"beforeRun": "mine:prepare", "afterRun": "mine.hooks:finish"},
]


@pytest.mark.parametrize("wish", CONTEXTS)
def test_what_an_agent_may_say_about_long_conversations_is_read_and_published(wish):
    run = read(one_agent(**wish))
    written = run.team.agents[0].model_dump(by_alias=True, exclude_unset=True)
    assert written == {"name": "a", **wish}
    jsonschema.Draft202012Validator(run_file_schema()).validate(one_agent(**wish))


@pytest.mark.parametrize(
    "wish",
    [
        {"contextStrategy": {}},
        {"contextStrategy": {"type": "sliding"}},
        {"contextStrategy": {"type": "sliding-window"}},
        {"contextStrategy": {"type": "sliding-window", "maxTurns": 0}},
        {"contextStrategy": {"type": "summarize", "maxTurns": 3}},
        {"contextStrategy": {"type": "custom", "compress": "no function"}},
        {"compressToolResults": {"min": 3}},
        {"failOn": ["SOMETHING"]},
        {"loopDetection": {"maxRepetitions": 1}},
        {"loopDetection": {"onLoopDetected": "explode"}},
        {"beforeRun": "os.system"},
    ],
)
def test_wrong_wishes_about_long_conversations_are_named_with_their_place(wish):
    found = problems(one_agent(**wish))
    key = next(iter(wish))
    assert found
    assert all(where.startswith(f"$.team.agents[0].{key}") for _, where in found)
    assert all(code.startswith("RUNFILE_") for code, _ in found)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(run_file_schema()).validate(one_agent(**wish))


def test_a_strategy_of_no_known_type_and_a_key_of_another_one_are_told_exactly():
    assert problems(one_agent(contextStrategy={})) == [
        ("RUNFILE_MISSING_KEY", "$.team.agents[0].contextStrategy.type")
    ]
    assert problems(one_agent(contextStrategy={"type": "sliding"})) == [
        ("RUNFILE_NOT_ONE_OF", "$.team.agents[0].contextStrategy.type")
    ]
    wish = {"type": "summarize", "maxTokens": 1, "maxTurns": 3}
    data = json.dumps(one_agent(contextStrategy=wish)).encode()
    found = look_at_run_file(read_document(data, name="run.json")).problems
    assert [(p.code, p.facts.get("nearest")) for p in found] == [
        ("RUNFILE_UNKNOWN_KEY_NEAR", "maxTokens")
    ]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"content": []}, "message 2 needs the role"),
        ({"role": "system", "content": []}, "message 2 needs the role"),
        ({"role": "user", "content": "hi"}, "message 2 needs content"),
        ({"role": "user", "content": [{"text": "hi"}]}, "message 2 needs content"),
    ],
)
def test_a_history_is_made_of_messages(message, said):
    good = {"role": "user", "content": [{"type": "text", "text": "hi", "mine": 1}], "own": True}
    assert read(one_agent(history=[good])).team.agents[0].history == [good]
    data = json.dumps(one_agent(history=[good, message])).encode()
    (found,) = look_at_run_file(read_document(data, name="run.json")).problems
    assert (found.code, found.where) == ("RUNFILE_WRONG_VALUE", "$.team.agents[0].history")
    assert said in found.facts["problem"]


def test_every_function_a_file_names_is_known_with_its_place():
    run = read(
        {
            "team": {
                "name": "t",
                "agents": [
                    {"name": "a", "contextStrategy": {"type": "compact", "maxTokens": 1}},
                    {
                        "name": "b",
                        "beforeRun": "mine:prepare",
                        "afterRun": "mine:finish",
                        "contextStrategy": {"type": "custom", "compress": "mine:shorten"},
                        "loopDetection": {"onLoopDetected": "mine:decide"},
                    },
                    {"name": "c", "loopDetection": {"onLoopDetected": "terminate"}},
                ],
            },
            "coordinator": {"loopDetection": {"onLoopDetected": "mine:decide"}},
        }
    )
    assert [(f.agent, f.hook, f.use, f.where) for f in named_functions(run)] == [
        ("b", "before_run", "mine:prepare", "team.agents[1].beforeRun"),
        ("b", "after_run", "mine:finish", "team.agents[1].afterRun"),
        ("b", "compress", "mine:shorten", "team.agents[1].contextStrategy.compress"),
        ("b", "on_loop", "mine:decide", "team.agents[1].loopDetection.onLoopDetected"),
        ("coordinator", "on_loop", "mine:decide", "coordinator.loopDetection.onLoopDetected"),
    ]


def test_a_ceiling_for_cost_needs_prices():
    with pytest.raises(InvalidInput) as caught:
        read({"team": TEAM, "orchestrator": {"maxCostBudget": 1.5}})
    (found,) = caught.value.facts["problems"]
    assert found.code == "RUNFILE_COST_NEEDS_PRICES"
    prices = {"*": {"input": 0, "output": 1}}
    run = read({"team": TEAM, "orchestrator": {"maxCostBudget": 1.5, "prices": prices}})
    refuse_unsupported(run)
    assert run.orchestrator.prices["*"].output == 1


def test_routing_rules_name_agents_of_the_team_and_hold_no_keys():
    rule = {"match": {"agent": "nobody"}, "route": {"model": "m"}}
    with pytest.raises(InvalidInput) as caught:
        read({"team": TEAM, "orchestrator": {"modelRouting": {"rules": [rule]}}})
    (found,) = caught.value.facts["problems"]
    assert found.code == "RUNFILE_UNKNOWN_AGENT"
    rule = {"route": {"model": "m", "apiKey": "sk-1"}}
    with pytest.raises(InvalidInput) as caught:
        read({"team": TEAM, "orchestrator": {"modelRouting": {"rules": [rule]}}})
    (found,) = caught.value.facts["problems"]
    assert found.code == "RUNFILE_SECRET"
