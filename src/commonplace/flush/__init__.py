"""When and how a conversation becomes notes before it is compacted."""

from commonplace.flush.entry_processor import MAX_ATTEMPTS, FlushMemory
from commonplace.flush.flusher import Flusher
from commonplace.flush.messages import message_tokens, transcript_bytes
from commonplace.flush.protocol import FlushModel, FlushReply, FlushRequest, ModelCalls
from commonplace.flush.triggers import FlushCycle, FlushLimits, flush_reason, token_limit
from commonplace.types import FlushMessage, FlushReason, FlushReport, ToolCall

__all__ = [
    "MAX_ATTEMPTS",
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
    "ModelCalls",
    "ToolCall",
    "flush_reason",
    "message_tokens",
    "token_limit",
    "transcript_bytes",
]
