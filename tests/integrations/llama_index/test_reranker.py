"""`as_reranker`: LlamaIndex's postprocessors order what a memory finds."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.postprocessor import LLMRerank, LongContextReorder
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, TextNode

from commonplace import Memory
from llama_index_commonplace import as_reranker

PLACES = ("garden", "kitchen", "attic", "cellar", "shed")


class AboutTheAttic(BaseNodePostprocessor):
    """A deterministic reranker that returns the best nodes only."""

    top_n: int = 2

    def _postprocess_nodes(self, nodes, query_bundle=None):
        assert query_bundle.query_str == "where is the ladder?"
        for node in nodes:
            node.score = 0.9 if "attic" in node.node.get_content() else 0.1
        return sorted(nodes, key=lambda node: -node.score)[: self.top_n]


class Foreign(BaseNodePostprocessor):
    """A postprocessor that returns nodes of its own."""

    def _postprocess_nodes(self, nodes, query_bundle=None):
        return [NodeWithScore(node=TextNode(text="something else"))]


class Judge(CustomLLM):
    """A language model that rates the document about the attic, and one other."""

    @property
    def metadata(self):
        return LLMMetadata()

    def complete(self, prompt, formatted=False, **options):
        asked = prompt.partition("try this now")[2]  # behind the example
        documents = re.findall(r"Document (\d+):\n([^\n]*)", asked)
        attic = next(number for number, text in documents if "in the attic" in text)
        other = next(number for number, text in documents if "in the shed" in text)
        return CompletionResponse(text=f"Doc: {attic}, Relevance: 9\nDoc: {other}, Relevance: 4\n")

    def stream_complete(self, prompt, formatted=False, **options):
        raise NotImplementedError


@pytest.fixture
def search(tmp_path):
    (tmp_path / "memory").mkdir()
    for place in PLACES:
        (tmp_path / f"memory/{place}.md").write_text(f"- The ladder is in the {place}.\n")

    def asked(reranker):
        with Memory.open(tmp_path, embedder=None, index="memory://", reranker=reranker) as memory:
            return memory.search("where is the ladder?", explain=True, min_score=0)

    return asked


def paths(results):
    return [result.path for result in results]


def given(results):
    return [result.explanation.rerank for result in results]


def test_a_postprocessor_puts_its_best_first_and_the_others_follow(search):
    results = search(as_reranker(AboutTheAttic()))
    assert results[0].path == "memory/attic.md"
    assert given(results) == [0.9, 0.1, -0.9, -0.9, -0.9]
    best, others = paths(results)[:2], paths(results)[2:]
    assert others == [path for path in paths(search(None)) if path not in best]
    assert "reranker" not in results.fallback


def test_llamaindexs_own_reranker_by_a_language_model(search):
    results = search(as_reranker(LLMRerank(llm=Judge(), choice_batch_size=50, top_n=2)))
    assert paths(results)[:2] == ["memory/attic.md", "memory/shed.md"]
    assert given(results) == [9.0, 4.0, 3.0, 3.0, 3.0]


def test_a_postprocessor_without_scores_counts_by_its_order(search):
    results = search(as_reranker(LongContextReorder()))
    assert given(results) == [5.0, 4.0, 3.0, 2.0, 1.0]
    assert sorted(paths(results)) == sorted(paths(search(None)))


def test_a_postprocessor_that_returns_other_nodes_fails_and_is_reported(search):
    results = search(as_reranker(Foreign()))
    assert paths(results) == paths(search(None))
    assert "a node that it was not given" in results.fallback


def test_anything_else_is_refused():
    with pytest.raises(TypeError, match="as_reranker takes a BaseNodePostprocessor"):
        as_reranker(lambda query, passages: [])
