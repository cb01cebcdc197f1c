"""PySide6 6.12.0 loses references to None on Python 3.11; the pin must hold (house.md 0.1)."""

import sys

from PySide6.QtCore import QObject, Signal


class Source(QObject):
    fired = Signal()


def lost(act, n=1000):
    before = (sys.getrefcount(None), sys.getrefcount(True))
    for _ in range(n):
        act()
    after = (sys.getrefcount(None), sys.getrefcount(True))
    return [max(0, b - a) / n for b, a in zip(before, after, strict=True)]


def test_void_calls_and_emits_keep_the_reference_counts():
    source = Source()
    for act in (
        lambda: source.setObjectName("x"),
        source.fired.emit,
        source.parent,
        lambda: source.blockSignals(False),
    ):
        assert lost(act) == [0, 0] or max(lost(act)) < 0.01
