"""Canonical JSON, dependency payloads and hashes (formats.md 3.2.1, 3.2.1a; cases s20)."""

import hashlib
import json
import math
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.model import json_reader
from oma_desktop.model.canonical import canonical, dependency_payload, is_exact, sha256_hex
from oma_desktop.model.errors import ApprovalInvalid, InvalidInput
from oma_desktop.model.json_text import parse, stringify

TESTS = Path(__file__).parents[2]
VECTORS = json.loads((TESTS / "golden/vectors/canonical_json.json").read_text("utf-8"))["vectors"]
S20 = json.loads((TESTS / "cases/s20-hash-number-parity/vectors.json").read_text("utf-8"))


def as_javascript(text):
    """JSON.parse of the peer, which takes the last of two equal names."""
    return json.loads(text, parse_int=json_reader._integer, parse_float=json_reader._double)


@pytest.mark.parametrize(
    "vector", [v for v in VECTORS if "inputJson" in v], ids=lambda v: v["inputJson"][:30]
)
def test_three_serialisers_of_the_peer(vector):
    value = as_javascript(vector["inputJson"])
    assert stringify(value) == vector["plainStringify"]
    assert dependency_payload(value) == vector["dependencyPayloadCanonical"]["ok"]
    wanted = vector["approvalCanonical"]
    if "ok" in wanted:
        assert canonical(value) == wanted["ok"]
        return
    with pytest.raises(ApprovalInvalid) as caught:
        canonical(value)
    assert caught.value.code == wanted["error"]["code"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"n": math.nan}, "non_finite"),
        ([math.inf], "non_finite"),
        ({"d": datetime(2026, 1, 1, tzinfo=UTC)}, "not_json"),
        ({"f": len}, "not_json"),
        ([{1}], "not_json"),
        ([...], "not_json"),
    ],
)
def test_what_is_not_json_has_no_canonical_form(value, reason):
    with pytest.raises(ApprovalInvalid) as caught:
        canonical(value)
    assert (caught.value.code, caught.value.facts["reason"]) == (
        "APPROVAL_VALIDATION_ERROR",
        reason,
    )


def test_a_cycle_has_no_canonical_form():
    loop: dict = {}
    loop["a"] = loop
    with pytest.raises(ApprovalInvalid) as caught:
        canonical(loop)
    assert caught.value.facts["reason"] == "cycle"
    with pytest.raises(InvalidInput):
        dependency_payload(loop)


def test_payload_of_what_is_not_finite_is_null():
    assert dependency_payload({"b": math.nan, "a": [math.inf]}) == '{"a":[null],"b":null}'
    with pytest.raises(InvalidInput):
        dependency_payload({"a": {1}})


@pytest.mark.parametrize("case", S20, ids=lambda c: c["name"])
def test_numbers_hash_as_in_the_peer(case):
    value = parse(case["value_json"])
    assert canonical(value) == case["canonical"]
    assert sha256_hex(canonical(value)) == case["sha256"]


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ('{"n":[1,1.5,-0.0,1e-7,9007199254740991,true,null,"x"]}', True),
        ('{"a":[{"n":9007199254740993}]}', False),
        ('{"n":-9007199254740993}', False),
        ('{"n":1e400}', False),
        ("123456789012345678901", False),
    ],
)
def test_exact_numbers_are_told_from_rounded_ones(text, exact):
    assert is_exact(parse(text)) is exact


def test_python_integers_beyond_doubles_are_not_exact():
    assert not is_exact({"n": 2**53 + 1})
    assert not is_exact({"n": math.nan})


def test_lone_surrogates_are_hashed_as_javascript_encodes_them():
    assert sha256_hex("a\ud83db") == hashlib.sha256("a\ufffdb".encode()).hexdigest()
    assert sha256_hex("\ud83d\ude00") == hashlib.sha256("\U0001f600".encode()).hexdigest()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(max_size=3) | st.integers(0, 99).map(str), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_canonical_is_a_fixed_point(value):
    text = canonical(value)
    assert canonical(parse(text)) == text


@given(JSON, st.randoms(use_true_random=False))
def test_member_order_does_not_matter(value, random):
    def shuffled(item):
        if isinstance(item, dict):
            members = [(k, shuffled(v)) for k, v in item.items()]
            random.shuffle(members)
            return dict(members)
        return [shuffled(i) for i in item] if isinstance(item, list) else item

    assert canonical(shuffled(value)) == canonical(value)


@given(st.dictionaries(st.text(st.characters(min_codepoint=0xD000)), st.none()))
def test_keys_are_ordered_by_code_units(value):
    names = list(json.loads(canonical(value)))
    assert names == sorted(names, key=lambda n: n.encode("utf-16-be", "surrogatepass"))
