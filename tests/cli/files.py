"""Small run files and scripts for tests of the command line."""

import itertools
import json


def script(*titles, delay_ms=0, tool_ms=0, gate=None, **replies):
    """A scripted team of one agent; every task calls `act` once, then answers.

    `gate` suspends that call of `act`; `replies` override tasks.
    """
    document = {
        "team": {"name": "trial"},
        "agents": [{"name": "worker", "tools": ["act"]}],
        "tools": {
            "act": {
                "schema": {"n": "number"},
                "results": {"*": {"data": "acted", "delayMs": tool_ms}},
            }
        },
        "replies": {title: _turns(title, delay_ms) for title in titles} | replies,
    }
    if gate is not None:
        document["gates"] = {"tool": {f"call_{gate}": "suspend"}}
    return document


def _turns(title, delay_ms):
    call = {"id": f"call_{title}", "name": "act", "input": {"n": 1}}
    return [
        {"text": "first", "tools": [call], "delayMs": delay_ms},
        {"text": f"{title} is done", "delayMs": delay_ms},
    ]


def tasks(*titles, chain=False):
    """Tasks for the worker; with `chain` each waits for the one before."""
    found = [{"title": t, "description": f"do {t}", "assignee": "worker"} for t in titles]
    if chain:
        for before, task in itertools.pairwise(found):
            task["dependsOn"] = [before["title"]]
    return found


def write(folder, **documents):
    """Write documents as `<name>.json`; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document), "utf-8")
    return folder


def trial(folder, *titles, chain=False, **options):
    """A folder with `tasks.json` and `script.json`; returns the arguments that name them."""
    write(folder, tasks=tasks(*titles, chain=chain), script=script(*titles, **options))
    return (folder / "tasks.json", "--script", folder / "script.json")
