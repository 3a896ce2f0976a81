"""Token counters for conversations, and the context window of a chat model.

The counters err on the high side: an early flush costs little, and a flush after LangChain's own
compaction comes too late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from langchain.chat_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    MessageLikeRepresentation,
    convert_to_messages,
)
from langchain_core.messages.utils import count_tokens_approximately

from commonplace.flush import message_tokens
from langchain_commonplace.lru import LRUCache
from langchain_commonplace.message_conversion import flush_message

__all__ = [
    "TokenCounter",
    "context_window",
    "conversation_counter",
    "partial_counter",
    "reported_tokens",
    "warm_up_counters",
]

TokenCounter = Callable[[Iterable[MessageLikeRepresentation]], int]

_ANTHROPIC_CHARS_PER_TOKEN = 3.3
"""Ratio that LangChain's summarization uses for these models."""


def conversation_counter(model: BaseChatModel | None = None) -> TokenCounter:
    """Return a counter for whole conversations.

    The count is the larger of two: LangChain's approximation, scaled by the usage that the provider
    reported, and the core's count, which covers scripts and tool calls.
    """
    return _larger_of(partial(_approximation(model), use_usage_metadata_scaling=True))


def partial_counter(model: BaseChatModel | None = None) -> TokenCounter:
    """Return a counter for parts of a conversation; reported usage covers whole ones only."""
    return _larger_of(_approximation(model))


def _larger_of(approximate: Callable[..., int]) -> TokenCounter:
    def count(messages: Iterable[MessageLikeRepresentation]) -> int:
        listed = convert_to_messages(messages)
        return max(approximate(listed), _core_tokens(listed))

    return count


def warm_up_counters(messages: Iterable[BaseMessage]) -> None:
    """Count messages into the cache of the counters, which LangChain calls on the event loop.

    Called in a worker thread: the first count of a long conversation would block the event loop.
    """
    _core_tokens(messages)


def _core_tokens(messages: Iterable[BaseMessage]) -> int:
    """Count the tokens of messages as the core does, those of summaries included."""
    return sum(map(_cached_tokens, messages))


_TOKENS: LRUCache[int] = LRUCache(10_000)
"""Token counts of messages: conversations are counted at each model call, each message once."""


def _cached_tokens(message: BaseMessage) -> int:
    plain = flush_message(message)
    key = f"{hash(plain.text)} {len(plain.text)} {hash(repr(plain.tool_calls))}"
    tokens = _TOKENS.get(key)
    if tokens is None:
        tokens = message_tokens([plain])
        _TOKENS.set(key, tokens)
    return tokens


def _approximation(model: BaseChatModel | None) -> Callable[..., int]:
    kind = str(getattr(model, "_llm_type", ""))
    if kind.startswith("anthropic-chat"):
        return partial(count_tokens_approximately, chars_per_token=_ANTHROPIC_CHARS_PER_TOKEN)
    return count_tokens_approximately


def reported_tokens(messages: Sequence[BaseMessage]) -> int:
    """Return the tokens that a provider reported for the conversation up to its last answer."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            usage = message.usage_metadata
            return int(usage.get("total_tokens") or 0) if usage else 0
    return 0


def context_window(model: BaseChatModel | None) -> int | None:
    """Return the context window of a model's profile, in tokens."""
    profile = getattr(model, "profile", None)
    window = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
    return window if isinstance(window, int) else None
