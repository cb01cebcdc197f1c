"""The engine gives the same results on the window's loop as on the standard one (issue 4, 8)."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.launching.launch import Launcher
from oma_desktop.model.result_document import result_document
from oma_desktop.store.origin import Origin

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = [
    "a_midrun_dag6",
    "a2_all_phases",
    "c_tool_gate_2_approved",
    "c_tool_gate_3_rejected",
    "d2_plan_gate_2_approved",
    "d4_round_gate_2_approved",
    "e1_runteam_midrun",
    "f2_recovery_midrun",
    "g1_failure_cascade_midrun",
    "h_embedded_1_midrun",
    "j2_unicode_long_end",
    "k5_v3",
    "p2_runfromplan_midrun",
    "r_delegation_commit",
    "s_structured_result",
    "t1_loop_warned",
]


async def restored(folder):
    """Restore a copy of a case with its script; what it came to, without ids and times."""
    lanes, failures = Lanes(), []
    supervisor = Supervisor(lambda name, error: failures.append((name, error)))
    launcher = Launcher(
        clock=SystemClock(), supervisor=supervisor, lanes=lanes, app="test", speed=0.0
    )
    origin = Origin(script=folder / "peer_script.json")
    prepared = await launcher.saved_run(origin, bus=EventBus(), store=folder / "checkpoint.json")
    try:
        result = await prepared.go(CancelToken())
    finally:
        await prepared.close()
        await supervisor.close()
        lanes.close()
    assert failures == []
    found = result_document(result)
    log = found["log"]
    return {
        "status": found["status"],
        "attempt": found["identity"]["attempt"],
        "usage": found["totalTokenUsage"],
        "tasks": sorted((t["title"], t["status"], t.get("result", "")) for t in found["tasks"]),
        "outputs": sorted(r["output"] for r in found["taskResults"]),
        "models": sorted(log["modelCalls"]),
        "tools": sorted(c["id"] for c in log["toolCallsExecuted"]),
        "gates": sorted(json.dumps(g, sort_keys=True) for g in log["gateCalls"]),
        "events": sorted(e["type"] for e in log["notableEvents"]),
        "answer": found.get("finalAnswer"),
    }


def copied(case, tmp_path, name):
    folder = tmp_path / name
    shutil.copytree(GOLDEN / case, folder)
    return folder


@pytest.mark.parametrize("case", CASES)
async def test_a_restore_ends_alike_on_both_loops(case, tmp_path) -> None:
    def standard():
        return asyncio.run(restored(copied(case, tmp_path, "standard")))

    here = await restored(copied(case, tmp_path, "window"))
    assert here == await asyncio.to_thread(standard)
