"""LlamaIndex's rerankers as rerankers of a memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, TextNode

__all__ = ["as_reranker"]


def as_reranker(
    reranker: BaseNodePostprocessor,
) -> Callable[[str, Sequence[str]], list[float]]:
    """Return a reranker for `Memory.open`: ``reranker=as_reranker(LLMRerank(top_n=20))``.

    A postprocessor that returns fewer nodes than it gets (`top_n`) puts those first; the others
    follow in the memory's own order. Only its sync method is called, in a thread of its own.

    Args:
        reranker: A node postprocessor that reranks.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(reranker, BaseNodePostprocessor):
        raise TypeError(
            f"as_reranker takes a BaseNodePostprocessor of LlamaIndex, such as LLMRerank(); it was "
            f"given {type(reranker).__name__}."
        )

    def scores(query: str, passages: Sequence[str]) -> list[float]:
        nodes = [
            NodeWithScore(node=TextNode(id_=str(number), text=text))
            for number, text in enumerate(passages)
        ]
        found = reranker.postprocess_nodes(nodes, query_str=query)
        return _scores(found, len(passages))

    return scores


def _scores(found: Sequence[NodeWithScore], count: int) -> list[float]:
    """Return a score for each passage: a postprocessor's own, if they have its order, or ranks."""
    own = [node.score for node in found if node.score is not None]
    if len(own) < len(found) or own != sorted(own, reverse=True):
        own = [float(len(found) - place) for place in range(len(found))]
    scores = [min(own, default=0.0) - 1.0] * count
    for node, score in zip(found, own, strict=True):
        number = node.node.node_id
        if not number.isdecimal() or int(number) >= count:
            raise ValueError("the postprocessor returned a node that it was not given")
        scores[int(number)] = score
    return scores
