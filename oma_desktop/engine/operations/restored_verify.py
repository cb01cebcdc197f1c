"""Who judges the tasks of a restored run (DEV-23, W29; formats.md 2.12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import cast

from oma_desktop.engine.operations.restore import reopenable
from oma_desktop.engine.queueing.queue import TERMINAL
from oma_desktop.engine.tasks.judging import missing_judges
from oma_desktop.model.checkpoint import CheckpointSnapshot, TaskSnapshot
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.own_facts import OWN_KEY
from oma_desktop.model.task_graph import title_key
from oma_desktop.model.team import TaskSpec
from oma_desktop.model.verify import VerifySpec, verify_spec


def verify_again(
    snapshot: CheckpointSnapshot,
    agents: Collection[str],
    *,
    retry_failed: bool,
    specs: Sequence[TaskSpec] = (),
) -> dict[str, VerifySpec]:
    """Return who judges what is left to do, by task id.

    Another writer drops our facts; then the wishes of `specs` are taken, by title. A task that was
    to be judged and cannot be any more is never run unjudged: raises InvalidInput
    RESTORE_VERIFY_DAMAGED or RESTORE_JUDGES_MISSING before anything is changed.
    """
    all_tasks = snapshot["queue"]["tasks"]
    again = reopenable(all_tasks) if retry_failed else set()
    left = {t["id"]: t for t in all_tasks if t["status"] not in TERMINAL or t["id"] in again}
    saved = _saved(snapshot)
    wishes = _by_title(specs, left.values()) if saved is None else _read(saved, left)
    missing = sorted({j for spec in wishes.values() for j in missing_judges(spec, agents)})
    if missing:
        tasks = [left[i]["title"] for i, s in wishes.items() if missing_judges(s, agents)]
        raise InvalidInput("RESTORE_JUDGES_MISSING", agents=missing, tasks=tasks)
    return wishes


def _saved(snapshot: CheckpointSnapshot) -> JsonValue:
    facts = cast("Mapping[str, JsonValue]", snapshot).get(OWN_KEY)
    return facts.get("verify") if isinstance(facts, dict) else None


def _read(saved: JsonValue, left: Mapping[str, TaskSnapshot]) -> dict[str, VerifySpec]:
    if not isinstance(saved, dict):
        raise InvalidInput("RESTORE_VERIFY_DAMAGED", where="$.omaDesktop.verify", found="no object")
    found: dict[str, VerifySpec] = {}
    for task_id, wish in saved.items():
        if task_id in left:
            try:
                found[task_id] = verify_spec(wish)
            except InvalidInput as error:
                where = f"$.omaDesktop.verify.{task_id}"
                facts = {**error.facts, "where": where}
                raise InvalidInput("RESTORE_VERIFY_DAMAGED", **facts) from error
    return found


def _by_title(specs: Sequence[TaskSpec], left: Iterable[TaskSnapshot]) -> dict[str, VerifySpec]:
    """Titles that occur once on either side; nothing else says which task a spec was."""
    said = Counter(title_key(s.title) for s in specs)
    wishes = {title_key(s.title): s.verify for s in specs if said[title_key(s.title)] == 1}
    tasks = list(left)
    times = Counter(title_key(t["title"]) for t in tasks)
    found: dict[str, VerifySpec] = {}
    for task in tasks:
        key = title_key(task["title"])
        wish = wishes.get(key)
        if wish is not None and times[key] == 1:
            found[task["id"]] = wish
    return found
