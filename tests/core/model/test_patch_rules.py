"""Plan patches against the peer's vectors, and where ours is stricter (engine.md 6.4)."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oma_desktop.base.sentences import catalogue
from oma_desktop.model.errors import PlanRejected
from oma_desktop.model.patch_rules import Plan, draft, left_behind
from oma_desktop.model.plan_patch import read_patch
from tests.core.model.patch_world import NOW, STRICTER, VECTORS, base_tasks, new_ids, task

KEPT = ("id", "title", "status", "assignee", "dependsOn", "result", "requires", "metadata")
MARKS = ("supersededByRevision", "recoveredByRevision")

CODES = {
    "empty reason": "PATCH_REASON_EMPTY",
    "no operations": "PATCH_EMPTY",
    "failure without addTasks": "PATCH_NEEDS_REPLACEMENT",
    "verification_rejected without addTasks": "PATCH_NEEDS_REPLACEMENT",
    "trigger unknown": "PATCH_TRIGGER_UNKNOWN",
    "trigger not in_progress": "PATCH_TRIGGER_NOT_RUNNING",
    "retarget twice": "PATCH_TASK_TWICE",
    "retarget unknown": "PATCH_TASK_UNKNOWN",
    "retarget in_progress": "PATCH_TASK_STARTED",
    "retarget empty assignee": "PATCH_ASSIGNEE_EMPTY",
    "supersede twice": "PATCH_TASK_TWICE",
    "supersede and retarget": "PATCH_TASK_BOTH_WAYS",
    "supersede completed": "PATCH_TASK_STARTED",
    "supersede unknown": "PATCH_TASK_UNKNOWN",
    "empty key": "PATCH_KEY_EMPTY",
    "duplicate key": "PATCH_KEY_TWICE",
    "key equals existing id": "PATCH_KEY_IS_TASK",
    "unknown dependency": "PATCH_DEPENDENCY_UNKNOWN",
    "dependency failed": "PATCH_DEPENDENCY_DEAD",
    "dependency skipped": "PATCH_DEPENDENCY_DEAD",
    "dependency superseded by the same patch": "PATCH_DEPENDENCY_DEAD",
    "duplicate dependencies": "PATCH_DEPENDENCY_TWICE",
    "cycle between new tasks": "PATCH_CYCLE",
    "self dependency": "PATCH_CYCLE",
    "bad metadata": "TASK_METADATA_INVALID",
    **STRICTER,
}


def plan(trigger_id="a", trigger="failure", tasks=None, **facts):
    docs = tasks if tasks is not None else base_tasks()
    return Plan({t["id"]: t for t in docs}, trigger_id, trigger, 1, **facts)


def drafted(patch, **facts):
    return draft(read_patch(patch), plan(**facts), new_id=new_ids(), now=NOW)


def code_of(patch, **facts):
    with pytest.raises(PlanRejected) as refusal:
        drafted(patch, **facts)
    assert refusal.value.code in catalogue()
    return refusal.value.code


def shown(doc, names):
    kept = {k: doc[k] for k in (*KEPT, *MARKS) if k in doc}
    if "dependsOn" in kept:
        kept["dependsOn"] = [names.get(d, d) for d in kept["dependsOn"]]
    return {**kept, "id": names.get(doc["id"], doc["id"])}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_the_graph_rules_are_those_of_the_vectors(vector):
    about = {"trigger_id": vector["triggerTaskId"], "trigger": vector["trigger"]}
    peer = vector["output"]["apply"]
    if vector["name"] in CODES:
        assert peer["ok"] == (vector["name"] in STRICTER)
        assert code_of(vector["patch"], **about) == CODES[vector["name"]]
        return
    assert peer["ok"]
    done = drafted(vector["patch"], **about)
    names = {i: f"<new:{key}>" for key, i in done.revision["addedTasks"].items()}
    ours = {k: v for k, v in done.revision.items() if k not in {"id", "createdAt"}}
    ours["addedTasks"] = {k: names[i] for k, i in done.revision["addedTasks"].items()}
    assert ours == peer["revision"]
    after = {t["id"]: t for t in (*base_tasks(), *done.changed, *done.added)}
    assert [shown(t, names) for t in after.values()] == peer["tasks"]


def test_dev_28_a_patch_that_strands_a_dependent_is_refused():
    patch = {
        "reason": "r",
        "supersedePending": ["b"],
        "addTasks": [{"key": "n", "title": "N", "description": "d"}],
    }
    assert code_of(patch) == "PATCH_STRANDS"
    patch["supersedePending"] = ["b", "c"]
    assert {t["id"] for t in drafted(patch).superseded} == {"b", "c"}


def test_p_15_superseding_never_leaves_a_task_blocked_for_ever():
    """Whatever is accepted, no waiting task is left behind one that will never be done."""
    patch = {
        "reason": "r",
        "supersedePending": ["c"],
        "addTasks": [{"key": "n", "title": "N", "description": "d", "dependsOn": ["e"]}],
    }
    done = drafted(patch)
    after = {t["id"]: t for t in (*base_tasks(), *done.changed, *done.added)}
    for doc in after.values():
        if doc["status"] in {"pending", "blocked"}:
            assert all(after[d]["status"] != "skipped" for d in doc.get("dependsOn", ()))


@pytest.mark.parametrize("trigger", ["failure", "verification_rejected"])
def test_a_repair_may_not_wait_for_what_it_repairs(trigger):
    patch = {
        "reason": "r",
        "addTasks": [{"key": "n", "title": "N", "description": "d", "dependsOn": ["a"]}],
    }
    assert code_of(patch, trigger=trigger) == "PATCH_DEPENDENCY_TRIGGER"
    assert drafted(patch, trigger="success").added[0]["status"] == "blocked"


def test_a_task_that_had_begun_before_the_restore_is_not_moved():
    patch = {"reason": "r", "retargetPending": [{"taskId": "d", "assignee": "w2"}]}
    assert code_of(patch, trigger="success", started={"d"}) == "PATCH_TASK_STARTED"


def test_every_field_of_an_added_task_is_copied_but_its_judges():
    full = {
        "key": " n ",
        "title": "N",
        "description": "d",
        "assignee": "w2",
        "memoryScope": "all",
        "dependencyPayload": "both",
        "metadata": {"origin": "recovery"},
        "maxRetries": 2,
        "retryDelayMs": 5,
        "retryBackoff": 3,
        "role": "r",
        "priority": "high",
        "requires": {"requiredCapabilities": ["x"]},
        "verify": {"judges": ["w1"]},
    }
    done = drafted({"reason": "r", "addTasks": [full]})
    (added,) = done.added
    for name in full.keys() - {"key", "verify"}:
        assert added[name] == full[name]
    assert "verify" not in added
    assert "key" not in added
    assert list(done.verify) == [added["id"]]
    assert done.verify[added["id"]].judges == ["w1"]
    assert done.revision["addedTasks"] == {"n": added["id"]}


def test_a_key_of_the_patch_wins_over_a_task_and_titles_are_no_references():
    tasks = [task("a", "in_progress"), task("x", "completed", title="Old")]
    two = [
        {"key": "n", "title": "N", "description": "d"},
        {"key": "m", "title": "M", "description": "d", "dependsOn": ["n"]},
    ]
    done = drafted({"reason": "r", "addTasks": two}, tasks=tasks)
    assert done.added[1]["dependsOn"] == [done.added[0]["id"]]
    two[1]["dependsOn"] = ["Old"]
    assert code_of({"reason": "r", "addTasks": two}, tasks=tasks) == "PATCH_DEPENDENCY_UNKNOWN"


def test_a_cycle_is_told_in_the_words_of_the_patch():
    patch = {
        "reason": "r",
        "addTasks": [
            {"key": "one", "title": "A", "description": "d", "dependsOn": ["two"]},
            {"key": "two", "title": "B", "description": "d", "dependsOn": ["one"]},
        ],
    }
    with pytest.raises(PlanRejected) as refusal:
        drafted(patch)
    assert set(str(refusal.value.facts["cycle"]).split(" -> ")) == {"one", "two"}


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ("text", "$"),
        (["x"], "$"),
        ({}, "reason"),
        ({"reason": 3}, "reason"),
        ({"reason": "r", "addTask": []}, "addTask"),
        ({"reason": "r", "addTasks": [{"key": "k"}]}, "addTasks.0.title"),
        ({"reason": "r", "supersedePending": "b"}, "supersedePending"),
        (
            {"reason": "", "addTasks": [{"key": "k", "title": "t", "description": "d", "id": "x"}]},
            "addTasks.0.id",
        ),
    ],
)  # fmt: skip
def test_what_is_no_patch_is_refused_with_its_place(value, where):
    with pytest.raises(PlanRejected) as refusal:
        read_patch(value)
    assert refusal.value.code == "PATCH_MALFORMED"
    assert refusal.value.facts["where"] == where


def test_dependents_the_failure_will_still_end_are_named():
    patch = {"reason": "r", "addTasks": [{"key": "n", "title": "N", "description": "d"}]}
    tasks = {t["id"]: t for t in base_tasks()}
    assert left_behind(drafted(patch), tasks) == ["b", "c"]
    patch["supersedePending"] = ["b", "c"]
    assert left_behind(drafted(patch), tasks) == []
    assert left_behind(drafted(patch, trigger="success"), tasks) == []


IDS = st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h", "w", "x", "zz", "n1", "n2", " "])
ADDED = st.fixed_dictionaries(
    {"key": IDS, "title": st.just("T"), "description": st.just("d")},
    optional={"dependsOn": st.lists(IDS, max_size=3), "assignee": st.sampled_from(["w1", "w2"])},
)
PATCHES = st.fixed_dictionaries(
    {"reason": st.sampled_from(["r", " ", "why"])},
    optional={
        "addTasks": st.lists(ADDED, max_size=3),
        "supersedePending": st.lists(IDS, max_size=3),
        "retargetPending": st.lists(
            st.fixed_dictionaries({"taskId": IDS, "assignee": st.sampled_from(["w2", " "])}),
            max_size=2,
        ),
    },
)


@settings(max_examples=300, deadline=None)
@given(PATCHES, st.sampled_from(["success", "failure", "verification_rejected"]))
def test_a_draft_changes_nothing_and_keeps_history_and_topology(patch, trigger):
    before = base_tasks()
    kept = copy.deepcopy(before)
    try:
        done = drafted(patch, tasks=before, trigger=trigger)
    except PlanRejected:
        assert before == kept
        return
    assert before == kept
    old = {t["id"]: t for t in kept}
    for changed in done.changed:
        assert changed.get("dependsOn") == old[changed["id"]].get("dependsOn")
        if old[changed["id"]]["status"] not in {"pending", "blocked"}:
            assert changed["id"] == "a"
            assert changed["status"] == "in_progress"
    after = {**old, **{t["id"]: t for t in (*done.changed, *done.added)}}
    assert len(after) == len(old) + len(done.added)
    for doc in done.added:
        assert doc["status"] == (
            "pending"
            if all(after[d]["status"] == "completed" for d in doc.get("dependsOn", ()))
            else "blocked"
        )
