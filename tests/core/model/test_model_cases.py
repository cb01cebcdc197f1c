"""Cases about bytes and numbers at the level of values: s17, s19, s22."""

import json
from pathlib import Path

import pytest

from oma_desktop.model.approval_rules import request_hash
from oma_desktop.model.container import Container, ContainerEntry, encode_container, parse_container
from oma_desktop.model.dates import parse_js_date
from oma_desktop.model.errors import ApprovalInvalid, Corrupt
from oma_desktop.model.json_text import cut_whole, encode, parse, parse_with_bom, utf16_length

CASES = Path(__file__).parents[2] / "cases"
AT = parse_js_date("2026-01-02T03:04:05.678Z")


def lines(name):
    return (CASES / name / "journal.jsonl").read_bytes().rstrip(b"\n").split(b"\n")


def test_s17_half_a_pair_survives_a_save_and_whole_pairs_stay_whole():
    for line in lines("s17-lone-surrogate"):
        text = encode(parse(line)).decode()
        saved = encode_container(Container([ContainerEntry("k", text, AT)]))
        again = parse_container(saved, path="x").entries[0].value
        assert again == text
        assert parse(again) == parse(line)


def test_s17_our_own_shortening_never_splits_a_pair():
    case = json.loads((CASES / "s17-lone-surrogate/truncate.json").read_text("utf-8"))
    for limit in case["limits"]:
        cut = cut_whole(case["text"], limit)
        cut.encode("utf-8")
        assert case["text"].startswith(cut)
        assert limit - 1 <= utf16_length(cut) <= limit


def test_s19_lines_with_what_json_has_not_are_refused_with_their_place():
    results = []
    for line in lines("s19-nan-infinity"):
        try:
            results.append(parse(line)["seq"])
        except Corrupt as error:
            results.append((error.code, error.facts["found"]))
    assert results == [
        ("JSON_CONSTANT", "NaN"),
        ("JSON_CONSTANT", "Infinity"),
        ("JSON_CONSTANT", "-Infinity"),
        4,
    ]


def test_s19_the_writer_never_writes_them_and_approvals_refuse_them():
    assert encode({"cost": float("inf"), "n": float("nan")}) == b'{"cost":null,"n":null}'
    with pytest.raises(ApprovalInvalid):
        request_hash("tool_call", "b", {"kind": "tool_call", "input": {"cost": float("inf")}})


def test_s22_marks_and_line_ends_of_other_editors_change_no_value():
    data = (CASES / "s22-bom-crlf/settings.json").read_bytes()
    value, bom = parse_with_bom(data)
    assert bom
    assert value == json.loads(data.decode("utf-8-sig"))
    assert not next(iter(value)).startswith("\ufeff")
