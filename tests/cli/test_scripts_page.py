"""The page about scripts tells the truth: every example is read, the runnable ones are run."""

import json
import re
from pathlib import Path

import pytest

from oma_desktop.model.script import Script, ScriptedReply, ScriptedTool
from tests.cli.files import write

PAGE = (Path(__file__).parents[2] / "resources/docs/scripts.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(?:json|yaml) (\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
MODELS = {"script": Script, "reply": ScriptedReply, "tool": ScriptedTool}
REPLIES = [json.loads(text) for kind, text in BLOCKS if kind == "reply"]


def block(kind):
    return next(text for found, text in BLOCKS if found == kind)


@pytest.mark.parametrize(("kind", "text"), [b for b in BLOCKS if b[0] != "run"])
def test_every_example_is_a_valid_one(kind, text):
    MODELS[kind].model_validate_json(text)


def test_every_key_of_a_reply_is_on_the_page():
    for name, field in ScriptedReply.model_fields.items():
        assert f"`{field.alias or name}`" in PAGE, name


def run(cli, folder, replies=None, **task):
    document = json.loads(block("script"))
    if replies is not None:
        document["replies"]["Facts"] = replies
    write(folder, script=document)
    text = block("run")
    if task:
        text = text.replace("assignee: researcher}", f"assignee: researcher, {task['more']}}}")
    (folder / "run.yaml").write_text(text, "utf-8")
    done = cli("run", folder / "run.yaml", "--store", folder / "c.json", "--json")
    names = [call["name"] for call in done.json["log"]["toolCallsExecuted"]]
    return done, names


def test_the_first_example_runs(cli, tmp_path):
    done, names = run(cli, tmp_path)
    assert (done.code, names) == (0, ["lookup"])
    assert done.json["taskResults"][0]["output"] == "443 is https."


def test_a_script_in_the_place_of_everything(cli, tmp_path):
    run(cli, tmp_path)
    tasks = [{"title": "Facts", "description": "d"}]
    write(tmp_path, tasks=tasks)
    done = cli(
        *("run", tmp_path / "tasks.json", "--script", tmp_path / "script.json"),
        *("--store", tmp_path / "d.json", "--json"),
    )
    assert done.code == 0


FAILING = [reply for reply in REPLIES if "error" in reply or "stream" in reply][:-1]


@pytest.mark.parametrize("reply", FAILING)
def test_failures_fail_the_task_and_run_nothing(cli, tmp_path, reply):
    done, names = run(cli, tmp_path, [reply])
    assert (done.code, names) == (1, [])
    assert "half" not in (tmp_path / "c.json").read_text("utf-8")


@pytest.mark.parametrize("reply", FAILING)
def test_a_task_with_retries_gets_over_them(cli, tmp_path, reply):
    """The second attempt has its own turns."""
    attempts = {"attempts": [[reply], [{"text": "at last"}]]}
    done, _ = run(cli, tmp_path, attempts, more="maxRetries: 1, retryDelayMs: 1")
    assert done.code == 0
    assert done.json["taskResults"][0]["output"] == "at last"


def test_what_a_broken_answer_cost_is_kept(cli, tmp_path):
    (reply,) = [one for one in REPLIES if "usage" in one]
    done, _ = run(cli, tmp_path, [reply])
    assert done.json["totalTokenUsage"] == {"input_tokens": 40, "output_tokens": 4}


def test_unusable_arguments_are_told_to_the_model(cli, tmp_path):
    (reply,) = [one for one in REPLIES if "rawInput" in json.dumps(one)]
    done, names = run(cli, tmp_path, [reply, {"text": "sorry"}])
    assert (done.code, names) == (0, [])
    assert done.json["taskResults"][0]["output"] == "sorry"


def test_a_whole_stream_is_an_answer(cli, tmp_path):
    done, _ = run(cli, tmp_path, [REPLIES[-1]])
    assert done.code == 0
    assert done.json["taskResults"][0]["output"] == "443 is https."


def test_a_stream_has_its_whole_answer_in_it():
    with pytest.raises(ValueError, match="whole answer"):
        ScriptedReply.model_validate({"text": "x", "stream": {"body": ""}})
