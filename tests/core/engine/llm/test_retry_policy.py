"""How long to wait before a repeat (engine.md 8.6, case s35)."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.engine.llm.retry_policy import LONGEST_WISH_S, RetryPolicy, parse_retry_after
from oma_desktop.model.errors import RateLimited, Refused

NOW = datetime(2026, 1, 5, 8, tzinfo=UTC)
POLICY = RetryPolicy(lambda: 0.0)


def test_every_form_of_case_s35(cases):
    for row in json.loads(cases("s35-retry-after/headers.json")):
        wish = parse_retry_after({"retry-after": row["value"]}, NOW)
        wanted = row["wait"]
        if isinstance(wanted, int):
            assert wish == pytest.approx(wanted, abs=1), row
        elif wanted == "cap":
            assert wish == LONGEST_WISH_S
        elif wanted == "backoff":
            assert wish is None, row
        else:
            assert wish in (None, 1, LONGEST_WISH_S), row


def test_milliseconds_win():
    assert parse_retry_after({"retry-after-ms": "250", "retry-after": "9"}, NOW) == 0.25
    assert parse_retry_after({"retry-after-ms": "soon", "retry-after": "9"}, NOW) == 9
    assert parse_retry_after({}, NOW) is None
    assert parse_retry_after({"retry-after": "Mon Jan  5 08:00:30 2026"}, NOW) == 30


@given(st.text(max_size=30) | st.from_regex(r"[0-9]{1,400}(\.[0-9]{1,400})?", fullmatch=True))
def test_nothing_raises_or_leaves_the_bounds(text):
    wish = parse_retry_after({"retry-after": text, "retry-after-ms": text}, NOW)
    assert wish is None or 0 <= wish <= LONGEST_WISH_S


def delays(**facts):
    error = RateLimited("LLM_RATE_LIMITED", retryable=True, **facts)
    return [POLICY.delay_s(error, retries=n, started=False) for n in range(4)]


def test_backoff_doubles_and_ends_after_two():
    assert delays() == [0.5, 1.0, None, None]


def test_wishes_are_honoured_up_to_a_minute():
    assert delays(retry_after_s=60.0)[:2] == [60.0, 60.0]
    assert delays(retry_after_s=0.0)[0] == 0
    assert delays(retry_after_s=61.0)[0] is None


def test_backoff_is_capped_and_jitter_shortens_it():
    policy = RetryPolicy(lambda: 0.999, max_retries=20)
    error = RateLimited("X", retryable=True)
    assert policy.delay_s(error, retries=10, started=False) == pytest.approx(6, abs=0.1)


def test_never_after_the_answer_began_and_never_for_refusals():
    assert POLICY.delay_s(RateLimited("X", retryable=True), retries=0, started=True) is None
    assert POLICY.delay_s(Refused("X", retryable=False), retries=0, started=False) is None
