"""Random runs for schedules of trouble: what they do, what is written, what really ran."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.tools.grants import DELEGATE
from oma_desktop.engine.tools.registry import ToolRegistry
from oma_desktop.model.errors import WriteFailed
from oma_desktop.store.in_memory import InMemoryStore
from tests.core.engine.run_world import RunWorld, spec

SCHEDULING = ["dependency-first", "round-robin", "least-busy", "capability-match", "composite"]
KINDS = ["plain", "tools", "tools", "asks", "asked for", "retry", "judged", "delegates", "fails"]
CONTEXTS = [
    {},
    {"contextStrategy": {"type": "sliding-window", "maxTurns": 1}},
    {"contextStrategy": {"type": "summarize", "maxTokens": 200}},
    {"contextStrategy": {"type": "compact", "maxTokens": 200, "preserveRecentTurns": 1}},
    {"compressToolResults": {"minChars": 100}},
]
DELAYS = st.sampled_from([0, 100, 250, 1000])
YES = {"text": json.dumps({"accept": True}), "usage": {"input_tokens": 3, "output_tokens": 1}}


@dataclass(frozen=True)
class Plan:
    """A graph of tasks with the script they play; `verdict` is what the reviewer says of calls."""

    script: dict
    tasks: tuple
    verdict: str


@dataclass(frozen=True)
class Trouble:
    """What happens in one attempt.

    `stop`: a reason, asked for at the nth event. `budget`: tokens this attempt may still use.
    `failing`: which of its writes fail. `kill`: the process dies; this share of the writes of the
    attempt had reached the disk. `amid`: it dies right after a call began, if any did.
    """

    stop: tuple[int, StopReason] | None = None
    budget: int | None = None
    failing: frozenset[int] = frozenset()
    kill: float | None = None
    amid: bool = False


class DiskOfMoments(InMemoryStore):
    """A store that keeps how it was after every write; writes whose number is in `failing` fail."""

    def __init__(self, clock, entries=None):
        super().__init__(clock=clock)
        self._entries = dict(entries or {})
        self.moments = []
        self.failing = frozenset()
        self.tried = 0
        self.refused = 0

    def _put(self, key, value, metadata, expires_at_turn):
        self.tried += 1
        if self.tried - 1 in self.failing:
            self.refused += 1
            raise WriteFailed("STORE_WRITE_FAILED")
        super()._put(key, value, metadata, expires_at_turn)
        self.moments.append(dict(self._entries))


class TroubledWorld(RunWorld):
    """A world that knows which tools really began, and how much had been written by then.

    `began` holds (number of moments then, task id, call id).
    """

    def __init__(self, script):
        super().__init__(script=script)
        self.store = DiskOfMoments(self.clock)
        self.began = []
        self.team = replace(self.team, tools=ToolRegistry(self._seen(t) for t in self.team.tools))

    def _seen(self, tool):
        async def run(input_, context):
            self.began.append((len(self.store.moments), context.task_id, context.tool_call_id))
            return await tool.run(input_, context)

        return replace(tool, run=run)


def turn(text="", calls=(), delay=0, **facts):
    """One reply of ten tokens in and one out."""
    usage = {"input_tokens": 10, "output_tokens": 1}
    return {"text": text, "tools": list(calls), "usage": usage, "delayMs": delay, **facts}


def call(id_, name="act", **input_):
    """One tool call."""
    return {"id": id_, "name": name, "input": input_}


def parent_of(call_id):
    """The call of the task itself that a call belongs to: delegated work is saved with it."""
    return call_id.replace("nested", "d") if call_id.startswith("nested") else call_id


@st.composite
def plans(draw):
    """Two to five tasks of random kinds that wait for each other in random ways."""
    made = _Making(draw)
    for number in range(draw(st.integers(2, 5))):
        made.task(number)
    return made.plan()


class _Making:
    def __init__(self, draw):
        self.draw = draw
        self.replies = {"j::@default": [YES], "@default": [turn("helped")]}
        self.tasks, self.dispatch, self.patches, self.helpers = [], {}, {}, []
        self.n_failing = 0

    def task(self, n):
        draw, title = self.draw, f"T{n}"
        deps = draw(st.lists(st.sampled_from(range(n)), max_size=2, unique=True)) if n else []
        kind = draw(st.sampled_from(KINDS))
        last = turn(f"done {n}", delay=draw(DELAYS))
        facts = {}
        if kind == "retry":
            first = [turn(calls=[call(f"c{n}.0")]), turn(error={"message": "busy"})]
            second = [turn(calls=[call(f"c{n}.1")]), last]
            self.replies[title] = {"attempts": [first, second]}
            facts = {"max_retries": 3, "retry_delay_ms": 500}
        else:
            self.replies[title] = [*self._rounds(n, kind), last]
        if kind == "judged":
            facts = {"verify": "j"}
        if kind == "asked for":
            self.dispatch[title] = "suspend"
        if kind == "fails":
            self.replies[title][-1] = turn(error={"message": "no such thing", "status": 400})
            self.n_failing += 1
            self._patch(n)
        who = draw(st.sampled_from(["a", "b", None])) if kind in {"plain", "tools"} else "a"
        self.tasks.append(spec(title, *(f"T{d}" for d in deps), assignee=who, **facts))

    def _rounds(self, n, kind):
        draw = self.draw
        if kind == "asks":
            return [turn(calls=[call(f"p{n}", "pay"), call(f"c{n}")])]
        if kind == "delegates":
            agent = f"w{n}"
            self.helpers.append({"name": agent, "tools": ["act"]})
            self.replies[f"{agent}::@other"] = [
                turn(calls=[call(f"nested{n}")]), turn("did it", delay=draw(DELAYS)),
            ]  # fmt: skip
            order = call(f"d{n}", DELEGATE, target_agent=agent, prompt="Do it.")
            return [turn(calls=[order, call(f"c{n}")])]
        if kind in {"tools", "judged", "fails"}:
            return [
                turn(calls=[call(f"c{n}.{r}.{c}") for c in range(draw(st.integers(1, 3)))])
                for r in range(draw(st.integers(1, 3)))
            ]
        return []

    def _patch(self, n):
        """Some failures are repaired by a further task; others take with them what waits."""
        if self.draw(st.booleans()):
            added = {"key": f"fix{n}", "title": f"Fix {n}", "description": "d", "assignee": "b"}
            self.patches[f"T{n}:failure"] = {"reason": "again", "addTasks": [added]}

    def _supersede(self):
        """What waits for the only task that fails is given up by its repair, not failed."""
        (patch,) = self.patches.values()
        (name,) = self.patches
        gone = {name.split(":")[0]}
        for task in self.tasks:
            if gone & set(task.depends_on):
                gone.add(task.title)
                patch.setdefault("supersede", []).append(task.title)

    def plan(self):
        draw = self.draw
        if self.n_failing == len(self.patches) == 1 and draw(st.booleans()):
            self._supersede()
        script = {
            "team": {"name": "x", "sharedMemory": draw(st.sampled_from([False, "memory", "file"]))},
            "orchestrator": {
                "maxConcurrency": draw(st.integers(1, 3)),
                "schedulingStrategy": draw(st.sampled_from(SCHEDULING)),
            },
            "agents": [
                {"name": n, "tools": ["act", "pay", DELEGATE], **draw(st.sampled_from(CONTEXTS))}
                for n in ("a", "b")
            ]
            + [{"name": "j"}, *self.helpers],
            "tools": {
                "act": {"results": {"*": {"data": "word " * 60, "delayMs": draw(DELAYS)}}},
                "pay": {"results": {"*": {"data": "paid", "delayMs": 10}}, "consequential": True},
            },
            "gates": {"tool": {"pay": "suspend"}, "dispatch": self.dispatch},
            "replies": self.replies,
        }
        if self.patches:
            script["recovery"] = {"patches": self.patches}
        return Plan(script, tuple(self.tasks), draw(st.sampled_from(["approve", "reject"])))


MOMENTS = st.one_of(st.integers(0, 12), st.integers(0, 120))
REASONS = st.sampled_from([StopReason.SUSPEND, *StopReason])
STOPS = st.tuples(MOMENTS, REASONS)
FULL = st.one_of(st.frozensets(st.integers(0, 6)), st.frozensets(st.integers(0, 40), max_size=6))
ONE = st.one_of(
    st.builds(Trouble, kill=st.floats(0, 1), amid=st.just(True)),
    st.builds(Trouble, stop=st.tuples(st.integers(0, 5), st.just(StopReason.SUSPEND))),
    st.builds(
        Trouble,
        stop=st.none() | STOPS,
        budget=st.none() | st.integers(0, 150),
        failing=st.one_of(st.just(frozenset()), st.just(frozenset()), FULL),
        kill=st.none() | st.floats(0, 1),
        amid=st.booleans(),
    ),
)
TROUBLES = st.lists(ONE, min_size=1, max_size=5)
