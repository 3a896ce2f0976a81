"""Compaction trigger: LangChain's ``trigger`` argument as thresholds of tokens and messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from langchain.agents.middleware.summarization import ContextSize, TriggerClause

__all__ = ["CompactionTrigger", "Trigger"]

Trigger: TypeAlias = "ContextSize | TriggerClause | list[ContextSize | TriggerClause]"
"""LangChain's forms of a trigger."""


class CompactionTrigger:
    """Trigger thresholds, in any form that LangChain's summarization takes.

    Args:
        trigger: ``("tokens", n)``, ``("messages", n)`` or ``("fraction", f)``; a dict of several,
            all of which must be met; a list of these, any of which suffices.
        window: Context window of the model, for fractions.

    Raises:
        ValueError: The form, the name or the value is not one of these, or a fraction is given and
            the window is unknown.
    """

    def __init__(self, trigger: Trigger, *, window: int | None) -> None:
        items = trigger if isinstance(trigger, list) else [trigger]
        self._clauses = [_clause(item, window) for item in items]

    def is_met(self, *, tokens: int, messages: int) -> bool:
        """Return whether a conversation of this size is to be compacted."""
        size = {"tokens": tokens, "messages": messages}
        return any(
            all(size[name] >= least for name, least in clause.items()) for clause in self._clauses
        )


def _clause(item: Any, window: int | None) -> dict[str, int]:
    """Return the thresholds of a clause, by ``tokens`` and ``messages``."""
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
