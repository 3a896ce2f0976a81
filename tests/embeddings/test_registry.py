import pytest

from commonplace.embeddings.base import ModelName
from commonplace.embeddings.bundled import BundledEmbedder, is_available
from commonplace.embeddings.registry import choose
from commonplace.errors import EmbedderError
from commonplace.settings import EmbeddingSettings
from fakes import HashedWords

bundled = pytest.mark.skipif(not is_available(), reason="wordllama has no wheel here")


def chosen(wanted, *, configured="auto", model=None, built_with=None):
    settings = EmbeddingSettings(provider=configured, model=model)
    return choose(wanted, settings=settings, built_with=built_with)


@pytest.mark.parametrize("wanted", [None, "none"])
def test_without_an_embedder_words_are_searched_and_it_is_said_why(wanted):
    choice = chosen(wanted)
    assert choice.encoder is None
    assert "keywords" in choice.reason


def test_an_object_is_used_as_it_is():
    embedder = HashedWords()
    assert chosen(embedder).encoder.embedder is embedder


@bundled
@pytest.mark.parametrize("wanted", ["auto", "bundled", f"bundled:{BundledEmbedder.name.model}"])
def test_the_bundled_vectors_can_be_had_by_name_and_are_the_default(wanted):
    assert chosen(wanted).encoder.name == BundledEmbedder.name


@bundled
def test_what_the_settings_name_stands_in_for_auto():
    assert chosen("auto", configured="none").encoder is None
    assert chosen("bundled", configured="none").encoder.name == BundledEmbedder.name


@bundled
def test_auto_says_that_it_keeps_what_the_index_was_built_with():
    assert "built with bundled" in chosen("auto", built_with=BundledEmbedder.name).reason


@bundled
def test_auto_takes_the_next_best_when_what_the_index_was_built_with_is_gone():
    for gone in (ModelName("bundled", "older"), ModelName("MyEmbeddings", "mine")):
        assert chosen("auto", built_with=gone).encoder.name == BundledEmbedder.name


def test_an_unknown_provider_is_told_with_those_that_are_known():
    with pytest.raises(EmbedderError, match=r"no embedder 'opnai'.*bundled"):
        chosen("opnai:x")


def test_an_unknown_bundled_model_is_told():
    with pytest.raises(EmbedderError, match="no bundled model 'other'"):
        chosen("bundled:other")


def test_sentence_transformers_needs_a_model_and_the_extra():
    with pytest.raises(EmbedderError, match=r"pip install|needs a model"):
        chosen("sentence-transformers")
