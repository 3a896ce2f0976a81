"""`MemoryNode`: a search result as LlamaIndex's retrievers hand it around."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from commonplace import SearchResult

__all__ = ["MemoryNode", "scored_node"]

_PART_CHARS = 200
"""A snippet of one line below it is taken for the whole line."""


class MemoryNode(TextNode):
    """A snippet of the memory, whose id is its citation, ``path#L3-L9``.

    Several parts of one long line have one citation: a mark of the text tells their ids apart.

    Its hash is that of the place and the text. That of a plain `TextNode` covers the metadata,
    where the score parts differ from query to query: `QueryFusionRetriever`, which compares
    hashes, would not know a snippet again that two queries found.
    """

    @property
    def hash(self) -> str:
        """SHA-256 of the place and the text."""
        identity = f"{self.id_}\n{self.text}"
        return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()


def scored_node(result: SearchResult, *, cited: bool = True) -> NodeWithScore:
    """Make a node of a search result.

    Args:
        result: The result; with its explanation, the score parts are in the metadata, too.
        cited: Whether a model that is shown the node with its metadata sees the citation.
    """
    metadata = _metadata(result)
    shown = [name for name in ("citation", "heading") if metadata[name]]
    node = MemoryNode(
        id_=_place(result),
        text=result.snippet,
        extra_info=metadata,  # the alias of `metadata`, which type checkers ask for
        excluded_llm_metadata_keys=[
            name for name in metadata if name not in shown or (name == "citation" and not cited)
        ],
        excluded_embed_metadata_keys=list(metadata),
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=result.path)},
    )
    return NodeWithScore(node=node, score=result.score)


def _place(result: SearchResult) -> str:
    """Return the citation; with a mark of the text where other parts of a long line share it."""
    if result.start_line != result.end_line or len(result.snippet) < _PART_CHARS:
        return result.citation
    digest = hashlib.sha256(result.snippet.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{result.citation}~{digest[:8]}"


def _metadata(result: SearchResult) -> dict[str, Any]:
    """Describe a result in texts and numbers only: vector stores refuse anything else."""
    parts = dataclasses.asdict(result.explanation) if result.explanation else {}
    if parts:
        parts["terms"] = " ".join(parts["terms"])
    return {
        "citation": result.citation,
        "heading": result.heading,
        "path": result.path,
        "start_line": result.start_line,
        "end_line": result.end_line,
        "source": result.source,
        "score": result.score,
        **parts,
    }
