"""LangChain's rerankers as rerankers of a memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import BaseDocumentCompressor, Document

__all__ = ["as_reranker"]

_PASSAGE = "commonplace_passage"
"""Metadata key of a passage's number."""
_SCORE = "relevance_score"
"""Metadata key under which compressors return their scores."""


def as_reranker(
    reranker: BaseDocumentCompressor | BaseCrossEncoder,
) -> Callable[[str, Sequence[str]], list[float]]:
    """Return a reranker for `Memory.open`: ``reranker=as_reranker(CohereRerank(top_n=20))``.

    A compressor that returns fewer documents than it gets (`top_n`) puts those first; the others
    follow in the memory's own order. Only its sync method is called, in a thread of its own.

    Args:
        reranker: A document compressor that reranks, or a cross-encoder.

    Raises:
        TypeError: It is neither.
    """
    if isinstance(reranker, BaseCrossEncoder):
        encoder = reranker
        return lambda query, passages: encoder.score([(query, text) for text in passages])
    if not isinstance(reranker, BaseDocumentCompressor):
        raise TypeError(
            f"as_reranker takes a BaseDocumentCompressor or a BaseCrossEncoder of LangChain, such "
            f"as CohereRerank(); it was given {type(reranker).__name__}."
        )
    compressor = reranker

    def scores(query: str, passages: Sequence[str]) -> list[float]:
        documents = [
            Document(page_content=text, metadata={_PASSAGE: number})
            for number, text in enumerate(passages)
        ]
        found = compressor.compress_documents(documents, query)
        return _scores(found, len(passages))

    return scores


def _scores(found: Sequence[Document], count: int) -> list[float]:
    """Return a score for each passage: a compressor's own, if they have its order, or ranks."""
    given = [document.metadata.get(_SCORE) for document in found]
    own = [float(score) for score in given if isinstance(score, int | float)]
    if len(own) < len(found) or own != sorted(own, reverse=True):
        own = [float(len(found) - place) for place in range(len(found))]
    scores = [min(own, default=0.0) - 1.0] * count
    for document, score in zip(found, own, strict=True):
        number = document.metadata.get(_PASSAGE)
        if not isinstance(number, int) or not 0 <= number < count:
            raise ValueError("the compressor returned a document without the metadata it was given")
        scores[number] = score
    return scores
