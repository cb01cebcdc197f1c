"""Hand-made pictures of stores, as in the mock-ups: nothing here is read from a file."""

from datetime import UTC, datetime, timedelta

from oma_desktop.model.view import (
    ApprovalView,
    BlockView,
    CallState,
    ConversationView,
    Effect,
    EndRecord,
    MessageView,
    Owner,
    OwnerKind,
    Problem,
    RunRef,
    RunState,
    RunView,
    StoreView,
    TaskState,
    TaskView,
    ToolCallView,
    Usage,
)

T = TaskState
NOW = datetime(2026, 3, 1, 14, 9, 22, tzinfo=UTC)


class FixedClock:
    """A clock that stands, unless moved."""

    def __init__(self, at=NOW):
        self.at = at

    def now(self):
        return self.at

    def monotonic(self):
        return self.at.timestamp()

    async def sleep(self, delay_s):
        self.at += timedelta(seconds=delay_s)


class Recorder:
    """A `Commands` that only remembers what was asked."""

    def __init__(self):
        self.asked = []

    def __getattr__(self, name):
        def ask(*args):
            self.asked.append((name, *args))

        return ask


def call(id_, tool, state, effect=Effect.READ_ONLY, size=9300, round_=1, approval=None):
    return ToolCallView(
        call_id=id_,
        tool=tool,
        agent="writer",
        task_id="t10",
        state=state,
        round=round_,
        input_preview='{"to": "contact@hualian.example"}',
        input_size=212,
        output_preview="31 suppliers" if size else "",
        output_size=size,
        effect=effect,
        approval_id=approval,
    )


CALLS = (
    call("c1", "supplier_search", CallState.SAVED),
    call("c2", "render_letter", CallState.SAVED, Effect.REPEATABLE, 2460),
    call("c3", "render_letter", CallState.SAVED_JOURNAL, Effect.REPEATABLE, 2460),
    call("c4", "send_letter", CallState.NEEDS_YOU, Effect.CONSEQUENTIAL, 0, 2, "ap1"),
    call("c5", "write_memory", CallState.TO_RUN, Effect.REPEATABLE, 0, 2),
    call("c6", "bash", CallState.OUTCOME_UNKNOWN, Effect.CONSEQUENTIAL, 0, 2),
)


def task(id_, title, state, *, agent="analyst", needs=(), calls=(), **more):
    return TaskView(
        id=id_,
        title=title,
        description=f"{title}.",
        status="in_progress",
        state=state,
        assignee=agent,
        depends_on=tuple(needs),
        calls=calls,
        updated_at=NOW - timedelta(minutes=6),
        **more,
    )


MAIN_TASKS = (
    task("t1", "Plan scope", T.DONE, agent="coordinator"),
    task("t2", "Tier-1 suppliers", T.DONE, agent="researcher", needs=["t1"]),
    task("t3", "Port delays", T.DONE, agent="researcher", needs=["t1"]),
    task("t4", "Tariff changes", T.DONE, needs=["t1"]),
    task("t5", "合同条款 Contracts", T.DONE, agent="reader", needs=["t1"]),
    task("t7", "Price history", T.DONE, needs=["t3"]),
    task("t13", "Tier 2, registry", T.RUNNING, agent="researcher", needs=["t2"]),
    task("t8", "Lead times", T.RUNNING, needs=["t2"], turns=7),
    task(
        "t10",
        "Supplier letters",
        T.NEEDS_YOU,
        agent="writer",
        needs=["t2"],
        calls=CALLS,
        turns=4,
        usage=Usage(41_200, 9_400),
        n_messages=6,
    ),
    task("t9", "Exchange rates", T.FAILED, needs=["t5"]),
    task("t6", "Map tier 2", T.REPLACED, needs=["t2"]),
    task("t12", "Scenario model", T.BLOCKED, needs=["t9"]),
    task("t11", "Risk scores", T.WAITING, needs=["t7", "t8", "t13"]),
    task("t14", "Draft report", T.WAITING, agent="writer", needs=["t10", "t11", "t12"]),
)


def plain(states):
    return tuple(task(f"t{i}", f"Task {i}", s) for i, s in enumerate(states))


def store(name, state, tasks, *, age_s, elapsed_s, owner=None, **more):
    saved = NOW - timedelta(seconds=age_s)
    live = state in (RunState.RUNNING, RunState.SUSPENDING)
    started = (NOW if live else saved) - timedelta(seconds=elapsed_s)
    end = None if live else EndRecord("ended", saved, "us")
    run = RunView(
        key="__oma_checkpoint__/x/latest",
        run_id="00000000-0000-4000-8000-000000000000",
        state=state,
        version=5,
        mode="tasks",
        tasks=tasks,
        saved_at=saved,
        started_at=started,
        end=end,
        goal="Which suppliers are at risk in the third quarter?",
        usage=Usage(361_000, 51_000),
        attempt=2 if name == "q3-supply-risk" else 1,
        **more,
    )
    return StoreView(
        path=f"/home/op/runs/supply/{name}.json",
        runs=(run,),
        size=1_900_000,
        owner=owner or Owner(OwnerKind.NO_WRITER),
        read_at=saved,
        modified_at=saved,
    )


def approval(path_run_id="00000000-0000-4000-8000-000000000000"):
    return ApprovalView(
        id="ap1",
        run_id=path_run_id,
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
    )


def main_store():
    from dataclasses import replace

    view = store(
        "q3-supply-risk",
        RunState.RUNNING,
        MAIN_TASKS,
        age_s=0.4,
        elapsed_s=47 * 60 + 12,
        owner=Owner(OwnerKind.THIS_APP),
        n_open_approvals=1,
    )
    return replace(view, approvals=(approval(),))


def all_stores():
    other = Owner(OwnerKind.OTHER_PROCESS, pid=4312)
    done = [T.DONE]
    return [
        main_store(),
        store(
            "port-congestion-weekly",
            RunState.SUSPENDED,
            plain(done * 3 + [T.NEEDS_YOU] + [T.WAITING] * 4),
            age_s=380,
            elapsed_s=764,
            n_open_approvals=1,
        ),
        store(
            "关税影响评估",
            RunState.RUNNING,
            plain(done * 9 + [T.RUNNING] * 3 + [T.WAITING] * 10),
            age_s=1.2,
            elapsed_s=4111,
            owner=other,
        ),
        store(
            "nightly-audit",
            RunState.INTERRUPTED,
            plain(done * 11 + [T.UNKNOWN] * 2 + [T.WAITING] * 4),
            age_s=7300,
            elapsed_s=7802,
            problems=(Problem("run.interrupted", "warning", "tasks"),),
        ),
        store("supplier-letters-sept", RunState.OK, plain(done * 12), age_s=18_100, elapsed_s=1102),
        store(
            "rare-earth-scan",
            RunState.ERROR,
            plain(done * 4 + [T.FAILED] + [T.BLOCKED] * 2 + [T.WAITING] * 2),
            age_s=90_000,
            elapsed_s=471,
        ),
        store("港口延误周报", RunState.OK, plain(done * 8), age_s=180_000, elapsed_s=557),
        store(
            "sample",
            RunState.OK,
            plain(done * 4 + [T.REPLACED] + done * 7),
            age_s=260_000,
            elapsed_s=182,
        ),
        store(
            "old-import",
            RunState.UNKNOWN,
            plain(done * 4 + [T.UNKNOWN, T.WAITING]),
            age_s=270_000,
            elapsed_s=10,
        ),
    ]


MAIN = RunRef("/home/op/runs/supply/q3-supply-risk.json", "__oma_checkpoint__/x/latest")


def block(kind, text, **more):
    return BlockView(kind=kind, text=text, size=len(text.encode()), **more)


def conversation():
    long = "\n".join(f"{i}: 供应商 supplier {i}, lead time {20 + i} days" for i in range(158))
    return ConversationView(
        task_id="t10",
        agent="writer",
        source="in_flight",
        messages=(
            MessageView(
                "user",
                0,
                (
                    block(
                        "text",
                        "Write to each supplier with a lead time above 45 days. <b>Not bold</b>.",
                    ),
                ),
            ),
            MessageView(
                "assistant",
                1,
                (
                    block("text", "First I look up who is late."),
                    block(
                        "tool_use",
                        '{"min_days": 45, "tier": 1}',
                        tool="supplier_search",
                        call_id="c1",
                        call_state=CallState.SAVED,
                    ),
                ),
            ),
            MessageView(
                "user", 1, (block("tool_result", long, tool="supplier_search", call_id="c1"),)
            ),
            MessageView(
                "assistant",
                4,
                (
                    block(
                        "text",
                        "I will send the letter to 华联零部件 first, it has the longest lead "
                        "time of all, and ask for a second date in writing.",
                    ),
                    block(
                        "tool_use",
                        '{"supplier":"HL","lang":"zh-CN","tone":"polite","copy_to":'
                        '["buyer@example.com","legal@example.com"],"days":52}',
                        tool="render_letter",
                        call_id="c2",
                        call_state=CallState.SAVED,
                    ),
                    block(
                        "tool_use",
                        '{"to":"contact@hualian.example"}',
                        tool="send_letter",
                        call_id="c4",
                        call_state=CallState.NEEDS_YOU,
                    ),
                ),
            ),
        ),
    )
