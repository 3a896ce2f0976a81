"""Tail of a conversation: the messages that no flush had yet, known without reading the others."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.flush import Fingerprinter, FlushMessage, flushable_messages

__all__ = ["ConversationTail"]


class ConversationTail:
    """Messages at the end of a conversation that were not flushed yet.

    A conversation of thousands of messages is read once. From then on the tail is what was put
    since the last flush, as long as the messages in the queue are those that this object saw or
    put; otherwise another writer was there, and it is read once more.

    Attributes:
        unflushed: The messages.
        flushed: Fingerprints of all messages before them.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget the conversation: it is read before the next flush."""
        self.unflushed: list[FlushMessage] = []
        self.flushed = Fingerprinter()
        self._queue: list[bytes] | None = None

    def follows(self, queue: Sequence[FlushMessage]) -> bool:
        """Return whether the queue, of which the oldest may be gone, is as it was left."""
        if self._queue is None or len(queue) > len(self._queue):
            return False
        return _identities(queue) == self._queue[len(self._queue) - len(queue) :]

    def begin(
        self, messages: Sequence[FlushMessage], queue: Sequence[FlushMessage], *, flushed: int
    ) -> None:
        """Take over a conversation that was read.

        Args:
            messages: All of its messages.
            queue: Those in the queue.
            flushed: How many of the first ones were flushed before.
        """
        self.forget()
        self.flushed.extend(flushable_messages(messages[:flushed]))
        self.unflushed = list(messages[flushed:])
        self._queue = _identities(queue)

    def put(self, messages: Sequence[FlushMessage]) -> None:
        """Add messages that are put into the queue."""
        if self._queue is not None:
            self.unflushed += messages
            self._queue += _identities(messages)

    def settle(self, queue: Sequence[FlushMessage]) -> None:
        """Take all messages for flushed; the queue is what it is now."""
        self.flushed.extend(flushable_messages(self.unflushed))
        self.unflushed = []
        self._queue = _identities(queue)


def _identities(messages: Sequence[FlushMessage]) -> list[bytes]:
    return [own for own, _ in Fingerprinter().following(messages)]
