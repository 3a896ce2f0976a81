"""How many tokens the messages of a LlamaIndex conversation are, and which of them will leave."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from llama_index.core.base.llms.types import ChatMessage

from commonplace.flush import FlushMessage, message_tokens

__all__ = ["leaving", "tokenize", "uncounted"]


@functools.lru_cache(maxsize=16_384)
def tokenize(text: str) -> range:
    """Return something as long as the text has tokens; needs no network, ever.

    LlamaIndex counts every message of the conversation for every message that is put, and does so
    in the event loop: what was counted is kept, for more messages than a conversation has.
    """
    return range(message_tokens([FlushMessage("user", text)]))


def uncounted(message: ChatMessage) -> list[str]:
    """Return the texts of the blocks that a stock `Memory` counts as nothing."""
    texts = []
    for block in message.blocks:  # by their names: the first releases of 0.14 lack the classes
        if block.block_type == "tool_call":
            texts.append(f"{block.tool_name} {block.tool_kwargs}")
        elif block.block_type == "thinking":
            texts.append(block.content or "")
    return [text for text in texts if text]


def leaving(
    messages: Sequence[ChatMessage], counts: Sequence[int], *, limit: float, flush_size: int
) -> Sequence[ChatMessage]:
    """Return the oldest messages: at least those that a stock `Memory` would archive now.

    It archives runs of `flush_size` tokens or a little more until the rest is within the limit,
    each time up to the next message of the user.

    Args:
        messages: The conversation, with what is about to be put.
        counts: The tokens of each message.
        limit: The tokens that may stay.
        flush_size: The tokens of a run.
    """
    excess = sum(counts) - limit
    if excess <= 0:
        return []
    gone = place = 0
    while place < len(messages) and gone < excess + flush_size:
        gone += counts[place]
        place += 1
    while place < len(messages) and messages[place].role != "user":
        place += 1
    return messages[:place]
