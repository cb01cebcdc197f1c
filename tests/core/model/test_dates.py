"""Dates as JavaScript reads them (formats.md T17)."""

import time

import pytest

from oma_desktop.base.clock import to_ms_iso
from oma_desktop.model.dates import parse_js_date


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678Z"),
        ("2026-01-02T03:04:05.678999Z", "2026-01-02T03:04:05.678Z"),
        ("2026-01-02T03:04:05.6Z", "2026-01-02T03:04:05.600Z"),
        ("2026-01-02T03:04:05+02:30", "2026-01-02T00:34:05.000Z"),
        ("2026-01-02T03:04-0800", "2026-01-02T11:04:00.000Z"),
        ("2026-01-02", "2026-01-02T00:00:00.000Z"),
        ("2026-01", "2026-01-01T00:00:00.000Z"),
        ("2026", "2026-01-01T00:00:00.000Z"),
        ("+002026-01-02T00:00:00Z", "2026-01-02T00:00:00.000Z"),
        ("2026-02-30", "2026-03-02T00:00:00.000Z"),
        ("2026-02-30T24:00:00.000Z", "2026-03-03T00:00:00.000Z"),
        ("2026-12-31T24:00:00.000Z", "2027-01-01T00:00:00.000Z"),
        ("Fri, 02 Jan 2026 03:04:05 GMT", "2026-01-02T03:04:05.000Z"),
        ("02 Jan 2026 03:04:05 +0100", "2026-01-02T02:04:05.000Z"),
        ("Fri Jan 02 2026 03:04:05 GMT+0100 (CET)", "2026-01-02T02:04:05.000Z"),
        ("Jan 2, 2026 03:04 UTC", "2026-01-02T03:04:00.000Z"),
        ("Fri, 2 Jan 2026 03:04:05 EST", "2026-01-02T08:04:05.000Z"),
    ],
)
def test_reads_leniently_and_writes_one_form(text, iso):
    read = parse_js_date(text)
    assert read is not None
    assert to_ms_iso(read) == iso


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "yesterday", "2026-13-01", "2026-01-32", "2026-01-00", "2026-01-02T25:00:00Z",
        "2026-01-02T24:00:01Z", "2026-01-02T03:60:00Z", "20260102", "1767323045678000x",
        "+275761-01-01", "Foo, 02 Bar 2026 00:00:00 GMT",
    ],
)  # fmt: skip
def test_refuses_what_is_no_date(text):
    assert parse_js_date(text) is None


def test_without_offset_it_is_local_time(monkeypatch):
    monkeypatch.setenv("TZ", "Etc/GMT-8")
    time.tzset()
    try:
        read = parse_js_date("2026-01-02T03:04:05.678")
        assert read is not None
        assert to_ms_iso(read) == "2026-01-01T19:04:05.678Z"
    finally:
        monkeypatch.undo()
        time.tzset()
