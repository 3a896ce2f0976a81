"""Read cursor of a session file, and what is unread behind it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import BinaryIO, Self

from commonplace.settings import SessionsSettings, Settings
from commonplace.store.records import FileRecord
from commonplace.transcripts.rendering import MAX_LINE_BYTES, LinePosition, may_be_list, parse_line
from commonplace.types import MemoryFile
from commonplace.workspace.file_text import UnreadableFileError, open_file

__all__ = [
    "ReadCursor",
    "UnreadContent",
    "can_resume",
    "fingerprint",
    "rules_key",
    "unread_content",
]

_VERSION = 3
"""Version of the rendering: raised when the same file is rendered differently."""
_BLOCK = 16 * 1024
_PARTIAL = "its last line is not complete yet"


@dataclass(frozen=True, slots=True)
class ReadCursor:
    """Cursor of a session file: the state from which the next read resumes.

    Attributes:
        rules: Key of the rules by which the file was read; see `rules_key`.
        offset: Bytes that were read.
        fingerprint: Fingerprint of those bytes; see `fingerprint`.
        mtime_ns: Time of the file's last change when they were read.
        resume_at: Position at which reading resumes: the last chunks are rebuilt from there.
        first_unembedded: Position of the first chunk without a vector; None when all have one.
        invalid_line: Number of the first line that is no JSON; None when there is none.
    """

    rules: str
    offset: int
    fingerprint: str
    mtime_ns: int
    resume_at: LinePosition
    first_unembedded: LinePosition | None = None
    invalid_line: int | None = None

    @classmethod
    def from_record(cls, record: FileRecord | None) -> Self | None:
        """Load the cursor of an index record; None where it has none, or an older version's."""
        try:
            values = json.loads(record.progress) if record and record.progress else None
            if values is None:
                return None
            unembedded = values["first_unembedded"]
            values["resume_at"] = LinePosition(*values["resume_at"])
            values["first_unembedded"] = LinePosition(*unembedded) if unembedded else None
            return cls(**values)
        except (TypeError, ValueError, KeyError):
            return None

    def to_json(self) -> str:
        """Return the cursor as JSON, for an index record."""
        return json.dumps(asdict(self), separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class UnreadContent:
    """Content of a session file that is not in the index.

    Attributes:
        why: Reason, for messages: a clause such as "was truncated".
        waits: Whether it is too little to read now.
    """

    why: str
    waits: bool = False


def rules_key(settings: Settings) -> str:
    """Return the key of the rules for rendering: other rules give another text, or other days."""
    personal = "/personal" if settings.mask_personal else ""
    return f"{_VERSION}/{settings.profile}/{settings.timezone or 'local'}{personal}"


def can_resume(file: BinaryIO, size: int, mtime_ns: int, cursor: ReadCursor) -> bool:
    """Check whether an open file still begins with the bytes before the cursor.

    Two kinds of files are always read again: a file that changed without growing, and a JSON list
    that was incomplete.
    """
    return (
        cursor.offset <= size
        and not (cursor.offset == size and cursor.mtime_ns != mtime_ns)
        and fingerprint(file, cursor.offset) == cursor.fingerprint
        and not (cursor.invalid_line == 1 and may_be_list(file))
    )


def fingerprint(file: BinaryIO, offset: int) -> str:
    """Return a hash of the first and the last 16 KiB before an offset, and of the offset."""
    digest = hashlib.sha256(f"{offset}\n".encode("ascii"))
    for start in (0, max(0, offset - _BLOCK)):
        file.seek(start)
        digest.update(file.read(min(_BLOCK, offset)))
    return digest.hexdigest()


def unread_content(
    file: MemoryFile, record: FileRecord, changed: bool = True, *, settings: Settings
) -> UnreadContent | None:
    """Return what of a known file is not in the index; None when all of it is.

    Args:
        file: The file on the disk.
        record: Its record in the index.
        changed: Whether its size or time have changed; if not, it is not opened.
        settings: Thresholds of new content (`SessionsSettings`), and the rules.
    """
    cursor = ReadCursor.from_record(record)
    if cursor is None or cursor.rules != rules_key(settings):
        return UnreadContent("was read by other rules")
    if not changed and file.size == cursor.offset:
        return None
    try:
        with open_file(file.absolute) as opened:
            if file.size < cursor.offset:
                return UnreadContent("was truncated")
            if not can_resume(opened, file.size, file.mtime_ns, cursor):
                return UnreadContent("was rewritten")
            if file.size == cursor.offset:
                return None
            return _appended(opened, cursor.offset, file.size, settings.sessions)
    except (OSError, UnreadableFileError):
        return UnreadContent("changed on disk")  # the read that follows reports the error


def _appended(
    file: BinaryIO, offset: int, size: int, settings: SessionsSettings
) -> UnreadContent | None:
    added = size - offset
    file.seek(offset)
    if 0 < settings.delta_bytes <= added:
        if _is_partial(file.readline(MAX_LINE_BYTES)):
            return UnreadContent(_PARTIAL, waits=True)
        return UnreadContent(f"{added:,} new bytes")
    ended = count = 0
    last = b"\n"
    for line in file:
        last = line
        ended += line.endswith(b"\n")
        count += bool(line.strip())
        if 0 < settings.delta_messages <= ended:
            return UnreadContent(f"{ended} or more new messages")
    if not count:
        return None  # blank lines
    if count == 1 and _is_partial(last):
        return UnreadContent(_PARTIAL, waits=True)
    if not offset or min(settings.delta_bytes, settings.delta_messages) <= 0:
        return UnreadContent(f"{count} new messages")
    messages = f"{count} message" + ("s wait" if count > 1 else " waits")
    return UnreadContent(
        f"{messages} for sessions.delta_messages ({settings.delta_messages})", waits=True
    )


def _is_partial(line: bytes) -> bool:
    """Check whether a line is incomplete JSON without an end: another process is writing it."""
    if line.endswith(b"\n") or len(line) >= MAX_LINE_BYTES:
        return False
    _, is_json = parse_line(line)
    return not is_json
