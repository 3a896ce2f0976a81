"""Client of an embedder: checks answers, scales them to unit length, caches queries."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from commonplace.embeddings import retry
from commonplace.embeddings.adapters import EmbedderAdapter
from commonplace.embeddings.base import ModelName, ProviderOptions, RequestLimits
from commonplace.embeddings.failures import Failure, classify
from commonplace.embeddings.masking import masked, option_secrets, secrets_of, shows_secrets
from commonplace.embeddings.requests import Answer, RequestQueue, RequestSizer, shared_sizer
from commonplace.errors import EmbedderError
from commonplace.settings import EmbeddingSettings

if TYPE_CHECKING:
    from commonplace.vectors import Matrix, Vector

__all__ = ["EmbeddingClient", "EmbeddingResult", "EmbeddingRun"]

_CACHED_QUERIES = 128
_MAX_UNANSWERED_QUERIES = 4
"""Queries without an answer, their deadlines past, from which on no more are sent."""
_OBJECT_TIMEOUT_S = 600.0
"""Timeout of an object that was passed in: it may be a large model on a slow machine."""
_ONE_TEXT = RequestLimits(max_texts=1, concurrency=1)


@dataclass(slots=True)
class _Remote:
    """State of the service that a client sends to."""

    service: retry.ServiceState
    breaker: retry.CircuitBreaker
    slots: threading.Semaphore = field(
        default_factory=lambda: threading.Semaphore(_MAX_UNANSWERED_QUERIES)
    )


class EmbeddingClient:
    """Client of an embedder, whose answers are checked and scaled to unit length.

    Every failure is an `EmbedderError` that names the model; keys never appear in it.

    Args:
        embedder: A provider, or an object with `embed_documents` and `embed_query`, sync or async.
        name: Name of its vectors; by default derived from the object.
        settings: Deadline of a query, and how many requests are under way at once.
        options: What a provider was constructed with; None for an object that was passed in.

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
        self.name = name or ModelName.of(embedder)
        dimension = getattr(embedder, "dimension", None)
        self.dimension: int | None = dimension if isinstance(dimension, int) else None
        self.is_local = bool(getattr(embedder, "is_local", False))
        """Whether texts are embedded at once, without a network or a long wait."""
        knows = getattr(embedder, "knows_script", None)
        self._knows_script: Callable[[str], bool] | None = knows if callable(knows) else None
        self._adapter = EmbedderAdapter(embedder) if options is None else None
        self._adapted = self._adapter or embedder
        limits: RequestLimits = self._adapted.limits
        self.limits = replace(limits, concurrency=settings.concurrency or limits.concurrency)
        self._timeout_s = 2 * options.timeout_s + 10 if options else _OBJECT_TIMEOUT_S
        self._query_timeout_s = settings.query_timeout_s
        self._policy = retry.DEFAULT_POLICY
        self._sizer = shared_sizer(self.name) if options else RequestSizer()
        self._remote: _Remote | None = None
        self._secrets: set[str] = set()
        if not self.is_local:
            shared = retry.shared_service(self.name.provider, self.name.endpoint)
            self._remote = _Remote(
                shared if options else retry.ServiceState(),
                retry.CircuitBreaker(self._policy.query_pause_s),
            )
            self._secrets = option_secrets(options) if options else set()
        self._queries: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()
        self._is_closed = False

    @property
    def label(self) -> str:
        """The provider and model, for messages."""
        return f"{self.name.provider}:{self.name.model}"

    @property
    def price(self) -> float | None:
        """US dollars for a million tokens; None where it is not known."""
        price = getattr(self.embedder, "price", None)
        return float(price) if isinstance(price, int | float) else None

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embed texts: ``(len(texts), d)``.

        Raises:
            EmbedderError: The embedder failed, or its answer is not that many vectors of one
                length with finite values, at least one of them not zero.
        """
        import numpy as np

        found: dict[str, Vector] = {}
        for result in EmbeddingRun(self).send(dict.fromkeys(texts)):
            if result.error is not None:
                raise result.error
            found |= zip(result.texts, result.vectors, strict=True)
        if not found:
            return np.zeros((0, self.dimension or 0), dtype=np.float32)
        return np.array([found[text] for text in texts])

    def embed_query(self, text: str) -> Vector:
        """Embed a query: ``(d,)``, from the LRU cache of the last queries or before the deadline.

        Raises:
            EmbedderError: As `embed_documents`, or there is no answer before the deadline of the
                settings, or the embedder says that it cannot read the script.
        """
        with self._lock:
            if text in self._queries:
                self._queries.move_to_end(text)
                return self._queries[text]
        try:
            if self._knows_script is not None and not self._knows_script(text):
                raise EmbedderError(
                    f"the embedder {self.label} knows no words of this script, so that the "
                    "question is searched by its words alone; a multilingual one reads it, too."
                )
            if self._remote is None:
                vector = self._query_at_once(text)
            else:
                vector = self._query_in_time(text, self._remote)
        except Exception as error:  # noqa: BLE001 - an embedder raises what it likes
            failed = self.error_of(error)
            raise failed from failed.__cause__
        with self._lock:
            self._queries[text] = vector
            if len(self._queries) > _CACHED_QUERIES:
                self._queries.popitem(last=False)
        return vector

    def close(self) -> None:
        """End waits and threads, but for the thread of a call that hangs.

        Connections of a provider are closed, those of an object that was passed in are not.
        """
        self._is_closed = True
        if self._adapter is not None:
            self._adapter.close()
        elif callable(close := getattr(self.embedder, "close", None)):
            close()

    # -- requests --------------------------------------------------------------------------------

    def requests(self, check: Callable[[], object] = lambda: None) -> RequestQueue:
        """Return a request queue for documents; what `check` raises during a wait ends its run."""
        return RequestQueue(
            self._embed_texts,
            classify=self.failure_of,
            limits=self.limits,
            sizer=self._sizer,
            policy=self._policy,
            service=self._remote.service if self._remote else None,
            timeout_s=self._timeout_s,
            check=check,
        )

    def _embed_texts(self, texts: list[str]) -> Matrix:
        rows = self.unit_rows(self._adapted.embed_documents(texts), len(texts))
        if self._remote is not None:
            self._remote.breaker.record_success()
        return rows

    def _query_at_once(self, text: str) -> Vector:
        vector: Vector = self.unit_rows([self._adapted.embed_query(text)], 1)[0]
        return vector

    def _query_in_time(self, text: str, remote: _Remote) -> Vector:
        """Send a query like any other request, but with a deadline and a circuit breaker."""
        remote.breaker.check(remote.service.clock())
        queries = RequestQueue(
            lambda texts: self._query_in_slot(texts[0], remote.slots),
            classify=self.failure_of,
            limits=_ONE_TEXT,
            sizer=self._sizer,
            policy=self._policy,
            service=remote.service,
            deadline_s=self._query_timeout_s,
            check=self._check_open,
        )
        [answer] = queries.send([text])
        if answer.error is None:
            vector: Vector = answer.vectors
            return vector
        assert answer.failure is not None
        remote.breaker.record_failure(answer.failure, remote.service.clock())
        raise answer.error

    def _query_in_slot(self, text: str, slots: threading.Semaphore) -> Vector:
        if not slots.acquire(blocking=False):
            raise TimeoutError(f"{_MAX_UNANSWERED_QUERIES} earlier queries still have no answer")
        try:
            return self._query_at_once(text)
        finally:
            slots.release()

    def _check_open(self) -> None:
        if self._is_closed:
            raise TimeoutError("the memory was closed meanwhile")

    # -- answers ---------------------------------------------------------------------------------

    def unit_rows(self, answer: Any, count: int) -> Matrix:
        """Return an answer as rows of length 1.

        Raises:
            EmbedderError: It is not that many vectors; see `embed_documents`.
        """
        import numpy as np

        try:
            with np.errstate(over="ignore", invalid="ignore"):  # reported below
                matrix = np.asarray(answer, dtype=np.float32)
        except (TypeError, ValueError, OverflowError) as error:
            raise self._invalid("vectors of different lengths, or no numbers") from error
        if matrix.ndim != 2 or not matrix.shape[1]:
            raise self._invalid(f"an array of shape {matrix.shape} for {count} texts")
        if len(matrix) != count:
            raise self._invalid(f"{len(matrix)} vectors for {count} texts")
        if self.dimension is not None and matrix.shape[1] != self.dimension:
            raise self._invalid(
                f"vectors of {matrix.shape[1]} dimensions where it gave {self.dimension} before"
            )
        # In float64, for squares of great float32 numbers are out of its range.
        norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
        total = float(norms.sum())
        if not math.isfinite(total):
            raise self._invalid("values that are not finite (NaN or infinity)")
        if not total:
            raise self._invalid("nothing but zeros")
        self.dimension = matrix.shape[1]
        # A single zero row stays zero: it is near to nothing.
        unit: Matrix = np.divide(
            matrix, np.where(norms > 0, norms, 1.0)[:, None], dtype=np.float32, casting="same_kind"
        )
        return unit

    def _invalid(self, what: str) -> EmbedderError:
        return EmbedderError(f"the embedder {self.label} gave {what}; its answer is not used.")

    # -- failures --------------------------------------------------------------------------------

    def error_of(self, exception: Exception) -> EmbedderError:
        """Return the error to raise for a failure; neither it nor its cause shows a secret."""
        hidden = self._hidden
        is_secret = shows_secrets(exception, hidden)
        if isinstance(exception, EmbedderError) and not is_secret:
            return exception
        failure = self.failure_of(exception)
        error = EmbedderError(
            f"the embedder {self.label} failed: {failure.message}",
            temporary=failure.kind == "transient",
        )
        error.__cause__ = None if is_secret else exception
        error.__suppress_context__ = True
        return error

    def failure_of(self, error: BaseException) -> Failure:
        """Classify an exception; the failure's message shows no secret."""
        if isinstance(error, EmbedderError):
            return Failure("permanent", masked(str(error), self._hidden))
        return classify(error, self._hidden)

    @property
    def _hidden(self) -> set[str]:
        return self._secrets | secrets_of(self.embedder)


@dataclass(frozen=True, slots=True)
class EmbeddingResult:
    """Vectors of some texts, ``(n, d)``, or the error in their place."""

    texts: list[str]
    vectors: Any = None
    error: EmbedderError | None = None


class EmbeddingRun:
    """Texts that an index run sends to an embedder; once stopped, it sends no more of them.

    Args:
        client: The client of the embedder.
        check: Called during waits for answers; what it raises ends the run.
    """

    def __init__(
        self, client: EmbeddingClient, *, check: Callable[[], object] = lambda: None
    ) -> None:
        self.client = client
        self._requests = client.requests(check)

    @property
    def failure(self) -> EmbedderError | None:
        """Why the rest of the texts is not sent any more; None while they are."""
        last = self._requests.stopped_by
        return None if last is None else self._result(last, {}).error

    @property
    def is_hopeless(self) -> bool:
        """Whether the run was stopped by a failure that waiting does not mend."""
        last = self._requests.stopped_by
        return last is not None and last.failure is not None and last.failure.kind != "transient"

    def send(self, texts: Iterable[str]) -> Iterator[EmbeddingResult]:
        """Embed texts; yield the result of each request as soon as it is known, in any order."""
        errors: dict[int, EmbedderError] = {}
        for answer in self._requests.send(texts):
            yield self._result(answer, errors)

    def try_again(self) -> None:
        """Send again after a stop; the next failure stops the run again."""
        self._requests.resume()

    def _result(self, answer: Answer, errors: dict[int, EmbedderError]) -> EmbeddingResult:
        if answer.error is None:
            return EmbeddingResult(answer.texts, answer.vectors)
        error = errors.get(id(answer.error))
        if error is None:
            error = errors[id(answer.error)] = self.client.error_of(answer.error)
        return EmbeddingResult(answer.texts, None, error)
