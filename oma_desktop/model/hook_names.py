"""How run files name Python functions that hang into an agent's run (engine.md 3.7, 3.9, 3.11)."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from oma_desktop.model.described import Described

CALLABLE_PATTERN: Final = r"^[^\W\d][\w.]*:[^\W\d]\w*$"
CallableName: TypeAlias = Annotated[str, Field(pattern=CALLABLE_PATTERN)]
"""`module:function`."""


class LoopDetection(Described):
    """When an agent counts as repeating itself, and what follows.

    `warn` (also called `inject`) tells the model, and ends the run at the next repetition;
    `terminate` ends it at once; `continue` accepts it; a function decides each time.
    """

    max_repetitions: Annotated[int, Field(ge=2)] = 3
    loop_detection_window: Annotated[int, Field(ge=1)] = 4
    on_loop_detected: Literal["warn", "inject", "terminate", "continue"] | CallableName = "warn"


def is_callable_name(text: str) -> bool:
    """Whether a text names a function."""
    return re.match(CALLABLE_PATTERN, text) is not None
