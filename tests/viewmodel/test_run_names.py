"""Two runs of one name are told apart in lists and banners."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.model.view import RunRef, RunState, RunView, StoreView
from oma_desktop.viewmodel.feed import Feed
from oma_desktop.viewmodel.namesakes import places_of
from oma_desktop.viewmodel.run_names import distinct_name
from oma_desktop.viewmodel.runs import RunRows


def store(path, *runs):
    return StoreView(
        path=path, runs=tuple(RunView(key=f"k/{r}", run_id=r, state=RunState.OK) for r in runs)
    )


MARCH = store("/r/march/.oma/t/weekly/checkpoint.json", "weekly")
APRIL = store("/r/april/.oma/t/weekly/checkpoint.json", "weekly")


def shown(model):
    return {row.ref.store: (row.name, row.place) for row in model.run_rows()}


def test_the_nearest_folder_that_differs_tells_them_apart():
    a, b, c = (RunRef(p, "k") for p in ("/r/x/s.json", "/r/y/s.json", "/q/y/s.json"))
    assert places_of([a, b]) == {a: "x", b: "y"}
    assert places_of([a, b, c]) == {a: "x", b: "r/y", c: "q/y"}
    assert places_of([RunRef("/s.json", "k/1"), RunRef("/s.json", "k/2")]) == {
        RunRef("/s.json", "k/1"): "1",
        RunRef("/s.json", "k/2"): "2",
    }


@given(st.sets(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=2))
def test_two_folders_at_most_are_said_and_everyone_has_a_place(folders):
    refs = [RunRef(f"/{one}/{two}/s.json", "k") for one, two in folders]
    places = places_of(refs)
    assert set(places) == set(refs)
    assert len(set(places.values())) == len(refs)


def test_the_place_comes_with_the_second_run_and_goes_with_it():
    feed = Feed()
    model = RunRows(feed)
    feed.put(MARCH)
    assert shown(model) == {MARCH.path: ("weekly", "")}
    feed.put(APRIL)
    assert shown(model) == {MARCH.path: ("weekly", "march"), APRIL.path: ("weekly", "april")}
    saved = replace(MARCH.runs[0], attempt=2)
    feed.put(replace(MARCH, runs=(saved,)))
    assert shown(model)[MARCH.path] == ("weekly", "march"), "the usual save keeps it"
    feed.drop(APRIL.path)
    assert shown(model) == {MARCH.path: ("weekly", "")}


def test_a_banner_names_the_place_only_where_it_is_needed():
    feed = Feed()
    feed.put(MARCH)
    ref = RunRef(MARCH.path, "k/weekly")
    assert distinct_name(feed, ref) == "weekly"
    feed.put(APRIL)
    assert distinct_name(feed, ref) == "weekly (march)"
    assert distinct_name(feed, RunRef("/gone.json", "k")) == ""
