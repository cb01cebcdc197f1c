"""The inspect document against every fixture of the peer (product.md 6, golden/README.md)."""

import json
from pathlib import Path

import pytest

from oma_desktop.base.sentences import catalogue
from oma_desktop.model.container import parse_container
from oma_desktop.model.errors import OmaError
from oma_desktop.model.inspection import has_errors, inspect_container

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests/golden"
CASES = ROOT / "tests/cases"
LARGE = sorted((ROOT.parent / "shared/golden_large").glob("*/checkpoint.json"))
STORES = [*sorted(GOLDEN.glob("*/checkpoint.json")), *LARGE]
OURS = json.loads((GOLDEN / "n_corrupt/ours.json").read_text("utf-8"))
NOT_OURS = ("peerLoads", "peerError", "peerAccepts")


def inspect(path):
    return inspect_container(parse_container(path.read_bytes(), path=path.name))


def expected_of(path):
    expected = json.loads((path.parent / "expected.json").read_text("utf-8"))
    return expected if "checkpoints" in expected else None


@pytest.mark.parametrize("path", STORES, ids=lambda p: p.parent.name)
def test_says_what_a_correct_reader_must_conclude(path):
    document = inspect(path)
    assert not has_errors(document)
    expected = expected_of(path)
    if expected is None:
        assert [c["readable"] for c in document["checkpoints"]] == [True]
        return
    for name in ("storeFormatVersion", "entryCount", "keys"):
        assert document[name] == expected[name]
    shared = [e["key"] for e in expected["sharedMemoryEntries"]]
    assert document["sharedMemoryKeys"] == shared
    for part in ("checkpoints", "approvals"):
        assert len(document[part]) == len(expected[part])
        for ours, theirs in zip(document[part], expected[part], strict=True):
            wanted = {k: v for k, v in theirs.items() if k not in NOT_OURS}
            assert {k: ours.get(k, "missing") for k in wanted} == wanted


def test_the_fixtures_are_there():
    assert sum(expected_of(p) is not None for p in STORES) > 50


def test_a_store_with_another_shape_of_expectation_is_read():
    document = inspect(GOLDEN / "l5_runid_conflict/checkpoint.json")
    assert [c["key"] for c in document["checkpoints"]] == ["__oma_checkpoint__/survey-9/latest"]


def test_a_store_of_several_runs_lists_them_all():
    document = inspect(GOLDEN / "m_multi_run_store/checkpoint.json")
    assert len(document["checkpoints"]) > 1
    assert all(c["readable"] for c in document["checkpoints"])


def verdict(path):
    try:
        return 2 if has_errors(inspect(path)) else 0
    except OmaError:
        return 2


@pytest.mark.parametrize("name", OURS)
def test_damaged_files_get_our_verdict_and_stay_as_they_are(name):
    path = GOLDEN / "n_corrupt" / name
    before = path.read_bytes()
    assert verdict(path) == OURS[name]["exit"]
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", OURS)
def test_whatever_is_told_has_a_sentence_with_all_its_facts(name):
    try:
        problems = inspect(GOLDEN / "n_corrupt" / name)["problems"]
    except OmaError as error:
        problems = [{"code": error.code, "facts": error.facts, "where": error.facts["where"]}]
    for problem in problems:
        sentence = catalogue()[problem["code"]]
        filled = sentence.fill({**problem["facts"], "where": problem["where"]})
        assert "{" not in filled.title.replace(str(problem["facts"].get("found")), "")


def test_an_unreadable_checkpoint_does_not_hide_the_others(tmp_path):
    store = json.loads((GOLDEN / "m_multi_run_store/checkpoint.json").read_text("utf-8"))
    store["entries"][0]["value"] = "{"
    path = tmp_path / "store.json"
    path.write_text(json.dumps(store), "utf-8")
    document = inspect(path)
    first, *rest = document["checkpoints"]
    assert (first["readable"], first["problem"]["code"]) == (False, "JSON_TRUNCATED")
    assert rest
    assert all(c["readable"] for c in rest)
    assert has_errors(document)


def test_a_damaged_row_is_listed_with_its_id():
    document = inspect(GOLDEN / "n_corrupt/ap-row-not-json.json")
    row = document["approvals"][0]
    assert (row["id"][:4], row["readable"]) == ("apr_", False)
    assert document["checkpoints"][0]["readable"]


@pytest.mark.parametrize("name", ["snapshot-v99", "queue-v7"])
def test_newer_checkpoints_are_listed_as_such(name):
    document = inspect(CASES / f"s10-newer-schema/{name}.json")
    problem = document["checkpoints"][0]["problem"]
    assert problem["code"] in ("CHECKPOINT_TOO_NEW", "QUEUE_TOO_NEW")
    assert {"found", "supported"} <= set(problem["facts"])


def test_s19_infinite_numbers_never_reach_our_json():
    data = (GOLDEN / "n_corrupt/big-exponent-number-ok.json").read_bytes()
    document = inspect_container(parse_container(data, path="x"))
    json.dumps(document, allow_nan=False)
