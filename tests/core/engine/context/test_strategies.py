"""Context strategies on plain conversations (engine.md 3.9; ideas 51, 64)."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.engine.agents.context.compact import compact
from oma_desktop.engine.agents.context.sliding import slide
from oma_desktop.engine.agents.context.summary import Summaries, transcript
from oma_desktop.engine.agents.context.tokens import Estimator, message_chars
from oma_desktop.engine.agents.context.tool_results import compress_results
from oma_desktop.engine.agents.context.turns import noted
from oma_desktop.engine.agents.pairing import pairing_problem
from oma_desktop.model.context_options import Compact
from tests.core.engine.context.conversations import (
    IMAGE,
    PNG,
    assert_sound,
    conversations,
    model,
    result,
    rounds,
    text,
    use,
    user,
)

SMALL = Compact(type="compact", max_tokens=1, preserve_recent_turns=1)


# -- any conversation -------------------------------------------------------------------------


@given(conversations(), st.integers(1, 6))
def test_idea_51_any_window_keeps_pairs_alternation_and_the_first_message(talk, turns):
    before = copy.deepcopy(talk)
    made = slide(talk, max_turns=turns)
    assert talk == before
    assert_sound(talk, made)
    assert len(made) == len(talk) or len(made) - 1 >= 2 * turns
    assert slide(made, max_turns=turns) == made


@given(conversations(), st.integers(0, 4), st.integers(0, 900), st.integers(0, 900))
def test_compact_keeps_every_message_and_call_and_is_done_after_once(talk, recent, chars, keep):
    wish = Compact(
        type="compact",
        max_tokens=1,
        preserve_recent_turns=recent,
        min_tool_result_chars=chars,
        min_text_block_chars=chars,
        text_block_excerpt_chars=keep,
    )
    before = copy.deepcopy(talk)
    made = compact(talk, wish)
    assert talk == before
    assert_sound(talk, made)
    assert len(made) == len(talk)
    assert [b for m in made for b in m["content"] if b["type"] == "tool_use"] == [
        b for m in talk for b in m["content"] if b["type"] == "tool_use"
    ]
    assert made[len(made) - 2 * recent :] == talk[len(talk) - 2 * recent :]
    assert sum(map(message_chars, made)) <= sum(map(message_chars, talk))
    again = compact(made, wish)
    assert all(one is other for one, other in zip(again, made, strict=True))


@given(conversations(), st.integers(0, 900))
def test_idea_64_any_results_are_compressed_once_and_never_grow(talk, chars):
    before = copy.deepcopy(talk)
    made = compress_results(talk, min_chars=chars)
    assert talk == before
    assert_sound(talk, made)
    assert sum(map(message_chars, made)) <= sum(map(message_chars, talk))
    again = compress_results(made, min_chars=chars)
    assert all(one is other for one, other in zip(again, made, strict=True))


@given(conversations())
async def test_any_summary_keeps_pairs_alternation_and_the_first_message(talk):
    async def ask(_instruction, _text):
        return "in short"

    made = await Summaries(ask).shorten(talk)
    assert_sound(talk, made)
    assert len(made) < len(talk) or len(talk) < 5


# -- sliding window ---------------------------------------------------------------------------


def test_idea_51_the_window_says_in_all_how_many_turns_are_missing():
    talk = slide(rounds(5), max_turns=2)
    assert [m["role"] for m in talk] == ["user", "assistant", "user", "assistant", "user"]
    assert talk[2]["content"][0]["tool_use_id"] == "c3"
    assert talk[2]["content"][1]["text"] == "[Left out here: 3 earlier turns of this conversation]"
    talk += [model(use("c5")), user(result("c5"))]
    talk = slide(talk, max_turns=2)
    assert talk[2]["content"][0]["tool_use_id"] == "c4"
    assert "4 earlier turns" in talk[2]["content"][1]["text"]


def test_what_the_window_keeps_are_the_very_same_messages():
    talk = rounds(4)
    made = slide(talk, max_turns=2)
    assert (made[0] is talk[0], made[1] is talk[5], made[-1] is talk[-1]) == (True, True, True)
    assert slide(rounds(2), max_turns=2) == rounds(2)


def test_a_note_stands_before_the_words_but_after_results():
    """Endpoints refuse an answer in which a call's result does not come first."""
    assert noted([user(text("go on"))], "note")[0]["content"] == [text("note"), text("go on")]
    told = noted([model(use("a")), user(result("a"), text("warning"))], "note")
    assert told[1]["content"] == [result("a"), text("note"), text("warning")]


# -- compressing results ----------------------------------------------------------------------


def test_idea_64_only_long_answered_plain_results_become_markers():
    talk = [
        user(text("# Task")),
        model(use("a"), use("b"), use("c", "delegate_to_agent"), use("d")),
        user(
            result("a", "r" * 600),
            result("b", "e" * 600, is_error=True),
            result("c", "d" * 600),
            result("d", "short"),
        ),
        model(use("e")),
        user(result("e", "n" * 600)),
    ]
    made = compress_results(talk, min_chars=500)
    assert made[2]["content"][0]["content"] == (
        '[Result left out: the call of "look" gave 600 characters; call it again if you need them]'
    )
    assert made[2]["content"][1:] == talk[2]["content"][1:]
    assert made[4] is talk[4], "the newest results are kept"
    assert made[0] is talk[0]


def test_idea_64_markers_are_not_compressed_again():
    once = compress_results(rounds(3), min_chars=0)
    assert once[2]["content"][0]["content"].startswith("[Result left out")
    assert compress_results(once, min_chars=0) == once


def test_idea_64_an_id_used_again_does_not_hide_a_delegation():
    talk = [
        user(text("# Task")),
        model(use("a", "delegate_to_agent")),
        user(result("a", "d" * 600)),
        model(use("a", "look")),
        user(result("a", "r" * 600)),
        model(use("b")),
        user(result("b")),
    ]
    made = compress_results(talk, min_chars=500)
    assert made[2] is talk[2]
    assert made[4]["content"][0]["content"].startswith("[Result left out")


def test_results_already_answered_but_newest_stay_when_a_repair_follows():
    talk = [*rounds(1), model(text("bad json")), user(text("again"))]
    assert compress_results(talk, min_chars=1) == talk


# -- compact ----------------------------------------------------------------------------------


def test_compact_shortens_old_results_texts_and_images_only():
    long = "y" * 3000
    talk = [
        user(text("z" * 5000), IMAGE),
        model(text(long), use("a")),
        user(result("a", [text("t" * 900), PNG]), IMAGE),
        model(text(long), use("b")),
        user(result("b", "r" * 900)),
    ]
    made = compact(talk, SMALL)
    assert made[0] is talk[0]
    assert made[1]["content"][0]["text"].startswith(
        "y" * 200 + "[...] [Text shortened: it had 3000"
    )
    assert made[1]["content"][1] is talk[1]["content"][1]
    assert made[2]["content"][0]["content"].startswith('[Result left out: the call of "look"')
    assert made[2]["content"][1] == text("[Image left out: image/png]")
    assert made[3:] == talk[3:]


# -- summary ----------------------------------------------------------------------------------


async def test_a_summary_takes_the_place_of_the_older_half_and_is_asked_for_once():
    asked = []

    async def ask(instruction, said):
        asked.append((instruction, said))
        return " in short "

    summaries = Summaries(ask)
    talk = rounds(4)
    made = await summaries.shorten(talk)
    assert made[0] is talk[0]
    assert made[1:] == [
        talk[5],
        user(
            result("c2", "r" * 1000),
            text("[Summary of the earlier part of this conversation]\nin short"),
        ),
        *talk[7:],
    ]
    assert await summaries.shorten(copy.deepcopy(talk)) == made
    assert len(asked) == 1
    assert "c0" not in asked[0][1]
    assert '[calls look with {"q":1}]' in asked[0][1]


async def test_short_conversations_and_empty_summaries_change_nothing():
    async def ask(_instruction, _said):
        return "  "

    assert await Summaries(ask).shorten(rounds(1)) == rounds(1)
    assert await Summaries(ask).shorten(rounds(4)) == rounds(4)


def test_media_are_named_in_a_transcript_and_not_sent():
    said = transcript(
        [user(IMAGE, result("a", [text("seen"), PNG]), result("b", "no", is_error=True))]
    )
    assert said == (
        "USER:\n[Image left out: image/png]\n[result of a call] seen\n[image left out]\n"
        "[error of a call] no"
    )


# -- estimates --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "chars"),
    [
        (text("😀a"), 3),
        ({"type": "reasoning", "text": "abc"}, 3),
        (use("a", q=1), len('{"q":1}')),
        (result("a", "four"), 4),
        (result("a", [text("four"), PNG]), 4 + len("http://h/p") + len("image/png") + 32),
        (IMAGE, 64),
    ],
)
def test_an_estimate_counts_characters(block, chars):
    assert message_chars(user(block)) == chars
    assert Estimator().tokens([user(block)]) == -(-chars // 4)


def test_a_message_is_counted_once():
    class Counting(dict):
        looked = 0

        def __getitem__(self, key):
            self.looked += key == "content"
            return super().__getitem__(key)

    message = Counting(user(text("abcd")))
    estimator = Estimator()
    assert [estimator.tokens([message]) for _ in range(3)] == [1, 1, 1]
    assert message.looked == 1


@pytest.mark.parametrize(
    "talk",
    [
        [user(text("t")), model(use("a"))],
        [user(text("t")), model(use("a")), user(text("no result"))],
        [user(text("t")), user(result("a"))],
        [user(text("t")), model(use("a")), model(text("x")), user(result("a"))],
    ],
)
def test_a_broken_pair_is_seen(talk):
    assert pairing_problem(talk) is not None
