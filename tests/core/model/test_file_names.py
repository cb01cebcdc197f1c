"""Ids as file names (cases s41)."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.file_names import MAX_NAME_BYTES, decode_name, encode_name

IDS = json.loads(
    (Path(__file__).parents[2] / "cases/s41-run-id-file-names/ids.json").read_text("utf-8")
)
DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def is_safe(name):
    return (
        len(name.encode()) <= MAX_NAME_BYTES
        and not re.search(r'[<>:"/\\|?*\x00-\x1f\x7f ]', name)
        and not DEVICE.fullmatch(name)
        and name[0] != "."
        and name[-1] != "."
    )


@pytest.mark.parametrize("identifier", IDS, ids=ascii)
def test_every_id_of_the_case_is_safe_and_comes_back(identifier):
    name = encode_name(identifier)
    assert is_safe(name)
    assert decode_name(name) == (identifier if len(identifier) < 100 else None)


def test_no_two_ids_share_a_name_even_by_case():
    names = [encode_name(i).casefold() for i in [*IDS, "a_b", "a:b", "x" * 201, "x" * 199]]
    assert len(set(names)) == len(names)


def test_an_empty_id_is_refused():
    with pytest.raises(InvalidInput) as caught:
        encode_name("")
    assert caught.value.code == "NAME_EMPTY"


def test_readable_ids_stay_readable():
    assert encode_name("run-2026_01.a") == "run-2026_01.a"
    assert encode_name("中文运行") == "中文运行"
    assert encode_name("Run") == "%52un"
    assert encode_name("nul.json") == "%6Eul.json"


@pytest.mark.parametrize(
    "name", ["", "UPPER", "%zz", "%2e", "%6en", "a%", "%FF", "con", "x%%" + "0" * 32]
)
def test_names_that_are_not_ours_decode_to_nothing(name):
    assert decode_name(name) is None


@given(st.text(st.characters(exclude_categories=()), min_size=1, max_size=60))
def test_any_id_is_safe_and_short_ones_come_back(identifier):
    name = encode_name(identifier)
    assert is_safe(name)
    if "%%" not in name:
        assert decode_name(name) == identifier


@given(st.text(min_size=1), st.text(min_size=1))
def test_different_ids_get_different_names(one, other):
    assert (encode_name(one).casefold() == encode_name(other).casefold()) is (one == other)
