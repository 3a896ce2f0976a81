"""Session files of a workspace: where they lie, which belong to the memory, discovery."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from commonplace.settings import Settings
from commonplace.types import MemoryFile
from commonplace.workspace.file_text import file_stamp
from commonplace.workspace.paths import SESSIONS_PREFIX, crosses_link, is_session_path, list_folder

__all__ = ["UNWRITTEN", "SessionFolder", "sessions_path"]

UNWRITTEN = "unwritten"
"""Part of a session file's name that marks messages whose flush failed for good."""
_UNWRITTEN_FILES = (f"*-{UNWRITTEN}-*.jsonl",)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ODD = re.compile("[\\\\\0\ud800-\udfff]")


def sessions_path(settings: Settings, *, root: Path, index_path: Path) -> Path:
    """Return the folder of a workspace's session files; it may not exist.

    Args:
        settings: `SessionsSettings.path`, relative to the workspace, overrides the default.
        root: The workspace.
        index_path: Its index. The default beside ``index.sqlite`` is ``sessions``. Beside an index
            of another name it is ``<name>.sessions``, because indexes may share that folder.
    """
    named = settings.sessions.path
    own = "sessions" if index_path.stem == "index" else f"{index_path.stem}.sessions"
    path = index_path.with_name(own) if named is None else root / os.path.expanduser(named)
    return Path(os.path.realpath(path))  # files are opened where no link leads


class SessionFolder:
    """The session files that belong to the memory.

    With `SessionsSettings.enabled` those are the files that match its patterns. Without it, only
    files of failed flushes, which replace the notes that were lost. Links are never followed.
    """

    def __init__(self, root: Path, settings: Settings, *, dated: bool = True) -> None:
        self.root = root
        self.enabled = settings.sessions.enabled
        self._dated = dated
        patterns = settings.sessions.patterns if self.enabled else _UNWRITTEN_FILES
        self._matches = re.compile("|".join(map(_regex, patterns)) or r"(?!)")
        self._deep = any("/" in pattern for pattern in patterns)

    def scan(self, problems: list[tuple[str, str]]) -> Iterator[MemoryFile]:
        """Walk the folder in order of names; add unreadable files and folders to the problems."""
        waiting = self._listed(os.fspath(self.root), problems)
        while waiting:
            entry = waiting.pop()
            path = self._shown(entry.path)
            try:
                if self._deep and entry.is_dir(follow_symlinks=False):
                    waiting += self._listed(entry.path, problems)
                elif self._belongs(path.removeprefix(SESSIONS_PREFIX)) and entry.is_file(
                    follow_symlinks=False
                ):
                    yield self._file(path, Path(entry.path), entry.stat(follow_symlinks=False))
            except FileNotFoundError:
                continue
            except OSError as error:
                problems.append((path, error.strerror or str(error)))

    def locate(self, path: str) -> Path | None:
        """Resolve a path of a search result; None for a path that is no session file's."""
        name = path.removeprefix(SESSIONS_PREFIX)
        if not is_session_path(path) or not self._belongs(name):
            return None
        parts = name.split("/")
        return None if crosses_link(self.root, parts) else self.root.joinpath(*parts)

    def stat(self, path: str) -> MemoryFile | None:
        """Return a session file by the path of a search result; None when it does not exist."""
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
        """Pattern of the paths of session files, for messages."""
        return f"{SESSIONS_PREFIX}{'**' if self._deep else '*'}"

    def _belongs(self, name: str) -> bool:
        parts = name.split("/")
        is_plain = not _ODD.search(name) and not {"", ".", ".."} & set(parts)
        return is_plain and not name.endswith(".md") and bool(self._matches.fullmatch(name))

    def _listed(self, folder: str, problems: list[tuple[str, str]]) -> list[os.DirEntry[str]]:
        try:
            return list_folder(folder)
        except OSError as error:
            if self.enabled:
                problems.append((self._shown(folder).rstrip("/"), error.strerror or str(error)))
            return []

    def _shown(self, absolute: str) -> str:
        """Return the path of a file or folder as search results show it."""
        below = absolute[len(os.fspath(self.root)) :].lstrip(os.sep)
        return SESSIONS_PREFIX + below.replace(os.sep, "/")

    def _file(self, path: str, place: Path, info: os.stat_result) -> MemoryFile:
        return MemoryFile(
            path=path,
            absolute=place,
            source="sessions",
            size=info.st_size,
            mtime_ns=info.st_mtime_ns,
            date=_day_of(place.name) if self._dated else None,
            stamp=file_stamp(info),
        )


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
