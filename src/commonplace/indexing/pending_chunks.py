"""Pending chunks of a batch: which of them are complete while the rest is being embedded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable

__all__ = ["PendingChunks"]


class PendingChunks:
    """Chunks of which some texts have no vectors yet.

    Args:
        parts: The texts of each chunk, by its hash.
        known: The texts that have vectors.
    """

    def __init__(self, parts: dict[str, list[str]], known: Container[str]) -> None:
        self._parts = parts
        self._holders: defaultdict[str, list[str]] = defaultdict(list)
        self._lacking: dict[str, int] = {}
        for key, texts in parts.items():
            missing = {text for text in texts if text not in known}
            self._lacking[key] = len(missing)
            for text in missing:
                self._holders[text].append(key)

    def completed_by(self, texts: Iterable[str]) -> dict[str, list[str]]:
        """Note that texts have vectors now; return the chunks whose texts all have theirs."""
        completed = {}
        for text in texts:
            for key in self._holders.pop(text, ()):
                self._lacking[key] -= 1
                if not self._lacking[key]:
                    completed[key] = self._parts[key]
        return completed
