"""Token counts of LlamaIndex messages, and the messages that exceed a token budget."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from llama_index.core.base.llms.types import ChatMessage, TextBlock

from commonplace.flush import FlushMessage, message_tokens

__all__ = ["evicted_messages", "plain_texts", "tokenize", "uncounted_texts"]


@functools.lru_cache(maxsize=16_384)
def tokenize(text: str) -> range:
    """Return a range as long as the text has tokens; it never uses the network.

    LlamaIndex counts all messages of a conversation for each message that is put, on the event
    loop; the cache holds more messages than a conversation has.
    """
    return range(message_tokens([FlushMessage("user", text)]))


def plain_texts(counted: object) -> list[str] | None:
    """Return the texts of a message that holds nothing else; None for anything else."""
    if not isinstance(counted, ChatMessage) or counted.additional_kwargs:
        return None
    texts = [block.text for block in counted.blocks if isinstance(block, TextBlock)]
    return texts if len(texts) == len(counted.blocks) else None


def uncounted_texts(counted: object) -> list[str]:
    """Return the texts of what a stock `Memory` does not count: tool calls and thoughts."""
    messages = counted if isinstance(counted, list) else [counted]
    texts = []
    for message in messages:
        # Blocks by their names: the first releases of 0.14 lack the classes.
        for block in message.blocks if isinstance(message, ChatMessage) else ():
            if block.block_type == "tool_call":
                texts.append(f"{block.tool_name} {block.tool_kwargs}")
            elif block.block_type == "thinking":
                texts.append(block.content or "")
    return [text for text in texts if text]


def evicted_messages(
    messages: Sequence[ChatMessage], counts: Sequence[int], *, limit: float, flush_size: int
) -> Sequence[ChatMessage]:
    """Return the oldest messages: at least those that a stock `Memory` would evict now.

    It evicts runs of `flush_size` tokens or a little more until the rest is within the limit. Each
    run ends before a message of the user.

    Args:
        messages: The conversation, with the messages that are about to be put.
        counts: The tokens of each message.
        limit: Token budget of the conversation.
        flush_size: Tokens of a run.
    """
    excess = sum(counts) - limit
    if excess <= 0:
        return []
    tokens = end = 0
    while end < len(messages) and tokens < excess + flush_size:
        tokens += counts[end]
        end += 1
    while end < len(messages) and messages[end].role != "user":
        end += 1
    return messages[:end]
