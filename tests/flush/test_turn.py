"""What an answer of a model means."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.flush.protocol import FlushReply, FlushRequest
from commonplace.flush.turn import lost_note_problem, next_request, parse_reply
from commonplace.types import FlushMessage, ToolCall

PATH = "memory/2026-11-20.md"
FIRST = FlushRequest("system", (FlushMessage("user", "conversation"),))


def read(reply, *, last=False):
    return parse_reply(reply, path=PATH, last=last)


def call(arguments, name="memory_append", id_="1"):
    return FlushReply(tool_calls=(ToolCall(name, arguments, id_),))


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("- The port is 51820.", "- The port is 51820."),
        ("NO_REPLY", None),
        ("no_reply", None),
        (" `NO_REPLY`. ", None),
        ("**NO_REPLY** - there is nothing to store", None),
        ("", None),
        (" \n\t", None),
        ("\0", None),
        ("<think>hmm, fact?</think>NO_REPLY", None),
        ("<think>hmm</think>\n- A fact.", "- A fact."),
        ("<think>cut off", None),
        ("- A fact.\n\nNO_REPLY", "- A fact."),
        ("NO_REPLY\n\n- A fact.", "- A fact."),
        ("NO_REPLY\nAll is stored already.", None),
        ("half \ud800 of a character\0", "half \ufffd of a character"),
        ("- Replies NO_REPLY when idle.", "- Replies NO_REPLY when idle."),
    ],
)
def test_a_plain_reply_of_a_model_without_tools_is_the_note(text, note):
    reading = read(FlushReply(text, offered_tool=False))
    assert reading.notes == ((note,) if note else ())
    assert reading.ends


def test_a_plain_reply_of_a_model_with_tools_is_asked_about_once():
    reply = FlushReply("The user likes tea.")
    first = read(reply)
    assert (first.notes, first.unclear, first.ends) == ((), True, False)
    request = next_request(FIRST, [reply], [first])
    assert [message.role for message in request.messages] == ["user", "assistant", "user"]
    assert "call memory_append now" in request.messages[-1].text
    assert read(FlushReply("As I said."), last=True).notes == ()
    assert read(FlushReply("- The user likes tea."), last=True).notes == ("- The user likes tea.",)


def test_calls_are_answered_in_order_with_ids_of_their_own():
    reply = FlushReply(
        "text beside calls is no note",
        tuple(ToolCall("memory_append", {"text": text}, "same") for text in ("- a", "- b")),
    )
    reading = read(reply)
    assert reading.notes == ("- a", "- b")
    assert reading.ends
    wrong = replace(reply, tool_calls=(*reply.tool_calls, ToolCall("rm", {}, "same")))
    reading = read(wrong)
    assert not reading.ends
    request = next_request(FIRST, [wrong], [reading])
    _, asked, *answers = request.messages
    assert [call.id for call in asked.tool_calls] == ["same", "call_0_1", "call_0_2"]
    assert [answer.call_id for answer in answers] == ["same", "call_0_1", "call_0_2"]
    assert {answer.text for answer in answers[:2]} == {'{"path":"memory/2026-11-20.md"}'}
    assert answers[2].text.startswith("Error: ")


def test_a_turn_has_a_second_round_only_for_what_was_wrong():
    reply, wrong = call({"text": "- a"}), call({})
    assert next_request(FIRST, [], []) == FIRST
    assert next_request(FIRST, [reply], [read(reply)]) is None
    assert next_request(FIRST, [wrong], [read(wrong)]) is not None
    assert next_request(FIRST, [wrong, wrong], [read(wrong)] * 2) is None
    silent = FlushReply("NO_REPLY")
    assert next_request(FIRST, [silent], [read(silent)]) is None


@pytest.mark.parametrize("arguments", [{"text": "- a"}, '{"text": "- a"}'])
def test_arguments_may_come_as_json(arguments):
    assert read(call(arguments)).notes == ("- a",)


GARBAGE = [
    None,
    "",
    "not json",
    "[1]",
    '"text"',
    [],
    7,
    {},
    {"txt": "- a"},
    {"text": None},
    {"text": 3},
    {"text": ""},
    {"text": " \n"},
    {"text": "\0"},
    {"text": ["- a"]},
    {"text": "- a", "path": "MEMORY.md"},
    {"text": "- a", "longTerm": True},
]


@pytest.mark.parametrize("arguments", GARBAGE, ids=repr)
def test_garbage_is_answered_with_an_error_and_appends_nothing(arguments):
    reply = call(arguments)
    reading = read(reply)
    assert reading.notes == ()
    assert reading.answers[0].text.startswith("Error: memory_append: ")
    assert lost_note_problem([reading]) is not None
    assert next_request(FIRST, [reply], [reading]) is not None


@pytest.mark.parametrize("name", ["write", "memory_search", "", "memory_append\n", "x" * 5000])
def test_there_is_no_other_tool(name):
    reading = read(call({"text": "- a", "path": "MEMORY.md"}, name=name))
    assert reading.notes == ()
    assert "memory_append is the only one" in reading.answers[0].text
    assert len(reading.answers[0].text) < 300


def test_the_verdict_tells_whether_a_note_may_be_lost():
    good, bad = read(call({"text": "- a"})), read(call({}))
    other = read(call({}, name="read"))
    nothing = read(FlushReply("NO_REPLY"))
    assert lost_note_problem([]) is None
    assert lost_note_problem([good, nothing]) is None
    assert lost_note_problem([bad, good]) is None
    assert "could not be used" in lost_note_problem([other, nothing])
    assert lost_note_problem([other, good]) is None
    assert "could not be used" in lost_note_problem([bad, nothing])
    assert "could not be used" in lost_note_problem([good, bad])


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.text(max_size=20),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=10),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=8,
    ),
)
def test_any_call_is_answered(name, arguments):
    reply = FlushReply(tool_calls=(ToolCall(name, arguments), ToolCall("memory_append", arguments)))
    reading = read(reply)
    assert len(reading.answers) == 2
    request = next_request(FIRST, [reply], [reading])
    assert len({call.id for call in request.messages[1].tool_calls}) == 2
