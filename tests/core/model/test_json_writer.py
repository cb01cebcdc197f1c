"""The quick way to spell light values says what the exact way says (formats.md 1.4.1)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oma_desktop.model.json_writer import pieces, stringify, stringify_light

NUMBERS = st.one_of(
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1.0, 1e21, 1e-7, 0.1, 2**53, 2**53 + 1]),
)
TEXTS = st.text(st.characters(), max_size=12)
KEYS = st.one_of(TEXTS, st.sampled_from(["0", "1", "10", "01", "-1", "__proto__", ":", "a"]))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=25,
)


@given(VALUES, st.integers(0, 400))
@example({"b": 1, "1": 2, "0": 3}, 400)
@example({"a": "\ud800"}, 400)
@example([1.0], 400)
def test_light_text_is_the_exact_text_or_none(value, budget) -> None:
    light = stringify_light(value, budget=budget)
    assert light is None or light == "".join(pieces(value)) == stringify(value)


@given(VALUES)
def test_what_is_plain_and_within_the_budget_is_spelled_at_once(value) -> None:
    light = stringify_light({"x": value}, budget=100_000)
    assert light is not None or _is_special(value)


def _is_special(value) -> bool:
    if isinstance(value, dict):
        return any(k < ":" for k in value) or any(map(_is_special, value.values()))
    if isinstance(value, list):
        return any(map(_is_special, value))
    return not isinstance(value, str) or any("\ud800" <= c <= "\udfff" for c in value)


@pytest.mark.parametrize("value", ["x" * 500, ["x" * 500], {"x" * 500: 1}, [[1]] * 200])
def test_what_is_heavy_is_left_to_the_careful_way(value) -> None:
    assert stringify_light(value, budget=400) is None


def test_a_cycle_is_not_followed() -> None:
    value: list[object] = []
    value.append(value)
    assert stringify_light(value, budget=1000) is None
