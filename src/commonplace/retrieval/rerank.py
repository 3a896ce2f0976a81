"""Reranking: a cross-encoder, or any other scorer of passages, orders the best ones.

The stage lies between the features and the snippets and is off without a reranker. It fails open:
when the reranker raises, exceeds its deadline or returns wrong scores, the order without it is
kept, and `SearchResults.fallback` reports the reason.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from commonplace.embeddings.masking import masked, secrets_of
from commonplace.retrieval.query import SNIPPET_CHARS, Evidence
from commonplace.retrieval.snippets import Window

if TYPE_CHECKING:
    from commonplace.retrieval.passages import PassageTable

__all__ = ["DEADLINE_S", "MAX_PASSAGES", "RERANKED_CHARS", "RerankClient", "Reranker", "rerank"]

MAX_PASSAGES = 50
"""Passages of one search that a reranker scores, at most."""
RERANKED_CHARS = 350
"""Mean length of a passage: the windows that a reranker chooses from are packed for so many."""
DEADLINE_S = 1.0
"""Seconds that one search waits for a reranker."""
_MAX_PENDING = 4
"""Calls in flight, at most; while so many have not returned, further searches skip the stage."""
_PAIR_METHODS = ("predict", "score")
"""Methods that score ``(query, passage)`` pairs: of sentence-transformers' `CrossEncoder`, and of
LangChain's `BaseCrossEncoder`."""


class Reranker(Protocol):
    """Scorer of passages."""

    def __call__(self, query: str, passages: Sequence[str], /) -> Sequence[float]:
        """Return one finite score a passage, on any scale; higher is better."""


def rerank(
    client: RerankClient, found: list[Evidence], *, limit: int
) -> tuple[list[Evidence], str | None]:
    """Order the best windows of each source by a reranker's scores, all of them in one call.

    The windows take over the evidence of the places that they move to, so that scores stay
    comparable between questions. Equal scores keep their order.

    Args:
        client: The reranker.
        found: The windows of each source, best first.
        limit: Windows of a source that are reranked, at most.

    Returns:
        The windows in their new order, and the failure of the reranker: then in the old order.
    """
    passages = [
        _text_of(window, evidence.lines.table)
        for evidence in found
        for window in evidence.windows[:limit]
    ]
    if not passages:
        return found, None
    answer = client.scores(found[0].analyzed.query.text, passages)
    if answer.scores is None:
        return found, answer.failure
    scores = iter(answer.scores)
    reranked = [
        evidence._replace(
            windows=_reordered(evidence.windows[:limit], scores) + evidence.windows[limit:]
        )
        for evidence in found
    ]
    return reranked, None


def _text_of(window: Window, table: PassageTable) -> str:
    """Return the text of a window; a unit that is longer than a snippet is cut."""
    return table.text[table.start[window.first] : table.end[window.last]][:SNIPPET_CHARS]


def _reordered(windows: list[Window], scores: Iterator[float]) -> list[Window]:
    scored = [window._replace(rerank=next(scores)) for window in windows]
    ordered = sorted(scored, key=lambda window: window.rerank or 0.0, reverse=True)
    return [
        window._replace(mass=place.mass) for window, place in zip(ordered, windows, strict=True)
    ]


class _Answer(NamedTuple):
    """Answer of a reranker: one score a passage, or why there are none."""

    scores: list[float] | None
    failure: str | None = None


class RerankClient:
    """Client of a reranker: calls it in a thread, with a deadline, and checks its scores.

    A call that exceeds the deadline is abandoned. Its thread ends with the call.
    """

    def __init__(self, reranker: Any, *, deadline_s: float = DEADLINE_S) -> None:
        """Wrap a reranker.

        Args:
            reranker: A `Reranker`, or an object with ``predict(pairs)`` or ``score(pairs)``.
            deadline_s: Seconds that one call may take.

        Raises:
            TypeError: The object is neither.
        """
        self._reranker = reranker
        self._call = _scorer(reranker)
        self._deadline_s = deadline_s
        self._pending = threading.BoundedSemaphore(_MAX_PENDING)

    def scores(self, query: str, passages: Sequence[str]) -> _Answer:
        """Return the scores of passages, or why there are none."""
        if not self._pending.acquire(blocking=False):
            return self._failed(f"{_MAX_PENDING} earlier calls have not returned yet")
        answer: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
        context = contextvars.copy_context()
        thread = threading.Thread(
            target=context.run,
            args=(self._answer, query, list(passages), answer),
            name="commonplace-rerank",
            daemon=True,
        )
        try:
            thread.start()
        except RuntimeError as error:  # the process is at its limit of threads, or ends
            self._pending.release()
            return self._failed(str(error))
        try:
            return answer.get(timeout=self._deadline_s)
        except queue.Empty:
            return self._failed(f"it did not answer within {self._deadline_s:g} s")

    def _answer(self, query: str, passages: list[str], answer: queue.SimpleQueue[_Answer]) -> None:
        try:
            given = self._call(query, passages)
            found = np.asarray(given if hasattr(given, "__len__") else list(given), dtype=float)
            answer.put(self._checked(found, len(passages)))
        except BaseException as error:  # noqa: BLE001 - the search reports it
            reason = masked(str(error), secrets_of(self._reranker))
            answer.put(self._failed(f"{type(error).__name__}: {reason}" if reason else repr(error)))
        finally:
            self._pending.release()

    def _checked(self, scores: np.ndarray[Any, np.dtype[np.float64]], expected: int) -> _Answer:
        if scores.shape not in ((expected,), (expected, 1)):
            shape = (
                f"{len(scores)} scores" if scores.ndim == 1 else f"scores of shape {scores.shape}"
            )
            return self._failed(f"it returned {shape} for {expected} passages")
        if not np.isfinite(scores).all():
            return self._failed("it returned a score that is no finite number")
        return _Answer(scores.ravel().tolist())

    def _failed(self, reason: str) -> _Answer:
        return _Answer(None, f"the reranker failed: {reason}; results are in the order without it")


def _scorer(reranker: Any) -> Callable[[str, list[str]], Any]:
    # First, for a CrossEncoder is a torch module: calling it runs the network on tensors.
    for name in _PAIR_METHODS:
        method = getattr(reranker, name, None)
        if callable(method):
            return lambda query, passages: method([(query, passage) for passage in passages])
    if callable(reranker):
        scorer: Callable[[str, list[str]], Any] = reranker
        return scorer
    raise TypeError(
        f"reranker is {type(reranker).__name__}; a callable (query, passages) -> scores, or an "
        "object with predict(pairs) or score(pairs), was expected. Rerankers of LangChain and "
        "LlamaIndex are adapted by as_reranker of their integration."
    )
