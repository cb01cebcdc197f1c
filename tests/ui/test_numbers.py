"""Numbers as people read them."""

from datetime import timedelta

import pytest

from oma_desktop.ui.numbers import age_text, count_text, elapsed_text, size_text
from oma_desktop.viewmodel.ages import age_from_seconds
from tests.ui.scenes import NOW


@pytest.mark.parametrize(
    ("n", "text"),
    [(0, "0 B"), (212, "212 B"), (9319, "9.1 KB"), (18_500, "18 KB"), (2_000_000, "1.9 MB")],
)
def test_sizes(n, text):
    assert size_text(n) == text


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0"), (999, "999"), (9_400, "9.4k"), (412_999, "412k"), (1_250_000, "1.2M")]
)
def test_counts_are_never_rounded_up(n, text):
    assert count_text(n) == text


def test_ages_and_durations():
    assert [age_text(age_from_seconds(s)) for s in (0.44, 12, 380, 7300, 180_000)] == [
        "0.4 s",
        "12 s",
        "6 min",
        "2 h",
        "2 d",
    ]
    assert age_text(None) == "–"
    assert elapsed_text(NOW - timedelta(seconds=2832), NOW) == "47:12"
    assert elapsed_text(NOW - timedelta(seconds=4111), NOW) == "1:08:31"
    assert elapsed_text(None, NOW) == "–"
