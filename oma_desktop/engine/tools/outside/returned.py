"""From what a Python function returned to what the pipeline judges."""

from __future__ import annotations

import base64
from typing import cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from oma_desktop.engine.tools.registry import ToolOutput
from oma_desktop.engine.tools.results import parts_problem
from oma_desktop.model.errors import ToolFailed
from oma_desktop.model.json_text import stringify
from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.message import FilePart, ImagePart, ToolResultPart


def output_of(value: object) -> ToolOutput:
    """Return the output for a returned value.

    Text stays text, None is an empty text, rich parts (one or a list, see `image` and `file`)
    stay rich; everything else (JSON values, pydantic models, dataclasses, dates, enums) becomes
    JSON text, cut like any other text. Raises ToolFailed PYTHON_TOOL_RETURNED otherwise.
    """
    if isinstance(value, ToolOutput):
        return value
    if value is None:
        return ToolOutput("")
    if isinstance(value, str):
        return ToolOutput(value)
    try:
        plain = cast("JsonValue", to_jsonable_python(value, inf_nan_mode="constants"))
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise ToolFailed("PYTHON_TOOL_RETURNED", found=type(value).__name__) from error
    parts = plain if isinstance(plain, list) else [plain]
    if parts_problem(parts) is None:
        return ToolOutput(plain, model_output=cast("list[ToolResultPart]", parts))
    if isinstance(plain, str):
        return ToolOutput(plain)
    return ToolOutput(stringify(plain))


def image(data: bytes, *, media_type: str = "image/png") -> ImagePart:
    """Return a picture a tool may hand back, alone or in a list."""
    text = base64.b64encode(data).decode("ascii")
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": media_type, "data": text},
    }


def file(data: bytes, *, filename: str, media_type: str) -> FilePart:
    """Return a file a tool may hand back, alone or in a list."""
    return {
        "type": "file",
        "filename": filename,
        "source": image(data, media_type=media_type)["source"],
    }
