"""Quotation of notes, and of their untrusted lines: a mark in front of each line.

The mark is on every line, so that no untrusted text ends its own quote, and it says nothing that a
text could answer. A text that writes the mark itself is distrusted for it, and gains nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from commonplace.text.printable import printable

if TYPE_CHECKING:
    from commonplace.types import SearchResult

__all__ = [
    "SHORTENED",
    "UNTRUSTED_MARK",
    "block_quote",
    "quoted_context",
    "quoted_lines",
    "quoted_snippet",
    "without_lines",
]

SHORTENED = " …"
"""End of a line of which only the beginning is shown, in the context of a result."""

UNTRUSTED_MARK = "[untrusted] "
"""Mark of a line that came from outside, such as from a page or a mail.

JSON has it as it is, so that it is found in the answers of tools, too."""


def block_quote(text: str) -> str:
    """Quote a text as Markdown does.

    No line of it is a heading, a frame or an instruction of the prompt that holds it: what is
    invisible, or what a reader may take for the end of a line, is escaped.
    """
    lines = printable(text).replace("\r\n", "\n").split("\n")
    return "\n".join(f"> {line}" for line in lines)


def quoted_context(result: SearchResult) -> str:
    """Return a result's context, its untrusted lines marked, invisible characters escaped."""
    lines = result.context.count("\n") + 1
    return printable(quoted_lines(result.context, result.start_line - lines, result.untrusted))


def quoted_snippet(result: SearchResult) -> str:
    """Return a result's snippet, its untrusted lines marked, invisible characters escaped."""
    return printable(quoted_lines(result.snippet, result.start_line, result.untrusted))


def quoted_lines(text: str, first_line: int, untrusted: Collection[int]) -> str:
    """Mark the untrusted lines of a text; it has as many lines as before.

    Args:
        text: Lines of a file.
        first_line: Number of the first one.
        untrusted: Numbers of the untrusted ones.
    """
    text = text.replace("\r\n", "\n")
    if not untrusted:
        return text
    return "\n".join(
        _marked(line) if number in untrusted else line
        for number, line in enumerate(text.split("\n"), start=first_line)
    )


def without_lines(text: str, first_line: int, numbers: Collection[int]) -> str:
    """Return a text in which some lines are blank; the others keep their numbers."""
    if not numbers:
        return text
    return "\n".join(
        "" if number in numbers else line
        for number, line in enumerate(text.split("\n"), start=first_line)
    )


def _marked(line: str) -> str:
    """Mark a line, and all that a reader may take for lines of their own within it."""
    return "".join(UNTRUSTED_MARK + part for part in line.splitlines(keepends=True))
