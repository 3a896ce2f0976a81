"""Writing notes: appends to logs and creates files; no code here rewrites a user's text."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from commonplace.errors import PathNotAllowedError, WorkspaceReadOnlyError
from commonplace.system.locks import lock_descriptor
from commonplace.workspace.file_text import read_bytes, utf16_encoding

__all__ = ["Appended", "append_note", "appended_text", "create_file", "create_folder"]

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
    note = _trim_blank_lines(note)
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
    added = appended_text(held, note, title=title)
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


def appended_text(held: str, note: str, *, title: str | None) -> str | None:
    """Return the text that appending a note adds to a file; None when the file holds the note."""
    new = _deduplicated(_trim_blank_lines(note), held)
    return None if new is None else _joined(held, new, title)


def _joined(held: str, note: str, title: str | None) -> str:
    """Return the text to add: a separator from the text before, the note, a newline."""
    if not held.lstrip("\ufeff").strip():
        gap = "" if not held or held.endswith(("\n", "\ufeff")) else "\n"
        return gap + (f"# {title}\n\n" if title else "") + note + "\n"
    gap = "" if held.endswith("\n") else "\n"
    if _ends_in_list(held) and _ITEM.match(note):
        return gap + note + "\n"
    if not _BLANK_END.search(held):
        gap += "\n"
    return gap + note + "\n"


_BLANK_START = re.compile(r"\A(?:[^\S\n]*\n)+")
_BLANK_END = re.compile(r"\n[ \t\r]*\n\Z")
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+\S")


def _ends_in_list(text: str) -> bool:
    """Check whether the last block of a text is a list item, its continuation lines included."""
    *_, last = _blocks(text)
    return bool(_ITEM.match(last))


def _trim_blank_lines(text: str) -> str:
    return _BLANK_START.sub("", text).rstrip()


def _deduplicated(note: str, held: str) -> str | None:
    """Deduplicate a note: return the part that a text does not hold yet; None when it holds all.

    A note of list items is compared item by item, any other note as a whole. Both are compared
    with whole blocks, so a note that is only part of a longer sentence is still appended.
    """
    known = [_squeezed(block) for block in _blocks(held)]
    fresh = []
    for piece in _items(note) or [note]:
        if not _contains(known, _squeezed(piece)):
            fresh.append(piece)
            known += map(_squeezed, _blocks(piece))
    return "\n".join(fresh).rstrip() if fresh else None


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _contains(blocks: list[str], wanted: str) -> bool:
    """Check whether consecutive blocks, joined by a space, equal a text."""
    for first in range(len(blocks)):
        rest = wanted
        for block in blocks[first:]:
            if rest == block:
                return True
            if not rest.startswith(block + " "):
                break
            rest = rest[len(block) + 1 :]
    return False


def _blocks(text: str) -> Iterator[str]:
    """Split a text into paragraphs, headings and list items."""
    block: list[str] = []
    for line in text.split("\n"):
        starts = _ITEM.match(line) or line.lstrip().startswith("#")
        if block and (starts or not line.strip()):
            yield "\n".join(block)
            block = []
        if line.strip():
            block.append(line)
            if line.lstrip().startswith("#"):
                yield line
                block = []
    if block:
        yield "\n".join(block)


def _items(text: str) -> list[str] | None:
    """Split a text of list items into its top-level items; None for any other text."""
    items: list[list[str]] = []
    indent = 0
    for line in text.split("\n"):
        match = _ITEM.match(line)
        if match and (not items or len(match["indent"]) <= indent):
            indent = len(match["indent"])
            items.append([line])
        elif items and (not line.strip() or line[:1].isspace()):
            items[-1].append(line)
        else:
            return None
    return ["\n".join(item) for item in items]


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
