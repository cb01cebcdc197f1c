"""The name of a run as it is said outside the list, where nothing else tells which one is meant."""

from __future__ import annotations

from oma_desktop.base.text import tr
from oma_desktop.model.view import RunRef
from oma_desktop.viewmodel.feed import Feed
from oma_desktop.viewmodel.namesakes import places_of
from oma_desktop.viewmodel.runs import run_name


def distinct_name(feed: Feed, ref: RunRef) -> str:
    """Return the name of a run, and its place where another one bears the same."""
    names = {
        RunRef(store.path, run.key): run_name(store, run)
        for store in feed.stores()
        for run in store.runs
    }
    name = names.get(ref, "")
    same = [other for other, known in names.items() if known == name]
    if len(same) < 2:
        return name
    return tr("{name} ({place})", name=name, place=places_of(same)[ref])
