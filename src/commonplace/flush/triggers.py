"""Flush triggers: pure functions that decide when a conversation is flushed.

A cycle lasts from one compaction to the next and has one flush: early, when tokens or bytes reach
their trigger threshold, or at the compaction itself. A second flush of the cycle happens only for
messages that arrived between an early flush and the compaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from commonplace.profiles import from_settings
from commonplace.settings import Settings
from commonplace.types import FlushReason, FlushReport

if TYPE_CHECKING:
    from commonplace.flush.protocol import FlushMemory

__all__ = ["FlushCycle", "FlushLimits", "flush_reason", "token_limit"]


def token_limit(memory: FlushMemory | Settings, *, context_window: int | None = None) -> int | None:
    """Return the trigger threshold in tokens; None for never.

    The threshold is the window less the reserve less the soft threshold. In a small window the
    reserve is at most a quarter of it, and the soft threshold at most half of the rest, unless the
    memory's profile says otherwise.

    Args:
        memory: Its settings, or these by themselves, have the reserve, the soft threshold, and a
            window where none is given.
        context_window: Context window of the chat model, in tokens.
    """
    if isinstance(memory, Settings):
        flush, profile = memory.flush, from_settings(memory)
    else:
        flush, profile = memory.settings.flush, memory.profile
    window = flush.context_window if context_window is None else context_window
    reserve, soft = flush.reserve_tokens, flush.soft_threshold_tokens
    if profile.flush.fits_small_windows:
        reserve = min(reserve, window // 4)
        soft = min(soft, (window - reserve) // 2)
    limit = window - reserve - soft
    return limit if limit > 0 else None


@dataclass(frozen=True, slots=True)
class FlushLimits:
    """Trigger thresholds of a conversation.

    Attributes:
        tokens: Threshold in tokens; None for never.
        transcript_bytes: Threshold in bytes of text; None for never.
    """

    tokens: int | None
    transcript_bytes: int | None = None

    @classmethod
    def of_memory(cls, memory: FlushMemory, *, context_window: int | None = None) -> Self:
        """Return the thresholds of a memory; none when its flushes are disabled."""
        flush = memory.settings.flush
        if not flush.enabled:
            return cls(None, None)
        tokens = token_limit(memory, context_window=context_window)
        return cls(tokens, flush.transcript_bytes or None)


@dataclass(frozen=True, slots=True)
class FlushCycle:
    """State of a conversation since its last compaction.

    Attributes:
        id: Id of the last compaction's summary, or any value that changes with it.
        flushed: Whether the cycle had its flush.
    """

    id: str = ""
    flushed: bool = False

    def for_compaction(self, cycle_id: str) -> FlushCycle:
        """Return this cycle if the id is its own, else a new cycle."""
        return self if cycle_id == self.id else FlushCycle(cycle_id)

    def after(self, report: FlushReport) -> FlushCycle:
        """Return the cycle after a flush; a failed flush is retried at the next turn."""
        done = report.failed is None or report.transcript is not None
        return FlushCycle(self.id, self.flushed or done)


def flush_reason(
    limits: FlushLimits,
    *,
    tokens: int = 0,
    transcript_bytes: int = 0,
    compacting: bool = False,
    cycle: FlushCycle | None = None,
) -> FlushReason | None:
    """Return why a conversation is flushed now; None when it is not.

    Args:
        limits: The trigger thresholds.
        tokens: Tokens of the conversation, the pending message included.
        transcript_bytes: Bytes of the conversation.
        compacting: Whether a compaction is about to happen. The `Flusher` skips messages that were
            flushed before, so only messages since an early flush are written down.
        cycle: State of the conversation's cycle.
    """
    if compacting:
        return "compaction"
    if cycle is not None and cycle.flushed:
        return None
    if limits.tokens is not None and tokens >= limits.tokens:
        return "tokens"
    if limits.transcript_bytes is not None and transcript_bytes >= limits.transcript_bytes:
        return "transcript"
    return None
