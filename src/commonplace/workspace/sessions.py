"""Which files are transcripts of sessions: discovery and path safety, as for the notes."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import BinaryIO

from commonplace.settings import Settings
from commonplace.types import MemoryFile
from commonplace.workspace.notes import UnreadableFileError

__all__ = ["UNWRITTEN", "SessionFolder", "is_session_path", "open_session", "sessions_path"]

UNWRITTEN = "unwritten"
"""Stands in the name of a session file whose messages no flush could write down."""
_PREFIX = "sessions/"
_UNWRITTEN_FILES = (f"*-{UNWRITTEN}-*.jsonl",)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ODD = re.compile("[\\\\\0\ud800-\udfff]")
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)


def sessions_path(settings: Settings, *, root: Path, index_path: Path) -> Path:
    """Return the folder of a workspace's session files; it may not exist.

    Args:
        settings: `SessionsSettings.path` names another one; relative ones are to the workspace.
        root: The workspace.
        index_path: Its index. Beside ``index.sqlite`` it is ``sessions``; an index of another name
            may not be alone in its folder, and has ``<name>.sessions``.
    """
    named = settings.sessions.path
    if named is not None:
        return Path(os.path.normpath(root / os.path.expanduser(named)))
    own = "sessions" if index_path.stem == "index" else f"{index_path.stem}.sessions"
    return index_path.with_name(own)


def is_session_path(path: str) -> bool:
    """Tell whether a path that search shows is a session file's; notes end with ``.md``."""
    return path.startswith(_PREFIX) and not path.endswith(".md")


class SessionFolder:
    """The folder of transcripts, as far as they belong to the memory.

    With `SessionsSettings.enabled` those are the files of its patterns. Without, only what no flush
    could write down: it stands in for notes. Symbolic links are never followed.
    """

    def __init__(self, root: Path, settings: Settings) -> None:
        self.root = root
        self.enabled = settings.sessions.enabled
        self._dated = not settings.openclaw_rules
        patterns = settings.sessions.patterns if self.enabled else _UNWRITTEN_FILES
        self._matches = re.compile("|".join(map(_regex, patterns)) or r"(?!)")
        self._deep = any("/" in pattern for pattern in patterns)

    def scan(self, problems: list[tuple[str, str]]) -> Iterator[MemoryFile]:
        """Walk the folder, by name; what cannot be looked at is added to the problems."""
        yield from self._walk(self.root, "", problems)

    def locate(self, path: str) -> Path | None:
        """Return where a session file stands, or would; None for a path that is none."""
        name = path.removeprefix(_PREFIX)
        if not is_session_path(path) or not self._belongs(name):
            return None
        place = self.root
        for part in name.split("/"):
            place = place / part
            try:
                if stat.S_ISLNK(os.lstat(place).st_mode):
                    return None
            except (OSError, ValueError):
                break  # nothing can be opened there either, and that says why
        return self.root.joinpath(*name.split("/"))

    def stat(self, path: str) -> MemoryFile | None:
        """Look at one file; None when it is not there."""
        place = self.locate(path)
        try:
            info = os.lstat(place) if place else None
        except OSError:
            return None
        if place is None or info is None or not stat.S_ISREG(info.st_mode):
            return None
        return self._file(path, place, info)

    @property
    def allowed(self) -> str:
        """What paths are session files, for people."""
        return f"{_PREFIX}{'**' if self._deep else '*'}"

    def _belongs(self, name: str) -> bool:
        parts = name.split("/")
        is_plain = not _ODD.search(name) and not {"", ".", ".."} & set(parts)
        return is_plain and not name.endswith(".md") and bool(self._matches.fullmatch(name))

    def _walk(
        self, folder: Path, below: str, problems: list[tuple[str, str]]
    ) -> Iterator[MemoryFile]:
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except FileNotFoundError:
            return
        except OSError as error:
            if self.enabled:
                problems.append(((_PREFIX + below).rstrip("/"), error.strerror or str(error)))
            return
        for entry in found:
            name = below + entry.name
            try:
                if self._deep and entry.is_dir(follow_symlinks=False):
                    yield from self._walk(Path(entry.path), f"{name}/", problems)
                elif self._belongs(name) and entry.is_file(follow_symlinks=False):
                    info = entry.stat(follow_symlinks=False)
                    yield self._file(_PREFIX + name, Path(entry.path), info)
            except FileNotFoundError:
                continue
            except OSError as error:
                problems.append((_PREFIX + name, error.strerror or str(error)))

    def _file(self, path: str, place: Path, info: os.stat_result) -> MemoryFile:
        return MemoryFile(
            path=path,
            absolute=place,
            source="sessions",
            size=info.st_size,
            mtime_ns=info.st_mtime_ns,
            date=_day_of(place.name) if self._dated else None,
        )


def open_session(path: Path) -> BinaryIO:
    """Open a session file for reading; it may grow meanwhile.

    Raises:
        FileNotFoundError: It is gone.
        UnreadableFileError: It is no regular file, or cannot be read.
    """
    try:
        descriptor = os.open(path, _FLAGS | _BINARY)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(error.errno, "the file is gone", str(path)) from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UnreadableFileError("it is a symbolic link; links are not followed") from error
        raise UnreadableFileError(f"it cannot be read: {error.strerror or error}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UnreadableFileError("it is not a regular file")
    return open(descriptor, "rb", buffering=1 << 18)


def _regex(pattern: str) -> str:
    """Translate a pattern: ``*`` and ``?`` stay in a folder, ``**/`` is any folders or none."""
    parts = re.split(r"(\*\*/|\*|\?)", pattern)
    meanings = {"**/": r"(?:[^/]+/)*", "*": r"[^/]*", "?": r"[^/]"}
    return "".join(meanings.get(part) or re.escape(part) for part in parts)


def _day_of(name: str) -> date | None:
    """Return the day that a file's name begins with."""
    found = _DAY.match(name)
    try:
        return date.fromisoformat(found[0]) if found else None
    except ValueError:
        return None
