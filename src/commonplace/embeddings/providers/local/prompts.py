"""Prompts of embedding models: what a model was trained to see before a query and a document.

The metadata of a GGUF file has the model's name and architecture and no prompts; these are from the
models' own descriptions. A model that is not known here gets none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Prompts", "prompts_of"]


@dataclass(frozen=True, slots=True)
class Prompts:
    """Texts before each query and each document."""

    query: str = ""
    document: str = ""


_PASSAGES = Prompts(query="Represent this sentence for searching relevant passages: ")
_INSTRUCTION = Prompts(
    query="Instruct: Given a web search query, retrieve relevant passages that answer the query\n"
    "Query: "
)

_RULES: tuple[tuple[str, Prompts], ...] = (
    (
        r"embedding-?gemma|gemma-embedding",
        Prompts("task: search result | query: ", "title: none | text: "),
    ),
    (r"nomic-embed|nomic-bert", Prompts("search_query: ", "search_document: ")),
    (r"qwen3-embedding|\be5-.*instruct|\be5-mistral", _INSTRUCTION),
    (r"\be5-", Prompts("query: ", "passage: ")),
    (r"\bbge-(?:m3|multilingual|reranker)", Prompts()),
    (r"\bbge-.*-zh", Prompts(query="为这个句子生成表示以用于检索相关文章：")),
    (r"arctic-embed-.*v2", Prompts(query="query: ")),
    (r"\bbge-|mxbai-embed|arctic-embed", _PASSAGES),
)
"""Patterns of names, the first that fits counts."""


def prompts_of(*names: str) -> Prompts:
    """Return the prompts for a model.

    Args:
        names: Its names and architecture, and the name of its file.
    """
    for name in names:
        words = re.sub(r"[\s_]+", "-", name.lower())
        for pattern, prompts in _RULES:
            if re.search(pattern, words):
                return prompts
    return Prompts()
