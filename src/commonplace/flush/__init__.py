"""Flush of a conversation into notes before it is compacted: triggers, journal, silent turn."""

from commonplace.flush.entries import checked_reason
from commonplace.flush.flusher import NO_MESSAGES, Flusher
from commonplace.flush.journal import MAX_ATTEMPTS
from commonplace.flush.messages import (
    Fingerprinter,
    flushable_messages,
    message_tokens,
    transcript_bytes,
)
from commonplace.flush.protocol import (
    CallableFlushModel,
    FlushMemory,
    FlushModel,
    FlushReply,
    FlushRequest,
)
from commonplace.flush.triggers import FlushCycle, FlushLimits, flush_reason, token_limit
from commonplace.text.tokens import prepare_counting
from commonplace.types import FlushMessage, FlushReason, FlushReport, ToolCall

__all__ = [
    "MAX_ATTEMPTS",
    "NO_MESSAGES",
    "CallableFlushModel",
    "Fingerprinter",
    "FlushCycle",
    "FlushLimits",
    "FlushMemory",
    "FlushMessage",
    "FlushModel",
    "FlushReason",
    "FlushReply",
    "FlushReport",
    "FlushRequest",
    "Flusher",
    "ToolCall",
    "checked_reason",
    "flush_reason",
    "flushable_messages",
    "message_tokens",
    "prepare_counting",
    "token_limit",
    "transcript_bytes",
]
