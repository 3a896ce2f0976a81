"""Citations: the lines that one names, where they stand now."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from commonplace.errors import EditError
from commonplace.history.edits import nearest_lines
from commonplace.history.lines import normal_line
from commonplace.types import SearchResult
from commonplace.types import citation as cited

if TYPE_CHECKING:
    from commonplace.history.service import NoteService
    from commonplace.store.base import Store
    from commonplace.types import Excerpt

__all__ = ["CitationFinder", "Place", "cited_lines", "parse_citation"]

_CITATION = re.compile(r"(?P<path>.+)#L(?P<first>[0-9]{1,9})(?:-L(?P<last>[0-9]{1,9}))?")
_LEAST_PART_CHARS = 60
"""Length of a part of a line by which the line is recognised."""

_MAX_PLACES = 5
"""Places that an error names."""

_Lines = dict[int, set[str]]
"""Lines by their numbers; of a line of which only parts are known, those."""


class Place(NamedTuple):
    """Lines of a file that a citation names, from 1, both included."""

    path: str
    first: int
    last: int

    def __str__(self) -> str:
        return cited(self.path, self.first, self.last)


def parse_citation(citation: str) -> Place:
    """Return the place that a citation names.

    Raises:
        EditError: The text is no citation.
    """
    match = _CITATION.fullmatch(citation.strip())
    if match is None or not int(match["first"]):
        raise EditError(
            f"{citation!r} is no citation; expected is one as memory_search shows it, such as "
            "MEMORY.md#L3 or MEMORY.md#L3-L9."
        )
    first, last = int(match["first"]), int(match["last"] or match["first"])
    if last < first:
        raise EditError(f"{citation!r} ends before it begins; give the first line first.")
    return Place(match["path"], first, last)


def cited_lines(
    path: str, from_line: int | None, lines: int | None
) -> tuple[str, int | None, int | None]:
    """Return path, first line and number of lines: those of a citation given as the path, if any.

    Raises:
        EditError: The citation ends before it begins.
    """
    if from_line is not None or lines is not None or not _CITATION.fullmatch(path.strip()):
        return path, from_line, lines
    place = parse_citation(path)
    return place.path, place.first, place.last - place.first + 1


class CitationFinder:
    """Finder of the lines that a citation names, by what they said when they were shown.

    Another program may have changed the file since, and an index run may have met it. What this
    process has shown counts; where it has shown nothing, or has changed the file since, what the
    index has.

    Args:
        notes: The notes, and what was shown of them.
        store: The index.
        citation: The citation.

    Attributes:
        place: The lines as they are cited.

    Raises:
        EditError: The text is no citation.
        PathNotAllowedError: It is not one of a note.
    """

    def __init__(self, notes: NoteService, store: Store, citation: str) -> None:
        place = parse_citation(citation)
        self.place = place._replace(path=notes.note_path(place.path))
        self._quoted = notes.mutator.ledger.quoted(self.place.path)
        self._is_changed = False
        self._readings = list(self._shown(notes.shown))
        if not self._readings or self._is_changed:
            self._readings.append(self._indexed(store))

    def find(self, lines: Sequence[str]) -> Place:
        """Return where the lines are: where the citation says, or where they have moved to.

        Args:
            lines: Lines of the file as it is.

        Raises:
            EditError: They are in no place, or in several.
        """
        place = self.place
        for reading in self._readings:
            if not reading and place.last <= len(lines) - (lines[-1] == ""):
                return place
            if _matches(lines, place.first - 1, wanted := self._wanted(reading)):
                return place
            starts = [at for at in range(len(lines)) if _matches(lines, at, wanted)]
            if len(starts) > 1:
                raise self._ambiguous(starts)
            if starts:
                return self._from(starts[0])
        raise self._missing(lines)

    # -- readings: what the lines said -------------------------------------------------------------

    def _shown(self, shown: Iterable[SearchResult | Excerpt | str]) -> Iterator[_Lines]:
        """Yield the lines as they were shown last, and note whether they were changed since."""
        for one in reversed(tuple(shown)):
            if isinstance(one, str):
                self._is_changed |= one == self.place.path
            elif one.path == self.place.path and (lines := self._lines_of(one)):
                yield lines
                return

    def _lines_of(self, shown: SearchResult | Excerpt) -> _Lines:
        """Return the lines as a result or an excerpt has them; none unless it has all of them."""
        if is_result := isinstance(shown, SearchResult):
            first, lines = shown.start_line, shown.snippet.split("\n")
        else:
            first, lines = shown.from_line, shown.text.split("\n")
        last = first + len(lines) - 1
        if self.place.first < first or self.place.last > last:
            return {}
        found = {}
        for number in range(self.place.first, self.place.last + 1):
            line = lines[number - first]
            may_be_cut = is_result and number in (first, last) and len(line) >= _LEAST_PART_CHARS
            found[number] = {line, ""} if may_be_cut else {line}
        return found

    def _indexed(self, store: Store) -> _Lines:
        """Return the lines as the index has them."""
        found: _Lines = {}
        if store.exists():
            with store.snapshot() as snapshot:
                for chunk, _ in snapshot.chunks_of(self.place.path):
                    for number, line in enumerate(chunk.text.split("\n"), start=chunk.start_line):
                        if self.place.first <= number <= self.place.last:
                            found.setdefault(number, set()).add(line)
        return found

    def _wanted(self, reading: _Lines) -> list[set[str]]:
        return [reading.get(at, set()) for at in range(self.place.first, self.place.last + 1)]

    # -- what was found ----------------------------------------------------------------------------

    def _from(self, start: int) -> Place:
        size = self.place.last - self.place.first + 1
        return Place(self.place.path, start + 1, start + size)

    def _ambiguous(self, starts: Sequence[int]) -> EditError:
        places = ", ".join(str(self._from(at)) for at in starts[:_MAX_PLACES])
        return EditError(
            f"the lines of {self.place} have moved, and stand in {len(starts)} places: {places}. "
            "Nothing was changed; cite the one that is meant."
        )

    def _missing(self, lines: Sequence[str]) -> EditError:
        wanted = self._wanted(self._readings[0])
        said = next((part for parts in wanted for part in sorted(parts) if part.strip()), "")
        near = "; ".join(
            f"{cited(self.place.path, number, number)}: {line}"
            for number, line in nearest_lines("\n".join(lines), said, self._quoted)
        )
        count = len(lines) - (lines[-1:] == [""])
        has = "1 line" if count == 1 else f"{count} lines"
        hint = f"The nearest are {near}." if near else f"It has {has}."
        return EditError(
            f"the lines of {self.place} are not there any more; nothing was changed. {hint}"
        )


def _matches(lines: Sequence[str], start: int, wanted: Sequence[set[str]]) -> bool:
    """Return whether lines stand at an index; formatting them, or striking them, moves none."""
    if start + len(wanted) > len(lines) or not any(wanted):
        return False
    for line, parts in zip(lines[start:], wanted, strict=False):
        said, known = normal_line(line), [normal_line(part) for part in parts]
        if len(known) > 1 and not all(part in said for part in known):
            return False
        if len(known) <= 1 and said != next(iter(known), ""):
            return False
    return True
