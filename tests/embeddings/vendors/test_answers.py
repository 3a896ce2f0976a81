"""What is sent to each vendor, and what becomes of its answer."""

import base64
import struct
import sys

import numpy as np
import pytest

from commonplace.embeddings.base import Provider
from commonplace.embeddings.providers import openai
from commonplace.embeddings.requests import pack
from commonplace.errors import EmbedderError
from commonplace.settings import EmbeddingSettings
from support.loopback_clients import CLIENTS, KEY, KEYS, expected
from support.loopback_vendors import LoopbackVendor

pytestmark = pytest.mark.vendors

TEXTS = ["the VPN listens on 51820", "the cat is called Miso", "日本語 und Größe 🎉"]

DEFAULT_MODELS = {
    "gemini": "gemini-embedding-001",
    "mistral": "mistral-embed",
    "ollama": "nomic-embed-text",
    "openai": "text-embedding-3-small",
    "voyage": "voyage-4-large",
}


def model_asked(vendor):
    asked = vendor.server.requests[-1]
    return asked.body.get("model") or asked.path.partition("models/")[2].partition(":")[0]


@pytest.mark.slow
def test_texts_become_the_vectors_that_the_server_made(vendor):
    assert np.allclose(vendor.client().embed_documents(TEXTS), expected(TEXTS), atol=1e-6)


def test_a_query_becomes_the_vector_that_the_server_made(vendor):
    assert np.allclose(vendor.client().embed_query(TEXTS[0]), expected(TEXTS[:1])[0], atol=1e-6)


def test_the_reference_s_model_is_asked_unless_another_one_is_named(vendor):
    vendor.client().embed_query("x")
    assert model_asked(vendor) == DEFAULT_MODELS[vendor.name]
    vendor.client(f"{vendor.name}:another-one").embed_query("x")
    assert model_asked(vendor) == "another-one"


def test_one_call_is_one_request(vendor):
    provider = vendor.client().embedder
    texts = [f"text {n}" for n in range(provider.limits.max_texts)]
    assert len(provider.embed_documents(texts)) == len(texts)
    assert len(vendor.server.requests) == 1


def test_many_texts_take_the_least_possible_requests(vendor):
    texts = [f"note {n}: " + "word " * (n % 50) for n in range(300)]
    client = vendor.client()
    assert np.allclose(client.embed_documents(texts), expected(texts), atol=1e-6)
    assert sorted(vendor.server.texts) == sorted(texts)
    assert len(vendor.server.requests) == len(list(pack(texts, client.limits)))


def test_the_length_of_vectors_can_be_chosen(vendor):
    client = vendor.client(dimensions=16)
    assert client.dimension == 16
    assert np.allclose(client.embed_documents(TEXTS), expected(TEXTS, 16), atol=1e-6)


def test_the_key_and_the_headers_of_the_settings_are_sent(vendor):
    vendor.client().embed_query("x")
    headers = vendor.server.requests[-1].headers
    assert headers["x-gateway"] == "open-sesame-1234"
    assert headers.get("x-goog-api-key", headers.get("authorization")) in (KEY, f"Bearer {KEY}")


def test_the_key_can_come_from_another_variable(vendor, monkeypatch):
    monkeypatch.setenv("TEAM_KEY", "sk-of-the-team\n")
    vendor.client(api_key_env="TEAM_KEY").embed_query("x")
    headers = vendor.server.requests[-1].headers
    assert "sk-of-the-team" in (headers.get("x-goog-api-key") or headers["authorization"])


def test_a_server_of_one_s_own_needs_no_key(vendor, monkeypatch):
    monkeypatch.delenv(KEYS[vendor.name])
    assert vendor.client().embed_query("x").shape == (32,)


def test_documents_and_queries_are_told_apart_where_the_vendor_does(vendor):
    client = vendor.client()
    client.embed_documents(["a note"])
    document = vendor.server.requests[-1].body
    client.embed_query("a question")
    query = vendor.server.requests[-1].body
    if vendor.name == "gemini":
        assert document["requests"][0]["taskType"] == "RETRIEVAL_DOCUMENT"
        assert query["requests"][0]["taskType"] == "RETRIEVAL_QUERY"
    elif vendor.name == "voyage":
        assert (document["input_type"], query["input_type"]) == ("document", "query")
    else:
        assert document.keys() == query.keys()


def test_base_url_and_length_are_part_of_the_name_and_do_not_show_in_it(vendor):
    plain, shorter = vendor.client(), vendor.client(dimensions=16)
    elsewhere = vendor.client(base_url=f"{vendor.server.base_url}/proxy")
    assert len({plain.name, shorter.name, elsewhere.name}) == 3
    assert "127.0.0.1" not in repr(elsewhere.name)
    assert vendor.client(base_url=f"{vendor.server.base_url}/").name == plain.name


def test_every_provider_is_one(vendor):
    provider = vendor.client().embedder
    declared = {*Provider.__annotations__, "embed_documents", "embed_query"}
    assert all(hasattr(provider, name) for name in declared)


@pytest.mark.parametrize("name", sorted(CLIENTS))
def test_without_a_base_url_a_missing_key_is_told_by_its_variable(name, clients):
    if name == "ollama":
        pytest.skip("ollama takes no key")
    pytest.importorskip(CLIENTS[name], reason=f"commonplace[{name}] is missing")
    with pytest.raises(EmbedderError, match=KEYS[name]):
        clients(name)


@pytest.mark.parametrize("name", sorted(CLIENTS))
def test_a_missing_extra_is_told_with_the_command_that_installs_it(name, monkeypatch, clients):
    monkeypatch.setitem(sys.modules, CLIENTS[name], None)
    monkeypatch.setenv(KEYS[name], KEY)
    with pytest.raises(EmbedderError, match=rf"pip install 'commonplace\[{name}\]'"):
        clients(name)


def test_the_price_is_that_of_the_vendor_and_not_that_of_another_server(
    vendor, monkeypatch, clients
):
    monkeypatch.setenv(KEYS[vendor.name], KEY)
    own = clients(vendor.name)
    assert own.price == 0 if vendor.name == "ollama" else 0 < own.price < 1
    assert vendor.client().price == (0 if vendor.name == "ollama" else None)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("gemini", ""),
        ("gemini", "/v1beta"),
        ("gemini", "/v1beta/"),
        ("mistral", ""),
        ("mistral", "/v1"),
        ("ollama", ""),
        ("ollama", "/v1"),
        ("ollama", "/api/"),
    ],
)
def test_a_base_url_may_be_written_with_the_protocol_s_version_or_without(name, written, clients):
    pytest.importorskip(CLIENTS[name])
    with LoopbackVendor(name) as server:
        settings = EmbeddingSettings(provider=name, base_url=server.root + written)
        client = clients(name, settings)
        assert client.embed_query("x").shape == (32,)


def test_openai_s_own_endpoint_is_asked_for_a_quarter_of_the_bytes(monkeypatch, clients):
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LoopbackVendor("openai") as server:
        client = clients("openai")
        openai_client = openai.OpenAIEmbedder._connect(client.embedder).with_options(
            base_url=server.base_url, max_retries=0
        )
        client.embedder.client._made = openai_client
        assert np.allclose(client.embed_documents(TEXTS), expected(TEXTS), atol=1e-6)
        assert server.requests[-1].body["encoding_format"] == "base64"


def test_a_vector_comes_as_numbers_or_as_base64_of_little_endian_floats():
    from commonplace.embeddings.providers.common import vector_of

    packed = base64.b64encode(struct.pack("<3f", 1.0, -2.0, 0.5)).decode()
    assert vector_of(packed).tolist() == vector_of([1.0, -2.0, 0.5]).tolist() == [1.0, -2.0, 0.5]


def test_variables_that_name_another_endpoint_are_followed(monkeypatch, clients):
    pytest.importorskip("ollama")
    with LoopbackVendor("ollama") as server:
        monkeypatch.setenv("OLLAMA_HOST", server.root)
        client = clients("ollama")
        assert client.embed_query("x").shape == (32,)
        assert client.name.endpoint == ""


def test_an_openai_base_url_of_the_environment_is_part_of_the_name(monkeypatch, clients):
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LoopbackVendor("openai") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        client = clients("openai")
        assert client.embed_query("x").shape == (32,)
        assert client.name.endpoint


def test_langchain_s_openai_embeddings_need_no_vocabulary_when_told_so(clients):
    langchain_openai = pytest.importorskip("langchain_openai")
    with LoopbackVendor("openai") as server:
        theirs = langchain_openai.OpenAIEmbeddings(
            base_url=server.base_url, api_key=KEY, check_embedding_ctx_length=False
        )
        client = clients(theirs)
        assert np.allclose(client.embed_documents(TEXTS), expected(TEXTS), atol=1e-6)
        assert server.texts == TEXTS
