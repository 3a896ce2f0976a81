"""File text: opens notes where no link leads, and reads one as a whole, whatever its encoding."""

from __future__ import annotations

import codecs
import contextlib
import errno
import functools
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

from commonplace.system.files import open_without_links, sync

__all__ = [
    "MAX_FILE_BYTES",
    "FileText",
    "Folder",
    "GrownBytes",
    "NoteBytes",
    "UnreadableFileError",
    "decode_text",
    "digest_of",
    "file_stamp",
    "file_state",
    "joined",
    "open_file",
    "read_bytes",
    "read_data",
    "read_text",
    "utf16_encoding",
]

MAX_FILE_BYTES = 32 * 1024 * 1024
"""Maximum size of a note: larger files are reported, not indexed."""

_READ_WAITS_S = (0.0, 0.0, 0.002, 0.01, 0.05)
"""Pause before each attempt to read a file that another program is writing."""
_FLAGS = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # opening a named pipe must not wait for its writer
    | getattr(os, "O_BINARY", 0)
)
_BUFFER_BYTES = 1 << 18


class UnreadableFileError(Exception):
    """A file that cannot be indexed; the text says why, without the path."""


class NoteBytes(bytes):
    """Bytes of a file, whose hash is computed once: history, journal and index all ask for it."""

    @functools.cached_property
    def hasher(self) -> hashlib._Hash:
        """SHA-256 of the bytes; to be copied before it is updated."""
        return hashlib.sha256(self)

    @property
    def digest(self) -> bytes:
        """SHA-256 of the bytes."""
        return self.hasher.digest()


class GrownBytes:
    """Bytes of a file that was appended to: of a long one, neither copied nor hashed again.

    Args:
        before: The bytes before.
        hasher: Their SHA-256.
        added: Bytes that were added.

    Attributes:
        before: The bytes before.
        before_digest: Their SHA-256, as bytes.
        added: Bytes that were added.
        hasher: SHA-256 of all; to be copied before it is updated.
        digest: The same, as bytes.
    """

    def __init__(self, before: bytes, hasher: hashlib._Hash, added: bytes = b"") -> None:
        self.before, self.added = before, added
        self.before_digest = hasher.digest()
        self.hasher = hasher.copy()
        self.hasher.update(added)
        self.digest = self.hasher.digest()

    def __len__(self) -> int:
        return len(self.before) + len(self.added)

    def is_equal(self, data: bytes) -> bool:
        """Return whether other bytes are the same."""
        same = len(data) == len(self) and data.startswith(self.before)
        return same and data.endswith(self.added)

    def joined(self) -> bytes:
        """Return all of the bytes."""
        return self.before + self.added


def joined(data: bytes | GrownBytes) -> bytes:
    """Return a file's bytes in one piece."""
    return data.joined() if isinstance(data, GrownBytes) else data


def digest_of(data: bytes | GrownBytes) -> bytes:
    """Return the SHA-256 of a file's bytes."""
    if isinstance(data, NoteBytes | GrownBytes):
        return data.digest
    return hashlib.sha256(data).digest()


@dataclass(frozen=True, slots=True)
class FileText:
    """A file's text, with the size and time of the state that was read.

    Attributes:
        text: The content; line ends are as in the file.
        size: Bytes on disk.
        mtime_ns: Time of the last change, in nanoseconds.
        stamp: What `file_stamp` returns.
        note: Warning about the encoding and how the file was read; None for plain UTF-8.
        data: The bytes.
    """

    text: str
    size: int
    mtime_ns: int
    note: str | None = None
    data: bytes = b""
    stamp: str = ""


class Folder:
    """Folder that is held open: its files are those of this folder, wherever its name leads.

    A link that takes the folder's place meanwhile changes nothing. On Windows, which opens no
    folders, files are found by the path.

    Raises:
        OSError: It cannot be opened, is no folder, or a part of its path is a symbolic link.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor: int | None = None
        if os.name != "nt":
            self.descriptor = open_without_links(path, os.O_RDONLY | os.O_DIRECTORY)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)

    def at(self, name: str) -> str:
        """Return what names a file beside `descriptor`, for the functions of `os`."""
        return name if self.descriptor is not None else os.path.join(self.path, name)

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """Open a file; a symbolic link is refused."""
        if self.descriptor is None:
            return open_without_links(self.path / name, flags | _FLAGS, mode)
        return os.open(name, flags | _FLAGS, mode, dir_fd=self.descriptor)

    def stat(self, name: str) -> os.stat_result:
        """Return the attributes of a file, of a link itself."""
        return os.stat(self.at(name), dir_fd=self.descriptor, follow_symlinks=False)

    def scan(self) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
        """List the folder; on POSIX, the entries have no path, and live as long as the folder."""
        return os.scandir(self.path if self.descriptor is None else self.descriptor)

    def names(self, name: str, descriptor: int) -> bool:
        """Return whether a name is still that of an open file."""
        try:
            return os.path.samestat(self.stat(name), os.fstat(descriptor))
        except OSError:
            return False

    def unlink(self, name: str) -> None:
        """Remove a file, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.at(name), dir_fd=self.descriptor)

    def make(self, name: str) -> None:
        """Make a folder, durably, unless it is there."""
        try:
            os.mkdir(self.at(name), dir_fd=self.descriptor)
        except FileExistsError:
            return
        self.sync()

    def remove(self, name: str) -> None:
        """Remove an empty folder."""
        os.rmdir(self.at(name), dir_fd=self.descriptor)

    def sync(self) -> None:
        """Make the names in the folder durable; NTFS does that by itself."""
        if self.descriptor is not None:
            sync(self.descriptor)


def read_text(path: Path, *, max_bytes: int = MAX_FILE_BYTES) -> FileText:
    """Read a whole file in one state: a read that overlaps with a change is repeated.

    Invalid UTF-8 and NUL characters become U+FFFD; UTF-16 is recognised by its byte order mark.

    Raises:
        FileNotFoundError: The file is gone.
        UnreadableFileError: It is too large, is no regular file, cannot be read, or kept changing.
    """
    data, info = read_data(path, max_bytes=max_bytes)
    text, note = decode_text(data)
    return FileText(text, info.st_size, info.st_mtime_ns, note, data, file_stamp(info))


def read_data(path: Path, *, max_bytes: int = MAX_FILE_BYTES) -> tuple[NoteBytes, os.stat_result]:
    """Read the bytes of a file, and its attributes, in one state; see `read_text`."""
    for wait_s in _READ_WAITS_S:
        if wait_s:  # sleep(0) would yield to another thread
            time.sleep(wait_s)
        found = _read_once(path, max_bytes)
        if found is not None:
            return NoteBytes(found[0]), found[1]
    raise UnreadableFileError("it kept changing while it was read; index again when it is quiet")


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for buffered reading; it may grow meanwhile.

    Raises:
        FileNotFoundError: The file is gone.
        UnreadableFileError: It is no regular file, or cannot be read.
    """
    descriptor, _ = _open_descriptor(path)
    return open(descriptor, "rb", buffering=_BUFFER_BYTES)


def _open_descriptor(path: Path) -> tuple[int, os.stat_result]:
    try:
        descriptor = open_without_links(path, os.O_RDONLY | _FLAGS)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(error.errno, "the file is gone", str(path)) from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # no file can have such a name
            raise FileNotFoundError(error.errno, "the name is too long", str(path)) from error
        if error.errno == errno.ELOOP:
            raise UnreadableFileError("it is a symbolic link; links are not followed") from error
        raise _unreadable(error) from error
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode):
        os.close(descriptor)
        raise UnreadableFileError("it is not a regular file")
    return descriptor, info


def _unreadable(error: OSError) -> UnreadableFileError:
    return UnreadableFileError(f"it cannot be read: {error.strerror or error}")


def _read_once(path: Path, max_bytes: int) -> tuple[bytes, os.stat_result] | None:
    """Read the bytes; None when the file changed meanwhile."""
    descriptor, before = _open_descriptor(path)
    try:
        if before.st_size > max_bytes:
            raise UnreadableFileError(
                f"it has {before.st_size / 2**20:.4g} MiB; a note may have "
                f"{max_bytes / 2**20:.0f}. Split it"
            )
        data = read_bytes(descriptor, before.st_size + 1)
        after = os.fstat(descriptor)
    except OSError as error:
        raise _unreadable(error) from error
    finally:
        os.close(descriptor)
    same = before.st_mtime_ns == after.st_mtime_ns and file_stamp(before) == file_stamp(after)
    return (data, after) if same and len(data) == after.st_size else None


def file_stamp(info: os.stat_result) -> str:
    """Return what differs for a file that was exchanged, or whose time of change was set back.

    It is the file's number, and the time of its last change of any kind (on Windows: of its
    creation); a renamed file, or one with another mode, has another one, too.
    """
    return f"{info.st_ino}-{info.st_ctime_ns}"


def file_state(info: os.stat_result) -> tuple[int, int, str]:
    """Return the size, the time of change and the `file_stamp` of a file."""
    return info.st_size, info.st_mtime_ns, file_stamp(info)


def read_bytes(descriptor: int, size: int) -> bytes:
    """Read up to `size` bytes; a single `os.read` may return fewer."""
    parts = []
    while size > 0 and (part := os.read(descriptor, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def decode_text(data: bytes) -> tuple[str, str | None]:
    """Return the text of a file's bytes, and a warning about its encoding."""
    note = None
    if utf16_encoding(data):
        text = data.decode("utf-16", errors="replace")
        note = "read as UTF-16; UTF-8 was expected"
    else:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            note = f"not UTF-8 from line {line} on: what cannot be read is shown as U+FFFD"
            text = data.decode("utf-8", errors="replace")
    if "\0" in text:
        note = note or "has NUL bytes: they are shown as U+FFFD"
        text = text.replace("\0", "\ufffd")
    return text, note


def utf16_encoding(data: bytes) -> str | None:
    """Return the UTF-16 encoding that a byte order mark announces; None for any other file."""
    marks = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
    return marks.get(data[:2])
