"""How far a session file was read, and whether what is new in it is worth another look."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import BinaryIO, Self

from commonplace.settings import SessionsSettings, Settings
from commonplace.store.base import FileRecord
from commonplace.transcripts.incremental import MAX_LINE_BYTES, Mark, begins_a_list, parsed
from commonplace.types import MemoryFile
from commonplace.workspace.file_text import UnreadableFileError, open_file

__all__ = ["SessionProgress", "Unread", "fingerprint", "goes_on", "rules_key", "unread"]

_VERSION = 2
"""Of how files are read: raised when the same file becomes another text."""
_BLOCK = 16 * 1024
_HALF = "its last line is not complete yet"


@dataclass(frozen=True, slots=True)
class SessionProgress:
    """What the index notes of a session file, to go on from there.

    Attributes:
        rules: By which rules it was read.
        offset: Bytes that were read.
        fingerprint: Of those bytes, as `fingerprint` makes it.
        mtime_ns: Time of the file's last change when they were read.
        tail: Where to go on: the last chunks are made anew.
        lacking: Where the first chunk is that lacks a vector; None when none does.
        broken: Number of the first line that is no JSON; None when there is none.
    """

    rules: str
    offset: int
    fingerprint: str
    mtime_ns: int
    tail: Mark
    lacking: Mark | None = None
    broken: int | None = None

    @classmethod
    def of(cls, record: FileRecord | None) -> Self | None:
        """Read a record's note; None where there is none that is understood."""
        try:
            values = json.loads(record.progress) if record and record.progress else None
            if values is None:
                return None
            values["tail"] = Mark(*values["tail"])
            values["lacking"] = Mark(*values["lacking"]) if values["lacking"] else None
            return cls(**values)
        except (TypeError, ValueError, KeyError):
            return None

    def note(self) -> str:
        """Write it down for a record."""
        return json.dumps(asdict(self), separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Unread:
    """What is new in a file: a sentence, and whether that has to wait for more."""

    why: str
    waits: bool = False


def rules_key(settings: Settings) -> str:
    """Name the rules by which files are read: other rules make another text, or other days."""
    return f"{_VERSION}/{settings.compatibility}/{settings.timezone or 'local'}"


def goes_on(file: BinaryIO, size: int, mtime_ns: int, progress: SessionProgress) -> bool:
    """Tell whether an open file still begins with what was read of it, and may go on behind that.

    A file that was written to and is no longer than it was is taken for another one, and so is a
    list that was not complete.
    """
    return (
        progress.offset <= size
        and not (progress.offset == size and progress.mtime_ns != mtime_ns)
        and fingerprint(file, progress.offset) == progress.fingerprint
        and not (progress.broken == 1 and begins_a_list(file))
    )


def fingerprint(file: BinaryIO, offset: int) -> str:
    """Tell whether bytes before a place are still the same: by their number and both ends."""
    digest = hashlib.sha256(f"{offset}\n".encode("ascii"))
    for start in (0, max(0, offset - _BLOCK)):
        file.seek(start)
        digest.update(file.read(min(_BLOCK, offset)))
    return digest.hexdigest()


def unread(
    file: MemoryFile, record: FileRecord, changed: bool = True, *, settings: Settings
) -> Unread | None:
    """Say what of a known file is not in the index; None when all of it is.

    Args:
        file: As it is on the disk.
        record: As it is in the index.
        changed: Whether its size or time have changed; if not, it is not opened.
        settings: How much has to be new.
    """
    progress = SessionProgress.of(record)
    if progress is None or progress.rules != rules_key(settings):
        return Unread("was read by other rules")
    if not changed and file.size == progress.offset:
        return None
    try:
        with open_file(file.absolute) as opened:
            if file.size < progress.offset:
                return Unread("was cut off")
            if not goes_on(opened, file.size, file.mtime_ns, progress):
                return Unread("was written anew")
            if file.size == progress.offset:
                return None
            return _appended(opened, progress.offset, file.size, settings.sessions)
    except (OSError, UnreadableFileError):
        return Unread("changed on disk")  # whoever reads it will say what is wrong


def _appended(file: BinaryIO, offset: int, size: int, settings: SessionsSettings) -> Unread | None:
    added = size - offset
    file.seek(offset)
    if 0 < settings.delta_bytes <= added:
        if _is_half(file.readline(MAX_LINE_BYTES)):
            return Unread(_HALF, waits=True)
        return Unread(f"{added:,} new bytes")
    ended = count = 0
    last = b"\n"
    for line in file:
        last = line
        ended += line.endswith(b"\n")
        count += bool(line.strip())
        if 0 < settings.delta_messages <= ended:
            return Unread(f"{ended} or more new messages")
    if not count:
        return None  # blank lines
    if count == 1 and _is_half(last):
        return Unread(_HALF, waits=True)
    if not offset or min(settings.delta_bytes, settings.delta_messages) <= 0:
        return Unread(f"{count} new messages")
    messages = f"{count} message" + ("s wait" if count > 1 else " waits")
    return Unread(f"{messages} for sessions.delta_messages ({settings.delta_messages})", waits=True)


def _is_half(line: bytes) -> bool:
    """Tell whether a line is still being written; a too long one never is a message."""
    if line.endswith(b"\n") or len(line) >= MAX_LINE_BYTES:
        return False
    _, is_json = parsed(line)
    return not is_json
