"""Writing notes: appends to logs and creates files; no code here rewrites a user's text."""

from __future__ import annotations

import errno
import itertools
import os
import stat
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

from commonplace.errors import PathNotAllowedError, WorkspaceReadOnlyError
from commonplace.system.files import sync
from commonplace.system.locks import lock_descriptor
from commonplace.system.waits import is_wait_over
from commonplace.workspace.appended_text import added_text, may_hold, trim_blank_lines
from commonplace.workspace.file_text import (
    Folder,
    NoteBytes,
    file_state,
    read_bytes,
    utf16_encoding,
)

__all__ = ["Appended", "append_note", "check_spelling", "create_file", "create_folder"]

_NAMED: set[tuple[int, int]] = set()
"""Device and inode of the files whose names this process has made durable."""
_MAX_NAMED = 10_000
_LONG_BYTES = 1 << 16
"""Size from which on a file is read, and compared with the note, before it is locked."""
_TRIES = 3
"""Times that a file is read without the lock; then it is read again under it."""
_CLOCK_S = 0.05
"""Age of a change from which on the next one gets another time from any file system."""


class _Addition(NamedTuple):
    """What a note adds to a file, as the file was when it was read.

    Attributes:
        state: Size, time of change and `file_stamp` of the file.
        before: Its bytes.
        data: Bytes to add; None where the file holds the note.
    """

    state: tuple[int, int, str]
    before: bytes
    data: bytes | None


class Appended(NamedTuple):
    """Outcome of an append that wrote something.

    Attributes:
        before: Bytes of the file before.
        added: Bytes that were added.
        state: Size, time of change and `file_stamp` of the file after it.
    """

    before: bytes
    added: bytes
    state: tuple[int, int, str]


def append_note(path: Path, note: str, *, title: str | None) -> Appended | None:
    """Append a note to a file atomically, unless the file already holds it.

    One exclusive lock, one write, one fsync: appends of all processes and threads are serialized.
    A long file is read and searched for the note before it is locked: others wait for the write
    alone, unless the file changes three times meanwhile. A new file begins with `title` as its
    heading.

    Args:
        path: The file; its folder exists.
        note: Text to append, verbatim but for blank lines around it.
        title: Heading of a new file; None for no heading.

    Returns:
        What was added to what; None when it already holds the note, and nothing was written.

    Raises:
        ValueError: The note is empty.
        WorkspaceReadOnlyError: The file cannot be written; nothing was changed.
    """
    note = trim_blank_lines(note)
    if not note:
        raise ValueError("the note is empty; there is nothing to append.")
    try:
        with Folder(path.parent) as folder:
            return _append(folder, path.name, note, title)
    except PathNotAllowedError:
        raise
    except TimeoutError as error:
        raise WorkspaceReadOnlyError(
            f"{path} stayed locked by another process; nothing was written. Try again."
        ) from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise PathNotAllowedError(
                f"{path} is a symbolic link, or below one; notes are appended to regular files "
                "only."
            ) from error
        if os.path.isdir(path):  # Path.is_dir raises where the folder may not be looked into
            raise PathNotAllowedError(
                f"{path} is a folder; notes are appended to files. Move it away."
            ) from error
        raise WorkspaceReadOnlyError(
            f"cannot append to {path}: {error.strerror or error}. "
            "Nothing was changed; give yourself write access to the folder and the file."
        ) from error


def _append(folder: Folder, name: str, note: str, title: str | None) -> Appended | None:
    written: Appended | None = None
    tries = 0
    while True:
        descriptor, is_new = _open_for_append(folder, name)
        tries += 1
        try:
            ahead = _addition_ahead(descriptor, note, title) if tries <= _TRIES else None
            with lock_descriptor(descriptor):
                if ahead is not None and ahead.state != file_state(os.fstat(descriptor)):
                    continue
                # An editor may replace the file during the wait, or during the write.
                if folder.names(name, descriptor):
                    found = ahead or _addition(descriptor, note, title)
                    with _taken_back(folder, name, descriptor) if is_new else nullcontext():
                        written = _append_locked(descriptor, found) or written
                    _sync_name(folder, descriptor)
                    if folder.names(name, descriptor):
                        return written
        finally:
            os.close(descriptor)
        if is_wait_over():
            raise TimeoutError("the file is replaced again and again")


@contextmanager
def _taken_back(folder: Folder, name: str, descriptor: int) -> Iterator[None]:
    """Remove a file that this process made, under its lock, where nothing could be written to it.

    Who opened it meanwhile finds, once it has the lock, that the name is another's, or no one's.
    """
    try:
        yield
    except OSError:
        if not os.fstat(descriptor).st_size and folder.names(name, descriptor):
            with suppress(OSError):  # Windows removes no open file
                folder.unlink(name)
        raise


def _open_for_append(folder: Folder, name: str) -> tuple[int, bool]:
    """Open a file; return its descriptor, and whether it was made."""
    flags = os.O_RDWR | os.O_APPEND
    try:
        descriptor, is_new = folder.open(name, flags), False
    except FileNotFoundError:
        try:
            descriptor, is_new = folder.open(name, flags | os.O_CREAT | os.O_EXCL), True
        except FileExistsError:  # another process made it just now
            descriptor, is_new = folder.open(name, flags | os.O_CREAT), False
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PathNotAllowedError(f"{name} is not a regular file; nothing was written.")
    return descriptor, is_new


def _sync_name(folder: Folder, descriptor: int) -> None:
    """Make a file's name durable, once: an editor may have put it there without."""
    info = os.fstat(descriptor)
    if (info.st_dev, info.st_ino) in _NAMED:
        return
    folder.sync()
    if len(_NAMED) >= _MAX_NAMED:
        _NAMED.clear()
    _NAMED.add((info.st_dev, info.st_ino))


def _addition_ahead(descriptor: int, note: str, title: str | None) -> _Addition | None:
    """Return what a note adds to a long file; None where that is to be found under the lock."""
    info = os.fstat(descriptor)
    if info.st_size < _LONG_BYTES:
        return None
    found = _addition(descriptor, note, title)
    # Of two changes at one moment, the second one leaves no trace: the note may be gone again.
    is_recent = time.time() - info.st_mtime < _CLOCK_S
    return None if found.data is None and is_recent else found


def _addition(descriptor: int, note: str, title: str | None) -> _Addition:
    """Return what a note adds to a file."""
    info = os.fstat(descriptor)
    os.lseek(descriptor, 0, os.SEEK_SET)
    before = read_bytes(descriptor, info.st_size)
    encoding = utf16_encoding(before) or "utf-8"
    if len(before) >= _LONG_BYTES and encoding == "utf-8" and not may_hold(before, note):
        held = _end_of(before).decode(encoding, errors="replace")
    else:
        held = before.decode(encoding, errors="replace")
        before = NoteBytes(before)
    added = added_text(held, note, title=title)
    data = None if added is None else added.encode(encoding, errors="replace")
    return _Addition(file_state(info), before, data)


def _end_of(data: bytes) -> bytes:
    """Return the last lines of a file: all of it where they are blank."""
    cut = data.rfind(b"\n", 0, len(data) - _LONG_BYTES) + 1
    return data[cut:] if data[cut:].strip() else data


def _append_locked(descriptor: int, addition: _Addition) -> Appended | None:
    _, before, data = addition
    if data is None:
        return None
    size = len(before)
    try:
        written = os.write(descriptor, data)
        if written != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)
    except OSError:
        # Truncate only our own partial write, and only while it is still the file's end.
        if size < os.fstat(descriptor).st_size <= size + len(data):
            os.ftruncate(descriptor, size)
        raise
    return Appended(before, data, file_state(os.fstat(descriptor)))


def create_folder(path: Path) -> None:
    """Create a folder of the workspace, its parents included, durably.

    Raises:
        PathNotAllowedError: The path is a symbolic link, below one, or a file.
        WorkspaceReadOnlyError: The folder cannot be created.
    """
    missing = itertools.takewhile(lambda folder: not os.path.lexists(folder), (path, *path.parents))
    try:
        for folder in reversed(list(missing)):
            with Folder(folder.parent) as parent:
                parent.make(folder.name)
        with Folder(path):
            return
    except OSError as error:
        if error.errno == errno.ELOOP:
            message = f"{path} is a symbolic link, or below one; links are not followed."
            raise PathNotAllowedError(message) from error
        if error.errno == errno.ENOTDIR:
            message = f"{path} is a file, or below one; a folder was expected there."
            raise PathNotAllowedError(message) from error
        raise WorkspaceReadOnlyError(
            f"cannot create {path}: {error.strerror or error}. Nothing was changed."
        ) from error


def create_file(path: Path, text: str) -> bool:
    """Create a file atomically; return False, and write nothing, when it already exists.

    Raises:
        WorkspaceReadOnlyError: The file cannot be written; no partial file is left behind.
    """
    data = text.encode("utf-8", "replace")
    try:
        with Folder(path.parent) as folder:
            descriptor = folder.open(path.name, os.O_WRONLY | os.O_EXCL | os.O_CREAT)
            try:
                if os.write(descriptor, data) != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                sync(descriptor)
                folder.sync()
            except OSError:
                folder.unlink(path.name)
                raise
            finally:
                os.close(descriptor)
    except FileExistsError:
        return False
    except OSError as error:
        raise WorkspaceReadOnlyError(
            f"cannot create {path}: {error.strerror or error}. Nothing was changed; check the "
            "folder's permissions and the free space."
        ) from error
    return True


def check_spelling(path: str, above: Sequence[str], part: str, names: Iterable[str]) -> None:
    """Check that a name of a path is not another spelling of one that is there.

    Args:
        path: The path.
        above: Names of the folders above the name.
        part: The name.
        names: Those that are there.

    Raises:
        PathNotAllowedError: One differs in case or Unicode form only.
    """
    like = next((name for name in sorted(names) if _folded(name) == _folded(part)), None)
    if like is not None:
        there = "/".join((*above, like))
        raise PathNotAllowedError(
            f"there is no {path}: {there} is there, and the names differ in case or Unicode form "
            f"only. Use {there!r} as it is spelled."
        )


def _folded(name: str) -> str:
    folded = unicodedata.normalize("NFD", name).casefold()
    return unicodedata.normalize("NFC", folded)
