"""What a program of an agent sees of our environment: an allow-list (engine.md 10.2)."""

from __future__ import annotations

from collections.abc import Mapping

from oma_desktop.engine.tools.builtin.shell_env import shell_environment
from oma_desktop.model.backend import AcpBackend, ProcessBackend


def environment(ours: Mapping[str, str], backend: ProcessBackend | AcpBackend) -> dict[str, str]:
    """Return the usual few names, those the run file passes on by name, and its own values.

    Unlike a shell command, which a model wrote, such a program may need a key: it is passed when
    the run file names it.
    """
    passed = {name: ours[name] for name in backend.pass_env if name in ours}
    return {**shell_environment(ours), **passed, **backend.env}
