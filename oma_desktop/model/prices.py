"""What models cost, as the person who pays wrote it down (engine.md 1.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Field

from oma_desktop.model.described import Described
from oma_desktop.model.message import TokenUsage

PER: Final = 1_000_000
ANY_MODEL: Final = "*"


class Price(Described):
    """The price of one million input and output tokens, in a unit of your own choice."""

    input: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    output: Annotated[float, Field(ge=0, allow_inf_nan=False)]

    def of(self, usage: TokenUsage) -> float:
        """The cost of these tokens."""
        spent = usage["input_tokens"] * self.input + usage["output_tokens"] * self.output
        return spent / PER


def price_of(prices: Mapping[str, Price], *, provider: str, model: str) -> Price | None:
    """The most exact entry: `provider/model`, then `model`, then `*`; None: nobody knows."""
    for name in (f"{provider}/{model}", model, ANY_MODEL):
        if name in prices:
            return prices[name]
    return None
