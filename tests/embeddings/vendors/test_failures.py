"""Servers that misbehave: what is tried again, what is told, and that keys never are."""

import logging
import socket
import traceback

import numpy as np
import pytest
from pytest_socket import SocketConnectBlockedError

from commonplace.embeddings.requests import pack
from commonplace.errors import EmbedderError
from support.loopback_clients import expected
from support.loopback_vendors import DIMENSION
from support.sampling import sampled

pytestmark = pytest.mark.vendors

TEXTS = ["one two", "two three", "three four"]

PASSING = [429, (429, "7"), 500, 503, "cut", "drop", "html-502"]
FOR_GOOD = ["quota", "echo", 400, "short", "dimension", "nan"]


def named(fault):
    return f"{fault[0]}-after-{fault[1]}" if isinstance(fault, tuple) else str(fault)


def told_of(error):
    """Return all that a traceback of the error shows."""
    return "".join(traceback.format_exception(error))


def client_that_knows_its_length(vendor, **settings):
    client = vendor.client(**settings)
    client.dimension = DIMENSION
    return client


@pytest.mark.slow
@pytest.mark.parametrize("fault", sampled(PASSING, every=2), ids=named)
def test_what_passes_is_tried_again_and_costs_nothing_else(vendor, fault):
    client = client_that_knows_its_length(vendor)
    vendor.server.fail_next(fault, fault)
    assert np.allclose(client.embed_documents(TEXTS), expected(TEXTS), atol=1e-6)
    assert len(vendor.server.requests) == 3
    slept = sum(vendor.clock.slept)
    assert slept == pytest.approx(14, abs=0.1) if fault == (429, "7") else 1.5 <= slept < 2


@pytest.mark.slow
@pytest.mark.parametrize("fault", sampled(PASSING, every=3), ids=named)
def test_what_does_not_pass_is_given_up_after_three_tries(vendor, fault):
    client = client_that_knows_its_length(vendor)
    vendor.server.fail_always(fault)
    with pytest.raises(EmbedderError, match=f"the embedder {vendor.name}:.* failed") as caught:
        client.embed_documents(TEXTS)
    assert len(vendor.server.requests) == 3
    assert caught.value.temporary


@pytest.mark.slow
@pytest.mark.parametrize("fault", sampled(FOR_GOOD, every=2), ids=named)
def test_what_waiting_does_not_mend_is_not_tried_again(vendor, fault):
    client = client_that_knows_its_length(vendor)
    vendor.server.fail_always(fault)
    with pytest.raises(EmbedderError, match=f"the embedder {vendor.name}:") as caught:
        client.embed_documents(TEXTS)
    assert len(vendor.server.requests) == 1
    assert not vendor.clock.slept
    assert not caught.value.temporary


def test_what_was_wrong_with_an_answer_is_told(vendor):
    client = client_that_knows_its_length(vendor)
    for fault, told in [
        ("short", "2 vectors for 3 texts"),
        ("dimension", "16 dimensions where it gave 32"),
        ("nan", "not finite"),
        ("html", "a web page and not with JSON; is the base URL right"),
    ]:
        vendor.server.fail_always(fault)
        with pytest.raises(EmbedderError, match=told):
            client.embed_documents(TEXTS)


def test_a_length_other_than_the_one_that_was_asked_for_is_told(vendor):
    vendor.server.fail_always("dimension")
    with pytest.raises(EmbedderError, match=r"8 dimensions"):
        vendor.client(dimensions=16).embed_documents(TEXTS)


@pytest.mark.slow
@pytest.mark.full
def test_a_server_that_hangs_is_left_after_the_timeout_and_asked_again(vendor):
    client = client_that_knows_its_length(vendor, timeout_s=1.0, concurrency=1)
    texts = [f"{n} " + "word " * 1000 for n in range(2)]
    vendor.server.fail_next(None, "hang")
    assert np.allclose(client.embed_documents(texts), expected(texts), atol=1e-6)
    assert len(vendor.server.requests) in (3, 4)  # a busy machine may take longer than that, too


def test_a_server_that_hangs_from_the_beginning_is_not_asked_again(vendor):
    client = client_that_knows_its_length(vendor, timeout_s=0.2)
    vendor.server.fail_always("hang")
    with pytest.raises(EmbedderError, match="timed out"):
        client.embed_documents(TEXTS)
    assert len(vendor.server.requests) == 1


def test_a_query_is_not_waited_for_beyond_its_deadline(vendor):
    client = client_that_knows_its_length(vendor, query_timeout_s=0.2)
    vendor.server.fail_always("hang")
    with pytest.raises(EmbedderError, match="no answer within"):
        client.embed_query("what is the port")
    vendor.server.fail_always(None)


def test_nothing_but_the_loopback_interface_can_be_reached():
    with pytest.raises((SocketConnectBlockedError, UserWarning), match="tried to use socket"):
        socket.create_connection(("192.0.2.1", 443), timeout=1)


def test_a_server_that_is_not_there_is_told(vendor):
    client = vendor.client(base_url="http://127.0.0.1:9")
    with pytest.raises(EmbedderError, match=f"the embedder {vendor.name}:.* failed"):
        client.embed_documents(TEXTS)
    assert 1.5 <= sum(vendor.clock.slept) < 2  # two waits


def test_of_many_requests_those_that_fail_are_sent_again_and_no_others(vendor):
    texts = [f"note {n} " + "word " * 100 for n in range(400)]
    client = client_that_knows_its_length(vendor)
    least = len(list(pack(texts, client.limits)))
    vendor.server.fail_next(*(500 if n % 5 == 4 else None for n in range(least)))
    assert np.allclose(client.embed_documents(texts), expected(texts), atol=1e-6)
    assert sorted(vendor.server.texts) == sorted(texts)
    assert len(vendor.server.requests) == least + least // 5


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", sampled(["echo", 400, 500, "cut", "html", "quota"], every=2), ids=named
)
def test_no_secret_is_in_what_is_raised_or_logged(vendor, fault, caplog):
    caplog.set_level(logging.DEBUG)
    client = vendor.client()
    client.embed_documents(["a good answer"])
    vendor.server.fail_always(fault)
    with pytest.raises(EmbedderError) as document:
        client.embed_documents(TEXTS)
    with pytest.raises(EmbedderError) as query:
        client.embed_query("a question")
    shown = [told_of(document.value), told_of(query.value), repr(client.name), client.label]
    shown += [record.getMessage() for record in caplog.records]
    for secret in vendor.secrets:
        assert not any(secret in text for text in shown)
