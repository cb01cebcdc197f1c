"""Built-in tools in a folder of their own, called the way the pipeline calls them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.tools.builtin.refusal import Refusal
from oma_desktop.engine.tools.builtin.toolbox import builtin_tools
from oma_desktop.engine.tools.builtin.workspace import Guard
from oma_desktop.engine.tools.registry import ToolContext
from oma_desktop.engine.tools.schema import ArgumentSchema


class ToolWorld:
    """`root` is the workspace; `call` gives (text, is_error) or raises what the tool raises."""

    def __init__(self, root: Path, *, environ=None, guard=None, confined=True, cwd="root"):
        self.root = root
        self.lanes = Lanes()
        self.token = CancelToken()
        shell = {"PATH": os.environ["PATH"]} if environ is None else environ
        self.tools = {
            tool.name: tool
            for tool in builtin_tools(
                clock=SystemClock(),
                lanes=self.lanes,
                shell_environ=shell,
                guard=guard or Guard(),
                confined=confined,
            )
        }
        self.cwd = str(root) if cwd == "root" else cwd

    async def call(self, name, **arguments):
        tool = self.tools[name]
        checked = ArgumentSchema(tool.input_schema).check(arguments)
        assert not checked.issues, checked.issues
        context = ToolContext("r", "t", "c", "a", self.cwd, self.token)
        output = await tool.run(checked.value, context)
        return output.data, output.is_error

    async def text(self, name, **arguments):
        data, is_error = await self.call(name, **arguments)
        assert not is_error, data
        return data

    async def refused(self, name, **arguments):
        """Return the code of the refusal."""
        with pytest.raises(Refusal) as caught:
            await self.call(name, **arguments)
        assert str(caught.value) == caught.value.text
        assert caught.value.text.isprintable()
        return caught.value.code

    def path(self, *steps):
        return str(self.root.joinpath(*steps))

    def close(self):
        self.lanes.close()
