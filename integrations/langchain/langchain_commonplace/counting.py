"""How many tokens a conversation is, and whether that is when it is flushed.

The count errs on the high side: a flush that comes early costs little, one that comes after
LangChain's own compaction comes too late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

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
from langchain_commonplace.messages import flush_message

__all__ = [
    "TokenCounter",
    "Trigger",
    "context_window",
    "count_ahead",
    "default_counter",
    "part_counter",
    "reported_tokens",
]

TokenCounter = Callable[[Iterable[MessageLikeRepresentation]], int]

_ANTHROPIC_CHARS_PER_TOKEN = 3.3
"""What LangChain's summarization counts with for these models."""


def default_counter(model: BaseChatModel | None = None) -> TokenCounter:
    """Return what counts a whole conversation.

    The larger of LangChain's approximate count, scaled by the usage that the provider reported,
    and ours, which knows scripts and tool calls.
    """
    approximate = partial(_approximate(model), use_usage_metadata_scaling=True)

    def count(messages: Iterable[MessageLikeRepresentation]) -> int:
        listed = convert_to_messages(messages)
        return max(approximate(listed), _ours(listed))

    return count


def part_counter(model: BaseChatModel | None = None) -> TokenCounter:
    """Return what counts some messages of a conversation: reported usage is of the whole."""
    approximate = _approximate(model)

    def count(messages: Iterable[MessageLikeRepresentation]) -> int:
        listed = convert_to_messages(messages)
        return max(approximate(listed), _ours(listed))

    return count


def count_ahead(messages: Iterable[BaseMessage]) -> None:
    """Count messages for the counters above, which LangChain calls in the event loop.

    Called in a thread: a long conversation takes its time. Afterwards every message is known.
    """
    _ours(messages)


def _ours(messages: Iterable[BaseMessage]) -> int:
    """Count the tokens of messages as the core does, those of summaries included."""
    return sum(map(_tokens_of, messages))


_COUNTED: LRUCache[int] = LRUCache(10_000)
"""The tokens of messages: a conversation is counted before each model call, each message once."""


def _tokens_of(message: BaseMessage) -> int:
    plain = flush_message(message)
    key = f"{hash(plain.text)} {len(plain.text)} {hash(repr(plain.tool_calls))}"
    tokens = _COUNTED.get(key)
    if tokens is None:
        tokens = message_tokens([plain])
        _COUNTED.set(key, tokens)
    return tokens


def _approximate(model: BaseChatModel | None) -> Callable[..., int]:
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
    """Return the tokens that a model takes, by its profile."""
    profile = getattr(model, "profile", None)
    window = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
    return window if isinstance(window, int) else None


class Trigger:
    """When a conversation is compacted, in any form that LangChain's summarization takes.

    Args:
        given: ``("tokens", n)``, ``("messages", n)`` or ``("fraction", f)``; a dict of several, all
            of which must be met; a list of these, any of which suffices.
        window: The model's context window, for fractions.

    Raises:
        ValueError: A form, a name or a value that is none of these, or a fraction of an unknown
            window.
    """

    def __init__(self, given: Any, *, window: int | None) -> None:
        items = given if isinstance(given, list) else [given]
        self._clauses = [_clause(item, window) for item in items]

    def met(self, *, tokens: int, messages: int) -> bool:
        """Tell whether a conversation of so many tokens and messages is to be compacted."""
        size = {"tokens": tokens, "messages": messages}
        return any(
            all(size[name] >= least for name, least in clause.items()) for clause in self._clauses
        )


def _clause(item: Any, window: int | None) -> dict[str, int]:
    """Return the least tokens and messages of a clause."""
    pairs = item.items() if isinstance(item, Mapping) else [item]
    least: dict[str, int] = {}
    for pair in pairs:
        name, value = _pair(pair)
        if name == "fraction":
            if window is None:
                raise ValueError(
                    "the trigger is a fraction, but the model's profile does not say how many "
                    "tokens it takes; give ('tokens', n)."
                )
            name, value = "tokens", max(1, int(window * value))
        least[name] = max(least.get(name, 0), value)
    if not least:
        raise ValueError(f"the trigger {item!r} says nothing; give ('tokens', n), for instance.")
    return least


def _pair(pair: Any) -> tuple[str, Any]:
    try:
        name, value = pair
    except (TypeError, ValueError):
        name, value = None, None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    whole = isinstance(value, int)
    if not is_number or not (
        (name in ("tokens", "messages") and whole and value > 0)
        or (name == "fraction" and 0 < value <= 1)
    ):
        raise ValueError(
            f"the trigger {pair!r} is none of ('tokens', n), ('messages', n) with a whole n above "
            "0, or ('fraction', f) with f above 0 and at most 1."
        )
    return name, value
