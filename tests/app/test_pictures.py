"""Pictures on their way to the screen: merged, in order, none lost."""

import asyncio

from oma_desktop.app.pictures import PAUSE_S, Pictures
from oma_desktop.model.view import StoreView
from oma_desktop.viewmodel.feed import Feed


def listening():
    feed, told = Feed(), []
    feed.changed.connect(told.append)
    return feed, Pictures(feed), told


async def test_many_pictures_of_one_turn_are_one_announcement():
    feed, pictures, told = listening()
    for n in range(1000):
        pictures.put(StoreView(f"/s{n}", revision=1))
        pictures.put(StoreView(f"/s{n}", revision=2))
    assert told == []
    await asyncio.sleep(0)
    assert [len(paths) for paths in told] == [1000]
    assert {s.revision for s in feed.stores()} == {2}
    pictures.close()


async def test_a_pause_lies_between_two_announcements_and_the_newest_counts():
    feed, pictures, told = listening()
    pictures.put(StoreView("/a", revision=1))
    await asyncio.sleep(0)
    pictures.put(StoreView("/a", revision=2))
    pictures.put(StoreView("/a", revision=3))
    await asyncio.sleep(0)
    assert (len(told), feed.store("/a").revision) == (1, 1)
    await asyncio.sleep(PAUSE_S * 2)
    assert (len(told), feed.store("/a").revision) == (2, 3)
    pictures.close()


async def test_what_was_dropped_or_closed_comes_no_more():
    feed, pictures, told = listening()
    pictures.put(StoreView("/a"))
    pictures.drop("/a")
    await asyncio.sleep(0)
    assert (feed.stores(), told) == ((), [])
    pictures.put(StoreView("/b"))
    pictures.close()
    await asyncio.sleep(PAUSE_S * 2)
    assert feed.stores() == ()
