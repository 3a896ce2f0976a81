import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import commonplace.embeddings
from commonplace import Memory
from commonplace.embeddings.base import Embedder, ModelName
from commonplace.embeddings.client import EmbeddingClient
from commonplace.embeddings.registry import select
from commonplace.errors import EmbedderError
from commonplace.settings import EmbeddingSettings
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
    client = EmbeddingClient(Nonsense(NONSENSE[kind]))
    with pytest.raises(EmbedderError, match=r"fake:hashed-words gave .*its answer is not used"):
        client.embed_documents(["a", "b", "c"])


def test_a_dimension_that_changes_is_told():
    embedder = HashedWords(8)
    client = EmbeddingClient(embedder)
    client.embed_documents(["a"])
    embedder.length = 16
    with pytest.raises(EmbedderError, match="16 dimensions where it gave 8 before"):
        client.embed_documents(["a"])


def test_what_an_embedder_raises_is_told_in_one_line():
    with pytest.raises(EmbedderError, match="failed: the provider is down") as caught:
        EmbeddingClient(Raising()).embed_query("x")
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_a_single_zero_vector_among_others_is_near_to_nothing():
    client = EmbeddingClient(Nonsense(lambda vectors: [[0.0] * 64, *vectors[1:]]))
    matrix = client.embed_documents(["a", "b"])
    assert not matrix[0].any()
    assert np.isfinite(matrix).all()


def test_a_query_is_embedded_once():
    class Counting(HashedWords):
        queries = 0

        def embed_query(self, text):
            self.queries += 1
            return super().embed_query(text)

    embedder = Counting()
    client = EmbeddingClient(embedder)
    for _ in range(3):
        client.embed_query("the same")
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


class Holding:
    def __init__(self, **attributes):
        self.__dict__ |= attributes


class Cached(Holding):
    """As LangChain's `CacheBackedEmbeddings`, which has no name of its own."""


def test_a_cache_has_the_name_of_the_model_that_it_keeps_the_vectors_of():
    model = Holding(model="small", base_url="http://one")
    for name in ("underlying_embeddings", "base_embeddings"):
        assert ModelName.of(Cached(**{name: model})) == ModelName.of(model)
        assert ModelName.of(Cached(model_id="mine", **{name: model})).model == "mine"
    assert ModelName.of(mock.Mock(spec=Embedder)).model == "Mock"
    assert ModelName.of(mock.MagicMock()).model == "MagicMock"


def test_deployments_of_azure_are_told_apart():
    places = [
        {"azure_endpoint": "https://one", "deployment": "small"},
        {"azure_endpoint": "https://two", "deployment": "small"},
        {"azure_endpoint": "https://one", "deployment": "large"},
        {"azure_endpoint": "https://one", "azure_deployment": "tiny"},
        {"azure_endpoint": "https://one"},
        {},
    ]
    names = {ModelName.of(Holding(model="text-embedding-ada-002", **place)) for place in places}
    assert len(names) == len(places)


def test_the_names_by_which_indexes_were_built_stay():
    known = {"model": "small", "deployment": "text-embedding-ada-002", "dimensions": 256}
    assert ModelName.of(Holding(**known)).endpoint == ""
    for attribute in ("base_url", "openai_api_base", "api_base", "endpoint"):
        name = ModelName.of(Holding(**known, **{attribute: "http://127.0.0.1:8080/v1"}))
        assert name.endpoint == "75a5be964d6e0f34"


class Answering:
    """Embedder that has an attribute of every name, as a mock or a proxy may."""

    def __init__(self, attribute):
        self.attribute = attribute

    def __getattr__(self, name):
        if name.startswith("_") or name in ("dimension", "limits", "jobs", "close"):
            raise AttributeError(name)
        return self.attribute

    def embed_documents(self, texts):
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text):
        return [1.0, 0.0]


@pytest.mark.parametrize("attribute", [{}, None, "yes"])
def test_an_attribute_that_says_nothing_of_scripts_is_no_hindrance(tmp_path, attribute):
    (tmp_path / "MEMORY.md").write_text("- The gate code is 4711.\n")
    with Memory.open(tmp_path, embedder=Answering(attribute), index="memory://") as memory:
        assert memory.search("gate code").mode == "hybrid"


def test_an_error_about_a_script_costs_no_search(tmp_path):
    def refuse(text):
        raise ValueError(text)

    (tmp_path / "MEMORY.md").write_text("- The gate code is 4711.\n")
    with Memory.open(tmp_path, embedder=Answering(refuse), index="memory://") as memory:
        found = memory.search("gate code")
        assert (found.mode, "4711" in found[0].snippet) == ("keyword", True)


def test_a_provider_in_this_process_is_called_without_a_detour(tmp_path):
    """Counted by file: what a reader of a search with bundled vectors has to open."""
    folder = str(Path(commonplace.embeddings.__file__).parent)

    def entered(call):
        files = set()

        def note(frame, event, argument):
            name = frame.f_code.co_filename
            if event == "call" and name.startswith(folder):
                files.add(name[len(folder) + 1 :])

        sys.setprofile(note)
        try:
            call()
        finally:
            sys.setprofile(None)
        return files

    pytest.importorskip("wordllama", reason="no wheel for this platform")
    bundled = str(Path("providers", "bundled.py"))

    def selected():
        return select("bundled", settings=EmbeddingSettings(), built_with=None).client

    client = selected()
    client.embed_query("loaded")
    registry = {"registry.py", "model_files.py"}
    assert entered(selected) == {*registry, "client.py", "requests.py", bundled}
    assert entered(lambda: client.embed_query("loaded")) == {"client.py"}
    assert entered(lambda: client.embed_query("a query")) == {"client.py", bundled}
    documents = entered(lambda: client.embed_documents(["a text", "another"]))
    assert documents == {"client.py", "requests.py", bundled}
