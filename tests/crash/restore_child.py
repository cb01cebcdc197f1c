"""Runs and restores of a scripted team in processes that die on purpose.

A server that has everything imported forks one child per job, so that a kill costs milliseconds.
Jobs come as JSON lines on stdin: {"dir", "at": [what, n] | null, "kill_after_s": x | null}. The
child runs the team of DIR/script.json on DIR/store.json, or restores it when the file exists, and
kills itself with SIGKILL at the named point:

    ["before_save", n]  before the n-th checkpoint is written
    ["after_save", n]   right after it replaced the file
    ["effect", n]       after the n-th line of the ground-truth log
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

from typing_extensions import override

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.launching.script import EffectsLog, load_script, team_from_script
from oma_desktop.engine.options import CheckpointOptions, RestoreOptions, RunOptions
from oma_desktop.engine.orchestrator import OpenMultiAgent
from oma_desktop.engine.tasks.recovery_policies import recovery_of_script
from oma_desktop.model.result_document import result_document
from oma_desktop.model.team import TaskSpec
from oma_desktop.store.filestore import FileStore
from oma_desktop.store.lock import WriterLock


class Fuse:
    """Kills this process when the named point is reached."""

    def __init__(self, at):
        self.what, self.at = at or ("never", 0)
        self.seen = {}

    def point(self, what):
        self.seen[what] = self.seen.get(what, 0) + 1
        if what == self.what and self.seen[what] == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


class DyingStore(FileStore):
    """A FileStore with two places to die at."""

    fuse: Fuse

    @override
    def set_ready(self, key, value, metadata=None):
        self.fuse.point("before_save")
        super().set_ready(key, value, metadata)
        self.fuse.point("after_save")


class DyingEffects(EffectsLog):
    """A ground-truth log with a place to die at: its line is on disk by then."""

    fuse: Fuse

    @override
    async def write(self, event, tool, input_, on):
        await super().write(event, tool, input_, on)
        self.fuse.point("effect")


async def play(folder: Path, at) -> dict:
    fuse = Fuse(at)
    clock = SystemClock()
    lanes = Lanes()
    supervisor = Supervisor()
    script = load_script(folder / "script.json")
    effects = DyingEffects(folder / "effects.jsonl", clock=clock, lanes=lanes)
    team = team_from_script(script, clock=clock, effects=effects)
    lock = WriterLock(folder / "store.json", app="crash test", clock=clock)
    lock.acquire()
    store = DyingStore(folder / "store.json", clock=clock, lock=lock)
    effects.fuse = store.fuse = fuse
    oma = OpenMultiAgent(
        script.orchestrator,
        clock=clock,
        supervisor=supervisor,
        lanes=lanes,
        rng=random.Random(1).random,
        recovery=recovery_of_script(script.recovery),
    )
    place = CheckpointOptions(store, run_id="crash", lock=lock)
    specs = [TaskSpec.model_validate(s) for s in json.loads((folder / "tasks.json").read_text())]
    if (folder / "store.json").exists():
        result = await oma.restore(team, RestoreOptions(place))
    else:
        result = await oma.run_tasks(team, specs, RunOptions(checkpoint=place))
    lock.release()
    lanes.close()
    return {"document": result_document(result), "points": fuse.seen}


def child(job) -> None:
    folder = Path(job["dir"])
    answer = asyncio.run(play(folder, job.get("at")))
    (folder / "answer.json").write_text(json.dumps(answer), "utf-8")


def serve() -> None:
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                child(job)
                code = 0
            except BaseException:  # noqa: BLE001 - whatever it is, the parent must see it
                traceback.print_exc()
                (Path(job["dir"]) / "failure.txt").write_text(traceback.format_exc(), "utf-8")
            finally:
                os._exit(code)
        if job.get("kill_after_s") is not None:
            time.sleep(job["kill_after_s"])
            os.kill(pid, signal.SIGKILL)  # a zombie at worst: it is waited for below
        _, status = os.waitpid(pid, 0)
        print(json.dumps({"status": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    serve()
