"""Imported note: a file, a conversation or a memory of another tool, as a note of this one.

What came from outside by way of that tool is kept apart: in a conversation, the words of other
people, and of an assistant from the point on where it had read pages, files or answers of tools.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, NamedTuple

from commonplace.text.redaction import redact
from commonplace.transcripts.formats import messages_in, moment_of

__all__ = [
    "ImportedNote",
    "Skipped",
    "Speech",
    "conversation_note",
    "entry_mark",
    "file_note",
    "memory_note",
    "moment",
]

_TITLE_CHARS = 120
_SLUG_CHARS = 48
_MARK_CHARS = 12
_NAME_BYTES = 200
_MARKED = re.compile(rf"(?:^|[/-])([0-9a-f]{{{_MARK_CHARS}}})\.md\Z")
_CONTROLS = re.compile(r"[\0-\x1f\x7f\ud800-\udfff]+")
_UNFIT = re.compile(r"[\0-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_UNFIT_IN_NAMES = re.compile(r'[\0-\x1f\x7f\ud800-\udfff\\<>:"|?*]+')


class Speech(NamedTuple):
    """Message of a conversation.

    Attributes:
        role: Role of its author.
        content: Content, as the export has it.
        outside: Whether its words may come from outside.
    """

    role: Any
    content: Any
    outside: bool = False


class Skipped(NamedTuple):
    """Entry of an export that is not imported, and the reason, for the report."""

    reason: str = "without a text"


@dataclass(frozen=True, slots=True)
class ImportedNote:
    """Note as an export has it, secrets masked.

    Attributes:
        text: Text of the note.
        path: Path below the source's folder; for an entry of a file, that of its folder.
        key: Id by which the export names the entry; empty for a file, which has its path.
        title: Title of the entry, for its name.
        when: Time of the entry, aware; None if it is not known.
        outside: Lines that came from outside.
    """

    text: str
    path: str = ""
    key: str = ""
    title: str = ""
    when: datetime | None = None
    outside: frozenset[str] = frozenset()

    @property
    def mark(self) -> str:
        """End of an entry's name, which stays when its title changes; empty for a file's."""
        if not self.key:
            return ""
        return hashlib.sha256(self.key.encode("utf-8", "replace")).hexdigest()[:_MARK_CHARS]

    def without_personal_numbers(self) -> ImportedNote:
        """Return the note with the numbers of persons masked besides secrets."""
        masked = functools.partial(redact, personal=True)
        return replace(
            self,
            text=masked(self.text),
            title=masked(self.title),
            outside=frozenset(map(masked, self.outside)),
        )

    def place(self, zone: tzinfo | None) -> str:
        """Return the path of the note below the source's folder; no export can leave it.

        An entry's is its day, its title, and its mark.
        """
        folders = list(filter(None, map(_name, self.path.split("/"))))
        if self.key:
            words = re.sub(r"[\W_]+", "-", self.title.lower()).strip("-")
            slug = words.encode()[:_SLUG_CHARS].decode("utf-8", "ignore").strip("-")
            day = self.when.astimezone(zone).date().isoformat() if self.when else ""
            folders.append("-".join(filter(None, (day, slug, self.mark))) + ".md")
        return "/".join(folders)


def _name(part: str) -> str:
    """Return a part of a path as every file system takes it; empty for dots and blanks."""
    name = _UNFIT_IN_NAMES.sub("-", part).strip()
    if len(name.encode()) > _NAME_BYTES:
        stem, dot, suffix = name.rpartition(".")
        digest = hashlib.sha256(name.encode()).hexdigest()[:_MARK_CHARS]
        cut = (stem or name).encode()[: _NAME_BYTES - 20].decode("utf-8", "ignore")
        name = f"{cut}-{digest}{dot}{suffix if dot and len(suffix) < 5 else ''}"
    return name if name.strip(".") else ""


def entry_mark(path: str) -> str | None:
    """Return the mark of an entry's note; None for any other path."""
    found = _MARKED.search(path)
    return found[1] if found else None


def file_note(path: str, text: str) -> ImportedNote | Skipped:
    """Return the note of a file."""
    text = redact(_UNFIT.sub("\ufffd", text))
    return ImportedNote(text, path=path) if text.strip() else Skipped()


def conversation_note(
    messages: Iterable[Speech], *, label: str, key: Any, title: Any, when: Any, folder: str = ""
) -> ImportedNote | Skipped:
    """Return the note of a conversation: its title as the heading, and a line a message.

    Args:
        messages: The messages.
        label: Name of the tool, for a conversation without a title.
        key: Id of the conversation in the export.
        title: Title.
        when: Time of its beginning, as the export has it.
        folder: Folder of the note, below the source's.
    """
    if not isinstance(key, str) or not key:
        return Skipped()
    lines: list[str] = []
    outside: set[str] = set()
    for one in messages:
        said = [str(line) for line in messages_in({"role": one.role, "content": one.content})]
        lines += said
        outside.update(said if one.outside else ())
    if not lines:
        return Skipped()
    heading = one_line(title if isinstance(title, str) else "")
    if outside and heading:  # a model made it of the conversation
        outside.add(f"# {heading}")
    text = "\n".join((f"# {heading or label}", "", *lines)) + "\n"
    lasting = frozenset(outside)
    return ImportedNote(
        text, path=folder, key=key, title=heading, when=moment(when), outside=lasting
    )


def memory_note(
    text: str,
    *,
    key: str,
    when: Any = None,
    folder: str = "",
    metadata: Mapping[str, Any] | None = None,
    outside: bool = False,
) -> ImportedNote | Skipped:
    """Return the note of a memory that another tool kept: its text, below metadata.

    Args:
        text: What was remembered.
        key: Id of the memory in the export; empty to take the text.
        when: Time at which it was made, as the export has it.
        folder: Folder of the note, below the source's.
        metadata: Values of the front matter; empty ones are left out.
        outside: Whether it may come from outside.
    """
    body = redact(_UNFIT.sub("\ufffd", text)).strip()
    if not body:
        return Skipped()
    said = {name: value for name, value in (metadata or {}).items() if value not in (None, "", [])}
    front = [f"{name}: {redact(json.dumps(value, default=str))}" for name, value in said.items()]
    whole = "\n".join((*(("---", *front, "---") if front else ()), body)) + "\n"
    return ImportedNote(
        whole,
        path=folder,
        key=key or text,
        title=one_line(body),
        when=moment(when),
        outside=frozenset(body.split("\n")) if outside else frozenset(),
    )


def moment(value: Any) -> datetime | None:
    """Return a time of an export: ISO text, or seconds or milliseconds since the epoch."""
    return moment_of({"timestamp": value}, zone=UTC)


def one_line(text: str) -> str:
    """Return the beginning of a text on one line, secrets masked."""
    return " ".join(redact(_CONTROLS.sub(" ", text)).split())[:_TITLE_CHARS].strip()
