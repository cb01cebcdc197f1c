"""Run and task metadata, run ids, and the redaction they need (formats.md 2.10, 1.5.4)."""

import json
from pathlib import Path

import pytest

from oma_desktop.model.metadata import (
    clean_run_metadata,
    clean_task_metadata,
    run_id_problem,
    run_metadata_problem,
    task_metadata_problem,
)
from oma_desktop.model.redaction import is_sensitive_name, redact_text

VECTORS = Path(__file__).parents[2] / "golden/vectors"
VALIDATION = json.loads((VECTORS / "validation.json").read_text("utf-8"))["vectors"]
REDACTION = json.loads((VECTORS / "redaction.json").read_text("utf-8"))["vectors"]
CHECKS = {
    "validateRunMetadata": (run_metadata_problem, clean_run_metadata),
    "validateTaskMetadata": (task_metadata_problem, clean_task_metadata),
}


@pytest.mark.parametrize(
    "vector", [v for v in VALIDATION if v["fn"] in CHECKS], ids=lambda v: v["inputJson"][:40]
)
def test_metadata_as_the_peer_judges_it(vector):
    problem, clean = CHECKS[vector["fn"]]
    value = json.loads(vector["inputJson"])
    assert (problem(value) is None) is ("ok" in vector["output"])
    if "ok" in vector["output"]:
        wanted = vector["output"]["ok"]
        assert clean(value) == (value if wanted == "accepted" else wanted)


@pytest.mark.parametrize("vector", [v for v in VALIDATION if v["fn"] == "validateRunId"])
def test_run_ids_are_1_to_128_units(vector):
    assert (run_id_problem(vector["input"]) is None) is ("ok" in vector["output"])


@pytest.mark.parametrize(
    ("check", "value", "problem"),
    [
        (run_metadata_problem, None, ("", "not_object")),
        (run_metadata_problem, {f"k{i}": 1 for i in range(33)}, ("", "too_many")),
        (run_metadata_problem, {"a": [1, True]}, ("a", "array_mixed")),
        (run_metadata_problem, {"a": [None]}, ("a", "array_mixed")),
        (run_metadata_problem, {"a": float("inf")}, ("a", "value_type")),
        (run_metadata_problem, {"a": ["x"] * 50}, None),
        (run_metadata_problem, {"a\n": 1}, ("a\n", "key_form")),
        (task_metadata_problem, {"a": ["x"] * 17}, ("a", "array_long")),
        (task_metadata_problem, {"a": ["x" * 1025]}, ("a", "too_long")),
        (task_metadata_problem, {"my_token": "x"}, ("my_token", "credential")),
    ],
)
def test_reason_of_each_refusal(check, value, problem):
    assert check(value) == problem


@pytest.mark.parametrize(
    "vector",
    [v for v in REDACTION if v["fn"] == "redactSensitiveText" and "extraPatterns" not in v],
    ids=lambda v: v["name"],
)
def test_text_redaction_of_the_peer(vector):
    assert redact_text(vector["input"]) == vector["output"]


@pytest.mark.parametrize(
    "vector", [v for v in REDACTION if v["fn"] == "isSensitiveName"], ids=lambda v: v["name"]
)
def test_sensitive_names_of_the_peer(vector):
    assert is_sensitive_name(vector["input"]) is vector["output"]
