"""Export: the files of a data export, and the JSON in them, a value at a time, however large.

An export is a file, a folder, or the ZIP archive that the vendor sends. An archive is read where it
is; the names in it are compared, never written to.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, Self

import ijson

from commonplace.errors import ImportSourceError
from commonplace.text.json_depth import ShallowJson
from commonplace.workspace.file_text import MAX_FILE_BYTES, decode_text, utf16_encoding
from commonplace.workspace.paths import crosses_link, is_link_entry

__all__ = ["Export", "ExportFile", "ReadProgress"]

ReadProgress = Callable[[int, int, str], None]
"""Callback with the bytes read, their total, and the name of the file."""

_READ_BYTES = 1 << 16
_BROKEN_ARCHIVE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
"""Errors of a damaged archive, of one with a password, and of an unknown compression."""
_UNREADABLE = (OSError, *_BROKEN_ARCHIVE)


class ExportFile(NamedTuple):
    """File of an export: its POSIX path there, its size, and the function that opens it."""

    name: str
    size: int
    open: Callable[[], IO[bytes]]


class Export:
    """Export of another tool, open for reading; a context manager.

    Args:
        path: File, folder or archive.
        progress: Called with bytes read, their total, and the name of the file.

    Raises:
        ImportSourceError: There is none, or the archive is damaged.
    """

    def __init__(self, path: Path, *, progress: ReadProgress | None = None) -> None:
        self.path = path
        self._progress = progress
        self._archive: zipfile.ZipFile | None = None
        self._total = self._before = 0
        if path.is_file() and zipfile.is_zipfile(path):
            try:
                self._archive = zipfile.ZipFile(path)
            except _BROKEN_ARCHIVE as error:
                raise ImportSourceError(
                    f"{path} is an archive that cannot be read: {error}. Download the export again."
                ) from error
        elif not path.is_file() and not path.is_dir():
            raise ImportSourceError(f"there is no export at {path}; name its file, folder or ZIP.")

    @property
    def is_archive(self) -> bool:
        """Whether it is an archive."""
        return self._archive is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._archive is not None:
            self._archive.close()

    # -- files -----------------------------------------------------------------------------------

    def files(
        self, *patterns: str, named: str | None = None, without: Path | None = None
    ) -> list[ExportFile]:
        """Return the files whose paths fit a pattern, in the order of the patterns.

        Args:
            patterns: Patterns as in a shell, below the folder; in an archive, below any folder. A
                file that is given itself may have any name.
            named: Name of what is looked for, for the error; the last pattern by default.
            without: Folder that is left out: the memory's own notes.

        Raises:
            ImportSourceError: There is none.
        """
        if self._archive is not None:
            members = sorted(self._members(), key=lambda one: one.name)
            found = [
                one
                for pattern in patterns
                for one in members
                if PurePosixPath(one.name).match(pattern)
            ]
        elif self.path.is_file():
            found = [_plain(self.path, self.path.name)]
        else:
            found = [
                _plain(one, one.relative_to(self.path).as_posix())
                for pattern in patterns
                for one in sorted(self.path.glob(pattern))
                if self._is_inside(one) and without not in one.resolve().parents
            ]
        found = list({one.name: one for one in found}.values())
        if not found:
            raise ImportSourceError(
                f"{self.path} holds no {named or patterns[-1]}; expected is a data export as the "
                "vendor sends it."
            )
        self._total += sum(one.size for one in found)
        return found

    def tree(self, *, without: Path) -> list[ExportFile]:
        """Return all files but those that are hidden, links, or below another folder.

        Args:
            without: Folder that is left out: the memory's own.
        """
        if self._archive is not None:
            found = [one for one in self._members() if not _is_hidden(one.name)]
        elif self.path.is_file():
            found = [_plain(self.path, self.path.name)]
        else:
            found = []
            for folder, folders, names in os.walk(self.path):
                here = Path(folder)
                folders[:] = [
                    one
                    for one in folders
                    if not one.startswith(".") and (here / one).resolve() != without
                ]
                for name in names:
                    relative = (here / name).relative_to(self.path)
                    if not name.startswith(".") and self._is_inside(here / name):
                        found.append(_plain(here / name, relative.as_posix()))
        self._total += sum(one.size for one in found)
        return sorted(found, key=lambda one: one.name)

    def _members(self) -> Iterator[ExportFile]:
        archive = self._archive
        for info in archive.infolist() if archive else ():
            is_link = stat.S_ISLNK(info.external_attr >> 16)
            if archive is not None and not info.is_dir() and not is_link:
                yield ExportFile(info.filename, info.file_size, _member(archive, info))

    def _is_inside(self, path: Path) -> bool:
        """Return whether a path is a file's that is reached without a link."""
        if crosses_link(self.path, path.relative_to(self.path).parts):
            return False
        info = path.lstat()
        return stat.S_ISREG(info.st_mode) and not is_link_entry(info)

    # -- contents --------------------------------------------------------------------------------

    def values(self, file: ExportFile, *lists: str, single: bool = False) -> Iterator[Any]:
        """Yield the entries of a list in JSON, one at a time.

        Args:
            file: The file.
            lists: Names of the list, where it may stand in an object.
            single: Whether an object without such a list is an entry itself, and others may follow
                it, as in JSON Lines.

        Raises:
            ImportSourceError: The file is none of these, or breaks off; what was before was
                yielded.
        """
        count = 0
        try:
            with file.open() as plain:
                opened = _as_utf8(plain)
                start = opened.read(_READ_BYTES).lstrip()[:1]
                opened.seek(0)
                prefix = "item"
                if start == b"{" and (lists or single):
                    # Others may follow an object: older versions of ijson read ahead of the break.
                    events = ijson.parse(
                        ShallowJson(opened), buf_size=_READ_BYTES, multiple_values=True
                    )
                    prefix = _list_in(events, lists)
                    opened.seek(0)
                if start not in (b"[", b"") and not (prefix != "item" and (prefix or single)):
                    raise ValueError(f"it begins with {start.decode('latin-1')!r}")
                options = {
                    "buf_size": _READ_BYTES,
                    "use_float": True,
                    "multiple_values": not prefix,
                }
                for entry in ijson.items(ShallowJson(opened), prefix, **options):
                    count += 1
                    yield entry
                    self._read(file, opened.tell())
        except (ijson.JSONError, ValueError, *_UNREADABLE) as error:
            reason = " ".join(str(error).split())
            raise ImportSourceError(
                f"{file.name} cannot be read behind its entry {count}: {reason}. Expected is a "
                "list in JSON; download the export again."
            ) from error
        self._end(file)

    def lines(self, file: ExportFile) -> Iterator[Any]:
        """Yield the values of JSON Lines; lines that are none are left out.

        Raises:
            ImportSourceError: The file cannot be read; what was before was yielded.
        """
        try:
            with file.open() as opened:
                for line in opened:
                    with contextlib.suppress(ValueError, RecursionError):
                        yield json.loads(line)
                    self._read(file, opened.tell())
        except _UNREADABLE as error:
            raise ImportSourceError(f"{file.name} cannot be read: {error}.") from error
        self._end(file)

    def text(self, file: ExportFile) -> str | None:
        """Return the text of a file; None for one that is larger than a note may be.

        Raises:
            ImportSourceError: The file cannot be read.
        """
        data = None
        if file.size <= MAX_FILE_BYTES:
            try:
                with file.open() as opened:
                    data = opened.read(MAX_FILE_BYTES)
            except _UNREADABLE as error:
                raise ImportSourceError(f"{file.name} cannot be read: {error}.") from error
        self._end(file)
        return None if data is None else _decoded(data).removeprefix("\ufeff")

    def pass_over(self, file: ExportFile) -> None:
        """Count a file as read."""
        self._end(file)

    def _read(self, file: ExportFile, offset: int) -> None:
        if self._progress is not None:
            self._progress(self._before + min(offset, file.size), self._total, file.name)

    def _end(self, file: ExportFile) -> None:
        self._before += file.size
        self._read(file, 0)


def _as_utf8(opened: IO[bytes]) -> IO[bytes]:
    """Return a file as UTF-8 without its byte order mark, as Windows writes one."""
    start = opened.read(len(codecs.BOM_UTF8))
    opened.seek(0)
    if utf16_encoding(start):
        return codecs.EncodedFile(opened, "utf-8", "utf-16")
    if start == codecs.BOM_UTF8:
        return codecs.EncodedFile(opened, "utf-8", "utf-8-sig")
    return opened


def _list_in(events: Iterator[tuple[str, str, Any]], lists: tuple[str, ...]) -> str:
    """Return ijson's prefix of the entries of a list in an object; empty where there is none."""
    for prefix, event, _ in events:
        if event == "start_array" and prefix in lists:
            return f"{prefix}.item"
        if event == "end_map" and not prefix:
            break
    return ""


def _decoded(data: bytes) -> str:
    """Return the text of a file; one in an older encoding is read as Windows-1252."""
    text, _ = decode_text(data)
    if "\ufffd" in text and b"\0" not in data and text.replace("\ufffd", "").isascii():
        return data.decode("windows-1252", "replace")
    return text


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/"))


def _plain(path: Path, name: str) -> ExportFile:
    return ExportFile(name, path.stat().st_size, lambda: path.open("rb"))


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], IO[bytes]]:
    return lambda: archive.open(info)
