"""What leaves a conversation, and how many tokens its messages are."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core.base.llms.types import ChatMessage, ThinkingBlock, ToolCallBlock
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus

from llama_index_commonplace.token_counting import evicted_messages, tokenize, uncounted_texts

roles = st.sampled_from(["user", "assistant", "tool", "system"])
conversations = st.lists(st.tuples(roles, st.integers(0, 60)), max_size=14)


async def archived_by_the_stock_memory(messages, limit, flush_size):
    memory = Memory.from_defaults(
        token_limit=limit,
        chat_history_token_ratio=1.0,
        token_flush_size=flush_size,
        tokenizer_fn=str.split,
    )
    await memory.aput_messages(messages)
    gone = await memory.aget_all(MessageStatus.ARCHIVED)
    await memory.sql_store._async_engine.dispose()
    return len(gone)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(said=conversations, limit=st.integers(10, 120), flush_size=st.integers(1, 10))
def test_whatever_a_stock_memory_archives_is_known_before(said, limit, flush_size):
    messages = [ChatMessage(role=role, content="w " * count) for role, count in said]
    counts = [count for _, count in said]
    expected = evicted_messages(messages, counts, limit=limit, flush_size=flush_size)
    if messages:
        gone = asyncio.run(archived_by_the_stock_memory(messages, limit, flush_size))
        assert len(expected) >= gone
        assert bool(expected) or not gone
    assert expected == messages[: len(expected)]
    assert bool(expected) == (sum(counts) > limit)


def test_a_text_is_as_long_as_its_tokens():
    assert len(tokenize("a few words in English")) in range(5, 15)
    assert len(tokenize("金魚" * 50)) >= 100
    assert len(tokenize("")) < 10


def test_tool_calls_and_thoughts_are_what_is_not_counted():
    message = ChatMessage(
        role="assistant",
        blocks=[
            ThinkingBlock(content="let me see"),
            ToolCallBlock(tool_name="look", tool_kwargs={"word": "heron"}),
            ThinkingBlock(),
        ],
    )
    assert uncounted_texts(message) == ["let me see", "look {'word': 'heron'}"]
    assert uncounted_texts(ChatMessage(role="user", content="hello")) == []
