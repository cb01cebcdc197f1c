"""Judging a task's answer before it counts: what people ask for, and what came of it.

engine.md 1.6 (ConsensusVerifyOptions); formats.md 2.12 keeps the wish in a saved run (DEV-23).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from oma_desktop.model.described import Described, Text
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_value import JsonObject, JsonValue

Verdict: TypeAlias = Literal["accepted", "rejected"]


class VerifySpec(Described):
    """Who judges a task's answer and what their disagreement means.

    `judges` are names of the team. `mode` refute: every judge looks for what is wrong; lens: each
    looks from another angle. `quorum` judges must accept (default: half of them, rounded up).
    After a round without quorum `onDissent` decides: ask the author to revise, up to `maxRounds`
    rounds of judging; reject; or keep the answer as accepted. `verdictSchema` is a JSON Schema a
    verdict must fit besides `{accept, critique?}`; one that does not fit is a dissent.
    `judgePrompt` replaces the words that tell a judge how to look.
    """

    judges: Annotated[
        list[Text],
        BeforeValidator(
            lambda value: [value] if isinstance(value, str) else value,
            json_schema_input_type=list[Text] | Text,
        ),
        Field(min_length=1),
    ]
    mode: Literal["refute", "lens"] = "refute"
    quorum: Annotated[int | None, Field(ge=1)] = None
    max_rounds: Annotated[int, Field(ge=1)] = 2
    on_dissent: Literal["revise", "reject", "keep"] = "revise"
    verdict_schema: JsonObject | None = None
    judge_prompt: Text | None = None

    @model_validator(mode="after")
    def _can_be_reached(self) -> VerifySpec:
        if len(set(self.judges)) != len(self.judges):
            raise ValueError("names a judge twice")
        if self.quorum is not None and self.quorum > len(self.judges):
            raise ValueError("needs more votes than there are judges")
        return self

    @property
    def votes_needed(self) -> int:
        """The quorum in numbers."""
        return self.quorum if self.quorum is not None else (len(self.judges) + 1) // 2

    def to_json(self) -> JsonObject:
        """The form kept in our own facts; defaults are written out, absent stays absent."""
        found: JsonObject = self.model_dump(by_alias=True, exclude_none=True)
        return found


def _spelled_out(value: object) -> object:
    """Accept one name or a list of names for the judges alone."""
    if isinstance(value, str):
        return {"judges": [value]}
    return {"judges": value} if isinstance(value, list) else value


Verify: TypeAlias = Annotated[
    VerifySpec, BeforeValidator(_spelled_out, json_schema_input_type=VerifySpec | list[Text] | Text)
]
"""In run files; the short forms are the judges alone."""


def verify_spec(value: JsonValue, *, judges: list[str] | None = None) -> VerifySpec:
    """Read a wish that was saved, or one of a coordinator (`true`, or options without judges).

    Raises InvalidInput VERIFY_INVALID with `found`.
    """
    given = {} if value is True else value
    if judges is not None and isinstance(given, dict):
        given = {"judges": list(judges), **given}
    try:
        return VerifySpec.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise InvalidInput("VERIFY_INVALID", where=where, found=str(first["msg"])) from error


@dataclass(frozen=True, slots=True)
class Dissent:
    """One judge's no in one round (from 1)."""

    judge: str
    round: int
    critique: str

    def to_json(self) -> JsonObject:
        """`{judge, round, critique}`."""
        return {"judge": self.judge, "round": self.round, "critique": self.critique}


@dataclass(frozen=True, slots=True)
class Verification:
    """What the judges came to (engine.md 6.2): dissents of all rounds, and how many rounds."""

    verdict: Verdict
    rounds: int
    dissent: tuple[Dissent, ...] = ()

    @property
    def rejected(self) -> bool:
        """Whether this is a `verification_rejected` outcome."""
        return self.verdict == "rejected"

    def to_json(self) -> JsonObject:
        """`{verdict, rounds, dissent}`."""
        return {
            "verdict": self.verdict,
            "rounds": self.rounds,
            "dissent": [each.to_json() for each in self.dissent],
        }
