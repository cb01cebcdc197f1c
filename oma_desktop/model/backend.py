# ruff: noqa: RUF012 - pydantic copies the defaults of its models
"""Agents that are programs of their own, as run files name them (engine.md 1.3, 10.2, 10.3)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from oma_desktop.model.described import Described, Text


class _Program(Described):
    """What is started, with `args`. It sees the usual few variables of our environment, those that
    `passEnv` names, and `env` on top; no secret belongs in `env`. `command` and `cwd` with a slash
    are relative to the run file.
    """

    command: Text
    args: list[str] = []
    env: dict[str, str] = {}
    pass_env: list[Text] = []
    cwd: Text | None = None


class ProcessBackend(_Program):
    """A fresh process for each task; what it prints is the answer, exit status 0 means success.

    `input` says how it gets the prompt: on standard input, as its last argument, or not at all.
    """

    kind: Literal["process"]
    input: Literal["stdin", "argument", "none"] = "stdin"


class AcpBackend(_Program):
    """An agent that speaks the Agent Client Protocol; one session for all its tasks of an attempt.

    `permission` answers its own questions: `ask` asks the approval rules (tool names `acp:edit`,
    `acp:execute` and so on) and refuses where a person would have to decide; `auto-approve` agrees
    to the narrowest option offered; `reject` refuses.
    """

    kind: Literal["acp"]
    permission: Literal["ask", "auto-approve", "reject"] = "ask"


Backend = Annotated[ProcessBackend | AcpBackend, Field(discriminator="kind")]
