"""Queries over a network: a deadline, the retry policy of all requests, a circuit breaker."""

import threading

import pytest

from commonplace.embeddings import retry
from commonplace.embeddings.client import EmbeddingClient
from commonplace.embeddings.retry import RetryPolicy, ServiceState
from commonplace.errors import EmbedderError
from commonplace.settings import EmbeddingSettings
from support.fakes import HashedWords, StatusError
from support.loopback_clients import Clock
from support.waiting import wait_for

PASSING = [StatusError(500), StatusError(429), ConnectionResetError()]
FOR_GOOD = [StatusError(401), StatusError(402), StatusError(429, "insufficient_quota")]


class Remote(HashedWords):
    """Fails as a script says, then answers."""

    is_local = False

    def __init__(self, *script):
        super().__init__()
        self.script = list(script)
        self.asked = []

    def embed_query(self, text):
        self.asked.append(text)
        if self.script and (failure := self.script.pop(0)):
            raise failure
        return super().embed_query(text)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def made(clock):
    """Make clients whose waits take no time; the texts of queries differ, or a cache answers."""
    found = []

    def make(embedder, *, sleep=clock.sleep, **settings):
        client = EmbeddingClient(embedder, settings=EmbeddingSettings(**settings))
        client._remote.service = ServiceState(clock=clock, sleep=sleep)
        found.append(client)
        return client

    yield make
    for client in found:
        client.close()


@pytest.mark.parametrize("failure", PASSING, ids=repr)
def test_a_query_is_retried_within_its_deadline(made, failure):
    embedder = Remote(failure, failure)
    assert made(embedder).embed_query("a").shape == (64,)
    assert len(embedder.asked) == 3


def test_three_failed_attempts_open_the_circuit_for_half_a_minute(made, clock):
    embedder = Remote(*[StatusError(503)] * 99)
    client = made(embedder)
    with pytest.raises(EmbedderError, match="status 503"):
        client.embed_query("a")
    assert len(embedder.asked) == 3
    with pytest.raises(EmbedderError, match=r"status 503.*asked again in 30 s"):
        client.embed_query("a")
    assert len(embedder.asked) == 3
    clock.now += 31
    with pytest.raises(EmbedderError):
        client.embed_query("a")
    assert len(embedder.asked) == 6


@pytest.mark.parametrize("failure", FOR_GOOD, ids=repr)
def test_a_refusal_is_not_retried_and_opens_the_circuit(made, failure):
    embedder = Remote(*[failure] * 9)
    client = made(embedder)
    for _ in range(2):
        with pytest.raises(EmbedderError):
            client.embed_query("a")
    assert len(embedder.asked) == 1


def test_a_query_that_is_wrong_by_itself_leaves_the_circuit_closed(made):
    client = made(Remote(StatusError(400)))
    with pytest.raises(EmbedderError):
        client.embed_query("a")
    assert client.embed_query("b").shape == (64,)


def test_an_answer_to_a_request_for_documents_closes_the_circuit(made):
    client = made(Remote(StatusError(401)))
    with pytest.raises(EmbedderError):
        client.embed_query("a")
    client.embed_documents(["text"])
    assert client.embed_query("a").shape == (64,)


def test_a_backoff_beyond_the_deadline_is_not_waited_for(made, clock):
    with pytest.raises(EmbedderError, match="429"):
        made(Remote(StatusError(429, retry_after="20"))).embed_query("a")
    assert clock.slept == []


def test_a_query_waits_for_the_cooldown_that_ends_before_its_deadline(made, clock):
    embedder = Remote()
    client = made(embedder)
    client._remote.service.cool_down(60)
    with pytest.raises(EmbedderError, match="rate limit allows no request for 60 s"):
        client.embed_query("a")
    assert embedder.asked == []
    clock.now += 58
    assert client.embed_query("a").shape == (64,)
    assert sum(clock.slept) == pytest.approx(2)


def test_the_rate_limit_of_a_query_cools_requests_for_documents_down(made, clock):
    client = made(Remote(StatusError(429, retry_after="20")))
    with pytest.raises(EmbedderError):
        client.embed_query("a")
    client.embed_documents(["text"])
    assert sum(clock.slept) == pytest.approx(20)


def test_a_query_that_is_too_long_for_the_model_is_embedded_by_its_beginning(made):
    embedder = Remote(StatusError(400, "maximum context length exceeded"))
    assert made(embedder).embed_query("word " * 400).shape == (64,)
    first, second = embedder.asked
    assert first.startswith(second)
    assert len(second) == 1000


def test_queries_that_hang_miss_their_deadline_and_only_four_of_them_are_left_behind(
    made, clock, monkeypatch
):
    monkeypatch.setattr(retry, "DEFAULT_POLICY", RetryPolicy(query_pause_s=0.0))
    released = threading.Event()

    class Hanging(Remote):
        def embed_query(self, text):
            released.wait()
            return super().embed_query(text)

    client = made(Hanging(), query_timeout_s=0.02)
    try:
        for number in range(4):
            with pytest.raises(EmbedderError, match="no answer within"):
                client.embed_query(f"query {number}")
        clock.now += 60  # past the cooldown that four failures in a row bring
        with pytest.raises(EmbedderError, match="4 earlier queries"):
            client.embed_query("a fifth")
    finally:
        released.set()
    wait_for(lambda: not [t for t in threading.enumerate() if t.name == "commonplace-embed"])
    clock.now += 60
    client._query_timeout_s = 5.0
    assert client.embed_query("a fifth").shape == (64,)


def test_closing_ends_the_wait_for_a_retry(made, clock):
    def sleep(seconds):
        clock.sleep(seconds)
        client.close()

    embedder = Remote(StatusError(429, retry_after="4"))
    client = made(embedder, sleep=sleep)
    with pytest.raises(EmbedderError, match="was closed"):
        client.embed_query("a")
    assert len(embedder.asked) == 1
    assert sum(clock.slept) < 1
