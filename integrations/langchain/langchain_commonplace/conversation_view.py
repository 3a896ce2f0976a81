"""Conversation view: what was last seen of each conversation, and what has vanished from it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from langchain_core.messages import BaseMessage

from commonplace.flush import FlushMessage
from langchain_commonplace.lru import LRUCache
from langchain_commonplace.message_conversion import flush_message, is_summary

__all__ = ["ConversationView"]

_MAX_CONVERSATIONS = 256
_LEAST_COMMON = 2
"""Messages that two views of one conversation have in common, at least."""


@dataclass(slots=True)
class _Seen:
    """Messages of a conversation by their ids, text only: pictures would fill the memory."""

    present: dict[Hashable, FlushMessage] = field(default_factory=dict)
    vanished: dict[Hashable, FlushMessage] = field(default_factory=dict)


class ConversationView:
    """View of the conversations of one middleware: ids and texts tell which messages are gone.

    Compared are messages and not marks of a compaction, so that it does not matter what removed
    them. A message with the id of another one replaces it, as where something is redacted. Where
    all ids are new, a client without a checkpointer has sent the conversation again: texts tell.
    """

    def __init__(self) -> None:
        self._seen: LRUCache[_Seen] = LRUCache(_MAX_CONVERSATIONS)
        self._joining = threading.Lock()

    def update(self, key: str, messages: Sequence[BaseMessage]) -> list[FlushMessage]:
        """Set a conversation's messages; return those that vanished and are not settled."""
        before, present = self._seen.get(key) or _Seen(), _named(messages)
        vanished = _missing({**before.vanished, **before.present}, present)
        self._seen.set(key, _Seen(present, vanished))
        return list(vanished.values())

    def join(self, key: str, messages: Sequence[BaseMessage]) -> bool:
        """Return whether messages are of a conversation: they continue it, or are its first ones.

        They continue it if all that was last seen of it is there, or two messages: a graph hands
        another agent the last one alone, which is no sign that the others have vanished.
        """
        present = _named(messages)
        with self._joining:  # else each of the agents that `Send` starts would be the first
            seen = self._seen.get(key)
            if seen is None:
                self._seen.set(key, _Seen(present))
                return True
        common = seen.present.keys() & present.keys()
        return len(common) >= _LEAST_COMMON or not _missing(seen.present, present)

    def settle(self, key: str) -> None:
        """Forget the vanished messages of a conversation: they are written down, or safe."""
        if seen := self._seen.get(key):
            seen.vanished = {}

    def pop(self, key: str) -> list[FlushMessage]:
        """Forget a conversation and return the messages that it had last."""
        seen = self._seen.pop(key) or _Seen()
        return [*seen.vanished.values(), *seen.present.values()]


def _named(messages: Sequence[BaseMessage]) -> dict[Hashable, FlushMessage]:
    """Return the messages by their ids, without summaries."""
    return {
        message.id or object(): flush_message(message)
        for message in messages
        if not is_summary(message)
    }


def _missing(
    known: dict[Hashable, FlushMessage], present: dict[Hashable, FlushMessage]
) -> dict[Hashable, FlushMessage]:
    """Return the known messages that are no longer there."""
    kept = set(present)
    if known.keys().isdisjoint(kept):
        kept |= _sent_again(known, present)
    return {name: message for name, message in known.items() if name not in kept}


def _sent_again(
    known: dict[Hashable, FlushMessage], present: dict[Hashable, FlushMessage]
) -> set[Hashable]:
    """Return the names of messages whose texts are there under other names, the last ones first."""
    left = Counter(map(_said, present.values()))
    found = set()
    for name, message in reversed(known.items()):
        if left[_said(message)] > 0:
            left[_said(message)] -= 1
            found.add(name)
    return found


def _said(message: FlushMessage) -> Hashable:
    """Return what a message says, by which two are one."""
    calls = tuple(call.id for call in message.tool_calls)
    return message.role, message.text, message.call_id, calls
