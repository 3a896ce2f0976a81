"""Which messages are new, and how many they are."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.flush.messages import (
    Fingerprinter,
    dump_messages,
    flushable_messages,
    load_messages,
    message_tokens,
    new_positions,
    split_by_tokens,
    transcript_bytes,
)
from commonplace.types import FlushMessage, ToolCall

LONG = "A sentence that is long enough to be told from any other one wherever it stands. " * 2


def user(text):
    return FlushMessage("user", text)


def agent(text, *calls):
    return FlushMessage("assistant", text, calls)


def fingerprints(messages):
    return Fingerprinter().following(messages)


def known(messages):
    return {mark for marks in fingerprints(messages) for mark in marks}


def new(messages, known):
    return new_positions(messages, fingerprints(messages), known)


def test_messages_that_were_flushed_are_not_new():
    first = [user("Which port?"), agent("51820"), user("yes")]
    assert new(first, set()) == [0, 1, 2]
    assert new(first, known(first)) == []
    assert new([*first, agent("Done.")], known(first)) == [3]


def test_the_first_message_of_what_a_compaction_left_is_known():
    first = [user("Which port?"), agent("51820"), user("yes"), agent("Done.")]
    assert new(first[2:], known(first)) == []


def test_the_same_short_answer_to_another_question_is_new():
    first = [agent("Use Postgres?"), user("yes")]
    second = [*first, agent("Use TLS?"), user("yes")]
    assert new(second, known(first)) == [2, 3]


def test_a_long_message_is_known_wherever_it_stands():
    assert new([user("Something else"), user(LONG)], known([user(LONG)])) == [0]


def test_role_text_and_calls_make_a_message_and_ids_do_not():
    call = ToolCall("search", {"q": "x", "k": 1}, "1")
    same = ToolCall("search", {"k": 1, "q": "x"}, "2")
    other = ToolCall("search", {"q": "y", "k": 1}, "1")
    base = known([agent(LONG, call)])
    assert new([agent(LONG + " \n", same)], base) == []
    assert new([agent(LONG, other)], base) == [0]
    assert new([agent(LONG)], base) == [0]
    assert new([user(LONG)], base) == [0]


def test_empty_and_system_messages_are_no_part_of_it():
    call = ToolCall("search", {})
    messages = [FlushMessage("system", "rules"), user(" \n"), user("hi"), agent("", call)]
    assert flushable_messages(messages) == (user("hi"), agent("", call))


def test_tokens_and_bytes_count_the_calls():
    plain, calling = agent("text"), agent("text", ToolCall("search", {"query": "a" * 400}))
    assert message_tokens([calling]) > message_tokens([plain]) + 20
    assert transcript_bytes([calling]) > transcript_bytes([plain]) + 400
    assert transcript_bytes([user("é"), user("\ud800")]) == 5
    assert message_tokens([]) == transcript_bytes([]) == 0


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            FlushMessage,
            role=st.sampled_from(["user", "assistant", "tool"]),
            text=st.text(max_size=50),
            tool_calls=st.lists(
                st.builds(
                    ToolCall,
                    name=st.text(max_size=5),
                    arguments=st.none() | st.dictionaries(st.text(max_size=3), st.integers()),
                    id=st.text(max_size=3),
                ),
                max_size=2,
            ).map(tuple),
            call_id=st.text(max_size=3),
            name=st.text(max_size=3),
            at=st.none() | st.datetimes(timezones=st.just(UTC)),
        ),
        max_size=5,
    )
)
def test_the_journal_gives_back_what_was_put_in(messages):
    assert load_messages(dump_messages(messages)) == tuple(messages)


def test_arguments_that_are_no_json_are_kept_as_text():
    circle = []
    circle.append(circle)
    odd = agent(
        "x", ToolCall("f", {"when": datetime(2026, 1, 1, tzinfo=UTC)}), ToolCall("g", circle)
    )
    (back,) = load_messages(dump_messages([odd]))
    assert back.tool_calls[0].arguments == {"when": "2026-01-01 00:00:00+00:00"}
    assert back.tool_calls[1].arguments == "[[...]]"
    assert known([odd]) == known([back])


@pytest.mark.parametrize("limit", [10, 37, 1000])
def test_portions_hold_everything_in_order_and_no_more_than_they_may(limit):
    def count(messages):
        return sum(len(message.text) for message in messages)

    messages = [user(f"{number}\n" * number) for number in range(1, 40)]
    found = split_by_tokens(messages, limit=limit, count=count)
    assert all(count(part) <= limit for part in found)
    text = "".join(message.text for part in found for message in part)
    assert text == "".join(message.text for message in messages)
    if limit == 1000:
        assert len(found) <= 4


def test_an_exchange_that_is_said_again_is_new_again():
    def talk(*texts):
        return [FlushMessage(("user", "assistant")[n % 2], text) for n, text in enumerate(texts)]

    first = talk("Delete the staging database.", "Shall I really?", "Yes, do.", "Done.")
    again = talk("Delete the production database.", "Shall I really?", "Yes, do.", "Done.")
    known = {mark for marks in fingerprints(first) for mark in marks}
    assert new(first + again, known) == [4, 5, 6, 7]
    assert new(first, known) == []


@pytest.mark.slow
@given(st.lists(st.sampled_from([user("yes"), agent("Sure?"), user(LONG)])), st.integers(0, 20))
def test_what_follows_is_fingerprinted_without_the_beginning_as_it_is_with_it(messages, cut):
    before = Fingerprinter()
    before.extend(messages[:cut])
    assert before.following(messages[cut:]) == fingerprints(messages)[cut:]
