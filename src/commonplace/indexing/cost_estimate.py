"""Cost estimate of a long index run: texts, tokens and price."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from commonplace.embeddings.client import EmbeddingClient
from commonplace.types import IndexReport

if TYPE_CHECKING:
    from commonplace.indexing.planner import IndexPlan

__all__ = [
    "BATCH_JOBS_RUNNING",
    "IndexEstimate",
    "announce",
    "combined",
    "is_long",
    "with_embedded",
]

logger = logging.getLogger(__name__)

_ESTIMATED_FROM_BYTES = 64 * 1024
"""A smaller plan is done sooner than it is estimated."""
_REPORTED_FROM_TEXTS = 1000
_BYTES_A_TOKEN = 4
BATCH_JOBS_RUNNING = "the vendor's batch interface is still at work"


@dataclass(frozen=True, slots=True)
class IndexEstimate:
    """Estimate of what a run is about to embed.

    Attributes:
        texts: Number of texts without a vector.
        tokens: Number of their tokens, estimated.
        cost_usd: Price in US dollars, estimated; None where it is not known.
        embedder: Provider and model.
    """

    texts: int
    tokens: int
    cost_usd: float | None
    embedder: str

    @classmethod
    def of(cls, texts: Iterable[str], client: EmbeddingClient) -> IndexEstimate:
        """Estimate tokens and price of texts."""
        sizes = [len(text.encode("utf-8", "replace")) for text in texts]
        tokens = sum(sizes) // _BYTES_A_TOKEN
        cost = None if client.price is None else tokens * client.price / 1e6
        return cls(len(sizes), tokens, cost, client.label)

    def __str__(self) -> str:
        parts = [f"{self.texts:,} texts", f"about {_short(self.tokens)} tokens"]
        if self.cost_usd is not None:
            parts.append("free of charge" if not self.cost_usd else f"about {_dollars(self)}")
        return f"{', '.join(parts)} with {self.embedder}"


def _short(count: int) -> str:
    for size, unit in ((1_000_000, " M"), (1_000, " k")):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)


def _dollars(estimate: IndexEstimate) -> str:
    cost = estimate.cost_usd or 0.0
    return "less than $0.01" if cost < 0.01 else f"${cost:.2f}"


def is_long(plan: IndexPlan, client: EmbeddingClient | None) -> bool:
    """Return whether a plan is large enough to be estimated, and embedded over a network."""
    if client is None or client.is_local:
        return False
    return sum(file.size for file, _, _ in plan.read) >= _ESTIMATED_FROM_BYTES


def announce(texts: Iterable[str], client: EmbeddingClient, progress: object) -> IndexEstimate:
    """Log what a run is about to embed, and call `progress.estimated`, if there is one, with it."""
    estimate = IndexEstimate.of(texts, client)
    if estimate.texts >= _REPORTED_FROM_TEXTS:
        logger.info("embedding %s", estimate)
        report = getattr(progress, "estimated", None)
        if callable(report):
            report(estimate)
    return estimate


def combined(first: IndexReport, then: IndexReport) -> IndexReport:
    """Merge the reports of two runs, the second of which completed the first."""
    return replace(
        then,
        added=first.added + then.added,
        updated=first.updated + max(0, then.updated - first.added - first.updated),
        removed=first.removed + then.removed,
        unchanged=first.unchanged,
        embedded=first.embedded + then.embedded,
        cached=first.cached + then.cached,
        seconds=first.seconds + then.seconds,
    )


def with_embedded(report: IndexReport, texts: int) -> IndexReport:
    """Report texts that were embedded ahead of a run as embedded: the run found them cached."""
    cached = max(0, report.cached - texts)
    return replace(report, embedded=report.embedded + texts, cached=cached)
