"""A small world for approval tests: requests, a clock that is moved by hand, recorded commands."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from oma_desktop.model.view import (
    ApprovalView,
    Effect,
    Owner,
    OwnerKind,
    RunRef,
    RunState,
    RunView,
    StoreView,
)
from oma_desktop.viewmodel.approvals import Inbox, RequestKey
from oma_desktop.viewmodel.commands import DecisionIntent, ResumeIntent
from oma_desktop.viewmodel.feed import Feed
from oma_desktop.viewmodel.review import Docket, Reviewer
from oma_desktop.viewmodel.review_model import ReviewModel, SessionNotes

STORE = "/runs/q3/checkpoint.json"
START = datetime(2026, 1, 5, 8, 0, 0, tzinfo=UTC)
CASES = Path(__file__).parents[1] / "cases"


@dataclass
class HandClock:
    """A clock that stands still until it is moved."""

    at: float = 1000.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self.at)

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, delay_s: float) -> None:
        self.at += delay_s


@dataclass
class ScriptedCommands:
    """Keeps what was asked for; nothing happens by itself."""

    decided: list[DecisionIntent] = field(default_factory=list)
    resumed: list[ResumeIntent] = field(default_factory=list)
    conversations: list[tuple[RunRef, str]] = field(default_factory=list)
    looks: int = 0

    def decide(self, intent: DecisionIntent) -> None:
        self.decided.append(intent)

    def resume(self, intent: ResumeIntent) -> None:
        self.resumed.append(intent)

    def load_conversation(self, run: RunRef, task_id: str) -> None:
        self.conversations.append((run, task_id))

    def look_again(self) -> None:
        self.looks += 1

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"nobody may call {name} here")


def request(
    name: str = "a",
    *,
    tool: str = "send_letter",
    tool_input: Any = None,
    effect: Effect = Effect.CONSEQUENTIAL,
    consequential: bool = True,
    **changes: Any,
) -> ApprovalView:
    value = {"to": "x@example.com"} if tool_input is None else tool_input
    base = ApprovalView(
        id=f"apr_{name}",
        run_id="q3-supply-risk",
        scope="tool_call",
        boundary=f"t10:call_{name}",
        request_hash=f"{'9c41' if name == 'a' else '07be'}{name:0>60}",
        hash_matches=True,
        state="pending",
        open=True,
        content={
            "kind": "tool_call",
            "toolName": tool,
            "rawInput": value,
            "input": value,
            "agentName": "writer",
            "taskId": "t10",
            "toolCallId": f"call_{name}",
            "consequential": consequential,
        },
        requested_at=START,
        matches_checkpoint=True,
        task_id="t10",
        task_title="Supplier letters",
        agent="writer",
        tool=tool,
        effect=effect,
    )
    return replace(base, **changes)


def from_document(document: dict[str, Any]) -> ApprovalView:
    """Make the view of a request document of a case."""
    content = document["content"]
    return ApprovalView(
        id=document["id"],
        run_id=document["runId"],
        scope=document["scope"],
        boundary=document["boundary"],
        request_hash=document["requestHash"],
        hash_matches=True,
        state="pending",
        open=True,
        content=content,
        reason=document.get("reason"),
        requested_at=START,
        matches_checkpoint=True,
        task_id=content.get("taskId"),
        agent=content.get("agentName"),
        tool=content.get("toolName"),
        effect=Effect.CONSEQUENTIAL if content.get("consequential") else Effect.UNKNOWN,
        row_value=json.dumps({"version": 1, "request": document}, ensure_ascii=False),
    )


def store_requests(case: str) -> list[ApprovalView]:
    """Read the requests that wait in the checkpoint of a case."""
    entries = json.loads((CASES / case / "store.json").read_text("utf-8"))["entries"]
    snapshot = json.loads(next(e["value"] for e in entries if "checkpoint" in e["key"]))
    return [from_document(d) for d in snapshot["pendingApprovals"]]


def store(
    *requests: ApprovalView,
    path: str = STORE,
    owner: OwnerKind = OwnerKind.NO_WRITER,
    revision: int = 0,
) -> StoreView:
    run_id = requests[0].run_id if requests else "q3-supply-risk"
    run = RunView(
        key=f"__oma_checkpoint__/{run_id}/latest", run_id=run_id, state=RunState.SUSPENDED
    )
    pid = 4312 if owner is OwnerKind.OTHER_PROCESS else None
    return StoreView(
        path=path,
        runs=(run,),
        approvals=requests,
        owner=Owner(owner, pid=pid),
        revision=revision,
    )


def approved(view: ApprovalView, by: str = "operator-2", verdict: str = "approved") -> ApprovalView:
    return replace(
        view,
        state=verdict,
        open=False,
        reviewer_id=by,
        decided_at=START + timedelta(minutes=5),
    )


class World:
    """Feed, inbox, clock and commands around some requests."""

    def __init__(self, *requests: ApprovalView, owner: OwnerKind = OwnerKind.NO_WRITER) -> None:
        self.clock = HandClock()
        self.commands = ScriptedCommands()
        self.feed = Feed()
        self.feed.put(store(*requests, owner=owner))
        self.inbox = Inbox(self.feed)
        self.docket = Docket()
        self.notes = SessionNotes()
        self.reviewer = Reviewer("operator-1")

    def model(self, request_id: str = "apr_a", *, undo_s: float = 5.0) -> ReviewModel:
        return ReviewModel(
            RequestKey(STORE, request_id),
            feed=self.feed,
            inbox=self.inbox,
            commands=self.commands,
            clock=self.clock,
            docket=self.docket,
            reviewer=self.reviewer,
            notes=self.notes,
            undo_s=undo_s,
        )

    def armed(self, request_id: str = "apr_a", *, undo_s: float = 5.0) -> ReviewModel:
        """A model whose reader has seen everything, deliberately, and waited."""
        model = self.model(request_id, undo_s=undo_s)
        model.activate()
        model.content_shown()
        self.wait(1.0, model)
        return model

    def wait(self, seconds: float, *models: ReviewModel) -> None:
        self.clock.at += seconds
        for model in models:
            model.tick()

    def put(self, *requests: ApprovalView, owner: OwnerKind = OwnerKind.NO_WRITER) -> None:
        self.feed.put(store(*requests, owner=owner))
