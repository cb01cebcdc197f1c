"""Comparing runs that add tasks: new ids are random on either side."""

from __future__ import annotations

import json


def new_ids_named(document, before):
    """The document with every task id that the store text did not hold as `<new:title>`."""
    text = json.dumps(document)
    for task in document["tasks"]:
        if task["id"] not in before:
            text = text.replace(json.dumps(task["id"]), json.dumps(f"<new:{task['title']}>"))
    return json.loads(text)


def decisions(log, tasks):
    """What became of outcomes, by task title; order differs where tasks run side by side."""
    titles = {t["id"]: t["title"] for t in tasks}
    return sorted(
        (titles[e["task"]], e["decision"])
        for e in log["notableEvents"]
        if e["type"] == "recovery_decision"
    )
