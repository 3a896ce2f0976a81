"""Corrections: wrong lines are struck through where they stand, and linked with what corrects them.

Both files are changed in one step, which one `undo` takes back.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING

from commonplace.errors import EditError
from commonplace.history.causes import Cause
from commonplace.history.citations import CitationFinder, Place
from commonplace.history.edits import FileCodec, appended_bytes
from commonplace.history.note_changes import Mutation
from commonplace.history.service import there
from commonplace.text.blocks import block_at, find_blocks
from commonplace.text.front_matter import read_front_matter
from commonplace.text.strikethrough import CorrectionLink, is_struck, strike
from commonplace.types import checked_text
from commonplace.workspace.paths import log_path

if TYPE_CHECKING:
    from commonplace.history.service import NoteService
    from commonplace.store.base import Store
    from commonplace.types import Origin, Version

__all__ = ["Corrector"]

_FENCE = re.compile(r"[\s>]*(?:[-*+]\s+|\d{1,9}[.)]\s+)?(?P<mark>`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
_LIST_MARK = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+")
_DELIMITERS = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t\r]*")


class Corrector:
    """Corrects lines of notes.

    Args:
        notes: Changes the notes.
        store: The index.
    """

    def __init__(self, notes: NoteService, store: Store) -> None:
        self._notes = notes
        self._store = store

    def correct(self, citation: str, text: str, *, day: date, origin: Origin | None) -> Version:
        """Strike the cited lines through, and write what is right to a day's log.

        Args:
            citation: The lines.
            text: What is right.
            day: Day of the log.
            origin: Author of the correction.

        Raises:
            EditError: The lines have changed since they were shown, or cannot be struck.
        """
        if not checked_text("text", text).strip():
            raise EditError("the correction is empty; give the text that is right.")
        finder = CitationFinder(self._notes, self._store, citation)
        found = finder.place
        path, log = found.path, log_path(day)
        right = text

        def struck(before: bytes | None) -> bytes:
            nonlocal found, right
            data = there(path, before)
            codec = FileCodec.of(data)
            lines = codec.decode(data).split("\n")
            found = finder.find(lines)
            right = _with_header(text, lines, found)
            link = CorrectionLink(_relative(log, path), day)
            return codec.encode("\n".join(_struck_lines(lines, found, link)))

        def noted(before: bytes | None) -> bytes | None:
            link = CorrectionLink(_relative(path, log), line=found.first)
            return appended_bytes(before, _linked(right, link), title=day.isoformat())

        mutations = [Mutation(path, struck), Mutation(log, noted)]
        if path == log:
            mutations = [Mutation(path, lambda before: noted(struck(before)))]
        with self._notes.folder_of(log):
            return self._notes.apply(mutations, Cause("correct", origin))[0]


def _struck_lines(lines: list[str], place: Place, link: CorrectionLink) -> list[str]:
    code = set(_code_lines(lines))
    struck = list(lines)
    several = place.last > place.first
    for at in range(place.first - 1, place.last):
        line = lines[at]
        if several and at not in code and _is_title(lines, at):
            continue  # what stands below it is wrong; a title that is, is cited alone
        if at in code:
            raise EditError(
                f"line {at + 1} of {place.path} is code or front matter, in which nothing can be "
                "struck through; edit it instead. Nothing was changed."
            )
        if not line.lstrip().startswith("|") and _is_row(lines, at):
            raise EditError(
                f"line {at + 1} of {place.path} is a row of a table without outer bars, which "
                "cannot be struck through; edit it instead. Nothing was changed."
            )
        if any(map(str.isalnum, line)) and not is_struck(line):
            try:
                struck[at] = strike(line, link)
            except ValueError as error:
                raise EditError(
                    f"line {at + 1} of {place.path} has marks that cannot be struck through; edit "
                    "it instead. Nothing was changed."
                ) from error
    if struck == lines:
        is_done = is_struck(lines[place.first - 1])
        what = "struck through already" if is_done else "without text"
        raise EditError(f"{place} is {what}. Nothing was changed.")
    return struck


def _code_lines(lines: Sequence[str]) -> Iterator[int]:
    """Yield the indexes of the lines of front matter, of fenced and of indented code."""
    front = read_front_matter("\n".join(lines)).lines
    yield from range(front)
    fence = ""
    for at in range(front, len(lines)):
        line = lines[at]
        mark = _FENCE.match(line)
        if fence:
            yield at
            if mark and mark["mark"].startswith(fence) and not line.strip(" \t\r>`~"):
                fence = ""
        elif mark:
            fence = mark["mark"]
            yield at
        elif line.startswith(("    ", "\t")) and line.strip() and _is_indented_code(lines, at):
            yield at


def _is_indented_code(lines: Sequence[str], at: int) -> bool:
    """Return whether an indented line is code: neither of a list nor of a paragraph above it."""
    for before in reversed(lines[:at]):
        if before.strip() and not before.startswith(("    ", "\t")):
            return not _ITEM.match(before) and not lines[at - 1].strip()
        if _ITEM.match(before):
            return False
    return True


def _is_title(lines: Sequence[str], at: int) -> bool:
    """Return whether a line is a heading, or the header row of a table."""
    if _HEADING.match(lines[at]):
        return True
    below = lines[at + 1] if at + 1 < len(lines) else ""
    return "|" in lines[at] and "|" in below and "-" in below and bool(_DELIMITERS.fullmatch(below))


def _is_row(lines: Sequence[str], at: int) -> bool:
    """Return whether a line is a row of a table: a row of delimiters is among those around it."""
    if "|" not in lines[at]:
        return False
    first = at
    while first > 0 and lines[first - 1].strip():
        first -= 1
    block = lines[first : at + 2]
    return any("-" in line and "|" in line and _DELIMITERS.fullmatch(line) for line in block)


def _with_header(text: str, lines: Sequence[str], place: Place) -> str:
    """Return rows of a table with the header of the table that they correct, if they have none."""
    rows = text.strip().splitlines()
    if not rows[0].startswith("|") or find_blocks(rows):
        return text
    block = block_at(find_blocks(lines), place.first - 1)
    if block is None or block.kind != "table":
        return text
    return "\n".join((*block.lead, *rows))


def _linked(text: str, link: CorrectionLink) -> str:
    """Return a correction as a list item, with the link behind its first line."""
    lines = text.replace("\r\n", "\n").strip("\n").split("\n")
    first, rest = lines[0].rstrip(), lines[1:]
    if _FENCE.match(first) or first.lstrip().startswith(("|", "#", ">")):
        return "\n".join([f"- A correction: {link}", "", *lines])
    mark = "" if _LIST_MARK.match(first) else "- "
    indented = [f"  {line}" if mark and line.strip() else line for line in rest]
    return "\n".join([f"{mark}{first} {link}", *indented])


def _relative(path: str, source: str) -> str:
    """Return a note's path relative to the folder of another note."""
    return posixpath.relpath(path, posixpath.dirname(source) or ".")
