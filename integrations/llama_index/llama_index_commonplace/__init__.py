"""Commonplace for LlamaIndex: a retriever, tools, chat memory, and any embedding model.

::

    from commonplace import Memory
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index_commonplace import ChatMemory, CommonplaceRetriever, CommonplaceToolSpec

    memory = Memory.open("notes")
    query_engine = RetrieverQueryEngine.from_args(CommonplaceRetriever(memory=memory), llm=llm)
    agent = FunctionAgent(tools=CommonplaceToolSpec(memory).to_tool_list(), llm=llm)
    await agent.run("...", memory=ChatMemory.from_defaults(memory, llm=llm, token_limit=100_000))
"""

from commonplace.errors import MissingExtraError

try:
    from llama_index_commonplace.chat_memory import ChatMemory
    from llama_index_commonplace.context_block import MemoryContextBlock
    from llama_index_commonplace.embedder import LlamaIndexEmbedder
    from llama_index_commonplace.flush_block import FlushMemoryBlock
    from llama_index_commonplace.nodes import MemoryNode
    from llama_index_commonplace.overlap_postprocessor import OverlapPostprocessor
    from llama_index_commonplace.reranker import as_reranker
    from llama_index_commonplace.retriever import CommonplaceRetriever
    from llama_index_commonplace.tool import MemoryTool
    from llama_index_commonplace.tool_spec import CommonplaceToolSpec
except ModuleNotFoundError as error:
    if error.name not in ("llama_index", "llama_index.core"):
        raise
    raise MissingExtraError(
        "llama_index_commonplace needs llama-index-core, which is not installed; "
        "pip install 'commonplace[llama-index]'"
    ) from error

__all__ = [
    "ChatMemory",
    "CommonplaceRetriever",
    "CommonplaceToolSpec",
    "FlushMemoryBlock",
    "LlamaIndexEmbedder",
    "MemoryContextBlock",
    "MemoryNode",
    "MemoryTool",
    "OverlapPostprocessor",
    "as_reranker",
]
