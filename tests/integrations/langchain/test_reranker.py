"""`as_reranker`: rerankers of LangChain order what a memory finds."""

from __future__ import annotations

from copy import deepcopy

import pytest

pytest.importorskip("langchain", reason="LangChain is not installed")

from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import BaseDocumentCompressor, Document

from commonplace import Memory
from langchain_commonplace import as_reranker

PLACES = ("garden", "kitchen", "attic", "cellar", "shed")


class AboutTheAttic(BaseCrossEncoder):
    """A deterministic cross-encoder."""

    def score(self, text_pairs):
        assert {query for query, _ in text_pairs} == {"where is the ladder?"}
        return [0.9 if "attic" in text else 0.1 for _, text in text_pairs]


class Scored(BaseDocumentCompressor):
    """A compressor that returns copies with scores, the best ones only, as services do."""

    top_n: int = 2

    def compress_documents(self, documents, query, callbacks=None):
        best = sorted(documents, key=lambda found: ("attic" not in found.page_content, found.id))
        return [
            Document(
                found.page_content, metadata={**deepcopy(found.metadata), "relevance_score": s}
            )
            for found, s in zip(best, (0.75, 0.25), strict=False)
        ]


class Bare(BaseDocumentCompressor):
    """A compressor that forgets the metadata."""

    def compress_documents(self, documents, query, callbacks=None):
        return [Document(found.page_content) for found in documents]


@pytest.fixture
def search(tmp_path):
    (tmp_path / "memory").mkdir()
    for place in PLACES:
        (tmp_path / f"memory/{place}.md").write_text(f"- The ladder is in the {place}.\n")

    def asked(reranker):
        with Memory.open(tmp_path, embedder=None, index="memory://", reranker=reranker) as memory:
            return memory.search("where is the ladder?", explain=True, min_score=0)

    return asked


def given(results):
    return [result.explanation.rerank for result in results]


def test_a_cross_encoder_orders_the_passages(search):
    results = search(as_reranker(AboutTheAttic()))
    assert results[0].path == "memory/attic.md"
    assert given(results) == [0.9, 0.1, 0.1, 0.1, 0.1]
    assert "reranker" not in results.fallback


def test_langchains_own_cross_encoder_reranker_puts_its_best_first(search):
    classic = pytest.importorskip("langchain_classic.retrievers.document_compressors")
    reranker = classic.CrossEncoderReranker(model=AboutTheAttic(), top_n=3)
    results = search(as_reranker(reranker))
    assert results[0].path == "memory/attic.md"
    assert len(results) == len(PLACES)  # those left out follow
    assert given(results) == [3.0, 2.0, 1.0, 0.0, 0.0]


def test_scores_of_a_compressor_are_kept(search):
    results = search(as_reranker(Scored()))
    assert results[0].path == "memory/attic.md"
    assert given(results) == [0.75, 0.25, -0.75, -0.75, -0.75]


def test_passages_left_out_keep_the_memorys_order(search):
    plain = [result.path for result in search(None)]
    reranked = [result.path for result in search(as_reranker(Scored()))]
    left = [path for path in plain if path not in reranked[:2]]
    assert reranked[2:] == left


def test_a_compressor_that_loses_the_documents_fails_and_is_reported(search):
    results = search(as_reranker(Bare()))
    assert [result.path for result in results] == [result.path for result in search(None)]
    assert "without the metadata" in results.fallback


def test_anything_else_is_refused():
    with pytest.raises(TypeError, match="as_reranker takes a BaseDocumentCompressor"):
        as_reranker(lambda query, passages: [])
