"""What authors of tools use: `from oma_desktop.tools import tool, ToolContext`.

A tool is a function in a file beside the run file, named there as `module:function`. Its parameters
become the schema, its docstring the description, what it returns the answer.
"""

from __future__ import annotations

from oma_desktop.engine.tools.outside.marks import tool
from oma_desktop.engine.tools.outside.returned import file, image
from oma_desktop.engine.tools.registry import ToolContext, ToolOutput

__all__ = ["ToolContext", "ToolOutput", "file", "image", "tool"]
