"""Paths that are named, chosen or dropped: stores, run files, journals (product.md 5)."""

import json
import os
import shutil

import pytest
from PySide6.QtWidgets import QDialog

from oma_desktop.app.arrivals import Arrival, offer_of, what_is
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.view import RunState
from oma_desktop.ui.start_dialog import StartDialog, models_of, work_of
from tests.app.support import GOLDEN, until

AGENT = {"name": "w", "provider": "local", "model": "m"}
TEAM = {"name": "crew", "agents": [AGENT]}
LOCAL = {"providers": {"local": {"type": "scripted", "script": "s.json"}}}
TASKS = [{"title": "A", "description": "d"}, {"title": "B", "description": "d"}]
EVENT = {"type": "turn/start", "seq": 1, "timestampUnixMs": 1, "runId": "r", "attempt": 1}
PLAN = {"version": 1, "tasks": [{"id": "1", **TASKS[0]}]}


def write(path, document):
    path.write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "document", "kind"),
    [
        ("r.json", {"team": TEAM, "tasks": TASKS}, Arrival.START),
        ("r.yaml", "goal: g\nteam: {name: t, agents: [{name: a}]}", Arrival.START),
        ("r.yaml", "goal: [", Arrival.START),
        ("t.json", TASKS, Arrival.START),
        ("p.json", PLAN, Arrival.START),
        ("s.json", {"version": 1, "entries": []}, Arrival.WATCH),
        ("s.json", "{", Arrival.WATCH),
        ("s.json", "", Arrival.WATCH),
        ("j.jsonl", json.dumps(EVENT) + "\n", Arrival.JOURNAL),
        ("j.jsonl", "x" * 1_000_001, Arrival.JOURNAL),
        ("s.json", "x" * 1_000_001, Arrival.WATCH),
    ],
)
def test_a_path_is_judged_by_its_content(tmp_path, name, document, kind):
    assert what_is(write(tmp_path / name, document)) is kind


def test_folders_and_what_is_not_there_yet_are_watched(tmp_path):
    assert what_is(tmp_path) is Arrival.WATCH
    assert what_is(tmp_path / "later.json") is Arrival.WATCH


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="FILE_NOT_REGULAR"):
        what_is(tmp_path / "pipe")


def test_an_offer_says_what_would_be_done(tmp_path):
    write(tmp_path / "plan.json", PLAN)
    tasks = offer_of(write(tmp_path / "r.json", {"team": TEAM, "tasks": TASKS}))
    assert (tasks.team, tasks.agents, tasks.tasks, tasks.frozen) == ("crew", 1, 2, False)
    goal = offer_of(write(tmp_path / "g.json", {"team": TEAM, "goal": "g"}))
    assert (goal.goal, goal.tasks) == ("g", 0)
    assert work_of(goal) == "a coordinator plans: g"
    alone = {"team": TEAM, "goal": "g", "mode": "single"}
    assert work_of(offer_of(write(tmp_path / "a.json", alone))) == "one agent takes it: g"
    team = {"name": "crew", "agents": [AGENT, {**AGENT, "name": "v"}]}
    roles = {"governanceIntent": "required", "requiredRoles": ["w", "v"], "requiredOrder": ["v"]}
    offer = offer_of(write(tmp_path / "o.json", {"team": team, "goal": "g", **roles}))
    assert work_of(offer) == "v, w, one after the other: g"
    plan = offer_of(write(tmp_path / "q.json", {"team": TEAM, "plan": "plan.json"}))
    assert (plan.tasks, plan.frozen) == (1, True)
    for document, code in ((TASKS, "RUNFILE_NO_TEAM"), (TEAM, "RUNFILE_NO_WORK")):
        with pytest.raises(InvalidInput, match=code):
            offer_of(write(tmp_path / "x.json", document))


def test_an_offer_says_where_model_calls_and_keys_would_go(tmp_path, monkeypatch):
    """A file somebody sent may name any address for a key of this machine (engine.md 8.7)."""
    monkeypatch.setenv("HOUSE_KEY", "sk-never-shown")
    agents = [
        {"name": "a", "provider": "house", "model": "m"},
        {"name": "b", "provider": "openai", "model": "m", "baseURL": "https://else.example/v1"},
        {"name": "c", "provider": "ollama", "model": "m"},
        {"name": "d", "provider": "nobody", "model": "m"},
        {"name": "p", "provider": "openai", "model": "m", "baseURL": "https://u:hunter2@h.example"},
        {"name": "e", "backend": {"kind": "process", "command": "true"}},
        AGENT,
    ]
    house = {"type": "openai", "baseURL": "https://house.example/v1", "keyEnv": "HOUSE_KEY"}
    providers = {**LOCAL["providers"], "house": house}
    document = {"team": {"name": "t", "agents": agents}, "tasks": TASKS, "providers": providers}
    offer = offer_of(write(tmp_path / "m.json", document))
    assert models_of(offer).splitlines() == [
        "https://house.example/v1, with the key HOUSE_KEY",
        "https://else.example/v1, with the key OPENAI_API_KEY",
        "http://127.0.0.1:11434/v1, without a key",
    ]
    assert (
        models_of(offer_of(write(tmp_path / "s.json", {"team": TEAM, "tasks": TASKS, **LOCAL})))
        == ""
    )


def runnable(folder):
    write(folder / "s.json", {"agents": [], "replies": {"@default": [{"text": "done"}]}})
    return write(folder / "r.json", {"team": TEAM, "tasks": TASKS, **LOCAL})


async def dialog_of(bench):
    def found():
        return bench.window.findChild(StartDialog)

    await until(lambda: found() is not None)
    return found()


async def test_a_run_file_is_started_by_its_button_only(bench, tmp_path):
    bench.session.open_paths([str(runnable(tmp_path))])
    dialog = await dialog_of(bench)
    assert not dialog.start.isDefault()
    assert not (tmp_path / ".oma").exists()
    dialog.start.click()
    await until(lambda: any(s.runs and s.runs[0].state is RunState.OK for s in bench.feed.stores()))
    (run,) = bench.feed.stores()[0].runs
    assert len(run.tasks) == 2


@pytest.mark.parametrize("end", ["reject", "close"])
async def test_silence_starts_nothing(bench, tmp_path, end):
    bench.session.open_paths([str(runnable(tmp_path))])
    dialog = await dialog_of(bench)
    getattr(dialog, end)()
    await until(lambda: dialog.result() == QDialog.DialogCode.Rejected and not dialog.isVisible())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.json", "s.json"]
    assert bench.feed.stores() == ()


async def test_a_bad_run_file_is_one_notice_and_no_dialog(bench, tmp_path):
    bench.session.open_paths([str(write(tmp_path / "r.yaml", "team: {name: t, agents: []}"))])
    await until(lambda: bool(bench.notices))
    assert [n.code for n in bench.notices] == ["RUNFILE_NO_AGENTS"]
    assert bench.window.findChild(StartDialog) is None


async def test_a_store_is_watched(bench, tmp_path):
    store = tmp_path / "checkpoint.json"
    shutil.copyfile(GOLDEN / "b_completed_dag6" / "checkpoint.json", store)
    bench.session.open_paths([str(store)])
    await until(lambda: bool(bench.feed.stores()))
    assert bench.notices == []


async def test_a_journal_opens_its_run_and_says_what_is_not_shown(bench, tmp_path):
    journal = write(tmp_path / "journal.jsonl", json.dumps(EVENT) + "\n")
    bench.session.open_paths([str(journal)])
    await until(lambda: bool(bench.notices))
    assert [n.code for n in bench.notices] == ["JOURNAL_NOT_SHOWN"]
    shutil.copyfile(GOLDEN / "b_completed_dag6" / "checkpoint.json", tmp_path / "checkpoint.json")
    bench.session.open_paths([str(journal)])
    await until(lambda: bool(bench.feed.stores()))
    assert bench.notices[-1].code == "JOURNAL_NOT_SHOWN_STORE_OPENED"
