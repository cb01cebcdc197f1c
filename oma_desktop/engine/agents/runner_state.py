"""What a runner knows, and its form on disk: RunnerState <-> InFlightEntry (formats.md 2.8).

Invariants: a message or pending call, once in an entry, is never changed (an entry may be encoded
on another thread): changes put a new value in its place; `pending` holds the open round in model
order and is empty outside `executing_tools`; an assistant turn whose calls are not all answered is
never followed by `awaiting_model` (case s01).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from oma_desktop.model.approval import ApprovalRequest
from oma_desktop.model.checkpoint import InFlightEntry, PendingToolCall, Phase, ToolCommit
from oma_desktop.model.message import (
    ContentBlock,
    Message,
    TokenUsage,
    ToolCallRecord,
    ToolResultBlock,
    ToolUseBlock,
)
from oma_desktop.model.result import add_usage, no_usage

NOT_RUN = "This call was not run: the agent was stopped before it began."


@dataclass(slots=True)
class RunnerState:
    """The loop state of engine.md 3.2. `conversation` is the model's view, `messages` our own."""

    task_id: str
    agent: str
    phase: Phase = "awaiting_model"
    conversation: list[Message] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    usage: TokenUsage = field(default_factory=no_usage)
    records: list[ToolCallRecord] = field(default_factory=list)
    turns: int = 0
    pending: list[PendingToolCall] = field(default_factory=list)
    pending_text: str | None = None
    final_output: str = ""
    loop_warned: bool = False
    loop_detected: bool = False
    budget_exceeded: bool = False

    @classmethod
    def begin(cls, *, task_id: str, agent: str, prompt: str | list[Message]) -> RunnerState:
        """A fresh conversation. Open calls in a given history get one error result each."""
        if isinstance(prompt, str):
            start: list[Message] = [{"role": "user", "content": [{"type": "text", "text": prompt}]}]
        else:
            start = answered(prompt)
        return cls(task_id=task_id, agent=agent, conversation=start)

    @classmethod
    def resume(cls, entry: InFlightEntry) -> RunnerState:
        """Continue a saved state; the entry itself is left alone.

        A state of another writer that waits for the model with open calls gets one error result
        per open call; nothing of that round runs (case s01).
        """
        state = cls(
            task_id=entry["taskId"],
            agent=entry["assignee"],
            phase=entry["phase"],
            conversation=list(entry["conversationMessages"]),
            messages=list(entry["messages"]),
            usage=add_usage(no_usage(), entry["tokenUsage"]),
            records=list(entry["toolCalls"]),
            turns=entry["turns"],
            pending=[_copy(p) for p in entry.get("pendingToolCalls", [])],
            pending_text=entry.get("pendingToolResultText"),
            loop_warned=entry.get("loopWarned", False),
            loop_detected=entry.get("loopDetected", False),
            budget_exceeded=entry.get("budgetExceeded", False),
        )
        state.final_output = entry.get("finalOutput", state.last_text())
        if state.phase == "awaiting_model":
            state.close_open_calls()
            state.conversation = answered(state.conversation)
        return state

    def entry(self) -> InFlightEntry:
        """The form on disk: fresh lists and pending calls; messages are shared, not copied."""
        doc: InFlightEntry = {
            "taskId": self.task_id,
            "assignee": self.agent,
            "phase": self.phase,
            "conversationMessages": list(self.conversation),
            "messages": list(self.messages),
            "tokenUsage": add_usage(no_usage(), self.usage),
            "toolCalls": list(self.records),
            "turns": self.turns,
        }
        if self.phase == "executing_tools":
            doc["pendingToolCalls"] = [_copy(p) for p in self.pending]
            if self.pending_text is not None:
                doc["pendingToolResultText"] = self.pending_text
        if self.phase == "completed":
            doc["finalOutput"] = self.final_output
        if self.loop_warned:
            doc["loopWarned"] = True
        if self.loop_detected:
            doc["loopDetected"] = True
        if self.budget_exceeded:
            doc["budgetExceeded"] = True
        return doc

    def append(self, message: Message) -> None:
        """Add one message to both views."""
        self.conversation.append(message)
        self.messages.append(message)

    def say(self, text: str) -> None:
        """Add a user message of our own (a warning, a repair request)."""
        self.append({"role": "user", "content": [{"type": "text", "text": text}]})

    def open_round(self, calls: list[ToolUseBlock], warning: str | None) -> None:
        """Enter `executing_tools` with these calls."""
        self.pending = [{"call": call} for call in calls]
        self.pending_text = warning
        self.phase = "executing_tools"

    def commit(self, index: int, commit: ToolCommit) -> None:
        """Answer one call; the request and decision it may have carried are consumed (L33)."""
        self.pending[index] = {"call": self.pending[index]["call"], "commit": commit}

    def hold(self, index: int, request: ApprovalRequest) -> None:
        """Let one call wait for a decision."""
        self.pending[index] = {"call": self.pending[index]["call"], "approvalRequest": request}

    def close_round(self) -> list[ToolResultBlock]:
        """Append the combined result message, add records and nested usage, leave the round.

        Every pending call must carry its commit. Results are in the order the model asked.
        """
        commits = [pending["commit"] for pending in self.pending]
        blocks = [commit["result"] for commit in commits]
        content: list[ContentBlock] = [*blocks]
        if self.pending_text is not None:
            content.append({"type": "text", "text": self.pending_text})
        for commit in commits:
            self.records.append(commit["record"])
            if "delegationUsage" in commit:
                self.usage = add_usage(self.usage, commit["delegationUsage"])
        self.append({"role": "user", "content": content})
        self.pending, self.pending_text = [], None
        self.phase = "awaiting_model"
        return blocks

    def close_open_calls(self) -> None:
        """Answer open calls of the last turn with error results, in both views."""
        results = open_results(self.conversation)
        if results:
            self.append({"role": "user", "content": [*results]})

    def last_text(self) -> str:
        """The text of the latest assistant turn that has some."""
        for message in reversed(self.messages):
            if message["role"] == "assistant" and (text := text_of(message)):
                return text
        return ""

    def spent(self) -> TokenUsage:
        """Tokens used, with those of delegations committed in a round that is still open."""
        usage = self.usage
        for pending in self.pending:
            nested = pending.get("commit", {}).get("delegationUsage")
            if nested is not None:
                usage = add_usage(usage, nested)
        return add_usage(usage, no_usage())

    def tokens(self) -> int:
        """Input and output together, the measure of budgets."""
        return self.usage["input_tokens"] + self.usage["output_tokens"]


def _copy(pending: PendingToolCall) -> PendingToolCall:
    return {**pending}


def text_of(message: Message) -> str:
    """The visible text of one message."""
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")


def open_results(messages: list[Message]) -> list[ToolResultBlock]:
    """Error results for the calls of the last message, when it is an assistant turn."""
    if not messages or messages[-1]["role"] != "assistant":
        return []
    return [_not_run(b["id"]) for b in messages[-1]["content"] if b["type"] == "tool_use"]


def _not_run(call_id: str) -> ToolResultBlock:
    return {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": NOT_RUN,
        "is_error": True,
    }


def answered(messages: list[Message]) -> list[Message]:
    """Return a history in which every call has exactly one result (case s01).

    Missing results are put first into the user message that follows, or into one of their own.
    """
    whole: list[Message] = []
    for message in messages:
        missing = open_results(whole)
        if missing:
            given = {b["tool_use_id"] for b in message["content"] if b["type"] == "tool_result"}
            missing = [result for result in missing if result["tool_use_id"] not in given]
        if not missing:
            whole.append(message)
        elif message["role"] == "user":
            whole.append({"role": "user", "content": [*missing, *message["content"]]})
        else:
            whole.extend([{"role": "user", "content": [*missing]}, message])
    missing = open_results(whole)
    if missing:
        whole.append({"role": "user", "content": [*missing]})
    return whole
