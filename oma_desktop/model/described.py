"""The base of everything people write in run files and scripts."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Described(BaseModel):
    """Base: camelCase in JSON, both spellings accepted, unknown keys refused, immutable."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
    )


Text = Annotated[str, Field(min_length=1)]
