import threading

import numpy as np
import pytest

from commonplace.embeddings.base import Embedder, ModelName
from commonplace.embeddings.client import EmbeddingClient
from commonplace.embeddings.providers.bundled import BundledEmbedder, is_available
from commonplace.errors import EmbedderError
from support.fakes import NONSENSE, HashedWords, Nonsense, Raising


def test_vectors_are_float32_of_length_one():
    matrix = EmbeddingClient(HashedWords()).embed_documents(["one two", "two three three"])
    assert matrix.dtype == np.float32
    assert matrix.shape == (2, 64)
    assert np.allclose(np.linalg.norm(matrix, axis=1), 1.0)


def test_no_text_gives_no_vector():
    assert EmbeddingClient(HashedWords()).embed_documents([]).shape == (0, 0)


@pytest.mark.parametrize("kind", NONSENSE)
def test_an_answer_that_makes_no_sense_is_told_and_not_used(kind):
    encoder = EmbeddingClient(Nonsense(NONSENSE[kind]))
    with pytest.raises(EmbedderError, match=r"fake:hashed-words gave .*its answer is not used"):
        encoder.embed_documents(["a", "b", "c"])


def test_a_dimension_that_changes_is_told():
    embedder = HashedWords(8)
    encoder = EmbeddingClient(embedder)
    encoder.embed_documents(["a"])
    embedder.length = 16
    with pytest.raises(EmbedderError, match="16 dimensions where it gave 8 before"):
        encoder.embed_documents(["a"])


def test_what_an_embedder_raises_is_told_in_one_line():
    with pytest.raises(EmbedderError, match="failed: the provider is down") as caught:
        EmbeddingClient(Raising()).embed_query("x")
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_a_single_zero_vector_among_others_is_near_to_nothing():
    encoder = EmbeddingClient(Nonsense(lambda vectors: [[0.0] * 64, *vectors[1:]]))
    matrix = encoder.embed_documents(["a", "b"])
    assert not matrix[0].any()
    assert np.isfinite(matrix).all()


def test_a_query_is_embedded_once():
    class Counting(HashedWords):
        queries = 0

        def embed_query(self, text):
            self.queries += 1
            return super().embed_query(text)

    embedder = Counting()
    encoder = EmbeddingClient(embedder)
    for _ in range(3):
        encoder.embed_query("the same")
    assert embedder.queries == 1


def test_an_object_without_the_methods_is_refused_at_once():
    with pytest.raises(EmbedderError, match="dict has no embed_documents"):
        EmbeddingClient({})


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"model_id": "a", "model": "b"}, ("Named", "a")),
        ({"model": "b", "model_name": "c"}, ("Named", "b")),
        ({"model_name": "c"}, ("Named", "c")),
        ({"model": object()}, ("Named", "Named")),
        ({"provider": "openai", "model": "b"}, ("openai", "b")),
    ],
)
def test_an_object_is_named_by_its_model_else_by_its_class(attributes, expected):
    name = ModelName.of(type("Named", (), attributes)())
    assert (name.provider, name.model) == expected


def test_an_endpoint_tells_models_apart_without_being_told():
    class Remote(HashedWords):
        base_url = "https://user:secret@example.org"

    name = ModelName.of(Remote())
    assert name.endpoint
    assert "secret" not in name.endpoint
    assert name != ModelName.of(HashedWords())


bundled = pytest.mark.skipif(not is_available(), reason="wordllama has no wheel here")


@bundled
def test_the_bundled_vectors_are_an_embedder():
    assert isinstance(BundledEmbedder(), Embedder)


@bundled
@pytest.mark.parametrize("text", ["", " ", "---", "🎉", "日本語", "\0", "x" * 100_000])
def test_the_bundled_embedder_takes_any_text(text):
    matrix = BundledEmbedder().embed_documents([text, "a word"])
    assert matrix.dtype == np.float32
    assert matrix.shape == (2, 256)
    assert np.isfinite(matrix).all()


@bundled
def test_bundled_vectors_of_like_texts_are_nearer_than_those_of_others():
    embedder = BundledEmbedder()
    cat, kitten, invoice = embedder.embed_documents(
        ["the cat sleeps", "a kitten is asleep", "the invoice is due on Monday"]
    )
    assert cat @ kitten > cat @ invoice


@bundled
def test_the_bundled_vectors_load_once_for_all_threads():
    embedder = BundledEmbedder()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(embedder.embed_query("one text")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(np.array_equal(found[0], vector) for vector in found)
