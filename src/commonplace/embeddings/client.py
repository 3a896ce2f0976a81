"""An embedder with its name: how it is asked, and what its answers are checked for."""

from __future__ import annotations

import base64
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from commonplace.embeddings.adapters import EmbedderAdapter, limits_of
from commonplace.embeddings.base import ModelName, ProviderOptions, RequestLimits
from commonplace.embeddings.failures import Failure, classify
from commonplace.embeddings.masking import hidden_values, masked, tells_secrets
from commonplace.embeddings.query_client import QueryClient
from commonplace.embeddings.requests import Answer, RequestQueue
from commonplace.embeddings.retry import ServiceState, shared_service
from commonplace.errors import EmbedderError
from commonplace.settings import EmbeddingSettings

if TYPE_CHECKING:
    from commonplace.embeddings.base import EmbeddingMatrix, Vector

__all__ = ["EmbeddingClient", "EmbeddingResult", "EmbeddingRun"]

_QUERIES_KEPT = 128
_OBJECT_TIMEOUT_S = 600.0
"""How long an object that was passed in may take: it may be a large model on a slow machine."""


class EmbeddingClient:
    """An embedder with its name, whose answers are checked and scaled to unit length.

    Every failure is an `EmbedderError` that names the model; keys never appear in it.

    Args:
        embedder: A provider, or an object with `embed_documents` and `embed_query`, sync or async.
        name: Whose vectors they are; by default the object is asked.
        settings: How long it is waited for, and how many requests there are at once.
        options: What a provider was made with; None for an object that was passed in.

    Raises:
        EmbedderError: The object cannot embed.
    """

    def __init__(
        self,
        embedder: Any,
        name: ModelName | None = None,
        *,
        settings: EmbeddingSettings | None = None,
        options: ProviderOptions | None = None,
    ) -> None:
        settings = settings or EmbeddingSettings()
        self.embedder = embedder
        self._calls = EmbedderAdapter(embedder)
        self.name = name or ModelName.of(embedder)
        self.dimension: int | None = getattr(embedder, "dimension", None)
        if not isinstance(self.dimension, int):
            self.dimension = None
        self.limits = _limits(embedder, settings)
        self._timeout_s = 2 * options.timeout_s + 10 if options else _OBJECT_TIMEOUT_S
        self._secrets = _values(options)
        self._is_named = options is not None
        key = self.name.provider, self.name.endpoint, self.name.model
        self._service = shared_service(*key) if self._is_named else ServiceState()
        self._impatient = QueryClient(
            classify=self.failure_of, deadline_s=settings.query_timeout_s, service=self._service
        )
        self._queries: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def is_local(self) -> bool:
        """Whether texts are embedded at once, without a network or a long wait."""
        return bool(getattr(self.embedder, "is_local", False))

    @property
    def label(self) -> str:
        """The provider and model, for messages."""
        return f"{self.name.provider}:{self.name.model}"

    @property
    def price(self) -> float | None:
        """US dollars for a million tokens; None where it is not known."""
        price = getattr(self.embedder, "price", None)
        return float(price) if isinstance(price, int | float) else None

    def embed_documents(self, texts: Sequence[str]) -> EmbeddingMatrix:
        """Embed texts: ``(len(texts), d)``.

        Raises:
            EmbedderError: The embedder failed, or what it gave are not that many vectors of one
                length with finite values, at least one of them not zero.
        """
        import numpy as np

        found: dict[str, Vector] = {}
        for embedded in EmbeddingRun(self).send(dict.fromkeys(texts)):
            if embedded.error is not None:
                raise embedded.error
            found |= zip(embedded.texts, embedded.vectors, strict=True)
        if not found:
            return np.zeros((0, self.dimension or 0), dtype=np.float32)
        return np.array([found[text] for text in texts])

    def embed_query(self, text: str) -> Vector:
        """Embed a query: ``(d,)``. The last queries are remembered.

        Whatever may take long is not waited for beyond the deadline of the settings.

        Raises:
            EmbedderError: As `embed_documents`.
        """
        with self._lock:
            known = self._queries.get(text)
            if known is not None:
                self._queries.move_to_end(text)
                return known
        try:
            vector: Vector = self._asked(text)
        except Exception as error:  # noqa: BLE001 - an embedder raises what it likes
            failed = self.error_of(error)
            raise failed from failed.__cause__
        with self._lock:
            self._queries[text] = vector
            if len(self._queries) > _QUERIES_KEPT:
                self._queries.popitem(last=False)
        return vector

    def close(self) -> None:
        """Let go of threads; a call that never comes back keeps its own until the process ends.

        Connections of a provider are closed, those of an object that was passed in are not.
        """
        self._impatient.close()
        self._calls.close()
        if self._is_named and callable(close := getattr(self.embedder, "close", None)):
            close()

    def _asked(self, text: str) -> Vector:
        def call() -> Vector:
            vector: Vector = self.unit_rows([self._calls.query(text)], 1)[0]
            return vector

        return call() if self.is_local else self._impatient.ask(call)

    # -- how documents are sent ------------------------------------------------------------------

    def requests(self, check: Callable[[], object] = lambda: None) -> RequestQueue:
        """Begin a run of requests; what `check` raises while they are waited for ends it."""
        return RequestQueue(
            self._answered,
            classify=self.failure_of,
            limits=self.limits,
            service=self._service,
            inline=self.is_local,
            timeout_s=self._timeout_s,
            check=check,
        )

    def _answered(self, texts: list[str]) -> EmbeddingMatrix:
        matrix = self.unit_rows(self._calls.documents(texts), len(texts))
        self._impatient.answered()
        return matrix

    def unit_rows(self, answer: Any, count: int) -> EmbeddingMatrix:
        """Return an answer as unit rows.

        Raises:
            EmbedderError: It is not what was asked for; see `embed_documents`.
        """
        import numpy as np

        try:
            with np.errstate(over="ignore", invalid="ignore"):  # told below, in our words
                matrix = np.asarray(answer, dtype=np.float32)
        except (TypeError, ValueError, OverflowError) as error:
            raise self._nonsense("vectors of different lengths, or no numbers") from error
        if matrix.ndim != 2 or not matrix.shape[1]:
            raise self._nonsense(f"an array of shape {matrix.shape} for {count} texts")
        if len(matrix) != count:
            raise self._nonsense(f"{len(matrix)} vectors for {count} texts")
        if self.dimension is not None and matrix.shape[1] != self.dimension:
            raise self._nonsense(
                f"vectors of {matrix.shape[1]} dimensions where it gave {self.dimension} before"
            )
        norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
        if not np.isfinite(norms).all():
            raise self._nonsense("values that are not finite (NaN or infinity)")
        if not norms.any():
            raise self._nonsense("nothing but zeros")
        self.dimension = matrix.shape[1]
        # A single zero row stays zero: it is near to nothing.
        unit: EmbeddingMatrix = np.divide(
            matrix, np.where(norms > 0, norms, 1.0)[:, None], dtype=np.float32, casting="same_kind"
        )
        return unit

    def _nonsense(self, what: str) -> EmbedderError:
        return EmbedderError(f"the embedder {self.label} gave {what}; its answer is not used.")

    # -- what is told of failures ----------------------------------------------------------------

    def error_of(self, exception: Exception) -> EmbedderError:
        """Return the error to raise for a failure; neither it nor its cause shows a secret."""
        shows_secrets = tells_secrets(exception, self._hidden)
        if isinstance(exception, EmbedderError) and not shows_secrets:
            return exception
        failure = self.failure_of(exception)
        error = EmbedderError(
            f"the embedder {self.label} failed: {failure.message}",
            temporary=failure.kind == "transient",
        )
        error.__cause__ = None if shows_secrets else exception
        error.__suppress_context__ = True
        return error

    def failure_of(self, error: BaseException) -> Failure:
        """Say what an exception means."""
        if isinstance(error, EmbedderError):
            return Failure("permanent", masked(str(error), self._hidden))
        return classify(error, self._hidden)

    @property
    def _hidden(self) -> set[str]:
        return self._secrets | hidden_values(self.embedder)


@dataclass(frozen=True, slots=True)
class EmbeddingResult:
    """What came of some texts: their vectors, ``(n, d)``, or why there are none."""

    texts: list[str]
    vectors: Any = None
    error: EmbedderError | None = None


class EmbeddingRun:
    """The texts that an index run sends to an embedder; what it gave up stays given up.

    Args:
        client: The client of the embedder.
        check: Called while answers are waited for; what it raises ends that.
    """

    def __init__(
        self, client: EmbeddingClient, *, check: Callable[[], object] = lambda: None
    ) -> None:
        self.client = client
        self._requests = client.requests(check)

    @property
    def failure(self) -> EmbedderError | None:
        """Why the rest of the texts is not sent any more; None while they are."""
        last = self._requests.given_up
        return None if last is None else self._embedded(last, {}).error

    @property
    def is_hopeless(self) -> bool:
        """Whether it was given up for a reason that waiting does not mend."""
        last = self._requests.given_up
        return last is not None and last.fault is not None and last.fault.kind != "transient"

    def send(self, texts: Iterable[str]) -> Iterator[EmbeddingResult]:
        """Embed texts; yield what comes of each request as soon as it is known, in any order."""
        told: dict[int, EmbedderError] = {}
        for answer in self._requests.send(texts):
            yield self._embedded(answer, told)

    def try_again(self) -> None:
        """Ask again after all; the first failure ends it."""
        self._requests.forgive()

    def _embedded(self, answer: Answer, told: dict[int, EmbedderError]) -> EmbeddingResult:
        if answer.error is None:
            return EmbeddingResult(answer.texts, answer.vectors)
        error = told.get(id(answer.error))
        if error is None:
            error = told[id(answer.error)] = self.client.error_of(answer.error)
        return EmbeddingResult(answer.texts, None, error)


def _limits(embedder: object, settings: EmbeddingSettings) -> RequestLimits:
    limits = limits_of(embedder)
    return replace(limits, concurrency=settings.concurrency or limits.concurrency)


def _values(options: ProviderOptions | None) -> set[str]:
    """The secrets that a provider was given."""
    if options is None:
        return set()
    key = os.environ.get(options.api_key_env or "", "")
    values = {key, *options.headers.values(), *_userinfo(options.base_url)}
    # A scheme and a token: what is repeated may be the token alone.
    return {part for value in values for part in (value, *value.split()[1:]) if part}


def _userinfo(url: str | None) -> tuple[str, ...]:
    if not url or "@" not in url:
        return ()
    found = urlsplit(url)
    user, password = unquote(found.username or ""), unquote(found.password or "")
    return password, base64.b64encode(f"{user}:{password}".encode()).decode()
