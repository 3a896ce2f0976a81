"""Writing notes: appends to logs and creates files; no code here rewrites a user's text."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import NamedTuple

from commonplace.errors import PathNotAllowedError, WorkspaceReadOnlyError
from commonplace.system.locks import lock_descriptor
from commonplace.workspace.appended_text import added_text, trim_blank_lines
from commonplace.workspace.file_text import read_bytes, utf16_encoding

__all__ = ["Appended", "append_note", "create_file", "create_folder"]

_WRITE_FLAGS = (
    os.O_CREAT
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


class Appended(NamedTuple):
    """Outcome of an append that wrote something.

    Attributes:
        before: Bytes of the file before.
        after: Bytes of the file after it.
    """

    before: bytes
    after: bytes


def append_note(path: Path, note: str, *, title: str | None) -> Appended | None:
    """Append a note to a file atomically, unless the file already holds it.

    One exclusive lock, one write, one fsync: appends of all processes and threads are serialized.
    A new file begins with `title` as its heading.

    Args:
        path: The file; its folder exists.
        note: Text to append, verbatim but for blank lines around it.
        title: Heading of a new file; None for no heading.

    Returns:
        The file before and after; None when it already holds the note, and nothing was written.

    Raises:
        ValueError: The note is empty.
        WorkspaceReadOnlyError: The file cannot be written; nothing was changed.
    """
    note = trim_blank_lines(note)
    if not note:
        raise ValueError("the note is empty; there is nothing to append.")
    written: Appended | None = None
    while True:
        descriptor = _open_for_append(path)
        try:
            with lock_descriptor(descriptor):
                # An editor may replace the file during the wait, or during the write.
                if _is_still(path, descriptor):
                    written = _append_locked(descriptor, note, title) or written
                    if _is_still(path, descriptor):
                        return written
        except TimeoutError as error:
            raise WorkspaceReadOnlyError(
                f"{path} stayed locked by another process; nothing was written. Try again."
            ) from error
        except OSError as error:
            raise WorkspaceReadOnlyError(
                f"cannot append to {path}: {error.strerror or error}. Nothing was changed."
            ) from error
        finally:
            os.close(descriptor)


def _open_for_append(path: Path) -> int:
    flags = os.O_RDWR | os.O_APPEND | _WRITE_FLAGS
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise PathNotAllowedError(
                f"{path} is a symbolic link; notes are appended to regular files only."
            ) from error
        if os.path.isdir(path):  # Path.is_dir raises where the folder may not be looked into
            raise PathNotAllowedError(
                f"{path} is a folder; notes are appended to files. Move it away."
            ) from error
        raise WorkspaceReadOnlyError(
            f"cannot write {path}: {error.strerror or error}. "
            "Nothing was changed; give yourself write access to the folder and the file."
        ) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PathNotAllowedError(f"{path} is not a regular file; nothing was written.")
    return descriptor


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except OSError:
        return False


def _append_locked(descriptor: int, note: str, title: str | None) -> Appended | None:
    size = os.fstat(descriptor).st_size
    os.lseek(descriptor, 0, os.SEEK_SET)
    before = read_bytes(descriptor, size)
    encoding = utf16_encoding(before) or "utf-8"
    held = before.decode(encoding, errors="replace")
    added = added_text(held, note, title=title)
    if added is None:
        return None
    data = added.encode(encoding, errors="replace")
    try:
        written = os.write(descriptor, data)
        if written != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)
    except OSError:
        # Truncate only our own partial write, and only while it is still the file's end.
        if size < os.fstat(descriptor).st_size <= size + len(data):
            os.ftruncate(descriptor, size)
        raise
    return Appended(before, before + data)


def create_folder(path: Path) -> None:
    """Create a folder of the workspace, its parents included.

    Raises:
        PathNotAllowedError: The path is a symbolic link or a file.
        WorkspaceReadOnlyError: The folder cannot be created.
    """
    if path.is_symlink():
        raise PathNotAllowedError(f"{path} is a symbolic link; links are not followed.")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise PathNotAllowedError(f"{path} is a file; a folder was expected there.") from error
    except OSError as error:
        raise WorkspaceReadOnlyError(
            f"cannot create {path}: {error.strerror or error}. Nothing was changed."
        ) from error


def create_file(path: Path, text: str) -> bool:
    """Create a file atomically; return False, and write nothing, when it already exists.

    Raises:
        WorkspaceReadOnlyError: The file cannot be written; no partial file is left behind.
    """
    data = text.encode("utf-8", "replace")
    flags = os.O_WRONLY | os.O_EXCL | _WRITE_FLAGS
    try:
        descriptor = os.open(path, flags, 0o666)
    except FileExistsError:
        return False
    except OSError as error:
        raise _not_created(path, error) from error
    try:
        if os.write(descriptor, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise _not_created(path, error) from error
    finally:
        os.close(descriptor)
    return True


def _not_created(path: Path, error: OSError) -> WorkspaceReadOnlyError:
    return WorkspaceReadOnlyError(
        f"cannot create {path}: {error.strerror or error}. Nothing was changed; check the folder's "
        "permissions and the free space."
    )
