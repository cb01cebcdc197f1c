"""Store keys (formats.md 2.2, 3.1)."""

import json
from pathlib import Path

import pytest

from oma_desktop.model.keys import (
    approval_key,
    checkpoint_key,
    is_approval_key,
    is_checkpoint_key,
    is_reserved_key,
)

GOLDEN = Path(__file__).parents[2] / "golden"
FUNCTIONS = {
    "checkpointKey": checkpoint_key,
    "isCheckpointKey": is_checkpoint_key,
    "approvalKey": approval_key,
}


@pytest.mark.parametrize(
    "vector", json.loads((GOLDEN / "vectors/keys.json").read_text("utf-8"))["vectors"], ids=str
)
def test_keys_of_the_peer(vector):
    assert FUNCTIONS[vector["fn"]](vector["input"]) == vector["output"]


def test_reserved_keys_are_both_kinds():
    assert is_approval_key("__oma_approval__/apr_x")
    assert not is_approval_key("__oma_approval_")
    assert is_reserved_key("__oma_checkpoint__/x")
    assert is_reserved_key("__oma_approval__/x")
    assert not is_reserved_key("agent/task:1:result")
