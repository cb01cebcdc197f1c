"""Runs made by hand for the map and the outline: the plan of the mock-ups, and made-up big ones."""

import random
from datetime import UTC, datetime, timedelta

from oma_desktop.model.view import (
    ApprovalView,
    CallState,
    Effect,
    Owner,
    OwnerKind,
    RunRef,
    RunState,
    RunView,
    StoreView,
    TaskState,
    TaskView,
    ToolCallView,
    Usage,
)
from oma_desktop.viewmodel.feed import Feed
from oma_desktop.viewmodel.selection import Selection

T = TaskState
NOW = datetime(2026, 3, 1, 14, 9, 22, tzinfo=UTC)
PATH = "/runs/supply/q3-supply-risk.json"
KEY = "__oma_checkpoint__/x/latest"
REF = RunRef(PATH, KEY)


def now():
    return NOW


def task(id_, title="", state=T.WAITING, *, needs=(), agent="analyst", ago_s=371, **more):
    return TaskView(
        id=id_,
        title=title or id_,
        description="",
        status="",
        state=state,
        assignee=agent,
        depends_on=tuple(needs),
        updated_at=NOW - timedelta(seconds=ago_s),
        **more,
    )


def call(id_, tool, state, *, task_id="t10", round_=1, size=9300):
    return ToolCallView(
        call_id=id_,
        tool=tool,
        agent="writer",
        task_id=task_id,
        state=state,
        round=round_,
        output_size=size,
        effect=Effect.CONSEQUENTIAL,
        approval_id="ap1" if state is CallState.NEEDS_YOU else None,
    )


CALLS = (
    call("c1", "supplier_search", CallState.SAVED),
    call("c2", "render_letter", CallState.SAVED),
    call("c3", "render_letter", CallState.SAVED, round_=2),
    call("c4", "send_letter", CallState.NEEDS_YOU, round_=4, size=0),
    call("c5", "write_memory", CallState.TO_RUN, round_=4, size=0),
)


def plan(chinese=False):
    """Return the 14 tasks of the mock-ups."""

    def name(en, zh):
        return zh if chinese else en

    return (
        task(
            "t1",
            name("Plan scope", "确定范围"),
            T.DONE,
            agent="coordinator",
            result_preview=name("4 tasks added", "新增 4 项任务"),
            turns=2,
        ),
        task(
            "t2",
            name("Tier-1 suppliers", "一级供应商"),
            T.DONE,
            agent="researcher",
            needs=["t1"],
            result_preview=name("31 suppliers", "31 家供应商"),
            turns=6,
        ),
        task(
            "t3",
            name("Port delays", "港口延误"),
            T.DONE,
            agent="researcher",
            needs=["t1"],
            result_preview=name("11 ports", "11 个港口"),
            turns=5,
        ),
        task(
            "t4",
            name("Tariff changes", "关税变化"),
            T.DONE,
            needs=["t1"],
            result_preview=name("48 HS codes", "48 个 HS 编码"),
            turns=4,
        ),
        task(
            "t5",
            "合同条款 Contracts" if not chinese else "合同条款",
            T.DONE,
            agent="reader",
            needs=["t1"],
            result_preview=name("19 files", "19 个文件"),
            turns=3,
        ),
        task(
            "t6",
            name("Map tier 2", "梳理二级供应商"),
            T.REPLACED,
            agent="researcher",
            needs=["t2"],
            recovered_by=2,
            result_preview="failed after 3 tries",
        ),
        task(
            "t13",
            name("Tier 2, registry", "二级（登记库）"),
            T.RUNNING,
            agent="researcher",
            needs=["t2", "t3"],
            turns=3,
            added_by=2,
        ),
        task(
            "t7",
            name("Price history", "价格历史"),
            T.DONE,
            needs=["t4"],
            result_preview=name("36 months", "36 个月"),
            turns=4,
        ),
        task(
            "t8", name("Lead times", "交货周期"), T.RUNNING, needs=["t2", "t3"], turns=7, ago_s=511
        ),
        task(
            "t9",
            name("Exchange rates", "汇率"),
            T.FAILED,
            needs=["t5"],
            turns=1,
            result_preview="HTTP 403: key has no access to CNY/EUR 2026",
        ),
        task(
            "t10",
            name("Supplier letters", "供应商函件"),
            T.NEEDS_YOU,
            agent="writer",
            needs=["t2", "t7"],
            calls=CALLS,
            turns=4,
            usage=Usage(41_200, 9_400),
            n_messages=6,
        ),
        task("t11", name("Risk scores", "风险评分"), T.WAITING, needs=["t7", "t8", "t13"]),
        task("t12", name("Scenario model", "情景模型"), T.BLOCKED, needs=["t8", "t9"]),
        task(
            "t14",
            name("Draft report", "撰写报告"),
            T.WAITING,
            agent="writer",
            needs=["t10", "t11", "t12"],
        ),
    )


def approval():
    return ApprovalView(
        id="ap1",
        run_id="x",
        scope="tool_call",
        boundary="b",
        request_hash="00",
        hash_matches=True,
        state="pending",
        open=True,
        content={},
        task_id="t10",
        tool="send_letter",
        agent="writer",
        effect=Effect.CONSEQUENTIAL,
        requested_at=NOW - timedelta(minutes=6),
    )


def big_plan(n, *, seed=7, window=None):
    """Return a made-up plan of `n` tasks that need at most three of those shortly before."""
    rng = random.Random(seed)
    window = window or max(40, n // 20)
    tasks = []
    for i in range(n):
        needs = (
            {f"k{rng.randrange(max(0, i - window), i)}" for _ in range(rng.randint(1, 3))}
            if i
            else ()
        )
        share = i / n
        if share < 0.6:
            state = rng.choices([T.DONE, T.FAILED, T.REPLACED, T.SKIPPED], [96, 1, 2, 1])[0]
        elif share < 0.65:
            state = rng.choices([T.RUNNING, T.NEEDS_YOU, T.DONE, T.UNKNOWN], [6, 1, 3, 1])[0]
        else:
            state = rng.choices([T.WAITING, T.BLOCKED], [1, 5])[0]
        tasks.append(
            task(
                f"k{i}",
                f"Task {i} 任务",
                state,
                needs=sorted(needs),
                agent=f"agent-{i % 5}",
                result_preview="done" if state is T.DONE else "",
            )
        )
    return tuple(tasks)


def stack_plan(n=14):
    """Return one root, `n` like siblings, one end."""
    states = [T.DONE] * (n - 3) + [T.RUNNING] * 2 + [T.WAITING]
    siblings = [
        task(f"s{i}", f"Supplier profile {i}", states[i], needs=["r"], agent="researcher")
        for i in range(n)
    ]
    last = task("e", "Compare", T.WAITING, needs=[s.id for s in siblings], agent="writer")
    return (task("r", "List suppliers", T.DONE), *siblings, last)


def store(tasks, *, state=RunState.RUNNING, approvals=()):
    run = RunView(
        key=KEY,
        run_id="x",
        state=state,
        version=5,
        mode="tasks",
        tasks=tuple(tasks),
        saved_at=NOW,
        started_at=NOW - timedelta(minutes=47, seconds=12),
        n_open_approvals=len(approvals),
        usage=Usage(361_000, 51_000),
        goal="Which are at risk?",
    )
    return StoreView(
        path=PATH,
        runs=(run,),
        approvals=tuple(approvals),
        read_at=NOW,
        modified_at=NOW,
        owner=Owner(OwnerKind.THIS_APP),
    )


def world(tasks=(), **more):
    """Return a feed that holds one run and a selection that points at it."""
    feed, selection = Feed(), Selection()
    feed.put(store(tasks, **more))
    selection.select_run(REF)
    return feed, selection
