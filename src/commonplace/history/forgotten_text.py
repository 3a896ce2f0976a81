"""Forgotten text: which lines of other texts hold some of what is to be forgotten.

A line is recognised by runs of twelve characters that occur in no note that stays. Chance runs, as
any two sentences of a language share them, are not enough. What a forgotten line says as a whole
is enough; see `forgotten_lines`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from commonplace.history.forgotten_lines import ForgottenLines

__all__ = ["FORGOTTEN", "ForgottenText"]

FORGOTTEN = "[forgotten]"
"""What stands in place of a message, or of another value, that had nothing else to say."""

_RUN = 12
"""Characters of a run."""
_LONG = 20
"""Characters in a row that are no chance."""
_ODD = re.compile(r"(?=[^\s\d]*\d)[\w.@:/+#-]{6,}|[\w.@:/+#-]{12,}")
"""Words that are no chance: names with digits, numbers, addresses, and long ones."""


class ForgottenText:
    """Text to forget, and the removal of what is left of it in other texts.

    Args:
        lines: The lines.
        phrase: A text that no line may hold; empty for none.
    """

    def __init__(self, lines: Iterable[str], phrase: str = "") -> None:
        self._phrase = phrase.strip() if "\n" not in phrase.strip() else ""
        said = {line.strip() for line in lines} | ({self._phrase} - {""})
        self._lines = ForgottenLines(said)
        self._runs = {run for line in said for run in _runs(line) if any(map(str.isalnum, run))}

    def spare(self, text: str) -> None:
        """Leave out the runs that a text holds which stays."""
        self._lines.spare(text)
        self._runs.difference_update(run for line in text.split("\n") for run in _runs(line))

    @property
    def runs(self) -> frozenset[str]:
        """The runs, the short lines, and the phrase, that are in no text that stays."""
        return frozenset({*self._runs, *self._lines.short(), self._phrase} - {""})

    def is_in(self, line: str) -> bool:
        """Return whether a line holds some of it."""
        if self._phrase and self._phrase in line:
            return True
        return self._lines.are_in(line) or any(
            len(part) >= _LONG or 2 * len(part) >= len(line.strip()) or _ODD.search(part)
            for part in self._parts(line)
        )

    def _parts(self, line: str) -> Iterator[str]:
        """Yield the parts of a line of which each run is forgotten."""
        start: int | None = None
        for at in range(len(line) - _RUN + 2):
            if line[at : at + _RUN] in self._runs:
                start = at if start is None else start
            elif start is not None:
                yield line[start : at - 1 + _RUN]
                start = None

    def without(self, text: str) -> str:
        """Return a text without the lines that hold some of it; what stays is spared."""
        lines = text.split("\n")
        kept = [line for line in lines if not self.is_in(line)]
        if len(kept) == len(lines):
            return text
        return "\n".join(kept)

    def without_values(self, value: Any) -> Any:
        """Return a value of JSON without the texts that hold some of it."""
        if isinstance(value, str):
            left = self.without(value)
            return left if left == value or left.strip() else FORGOTTEN
        if isinstance(value, dict):
            return {
                key: self.without_values(item)
                for key, item in value.items()
                if not self.is_in(str(key))
            }
        if isinstance(value, list):
            return [self.without_values(item) for item in value]
        return value


def _runs(line: str) -> Iterator[str]:
    for at in range(len(line) - _RUN + 1):
        yield line[at : at + _RUN]
