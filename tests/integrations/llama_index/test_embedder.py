"""`LlamaIndexEmbedder`: a LlamaIndex model in the core."""

from __future__ import annotations

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import Field
from llama_index.core.embeddings import MockEmbedding

from commonplace import Embedder
from commonplace.embeddings.base import ModelName
from commonplace.embeddings.client import EmbeddingClient
from commonplace.errors import EmbedderError
from llama_index_commonplace import LlamaIndexEmbedder
from support.fakes import HashedWords

WORDS = HashedWords(256)


class Words(BaseEmbedding):
    """Hashed words; a question is told from a document by a word in front."""

    api_base: str = "https://words.example/v1?key=secret"
    batches: list = Field(default_factory=list)

    def _get_text_embedding(self, text):
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts):
        self.batches.append(len(texts))
        return WORDS.embed_documents(texts)

    def _get_query_embedding(self, query):
        return WORDS.embed_query(f"question {query}")

    async def _aget_query_embedding(self, query):
        raise AssertionError("the core is synchronous")


def test_documents_and_queries_are_embedded_each_in_their_way():
    embedder = LlamaIndexEmbedder(Words(model_name="words"))
    assert isinstance(embedder, Embedder)
    assert embedder.embed_documents(["a b", "c"]) == WORDS.embed_documents(["a b", "c"])
    assert embedder.embed_documents([]) == []
    assert embedder.embed_query("a b") == WORDS.embed_query("question a b")


def test_texts_go_to_the_model_in_its_batches():
    model = Words(model_name="words", embed_batch_size=4)
    LlamaIndexEmbedder(model).embed_documents([str(n) for n in range(10)])
    assert model.batches == [4, 4, 2]


def test_its_identity_is_the_models_class_name_and_place():
    named = EmbeddingClient(LlamaIndexEmbedder(Words(model_name="words"))).name
    assert (named.provider, named.model) == ("Words", "words")
    assert named.endpoint
    assert "secret" not in repr(named)
    assert EmbeddingClient(LlamaIndexEmbedder(Words())).name.model == "Words"
    mock = EmbeddingClient(LlamaIndexEmbedder(MockEmbedding(embed_dim=8))).name
    assert mock == ModelName("MockEmbedding", "MockEmbedding")
    told = LlamaIndexEmbedder(Words(model_name="words"), model_id="words with instruction")
    assert EmbeddingClient(told).name.model == "words with instruction"


def test_deployments_of_azure_are_told_apart():
    class Azure(Words):
        azure_endpoint: str
        azure_deployment: str

    names = {
        EmbeddingClient(
            LlamaIndexEmbedder(
                Azure(
                    model_name="text-embedding-ada-002",
                    azure_endpoint=f"https://{resource}.example",
                    azure_deployment=deployment,
                )
            )
        ).name
        for resource, deployment in (("one", "small"), ("one", "large"), ("two", "small"))
    }
    assert len(names) == 3


def test_anything_else_is_refused_at_once():
    with pytest.raises(EmbedderError, match=r"takes a LlamaIndex BaseEmbedding.*HashedWords"):
        LlamaIndexEmbedder(HashedWords())


def test_the_core_searches_with_its_vectors(open_memory):
    memory = open_memory(LlamaIndexEmbedder(Words(model_name="words")))
    report = memory.index()
    assert report.embedded > 10
    assert not report.failed
    found = memory.search("What was wrong in SLIP-431?", explain=True)
    assert (found.mode, found.provider, found.model) == ("hybrid", "Words", "words")
    assert found[0].explanation.vector is not None
    assert memory.index(force=True).embedded == 0


@pytest.mark.slow
def test_a_model_that_fails_leaves_keyword_search(open_memory):
    class Broken(Words):
        def _get_query_embedding(self, query):
            raise ConnectionError("no network")

    memory = open_memory(LlamaIndexEmbedder(Broken(model_name="broken")))
    found = memory.search("What was wrong in SLIP-431?")
    assert found.mode == "keyword"
    assert "no network" in found.fallback
    assert "off-by-one" in found[0].snippet
