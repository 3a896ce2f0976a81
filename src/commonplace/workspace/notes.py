"""Reading files as they are and appending to logs: no code here rewrites a user's text."""

from __future__ import annotations

import codecs
import errno
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from commonplace.errors import PathNotAllowedError, WorkspaceReadOnlyError
from commonplace.system.locks import lock_descriptor

__all__ = [
    "MAX_FILE_BYTES",
    "FileText",
    "UnreadableFileError",
    "append_note",
    "create_file",
    "create_folder",
    "read_text",
]

MAX_FILE_BYTES = 32 * 1024 * 1024
"""Files beyond this are no notes: they are reported, not indexed."""

_READ_WAITS_S = (0.0, 0.0, 0.002, 0.01, 0.05)
"""Pauses before each try to read a file that others write to."""
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)


class UnreadableFileError(Exception):
    """A file that cannot be indexed; the text says why, without the path."""


@dataclass(frozen=True, slots=True)
class FileText:
    """A file's text and the state of the file it was read in.

    Attributes:
        text: The content; line ends are as in the file.
        size: Bytes on disk.
        mtime_ns: Time of the last change, in nanoseconds.
        note: What was odd about the file and how it was read; None when nothing was.
    """

    text: str
    size: int
    mtime_ns: int
    note: str | None = None


def read_text(path: Path, *, max_bytes: int = MAX_FILE_BYTES) -> FileText:
    """Read a file whole, in one state of it.

    Bytes that are not UTF-8 and NUL characters become U+FFFD; a UTF-16 file is recognised by its
    byte order mark.

    Raises:
        FileNotFoundError: The file is gone.
        UnreadableFileError: It is too large, is no regular file, cannot be read, or kept changing.
    """
    for wait_s in _READ_WAITS_S:
        if wait_s:  # even a sleep of no time hands the interpreter to another thread
            time.sleep(wait_s)
        found = _read_once(path, max_bytes)
        if found is not None:
            data, info = found
            text, note = _decode(data)
            return FileText(text, info.st_size, info.st_mtime_ns, note)
    raise UnreadableFileError("it kept changing while it was read; index again when it is quiet")


def _read_once(path: Path, max_bytes: int) -> tuple[bytes, os.stat_result] | None:
    """Read the bytes; None when the file changed meanwhile."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _NOFOLLOW | _BINARY)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(error.errno, "the file is gone", str(path)) from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # no file can have such a name
            raise FileNotFoundError(error.errno, "the name is too long", str(path)) from error
        if error.errno == errno.ELOOP:
            raise UnreadableFileError("it is a symbolic link; links are not followed") from error
        raise UnreadableFileError(f"it cannot be read: {error.strerror or error}") from error
    try:
        return _read_descriptor(descriptor, max_bytes)
    except OSError as error:
        raise UnreadableFileError(f"it cannot be read: {error.strerror or error}") from error
    finally:
        os.close(descriptor)


def _read_descriptor(descriptor: int, max_bytes: int) -> tuple[bytes, os.stat_result] | None:
    before = os.fstat(descriptor)
    if not stat.S_ISREG(before.st_mode):
        raise UnreadableFileError("it is not a regular file")
    if before.st_size > max_bytes:
        raise UnreadableFileError(
            f"it has {before.st_size / 2**20:.0f} MiB; a note may have {max_bytes / 2**20:.0f}."
            " Split it"
        )
    data = _read_all(descriptor, before.st_size + 1)
    after = os.fstat(descriptor)
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return (data, after) if same and len(data) == after.st_size else None


def _decode(data: bytes) -> tuple[str, str | None]:
    """Return the text of a file, and what was odd about it."""
    note = None
    if _utf16(data):
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


def _utf16(data: bytes) -> str | None:
    """Return which UTF-16 a file is in, by its byte order mark."""
    marks = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
    return marks.get(data[:2])


def append_note(path: Path, note: str, *, title: str | None) -> bool:
    """Append a note to a file, all of it or nothing, unless the file already holds it.

    One lock, one write, one fsync: appends of any number of processes and threads come one behind
    the other. A file that does not exist begins with `title` as its heading.

    Args:
        path: The file; its folder exists.
        note: Text to append; blank lines around it are dropped, the rest is written as it is.
        title: Heading of a new file; None for no heading.

    Returns:
        Whether anything was written: False when the file holds the note already.

    Raises:
        ValueError: The note is empty.
        WorkspaceReadOnlyError: The file cannot be written; nothing was changed.
    """
    note = _trim_blank_lines(note)
    if not note:
        raise ValueError("the note is empty; there is nothing to append.")
    written = False
    while True:
        descriptor = _open_for_append(path)
        try:
            with lock_descriptor(descriptor):
                # An editor may put another file in its place while we wait, or while we write.
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
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | _NOFOLLOW | _BINARY
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


def _append_locked(descriptor: int, note: str, title: str | None) -> bool:
    size = os.fstat(descriptor).st_size
    os.lseek(descriptor, 0, os.SEEK_SET)
    before = _read_all(descriptor, size)
    encoding = _utf16(before) or "utf-8"
    held = before.decode(encoding, errors="replace")
    new = _what_is_new(note, held)
    if new is None:
        return False
    data = _joined(held, new, title).encode(encoding, errors="replace")
    try:
        written = os.write(descriptor, data)
        if written != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)
    except OSError:
        # Only our own half-written bytes are taken back, and only while they are the file's end.
        if size < os.fstat(descriptor).st_size <= size + len(data):
            os.ftruncate(descriptor, size)
        raise
    return True


def _read_all(descriptor: int, size: int) -> bytes:
    """Read up to `size` bytes; a single read may give fewer."""
    parts = []
    while size > 0 and (part := os.read(descriptor, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _joined(held: str, note: str, title: str | None) -> str:
    """The text to add: what separates the note from the text before, the note, a newline."""
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
    """Tell whether a text's last block is a list item, its further lines included."""
    *_, last = _blocks(text)
    return bool(_ITEM.match(last))


def _trim_blank_lines(text: str) -> str:
    return _BLANK_START.sub("", text).rstrip()


def _what_is_new(note: str, held: str) -> str | None:
    """The part of a note that a text does not hold yet; None when it holds all of it.

    A note of list items is compared item by item, any other note as a whole; both by whole blocks,
    so that a note is never taken for held because it is a part of a longer sentence.
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
    """Tell whether some blocks, one behind the other, are a text."""
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
    """Make a folder of the workspace, its parents included.

    Raises:
        PathNotAllowedError: A symbolic link, or a file, stands in its place.
        WorkspaceReadOnlyError: It cannot be made.
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
    """Write a file that is not there yet, whole or not at all; False when there is one.

    Raises:
        WorkspaceReadOnlyError: It cannot be written; nothing is left behind.
    """
    data = text.encode("utf-8", "replace")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _BINARY
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
