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

_WORTH_A_LOOK_BYTES = 64 * 1024
"""A plan of fewer bytes to read is done sooner than it is estimated."""
_WORTH_TELLING_TEXTS = 1000
_BYTES_A_TOKEN = 4
BATCH_JOBS_RUNNING = "the vendor's batch interface is still at work"


@dataclass(frozen=True, slots=True)
class IndexEstimate:
    """What a run is about to embed.

    Attributes:
        texts: How many texts; none of them has a vector yet.
        tokens: About how many tokens those are.
        cost_usd: What that costs about, in US dollars; None where the price is not known.
        embedder: Provider and model.
    """

    texts: int
    tokens: int
    cost_usd: float | None
    embedder: str

    @classmethod
    def of(cls, texts: Iterable[str], encoder: EmbeddingClient) -> IndexEstimate:
        """Estimate what an encoder takes for texts."""
        sizes = [len(text.encode("utf-8", "replace")) for text in texts]
        tokens = sum(sizes) // _BYTES_A_TOKEN
        cost = None if encoder.price is None else tokens * encoder.price / 1e6
        return cls(len(sizes), tokens, cost, encoder.label)

    def __str__(self) -> str:
        told = [f"{self.texts:,} texts", f"about {_short(self.tokens)} tokens"]
        if self.cost_usd is not None:
            told.append("free of charge" if not self.cost_usd else f"about {_dollars(self)}")
        return f"{', '.join(told)} with {self.embedder}"


def _short(count: int) -> str:
    for size, unit in ((1_000_000, " M"), (1_000, " k")):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)


def _dollars(estimate: IndexEstimate) -> str:
    cost = estimate.cost_usd or 0.0
    return "less than $0.01" if cost < 0.01 else f"${cost:.2f}"


def is_long(plan: IndexPlan, encoder: EmbeddingClient | None) -> bool:
    """Whether a plan is worth a look at what it costs: much of it, over a network."""
    if encoder is None or encoder.is_local:
        return False
    return sum(file.size for file, _, _ in plan.read) >= _WORTH_A_LOOK_BYTES


def announce(texts: Iterable[str], encoder: EmbeddingClient, progress: object) -> IndexEstimate:
    """Tell what a run is about to embed: in the log, and `progress.estimated`, if it has that."""
    estimate = IndexEstimate.of(texts, encoder)
    if estimate.texts >= _WORTH_TELLING_TEXTS:
        logger.info("embedding %s", estimate)
        told = getattr(progress, "estimated", None)
        if callable(told):
            told(estimate)
    return estimate


def combined(first: IndexReport, then: IndexReport) -> IndexReport:
    """Report two runs, the second of which completed what the first one had begun, as one."""
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
