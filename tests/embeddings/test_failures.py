"""What exceptions mean, and what is told of them."""

import email.utils
import logging
import time
import traceback

import pytest

from commonplace.embeddings.base import ModelName, ProviderOptions, RequestLimits
from commonplace.embeddings.client import EmbeddingClient
from commonplace.embeddings.failures import classify
from commonplace.embeddings.masking import masked, secrets_of, shows_secrets
from commonplace.errors import EmbedderError
from support.fakes import HashedWords, StatusError

KEY = "canary-9d2f7a61c0"


def named(name, message="", **attributes):
    """An exception of a vendor's client that tells nothing but its class."""
    return type(name, (Exception,), attributes)(message)


def caused(error, cause):
    error.__cause__ = cause
    return error


KINDS = {
    "transient": [
        StatusError(408),
        StatusError(429),
        StatusError(500),
        StatusError(502, "<html>Bad gateway</html>"),
        StatusError(529, "overloaded"),
        TimeoutError(),
        ConnectionResetError("reset by peer"),
        named("APITimeoutError", "Request timed out."),
        named("ConnectError", "[Errno 111] Connection refused"),
        named("RemoteProtocolError", "Server disconnected without sending a response."),
        named("ServiceUnavailableError", "The server is overloaded or not ready yet."),
        named("RateLimitError", "slow down"),
        named("ClientError", "429 RESOURCE_EXHAUSTED. Resource has been exhausted", code=429),
        named("JSONDecodeError", "Expecting value: line 1 column 1 (char 0)"),
        RuntimeError("Rate limit reached: tokens per minute"),
        caused(RuntimeError("Error embedding content"), StatusError(503)),
    ],
    "quota": [
        StatusError(402, "Payment required"),
        StatusError(
            429, "You exceeded your current quota, please check your plan: insufficient_quota"
        ),
        StatusError(429, "quota exceeded for metric EmbedRequestsPerDay. Please retry in 3600s"),
        named("RateLimitError", "Your credit balance is too low"),
    ],
    "too_large": [
        StatusError(413),
        StatusError(400, "This model's maximum context length is 8192 tokens, you requested 9000"),
        StatusError(400, "'$.input' is invalid: array too long. Expected at most 2048 inputs"),
        StatusError(400, "at most 100 requests can be in one batch"),
        StatusError(422, "batch size 64 > maximum allowed batch size 32"),
        StatusError(400, "Request too large: the max allowed tokens per submitted batch is 120000"),
        StatusError(500, "the input length exceeds the context length"),
        named("InvalidRequestError", "Too many inputs in batch"),
    ],
    "refused": [
        StatusError(401),
        StatusError(403, "Your account is not active"),
        StatusError(400, "API key not valid. Please pass a valid API key."),
        named("AuthenticationError", "Provided API key is invalid."),
    ],
    "permanent": [
        StatusError(404, "The model `x` does not exist"),
        StatusError(400, "dimensions must be one of 256, 512"),
        StatusError(501),
        ValueError("no vectors in the answer"),
        KeyError("embedding"),
        caused(named("APIConnectionError"), named("LocalProtocolError", "Illegal header value")),
    ],
}


@pytest.mark.parametrize(
    ("kind", "error"),
    [(kind, error) for kind, errors in KINDS.items() for error in errors],
    ids=lambda value: value if isinstance(value, str) else f"{type(value).__name__}: {value}"[:50],
)
def test_exceptions_of_all_clients_are_understood(kind, error):
    assert classify(error).kind == kind


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (StatusError(429), None),
        (StatusError(429, retry_after="7"), 7.0),
        (StatusError(429, Retry_After="1.5"), 1.5),
        (StatusError(503, retry_after_ms="250"), 0.25),
        (StatusError(429, "Rate limit reached. Please try again in 20s."), 20.0),
        (StatusError(429, "Please try again in 6ms."), 0.006),
        (StatusError(429, "exhausted {'retryDelay': '34s'}"), 34.0),
        (StatusError(429, "try again in 2m"), 120.0),
        (StatusError(429, retry_after="soon"), None),
    ],
)
def test_the_wait_that_a_service_asks_for_is_found(error, seconds):
    assert classify(error).retry_after_s == seconds


def test_a_wait_may_be_a_date():
    then = email.utils.formatdate(time.time() + 30, usegmt=True)
    assert 20 < classify(StatusError(429, retry_after=then)).retry_after_s <= 30


def test_a_quota_with_a_short_wait_is_a_rate_limit():
    error = StatusError(429, "You exceeded your current quota. Please retry in 12.5s.")
    assert (classify(error).kind, classify(error).retry_after_s) == ("transient", 12.5)


def test_a_limit_of_texts_is_told_from_a_limit_of_their_size():
    assert classify(StatusError(400, "array too long: at most 16 inputs in a request")).counts_texts
    assert classify(StatusError(422, "batch size 64 > maximum allowed batch size 32")).counts_texts
    assert not classify(StatusError(400, "maximum context length is 8192 tokens")).counts_texts
    assert not classify(StatusError(413)).counts_texts


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-abcdefghijklmnop. You can find yours at",
        "Authorization: Bearer abcdefghijklmnop",
        "GET https://host/v1?key=AbCdEf123456&x=1",
        "https://user:pass-word-1@host/v1",
        "AIzaSyA1234567890abcdefghij",
        "pa-1234567890abcdef",
    ],
)
def test_what_has_the_form_of_a_key_is_masked(text):
    told = masked(text)
    assert "***" in told
    assert not any(
        secret in told
        for secret in ("abcdefghijklmnop", "AbCdEf123456", "pass-word-1", "SyA12345", "1234567890a")
    )


def test_a_masked_key_is_masked_before_the_message_is_cut():
    told = classify(StatusError(401, "x" * 290 + KEY), [KEY]).message
    assert KEY[:6] not in told


def test_keys_are_found_in_the_environment_and_in_objects(monkeypatch):
    class Secret:
        def get_secret_value(self):
            return "kept-in-a-box"

    class Holder:
        def __init__(self):
            self.api_key = "plain-as-day"
            self.openai = Secret()
            self.model = "not-secret"

    monkeypatch.setenv("SOME_VENDOR_API_KEY", KEY)
    found = secrets_of(Holder())
    assert {KEY, "plain-as-day", "kept-in-a-box"} <= found
    assert "not-secret" not in found


class Telling(HashedWords):
    """Repeats its key, as clients and vendors do."""

    is_local = False

    def __init__(self, *, deep=False):
        super().__init__()
        self.api_key = KEY
        self.deep = deep

    def embed_documents(self, texts):
        try:
            raise ValueError(f"Illegal header value b'Bearer {self.api_key}'")
        except ValueError as error:
            if self.deep:
                raise RuntimeError("the request failed") from error
            raise


@pytest.mark.parametrize("deep", [False, True])
def test_no_traceback_shows_a_key(caplog, deep):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(EmbedderError) as caught:
        EmbeddingClient(Telling(deep=deep)).embed_documents(["a"])
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert KEY not in caplog.text
    assert "failed: " in str(caught.value)


def test_a_traceback_shows_what_failed_where_that_is_no_secret():
    class Failing(HashedWords):
        is_local = False

        def embed_documents(self, texts):
            raise KeyError("embedding")

    with pytest.raises(EmbedderError) as caught:
        EmbeddingClient(Failing()).embed_documents(["a"])
    assert isinstance(caught.value.__cause__, KeyError)


def test_the_values_of_headers_and_of_the_key_variable_are_hidden(monkeypatch):
    monkeypatch.setenv("UNSUSPICIOUS", KEY)
    options = ProviderOptions(headers={"X-Gateway": "open-sesame"}, api_key_env="UNSUSPICIOUS")

    class Provider(HashedWords):
        is_local = False
        limits = RequestLimits()

        def embed_query(self, text):
            raise ValueError(f"{KEY} and open-sesame")

    client = EmbeddingClient(Provider(), ModelName("p", "m", "e"), options=options)
    with pytest.raises(EmbedderError, match=r"failed: \*\*\* and \*\*\*"):
        client.embed_query("x")


def test_an_exception_without_a_secret_tells_none():
    assert not shows_secrets(ValueError("nothing"), {KEY})
    assert shows_secrets(caused(ValueError("nothing"), ValueError(KEY)), {KEY})
