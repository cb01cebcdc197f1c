"""bash: one command, its output and its exit status (engine.md 9.2, 9.3)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from oma_desktop.base.lanes import Lanes
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.tools.builtin.refusal import Refusal
from oma_desktop.engine.tools.builtin.shell import NOT_STARTED, Shell, ShellEnd
from oma_desktop.engine.tools.registry import ToolOutput
from oma_desktop.engine.tools.results import truncate
from oma_desktop.model.redaction import redact_text

DEFAULT_TIMEOUT_MS: Final = 30_000
MAX_TIMEOUT_MS: Final = 3_600_000
MAX_CHARS: Final = 100_000
"""Characters of one answer; an agent's own limit may cut it further."""


async def run_bash(
    shell: Shell,
    command: str,
    *,
    key: str,
    root: Path,
    lanes: Lanes,
    cwd: str | None = None,
    timeout_ms: float = DEFAULT_TIMEOUT_MS,
    token: CancelToken,
) -> ToolOutput:
    """Run a command in the workspace, or in `cwd` seen from there. Anything but exit 0 is an error.

    `key` names the call (`Shell.run`). The command is not confined to the workspace (engine.md
    9.1).
    """
    folder = root / cwd if cwd else root
    try:
        end = await shell.run(
            command, key=key, cwd=folder, timeout_s=timeout_ms / 1000, token=token
        )
    except Refusal as refusal:
        return ToolOutput(f"{refusal.text}\n[exit code: {NOT_STARTED}]", is_error=True)
    return ToolOutput(await lanes.work(report, end), is_error=True if end.code else None)


def report(end: ShellEnd) -> str:
    """Return what the model reads: output, labelled error output, exit status; secrets masked."""
    parts = [end.stdout.removesuffix("\n")] if end.stdout else []
    if end.stderr:
        parts += ["[stderr]", end.stderr.removesuffix("\n")]
    why = f", {end.why}" if end.why else ""
    output = truncate(redact_text("\n".join(parts)), MAX_CHARS)
    return "\n".join([*([output] if output else []), f"[exit code: {end.code}{why}]"])
