"""Judges from a run file to the printed document (product.md 7; DEV-23, W29)."""

import json

from tests.cli.test_run import snapshot

NO = {"text": json.dumps({"accept": False, "critique": "thin"})}
YES = {"text": json.dumps({"accept": True})}
RUN = """\
team:
  name: t
  sharedMemory: true
  agents: [{name: a}, {name: critic}]
tasks:
  - {title: Draft, assignee: a, description: Write., verify: {judges: critic}}
"""


def files(folder, *verdicts):
    (folder / "run.yaml").write_text(RUN, "utf-8")
    script = {
        "agents": [{"name": "a"}, {"name": "critic"}],
        "replies": {
            "a::Draft": [{"text": "one"}, {"text": "two"}],
            "critic::Draft": {"attempts": [[v] for v in verdicts]},
        },
    }
    (folder / "script.json").write_text(json.dumps(script), "utf-8")
    return [str(folder / "run.yaml"), "--script", str(folder / "script.json")]


def test_a_judged_run_prints_what_the_judges_came_to(cli, tmp_path):
    done = cli("run", *files(tmp_path, NO, YES), "--json")
    [task] = done.json["taskResults"]
    assert task["output"] == "two"
    assert task["verification"] == {
        "verdict": "accepted",
        "rounds": 2,
        "dissent": [{"judge": "critic", "round": 1, "critique": "thin"}],
    }
    assert done.json["log"]["modelCalls"] == [
        "a | Draft | turn 0", "critic | Draft | turn 0", "a | Draft | turn 1",
        "critic | Draft | turn 0",
    ]  # fmt: skip


def test_a_rejected_answer_is_a_warning_in_words(cli, tmp_path):
    done = cli("run", *files(tmp_path, NO))
    assert done.code == 0
    assert "did not accept" in done.out + done.err


def test_check_names_a_judge_nobody_is_called(cli, tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text(RUN.replace("judges: critic", "judges: [critik]"), "utf-8")
    done = cli("check", str(file))
    assert done.code == 1
    assert "verify.judges[0]" in done.out
    assert "critic" in done.out


def test_a_store_that_lost_the_judges_gets_them_back_from_the_run_file(cli, tmp_path):
    """The peer drops our facts when it writes the store (formats.md 2.12)."""
    arguments = files(tmp_path, YES)
    store = tmp_path / "c.json"
    cli("run", *arguments, "--store", str(store), "--run-id", "r")
    document = json.loads(store.read_text("utf-8"))
    entry = next(e for e in document["entries"] if e["key"].startswith("__oma_checkpoint__/"))
    saved = json.loads(entry["value"])
    [task] = saved["queue"]["tasks"]
    task["status"] = "pending"
    del task["result"]
    saved["queue"] |= {"pending": [task["id"]], "completed": []}
    saved["completedTaskResults"] = []
    del saved["omaDesktop"]
    entry["value"] = json.dumps(saved)
    store.write_text(json.dumps(document), "utf-8")
    done = cli("restore", "--store", str(store), "--json")
    assert done.code == 0
    assert "critic | Draft | turn 0" in done.json["log"]["modelCalls"]
    assert snapshot(store)["queue"]["completed"] == [task["id"]]


def test_the_resume_plan_names_the_judges_of_what_is_left(cli, tmp_path):
    text = (
        RUN
        + "  - {title: Later, assignee: a, description: x, dependsOn: [Draft], verify: critic}\n"
    )
    arguments = files(tmp_path, YES)
    text = text.replace("{name: a}", "{name: a, tools: [send]}")
    (tmp_path / "run.yaml").write_text(text, "utf-8")
    script = json.loads((tmp_path / "script.json").read_text("utf-8"))
    call = {"tools": [{"id": "c1", "name": "send", "input": {}}]}
    script["replies"]["a::Draft"] = [call, {"text": "one"}]
    script["tools"] = {"send": {"results": {"*": {"data": "sent"}}}}
    script["gates"] = {"tool": {"send": "suspend"}}
    (tmp_path / "script.json").write_text(json.dumps(script), "utf-8")
    store = str(tmp_path / "c.json")
    assert cli("run", *arguments, "--store", store, "--run-id", "r").code == 3
    plan = cli("restore", "--store", store, "--plan-only", "--json").json
    (later,) = [t for t in plan["willRun"] if t["taskTitle"] == "Later"]
    assert later["judges"] == ["critic"]
    assert (
        "will run: Later  (judged by critic)" in cli("restore", "--store", store, "--plan-only").out
    )


def test_the_resume_plan_says_that_an_answer_only_waits_for_its_judges(cli, tmp_path):
    """As a kill leaves it between the saved answer and the verdict."""
    store = tmp_path / "c.json"
    cli("run", *files(tmp_path, YES), "--store", str(store), "--run-id", "r")
    document = json.loads(store.read_text("utf-8"))
    entry = next(e for e in document["entries"] if e["key"].startswith("__oma_checkpoint__/"))
    saved = json.loads(entry["value"])
    [task] = saved["queue"]["tasks"]
    task["status"] = "in_progress"
    result = task.pop("result")
    saved["queue"] |= {"inProgress": [task["id"]], "completed": []}
    done = saved["completedTaskResults"].pop()["agentResult"]
    saved["inFlightTasks"] = [
        {
            "taskId": task["id"],
            "assignee": "a",
            "phase": "completed",
            "attempt": 1,
            "turns": 1,
            "tokenUsage": done["tokenUsage"],
            "conversationMessages": done["messages"],
            "messages": done["messages"],
            "toolCalls": [],
            "finalOutput": result,
        }
    ]
    saved["omaDesktop"]["verify"] = {task["id"]: {"judges": ["critic"]}}
    del saved["omaDesktop"]["end"]
    entry["value"] = json.dumps(saved)
    store.write_text(json.dumps(document), "utf-8")
    said = cli("restore", "--store", str(store), "--plan-only").out
    assert "kept: Draft  (waits for its judges: critic)" in said
    assert "critic judges the saved answer: Draft" in said
