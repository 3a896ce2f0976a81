"""Export file: the JSON lists of a data export, an entry at a time, however large they are.

An export is a file, a folder, or the ZIP archive that the vendor sends. An archive is read where it
is; the names in it are compared, never written to.
"""

from __future__ import annotations

import contextlib
import fnmatch
import posixpath
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from commonplace.errors import ImportSourceError, MissingExtraError

__all__ = ["ReadProgress", "entries", "named_files"]

ReadProgress = Callable[[int, int, str], None]
"""Callback with the bytes read, their total, and the name of the file."""

ExportFile = tuple[str, int, Callable[[], IO[bytes]]]
"""Name of a file, its size, and the function that opens it."""

_READ_BYTES = 1 << 16
_BROKEN_ARCHIVE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
"""Errors of a damaged archive, of one with a password, and of an unknown compression."""


@contextlib.contextmanager
def named_files(path: Path, pattern: str) -> Iterator[list[ExportFile]]:
    """Find the files of an export whose names fit a pattern.

    Args:
        path: File, folder or archive.
        pattern: Pattern of the names, as in a shell; a file that is given itself may have any name.

    Raises:
        ImportSourceError: There is none.
    """
    with contextlib.ExitStack() as stack:
        if path.is_dir():
            inside = sorted(one for one in path.iterdir() if fnmatch.fnmatch(one.name, pattern))
            found = [_plain(one) for one in inside if stat.S_ISREG(one.lstat().st_mode)]
        elif path.is_file() and zipfile.is_zipfile(path):
            archive = stack.enter_context(_archive(path))
            found = [
                (info.filename, info.file_size, _member(archive, info))
                for info in sorted(archive.infolist(), key=lambda one: one.filename)
                if fnmatch.fnmatch(posixpath.basename(info.filename), pattern)
            ]
        elif path.is_file():
            found = [_plain(path)]
        else:
            raise ImportSourceError(f"there is no export at {path}; name its file, folder or ZIP.")
        if not found:
            raise ImportSourceError(
                f"{path} holds no {pattern}; expected is a data export as the vendor sends it."
            )
        yield found


def entries(path: Path, pattern: str, progress: ReadProgress | None = None) -> Iterator[Any]:
    """Yield the entries of the JSON lists of an export, one at a time.

    Raises:
        ImportSourceError: A file is not such a list, or breaks off; entries before it were yielded.
        MissingExtraError: ijson is not installed.
    """
    try:
        import ijson
    except ImportError as error:
        raise MissingExtraError(
            "imports need the package ijson: pip install 'commonplace[importers]'"
        ) from error
    broken = (ijson.JSONError, ValueError, *_BROKEN_ARCHIVE)
    with named_files(path, pattern) as files:
        total, before = sum(size for _, size, _ in files), 0
        for name, size, opened in files:
            count = 0
            try:
                with opened() as file:
                    _check_list(file)
                    for entry in ijson.items(file, "item", buf_size=_READ_BYTES, use_float=True):
                        count += 1
                        yield entry
                        if progress is not None:
                            progress(before + min(file.tell(), size), total, name)
            except broken as error:
                raise ImportSourceError(
                    f"{name} cannot be read behind its entry {count}: {error}. Expected is a "
                    "list in JSON; download the export again. What was before is imported."
                ) from error
            before += size


def _check_list(file: IO[bytes]) -> None:
    """Raise where a file begins as another value than a list, which has no entries."""
    start = file.read(_READ_BYTES).lstrip()[:1]
    if start not in (b"[", b""):
        raise ValueError(f"it begins with {start.decode('latin-1')!r}")
    file.seek(0)


def _archive(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except _BROKEN_ARCHIVE as error:
        raise ImportSourceError(
            f"{path} is an archive that cannot be read: {error}. Download the export again."
        ) from error


def _plain(path: Path) -> ExportFile:
    return path.name, path.stat().st_size, lambda: path.open("rb")


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], IO[bytes]]:
    return lambda: archive.open(info)
