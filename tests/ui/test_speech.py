"""Announcements as sentences: few runs by name, many by number."""

from oma_desktop.ui.speech import announcement_text
from oma_desktop.viewmodel.announcer import Announcement
from oma_desktop.viewmodel.feed import Feed
from oma_desktop.viewmodel.runs import RunRows
from tests.ui import scenes


def rows():
    feed = Feed()
    model = RunRows(feed)
    for store in scenes.all_stores():
        feed.put(store)
    return {r.name: r for r in model.run_rows()}


def test_announcements_are_whole_sentences():
    named = rows()
    one, two = named["q3-supply-risk"], named["rare-earth-scan"]
    assert announcement_text(Announcement((one,), ())) == "Run q3-supply-risk needs you."
    assert announcement_text(Announcement((), (two,))) == "Run rare-earth-scan ended: Error."
    assert announcement_text(Announcement((one, two), (one, two))) == (
        "2 runs need you. 2 runs ended."
    )
