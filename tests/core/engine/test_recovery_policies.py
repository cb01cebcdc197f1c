"""Rules of run files and patches of scripts become patches in ids (engine.md 6.8)."""

from __future__ import annotations

import pytest

from oma_desktop.engine.recovery_options import TaskOutcome
from oma_desktop.engine.tasks.recovery_policies import (
    by_rule,
    filled,
    fits,
    in_ids,
    recovery_of_file,
    rule_policy,
    scripted_policy,
)
from oma_desktop.model.patch_rules import waiting_for
from oma_desktop.model.recovery_rules import (
    Recovery,
    RecoveryRule,
    ScriptedRecovery,
    TitledPatch,
)
from tests.core.engine.run_world import RunWorld, bad, ok, spec, statuses
from tests.core.engine.test_recovery import failing
from tests.core.model.patch_world import base_tasks, task


def outcome(kind="failure", trigger=None, result=None, tasks=None):
    trigger = trigger or task("a", "in_progress", title="Search", role="scout")
    result = result or (bad("no luck") if kind == "failure" else ok())
    return TaskOutcome(
        kind, task=trigger, result=result, tasks=tasks or base_tasks(), plan_revision=0
    )


def rule(**facts):
    added = [{"key": "k", "title": "Again: {task}", "description": "because {error} {x}"}]
    return RecoveryRule.model_validate({"addTasks": added, **facts})


@pytest.mark.parametrize(
    ("facts", "fit"),
    [
        ({}, True),
        ({"title": "Search"}, True),
        ({"title": "Sea*"}, True),
        ({"title": "sea*"}, False),
        ({"role": "scout"}, True),
        ({"role": "cook"}, False),
        ({"assignee": "w1"}, True),
        ({"assignee": "w2"}, False),
        ({"errorKind": "provider"}, True),
        ({"errorKind": ["timeout", "tool"]}, False),
        ({"on": "verification_rejected"}, False),
        ({"on": ["success", "failure"]}, True),
    ],
)
def test_every_condition_of_a_rule_must_hold(facts, fit):
    assert fits(rule(**facts), outcome()) is fit


def test_the_first_rule_that_fits_decides():
    rules = [rule(title="Other"), rule(reason="first"), rule(reason="second")]
    assert rule_policy(rules)(outcome()).reason == "first"
    assert rule_policy(rules[:1])(outcome()) is None


def test_a_rule_fills_in_what_happened():
    patch = by_rule(rule(), outcome())
    assert patch.reason == "Search: no luck"
    (added,) = patch.add_tasks
    assert added.title == "Again: Search"
    assert added.description == "because no luck {x}"


def test_words_that_look_like_places_are_not_filled_again():
    assert filled("{task} {error} {z}", {"task": "{error}", "error": "e"}) == "{error} e {z}"


def test_a_rule_may_replace_everything_that_waits():
    assert waiting_for("a", base_tasks()) == ["b", "c"]
    patch = by_rule(rule(supersedeDependents=True, supersede=["T c", "T d"]), outcome())
    assert patch.supersede_pending == ["c", "d", "b"]


def test_titles_become_ids_and_unknown_ones_stay():
    tasks = [
        task("old", "failed", title="Same"),
        task("new", "pending", title=" same "),
        task("done", "completed", title="Same"),
    ]
    patch = TitledPatch.model_validate(
        {
            "reason": "r",
            "supersede": ["Same"],
            "retarget": [{"title": "nobody", "assignee": "w"}],
            "addTasks": [
                {"key": "k", "title": "K", "description": "d"},
                {"key": "l", "title": "L", "description": "d", "dependsOn": ["k", "SAME"]},
            ],
        }
    )
    found = in_ids(patch, tasks)
    assert found.supersede_pending == ["new"]
    assert found.retarget_pending[0].task_id == "nobody"
    assert found.add_tasks[1].depends_on == ["k", "new"]


def test_a_script_answers_by_title_and_outcome_and_a_list_is_used_up():
    one, two = ({"reason": r, "addTasks": []} for r in ("one", "two"))
    script = ScriptedRecovery.model_validate({"patches": {"Search:failure": [one, two]}})
    policy = scripted_policy(script)
    assert policy(outcome("success")) is None
    assert [policy(outcome()).reason for _ in range(2)] == ["one", "two"]
    assert policy(outcome()) is None


def test_a_fixed_plan_has_no_policy():
    assert recovery_of_file(Recovery()) is None
    options = recovery_of_file(Recovery(mode="adaptive", rules=[rule()], max_added_tasks=2))
    assert (options.mode, options.max_added_tasks) == ("repairable", 2)


async def test_rules_repair_a_run():
    rules = [
        rule(
            title="Search",
            errorKind="provider",
            supersedeDependents=True,
            addTasks=[
                {"key": "again", "title": "Search again", "description": "d", "assignee": "b"},
                {"key": "use", "title": "Use it", "description": "d", "dependsOn": ["again"]},
            ],
        )
    ]
    world = RunWorld(
        work=failing("Search"),
        recovery_default=recovery_of_file(Recovery(mode="repairable", rules=rules)),
    )
    result = await world.run(
        spec("Search", assignee="a"), spec("Analysis", "Search"), spec("Report", "Analysis")
    )
    assert result.success
    assert statuses(result) == {
        "Search": "failed",
        "Analysis": "skipped",
        "Report": "skipped",
        "Search again": "completed",
        "Use it": "completed",
    }
    assert result.plan_revisions[0]["reason"] == "Search: boom"
