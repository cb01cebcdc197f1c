"""What authors of hooks use: `from oma_desktop.hooks import BeforeRun`.

A hook is a function in a file beside the run file, named there as `module:function` under
`beforeRun`, `afterRun`, `contextStrategy.compress` or `loopDetection.onLoopDetected`. It gets one
of these and returns it changed, with `dataclasses.replace`.
"""

from __future__ import annotations

from oma_desktop.engine.agents.hooks import BeforeRun
from oma_desktop.engine.agents.loop_detection import LoopInfo
from oma_desktop.model.message import Message
from oma_desktop.model.result import AgentRunResult

__all__ = ["AgentRunResult", "BeforeRun", "LoopInfo", "Message"]
