"""LlamaIndex's messages and the core's, and the silent turn between them."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core.base.llms.types import (
    ChatMessage,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.bridge.pydantic import Field
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler

from commonplace.flush import FlushMessage, FlushReply, FlushRequest, ToolCall
from llama_index_commonplace.flush_model import TAG, LlamaIndexFlushModel
from llama_index_commonplace.message_conversion import chat_messages, flush_messages

ROUND_TWO = FlushRequest(
    system="write it down",
    messages=(
        FlushMessage("user", "the conversation"),
        FlushMessage("assistant", "", (ToolCall("memory_append", {"text": "- a"}, "call_0"),)),
        FlushMessage("tool", '{"path":"x"}', call_id="call_0", name="memory_append"),
        FlushMessage("assistant", "hm", (ToolCall("", "no JSON", "call_1"),)),
    ),
    plain="in words, please",
)


@pytest.mark.parametrize("role", list(MessageRole))
def test_every_role_has_a_counterpart(role):
    [message] = flush_messages([ChatMessage(role=role, content="hello")])
    assert message.role in ("user", "assistant", "tool", "system")
    assert message.text == "hello"


def test_texts_and_calls_are_taken_and_thoughts_are_not():
    said = ChatMessage(
        role="assistant",
        blocks=[
            ThinkingBlock(content="hm"),
            TextBlock(text="I look."),
            ToolCallBlock(tool_call_id="1", tool_name="look", tool_kwargs={"word": "heron"}),
            ToolCallBlock(tool_name="look", tool_kwargs='{"wo'),
        ],
    )
    told = ChatMessage(
        role="tool", content="a bird", additional_kwargs={"tool_call_id": "1", "name": "look"}
    )
    assert flush_messages([said, told]) == [
        FlushMessage(
            "assistant",
            "I look.",
            (ToolCall("look", {"word": "heron"}, "1"), ToolCall("look", '{"wo', "")),
        ),
        FlushMessage("tool", "a bird", call_id="1", name="look"),
    ]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (
            [{"id": "1", "function": {"name": "look", "arguments": '{"word": 1}'}}],
            (ToolCall("look", '{"word": 1}', "1"),),
        ),
        ([{"function": None}], (ToolCall("", None, ""),)),
        (["what", 3], ()),
        ("what", ()),
    ],
)
def test_calls_beside_the_blocks_are_taken_too(calls, expected):
    said = ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": calls})
    assert flush_messages([said])[0].tool_calls == expected


def test_what_a_silent_turn_asks_is_a_sequence_that_providers_take():
    messages = chat_messages(ROUND_TWO)
    assert [message.role.value for message in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    [call] = messages[2].blocks
    assert (call.tool_call_id, call.tool_name, call.tool_kwargs) == (
        "call_0",
        "memory_append",
        {"text": "- a"},
    )
    assert messages[3].additional_kwargs["tool_call_id"] == "call_0"
    assert messages[4].blocks[1].tool_kwargs == {}
    assert chat_messages(ROUND_TWO, plain=True)[-1].content == "in words, please"


async def test_the_model_is_offered_one_tool_and_traces_show_a_tag(scripted, tool_call):
    class Events(BaseEventHandler):
        seen: list = Field(default_factory=list)

        def handle(self, event, **_):
            self.seen.append(event)

    llm = scripted(tool_call("memory_append", text="- a"))
    events, root = Events(), get_dispatcher()
    root.add_event_handler(events)
    try:
        replies = [
            LlamaIndexFlushModel(llm).reply(ROUND_TWO),
            await LlamaIndexFlushModel(llm).areply(ROUND_TWO),
        ]
    finally:
        root.event_handlers.remove(events)
    call = ToolCall("memory_append", {"text": "- a"}, "call-memory_append")
    assert replies == [FlushReply("", (call,))] * 2
    for _, [tool] in llm.asked:
        assert list(tool.metadata.get_parameters_dict()["properties"]) == ["text"]
    assert events.seen
    assert all(event.tags.items() >= TAG.items() for event in events.seen)


@pytest.mark.parametrize("given", [{"path": "MEMORY.md"}, '{"path": "MEMORY.md"}'])
def test_calls_stand_beside_the_blocks_where_there_is_no_block_for_them(monkeypatch, given):
    monkeypatch.delattr("llama_index.core.base.llms.types.ToolCallBlock")
    call = ToolCall("memory_get", given, "call-1")
    request = FlushRequest("Be brief.", (FlushMessage("assistant", "", tool_calls=(call,)),))
    [_, message] = chat_messages(request)
    [found] = flush_messages([message])[0].tool_calls
    assert (found.name, found.id) == ("memory_get", "call-1")
    assert json.loads(found.arguments) == {"path": "MEMORY.md"}
