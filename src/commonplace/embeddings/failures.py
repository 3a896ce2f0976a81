"""Classification of an embedder's exceptions: retry, send less, or fail for good.

No vendor's client is imported: every client's exceptions carry a status, a code, headers or at
least a distinctive class name. Those are searched for in the exception and in its causes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from commonplace.embeddings.masking import causes, masked, text_of

__all__ = ["Failure", "classify"]

Kind = Literal["transient", "quota", "too_large", "refused", "permanent"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Classified failure of a request.

    Attributes:
        kind: ``transient`` (a retry may succeed: rate limit, timeout, server error), ``quota``
            (used up; waiting does not help), ``too_large`` (a smaller request may succeed),
            ``refused`` (the key or the account), ``permanent`` (anything else).
        message: The exception's message in one line, without secrets.
        retry_after_s: The wait that the service asks for (Retry-After); None when it does not say.
        slows_all: Whether it concerns every request to the service, as a rate limit does.
        counts_texts: For ``too_large``: whether the number of texts is meant, not their size.
        timed_out: Whether the request timed out.
    """

    kind: Kind
    message: str
    retry_after_s: float | None = None
    slows_all: bool = False
    counts_texts: bool = False
    timed_out: bool = False


_MAX_MESSAGE_CHARS = 300

_TIMEOUTS_AND_CONNECTIONS = frozenset(
    {
        "APIConnectionError",
        "APITimeoutError",
        "ChunkedEncodingError",
        "ClientConnectionError",
        "ClientConnectorError",
        "ClientOSError",
        "ConnectError",
        "ConnectTimeout",
        "ConnectionError",
        "ContentTypeError",
        "DeadlineExceeded",
        "GatewayTimeout",
        "IncompleteRead",
        "InternalServerError",
        "JSONDecodeError",
        "MaxRetryError",
        "NewConnectionError",
        "PoolTimeout",
        "ProtocolError",
        "ReadError",
        "ReadTimeout",
        "ReadTimeoutError",
        "RemoteDisconnected",
        "RemoteProtocolError",
        "RetryError",
        "ServerDisconnectedError",
        "ServerError",
        "ServerTimeoutError",
        "ServiceUnavailable",
        "ServiceUnavailableError",
        "Timeout",
        "TimeoutError",
        "TimeoutException",
        "TooManyRequests",
        "TryAgain",
        "WriteError",
        "WriteTimeout",
    }
)
_RATE_LIMITS = frozenset({"RateLimitError", "ResourceExhausted", "TooManyRequests"})
_REFUSALS = frozenset({"AuthenticationError", "PermissionDenied", "PermissionDeniedError"})
_INVALID = frozenset({"InvalidURL", "LocalProtocolError", "UnsupportedProtocol", "InvalidHeader"})
"""The request cannot even be sent: a key with a line break, an invalid address."""

_QUOTA = re.compile(
    r"insufficient[_ ]quota|quota[_ ]exceeded|exceeded your current quota|quota exhausted"
    r"|billing|payment|credit balance|insufficient (?:funds|credits|balance)",
    re.IGNORECASE,
)
_QUOTA_OF_A_DAY = re.compile(r"per[_ ]?day|daily", re.IGNORECASE)
_TOO_LARGE = re.compile(
    r"maximum context length|context length exceeded|context_length_exceeded|input length"
    r"|(?:request|payload|body|input|batch|prompt|text|document)s?\s?(?:size )?"
    r"(?:is |are |was |has )?(?:too (?:large|long|big)|exceed)"
    r"|too (?:many|large|long)\b(?! requests)"
    r"|(?:max(?:imum)?|allowed|limit of)\b.{0,40}\b(?:tokens?|inputs?|texts?|items|bytes|batch)"
    r"|(?:tokens?|inputs?|texts?|items|instances|batch(?: size)?)\b.{0,60}"
    r"\b(?:at most|less than|exceeds?|maximum|limit)"
    r"|max_(?:tokens|length|batch)\w*|\bat most \d+",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\b(?:inputs|texts|items|instances|documents|contents|requests in)\b|batch.?size|array.{0,20}"
    r"(?:too long|length|at most)|too many (?!tokens)",
    re.IGNORECASE,
)
_SIZED = re.compile(r"tokens?\b|context|bytes|payload|length of", re.IGNORECASE)
_BAD_KEY = re.compile(
    r"(?:api[_ ]?key|token|credentials?)\b.{0,40}"
    r"\b(?:not valid|invalid|incorrect|missing|required|expired|revoked)"
    r"|(?:invalid|incorrect|missing|no) (?:api[_ ]?key|credentials?)|API_KEY_INVALID"
    r"|unauthori[sz]ed|unauthenticated|permission denied",
    re.IGNORECASE,
)
_TRANSIENT = re.compile(
    r"rate.?limit|too many requests|\b429\b|overloaded|temporarily|timed? ?out|try again|cloudflare"
    r"|resource has been exhausted|tokens per (?:day|minute)|connection (?:reset|refused|aborted)"
    r"|service unavailable|bad gateway|\b50[0234]\b",
    re.IGNORECASE,
)
_WAIT_IN_TEXT = re.compile(
    r"(?:retry|try again)\D{0,12}?(?:in|after|delay)\W{0,4}(\d+(?:\.\d+)?)\s*"
    r"(ms|milliseconds?|m(?:in(?:utes?)?)?\b|s(?:ec(?:onds?)?)?\b|)"
    r"|retry_?delay\W{1,6}(\d+(?:\.\d+)?)s",
    re.IGNORECASE,
)
_HTML = re.compile(r"<!doctype html|<html\b", re.IGNORECASE)


def classify(error: BaseException, secrets: Iterable[str] = ()) -> Failure:
    """Classify an exception of an embedder.

    Args:
        error: The exception of a client, or of a user's object.
        secrets: Values that the message must not show.
    """
    chain = list(causes(error))
    text = " ".join(text_of(one) for one in chain)
    message = _one_line(error, list(secrets))
    status = next((found for one in chain if (found := _status(one))), None)
    wait = _retry_after(chain, text)
    kind = _kind(status, {type(one).__name__ for one in chain}, chain, text, waits=wait is not None)
    return Failure(
        kind,
        message if status is None or str(status) in message else f"{message} (status {status})",
        retry_after_s=wait if kind == "transient" else None,
        slows_all=kind == "transient" and (status in (429, 503, 529) or wait is not None),
        counts_texts=bool(_COUNTED.search(text)) and not _SIZED.search(text),
        timed_out=any(map(_is_timeout, chain)),
    )


def _kind(
    status: int | None, names: set[str], chain: list[BaseException], text: str, *, waits: bool
) -> Kind:
    if status is None:
        return _kind_by_name(names, chain, text, waits=waits)
    if status == 402:
        return "quota"
    if status == 429:
        return "quota" if _is_used_up(text, waits=waits) else "transient"
    if status == 413:
        return "too_large"
    if status in (401, 403, 407):
        return "refused"
    if status in (400, 422):
        return _kind_of_bad_request(text)
    passes = status in (408, 425) or (500 <= status <= 599 and status != 501)
    # Self-hosted servers answer 500 to a text that is too long for the model.
    if status == 500 and "context" in text and _TOO_LARGE.search(text):
        return "too_large"
    return "transient" if passes else "permanent"


def _kind_by_name(names: set[str], chain: list[BaseException], text: str, *, waits: bool) -> Kind:
    if names & _INVALID:
        return "permanent"
    if names & _RATE_LIMITS:
        return "quota" if _is_used_up(text, waits=waits) else "transient"
    if names & _REFUSALS:
        return "refused"
    if names & _TIMEOUTS_AND_CONNECTIONS or any(map(_is_of_the_network, chain)):
        return "transient"
    if _QUOTA.search(text) and not waits:
        return "quota"
    if _TRANSIENT.search(text) or _HTML.search(text):  # a gateway's page in place of an answer
        return "transient"
    return _kind_of_bad_request(text)


def _kind_of_bad_request(text: str) -> Kind:
    if _BAD_KEY.search(text):
        return "refused"
    return "too_large" if _TOO_LARGE.search(text) else "permanent"


def _is_of_the_network(error: BaseException) -> bool:
    return isinstance(error, TimeoutError | ConnectionError)


def _is_timeout(error: BaseException) -> bool:
    return isinstance(error, TimeoutError) or "Timeout" in type(error).__name__


def _is_used_up(text: str, *, waits: bool) -> bool:
    """Return whether an account is exhausted and not rate limited; vendors call both a quota."""
    return bool(_QUOTA.search(text)) and (not waits or bool(_QUOTA_OF_A_DAY.search(text)))


# -- status and wait in exceptions -----------------------------------------------------------------


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    for holder, name in (
        (error, "status_code"),
        (error, "http_status"),
        (error, "code"),
        (error, "status"),
        (response, "status_code"),
        (response, "status"),
    ):
        value = getattr(holder, name, None)
        value = getattr(value, "value", value)  # an HTTPStatus, or gRPC's (number, name)
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
            return value
    return None


def _retry_after(chain: list[BaseException], text: str) -> float | None:
    for error in chain:
        for holder in (error, getattr(error, "response", None)):
            headers = getattr(holder, "headers", None)
            if isinstance(headers, Mapping) and (seconds := _seconds(headers)) is not None:
                return seconds
    return _seconds_in(text)


def _seconds(headers: Mapping[str, Any]) -> float | None:
    found = {str(name).lower(): str(value) for name, value in headers.items()}
    try:
        if "retry-after-ms" in found:
            return max(0.0, float(found["retry-after-ms"]) / 1000)
        if "retry-after" not in found:
            return None
        return max(0.0, float(found["retry-after"]))
    except ValueError:
        import email.utils  # slow to import, and a date is rare

        try:
            parsed = email.utils.parsedate_tz(found.get("retry-after", ""))
            return max(0.0, email.utils.mktime_tz(parsed) - time.time()) if parsed else None
        except (ValueError, OverflowError, IndexError):
            return None


def _seconds_in(text: str) -> float | None:
    match = _WAIT_IN_TEXT.search(text)
    if match is None:
        return None
    if match[3]:
        return float(match[3])
    unit = match[2].lower()
    scale = 0.001 if unit.startswith(("ms", "milli")) else 60.0 if unit.startswith("m") else 1.0
    return float(match[1]) * scale


def _one_line(error: BaseException, secrets: Iterable[str]) -> str:
    # Masked before it is cut: half a key is a secret too.
    text = " ".join(masked(text_of(error), secrets).split()) or type(error).__name__
    if _HTML.search(text):
        text = "it answered with a web page and not with JSON; is the base URL right?"
    return text if len(text) <= _MAX_MESSAGE_CHARS else text[: _MAX_MESSAGE_CHARS - 1] + "…"
