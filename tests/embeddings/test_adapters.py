"""Any object that embeds."""

import asyncio
import threading

import pytest

from commonplace import Memory
from commonplace.embeddings.adapters import EmbedderAdapter
from commonplace.embeddings.client import EmbeddingClient
from commonplace.errors import EmbedderError
from commonplace.settings import EmbeddingSettings
from support.fakes import HashedWords


class Plain(HashedWords):
    is_local = False


class Async:
    """Its methods run on one event loop and notice when it is another one."""

    def __init__(self):
        self.loops = set()
        self.under_way = self.most = 0

    async def embed_documents(self, texts):
        self.loops.add(asyncio.get_running_loop())
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0.02)
        self.under_way -= 1
        return [[1.0, float(len(text))] for text in texts]

    async def embed_query(self, text):
        return (await self.embed_documents([text]))[0]


def test_an_async_object_is_used_from_any_thread_on_one_loop():
    embedder = Async()
    clients = [EmbeddingClient(embedder) for _ in range(2)]
    threads = [
        threading.Thread(target=clients[n % 2].embed_documents, args=([f"text {n}"],))
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for client in clients:
        client.close()
    assert len(embedder.loops) == 1


def test_an_async_object_is_used_inside_a_running_loop():
    client = EmbeddingClient(Async())

    async def inside():
        return client.embed_query("text")

    assert asyncio.run(inside()).shape == (2,)
    client.close()


def test_requests_to_an_async_object_are_under_way_together():
    embedder = Async()
    client = EmbeddingClient(embedder)
    client.embed_documents(["x" * 7000 + str(n) for n in range(12)])
    assert 1 < embedder.most <= 4
    client.close()


def test_the_loop_ends_with_its_last_user_and_comes_back():
    embedder = Async()
    for _ in range(3):
        client = EmbeddingClient(embedder)
        client.embed_query("text")
        client.close()
        client.close()
        assert not [t for t in threading.enumerate() if t.name == "commonplace-embeddings"]
    assert len(embedder.loops) == 1


def test_a_method_that_returns_something_awaitable_is_awaited():
    class Wrapped:
        def embed_documents(self, texts):
            return Async().embed_documents(texts)

        def embed_query(self, text):
            return Async().embed_query(text)

    client = EmbeddingClient(Wrapped())
    assert client.embed_documents(["a", "bb"]).shape == (2, 2)
    assert client.embed_query("a").shape == (2,)
    client.close()


def test_what_an_async_object_raises_is_told():
    class Failing(Async):
        async def embed_documents(self, texts):
            raise KeyError("no such model")

    client = EmbeddingClient(Failing())
    with pytest.raises(EmbedderError, match="no such model"):
        client.embed_query("a")
    client.close()


def test_an_object_with_one_half_of_the_methods_is_refused():
    class Half:
        def embed_documents(self, texts):
            return []

    with pytest.raises(EmbedderError, match=r"Half has no embed_query\(\)"):
        EmbeddingClient(Half())


def test_a_class_in_place_of_an_object_is_refused_when_the_memory_is_opened(tmp_path):
    with pytest.raises(EmbedderError) as caught:
        Memory.open(tmp_path, embedder=Plain)
    assert str(caught.value) == "Plain is a class; give an object of it: embedder=Plain(...)."


def test_requests_to_a_plain_object_are_small_and_one_at_a_time():
    limits = EmbedderAdapter(Plain()).limits
    assert (limits.max_bytes, limits.concurrency) == (8000, 1)
    embedder = Plain()
    EmbeddingClient(embedder).embed_documents([f"{n:04}" * 500 for n in range(20)])
    assert embedder.calls == 5


def test_how_many_requests_are_under_way_can_be_set():
    client = EmbeddingClient(Plain(), settings=EmbeddingSettings(concurrency=3))
    assert client.limits.concurrency == 3


def test_a_langchain_object_cuts_its_requests_itself():
    embeddings = pytest.importorskip("langchain_core.embeddings")
    fake = embeddings.DeterministicFakeEmbedding(size=8)
    assert EmbedderAdapter(fake).limits.max_bytes > 8000
    assert EmbeddingClient(fake).embed_documents(["a", "b"]).shape == (2, 8)


def test_an_object_in_this_process_is_asked_in_the_calling_thread():
    threads = []

    class Local(HashedWords):
        def embed_query(self, text):
            threads.append(threading.current_thread())
            return super().embed_query(text)

    EmbeddingClient(Local()).embed_query("text")
    assert threads == [threading.current_thread()]
