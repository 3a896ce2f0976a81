"""Plan of a forgetting: the lines and notes that go, and what of them is looked for elsewhere."""

from __future__ import annotations

import json
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from commonplace.history.edits import FileCodec
from commonplace.history.versions import content_hash
from commonplace.text.strikethrough import CorrectionLink, correction_links
from commonplace.types import citation

if TYPE_CHECKING:
    from typing import Self

__all__ = ["FileEdit", "ForgetPlan", "planned_edits"]

Selected = Callable[[str, list[str]], Iterable[int]]
"""Function from a note and its lines to the indexes of those to forget."""
_LONG = 12
"""Characters of a line that is no other one by chance."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """Change of one note.

    Attributes:
        before: Hash of the file's bytes.
        lines: New text of each changed line, by its index; None for a line that goes.
        old: Text of each changed line before.
        deletes: Whether the whole file goes.
        after: Hash of the file's bytes after the change: a file that has it is done.
    """

    before: str
    lines: dict[int, str | None] = field(default_factory=dict)
    old: dict[int, str] = field(default_factory=dict)
    deletes: bool = False
    after: str = ""

    @property
    def removed(self) -> tuple[str, ...]:
        """Texts of the lines that go, without blank ones."""
        gone = (self.old[at] for at, line in sorted(self.lines.items()) if line is None)
        return tuple(line for line in gone if line.strip())

    def apply(self, data: bytes | None) -> bytes | None:
        """Return the new bytes of the file, whatever another program has made of it meanwhile.

        Lines that do not stand where they were go wherever they are, short ones only from a single
        place.
        """
        if data is None or (self.deletes and content_hash(data) == self.before):
            return None
        if self.after and content_hash(data) == self.after:
            return data
        codec = FileCodec.of(data)
        lines = codec.decode(data).split("\n")
        changed = self.lines
        if any(at >= len(lines) or lines[at] != line for at, line in self.old.items()):
            counts = Counter(lines)
            gone = {line for line in self.removed if len(line) >= _LONG or counts[line] == 1}
            changed = {at: None for at, line in enumerate(lines) if line in gone}
        kept = [changed.get(at, line) for at, line in enumerate(lines)]
        return codec.encode("\n".join(line for line in kept if line is not None))


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What goes, as it is journaled until all of it is gone.

    Attributes:
        files: Changes of notes, by path.
        paths: Notes that go with all that they were, under earlier paths, too.
        texts: Lines that are looked for elsewhere.
        phrase: Text that is looked for elsewhere.
        session: Conversation that goes; None for none.
        unread: Notes and folders that could not be read, whose lines are not known to be its own:
            they are forgotten another time.
    """

    files: dict[str, FileEdit]
    paths: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    phrase: str = ""
    session: str | None = None
    unread: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the plan as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Load a plan."""
        values = json.loads(text)
        files = {
            path: FileEdit(
                edit["before"],
                {int(at): line for at, line in edit["lines"].items()},
                {int(at): line for at, line in edit["old"].items()},
                edit["deletes"],
                edit["after"],
            )
            for path, edit in values.pop("files").items()
        }
        paths, texts = tuple(values.pop("paths")), tuple(values.pop("texts"))
        unread = tuple(values.pop("unread", ()))  # a plan of before has none
        return cls(files, paths, texts, unread=unread, **values)

    def is_unread(self, path: str) -> bool:
        """Return whether a note could not be read, or its folder."""
        return any(path == place or path.startswith(f"{place}/") for place in self.unread)

    @property
    def places(self) -> tuple[str, ...]:
        """Citations of the lines that go, and paths of the notes that do."""
        return tuple(
            place
            for path, edit in sorted(self.files.items())
            for place in (
                [path]
                if edit.deletes
                else [
                    citation(path, at + 1, at + 1)
                    for at, line in sorted(edit.lines.items())
                    if line is None
                ]
            )
        )

    @property
    def line_count(self) -> int:
        """Number of lines that go."""
        return sum(len(edit.removed) for edit in self.files.values())


def planned_edits(
    notes: dict[str, bytes], selected: Selected, *, paths: Iterable[str] = ()
) -> dict[str, FileEdit]:
    """Return the changes of notes that remove lines, and the links with lines that go.

    Args:
        notes: All notes, by path.
        selected: Chooses the lines.
        paths: Notes that go as a whole.
    """
    whole = set(paths)
    lines = {path: FileCodec.of(data).decode(data).split("\n") for path, data in notes.items()}
    gone = {
        path: set(range(len(lines[path]))) if path in whole else set(selected(path, lines[path]))
        for path in notes
    }
    unlinked: dict[str, dict[int, str]] = {}
    for path, at, link in _links(lines, gone, removed=True):
        target = _target(path, link)
        for other, there, back in _links(lines, gone, removed=False):
            number = link.line if link.day is None else back.line
            place = there if link.day is None else at
            if (
                (other, _target(other, back)) == (target, path)
                and (back.day is None) != (link.day is None)
                and number in (None, place + 1)
            ):
                held = unlinked.setdefault(other, {}).get(there, lines[other][there])
                unlinked[other][there] = held.replace(f" {back}", "")
    edits = {}
    for path, data in notes.items():
        changed: dict[int, str | None] = dict.fromkeys(gone[path])
        changed |= unlinked.get(path, {})
        if changed:
            old = {at: lines[path][at] for at in changed}
            edit = FileEdit(content_hash(data), changed, old, path in whole)
            edits[path] = replace(edit, after=content_hash(edit.apply(data) or b""))
    return edits


def _links(
    lines: dict[str, list[str]], gone: dict[str, set[int]], *, removed: bool
) -> Iterator[tuple[str, int, CorrectionLink]]:
    """Yield the links of corrections in the lines that go, or in those that stay."""
    for path, held in lines.items():
        for at, line in enumerate(held):
            if (at in gone[path]) == removed:
                for link in correction_links(line):
                    yield path, at, link


def _target(path: str, link: CorrectionLink) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link.path))
