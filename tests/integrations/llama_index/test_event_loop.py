"""The event loop goes on while the core works; `test_event_loop` above measures how well."""

from __future__ import annotations

import asyncio
import threading

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core.base.llms.types import ChatMessage

from llama_index_commonplace import CommonplaceRetriever, CommonplaceToolSpec, MemoryContextBlock
from support.fakes import HashedWords

TURNS = 20
WAIT_S = 10.0


class Gated(HashedWords):
    """Answers a query only when the event loop has turned a few times since it was asked."""

    def __init__(self, ticks):
        super().__init__(256)
        self.ticks = ticks
        self.waited = 0

    def embed_query(self, text):
        assert threading.current_thread() is not threading.main_thread()
        start = self.ticks.count
        deadline = threading.Event()
        for _ in range(int(WAIT_S * 1000)):
            if self.ticks.count >= start + TURNS:
                self.waited += 1
                break
            deadline.wait(0.001)
        return super().embed_query(text)


def retrieve(memory):
    return CommonplaceRetriever(memory).aretrieve("What was wrong in SLIP-431?")


def search(memory):
    [tool, _] = CommonplaceToolSpec(memory).to_tool_list()
    return tool.acall(query="What was wrong in SLIP-431?")


def tell(memory):
    block = MemoryContextBlock(memory=memory, recall=3)
    return block.aget([ChatMessage(role="user", content="What was wrong in SLIP-431?")])


SEARCHES = [retrieve, search, tell]


@pytest.mark.parametrize("method", SEARCHES, ids=lambda method: method.__name__)
async def test_the_loop_turns_while_a_search_waits_for_its_embedder(open_memory, ticks, method):
    embedder = Gated(ticks)
    memory = open_memory(embedder)
    await asyncio.to_thread(memory.index)
    async with ticks:
        await method(memory)
    assert embedder.waited == 1


async def test_many_searches_at_once_are_all_answered(memory, ticks):
    async with ticks:
        answers = await asyncio.gather(*(retrieve(memory) for _ in range(20)))
    assert all(answer[0].node.node_id == answers[0][0].node.node_id for answer in answers)
