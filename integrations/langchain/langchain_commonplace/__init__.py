"""Commonplace for LangChain: a retriever, tools, and middleware for agents.

::

    from commonplace import Memory
    from langchain.agents import create_agent
    from langchain_commonplace import ChatMemory, MemoryContextMiddleware, memory_tools

    memory = Memory.open("notes")
    agent = create_agent(
        model,
        tools=memory_tools(memory, write=True),
        middleware=[MemoryContextMiddleware(memory=memory), ChatMemory(model, memory=memory)],
    )

A workspace is one circle of trust. For many users, each has a workspace of a pool, and ``memory=``
takes a function from a run's configuration to its memory::

    pool = MemoryPool("users")
    tools = memory_tools(pool.resolver("user_id"))
    agent.invoke(question, config={"configurable": {"user_id": "alice", "thread_id": "1"}})
"""

from commonplace.errors import MissingExtraError

try:
    from langchain_commonplace.chat_memory import ChatMemory
    from langchain_commonplace.context_middleware import MemoryContextMiddleware
    from langchain_commonplace.flush_middleware import MemoryFlushMiddleware
    from langchain_commonplace.overlaps import merge_overlaps
    from langchain_commonplace.reranker import as_reranker
    from langchain_commonplace.retriever import CommonplaceRetriever
    from langchain_commonplace.store import CommonplaceStore
    from langchain_commonplace.tools import (
        MemoryAppendTool,
        MemoryCorrectTool,
        MemoryDeleteTool,
        MemoryEditTool,
        MemoryGetTool,
        MemorySearchTool,
        memory_tools,
    )
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("langchain", "langchain_core", "langgraph"):
        raise
    raise MissingExtraError(
        "langchain_commonplace needs langchain, 1.2.18 or newer, which is not installed; "
        "pip install 'commonplace[langchain]'"
    ) from error

__all__ = [
    "ChatMemory",
    "CommonplaceRetriever",
    "CommonplaceStore",
    "MemoryAppendTool",
    "MemoryContextMiddleware",
    "MemoryCorrectTool",
    "MemoryDeleteTool",
    "MemoryEditTool",
    "MemoryFlushMiddleware",
    "MemoryGetTool",
    "MemorySearchTool",
    "as_reranker",
    "memory_tools",
    "merge_overlaps",
]
