"""Paths of a workspace: which files belong to the memory, and which of them are logs of a day."""

from __future__ import annotations

import os
import posixpath
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.errors import PathNotAllowedError, WorkspaceNotFoundError
from commonplace.settings import Settings
from commonplace.text.lookalikes import named_path
from commonplace.types import MemoryFile, is_url
from commonplace.workspace.file_text import file_stamp

if TYPE_CHECKING:
    from commonplace.workspace.sessions import SessionFolder

__all__ = [
    "SESSIONS_PREFIX",
    "USER_NAME",
    "DiscoveryRules",
    "WorkspacePaths",
    "crosses_link",
    "is_link",
    "is_link_entry",
    "is_normal",
    "is_session_path",
    "list_folder",
    "log_date",
    "log_path",
]

SESSIONS_PREFIX = "sessions/"
"""Prefix of the paths of session files, as search results show them."""

_LONG_TERM_NAMES = ("MEMORY.md", "memory.md")
USER_NAME = "USER.md"
"""Second long-term file: what the memory knows of its user."""
_DREAMS = re.compile(r"(?:memory/)?dreams\.md", re.IGNORECASE)  # a diary that repeats notes
_LOG = re.compile(r"(?:\./)*memory/(?:[^/]+/)*([0-9]{4}-[0-9]{2}-[0-9]{2})(?:-[^/]+)?\.md")
_ODD = re.compile(r"\\|\0|[\ud800-\udfff]")
"""Characters that no valid path contains: Windows' separator, NUL, lone surrogates."""
_ODD_ON_WINDOWS = re.compile(r"(?<!^[A-Za-z]):|[. ](?:/|$)|[<>\"|?*\x00-\x1f]")
"""Windows strips blanks and dots at the end of a name; a colon names a stream of the file."""


def log_date(path: str) -> date | None:
    """Return the day of a log, ``memory/**/YYYY-MM-DD.md`` or ``YYYY-MM-DD-slug.md``.

    None for any other file, and for a day that is not in the calendar.

    Args:
        path: POSIX, relative to the workspace.
    """
    match = _LOG.fullmatch(path)
    try:
        return date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class DiscoveryRules:
    """Rules by which files belong to a memory, and to a day.

    Attributes:
        date_of: Function from a file's path to its day; None for a file without one.
        both_long_term_files: Whether MEMORY.md and memory.md are both read, instead of memory.md
            only in the absence of MEMORY.md.
        dated_sessions: Whether the name of a session file gives its day.
        knows_user_file: Whether USER.md is a long-term file, too, and DREAMS.md no file at all.
    """

    date_of: Callable[[str], date | None] = log_date
    both_long_term_files: bool = False
    dated_sessions: bool = True
    knows_user_file: bool = True


_DEFAULT_RULES = DiscoveryRules()


class WorkspacePaths:
    """The folder of a workspace and its path policy.

    Allowed are ``MEMORY.md``, ``USER.md``, ``memory/**/*.md`` and the extra paths of the settings.
    Symbolic links are never followed, because a link could bring any file into the memory.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        settings: Settings | None = None,
        rules: DiscoveryRules = _DEFAULT_RULES,
    ) -> None:
        """Open a folder; nothing is created in it.

        Args:
            folder: The folder.
            settings: Its extra paths.
            rules: The profile's rules.

        Raises:
            WorkspaceNotFoundError: The folder is missing, a file, a URL, or cannot be read.
        """
        if is_url(folder):
            raise WorkspaceNotFoundError(
                "the workspace is a URL; a folder was expected. Memory.connect(URL) opens a memory "
                "whose folder another host has, Memory.open(FOLDER, index=URL) one of this host's."
            )
        path = Path(os.path.expanduser(folder))
        try:
            if is_folder := stat.S_ISDIR(path.stat().st_mode):
                os.scandir(path).close()
        except PermissionError as error:
            raise WorkspaceNotFoundError(
                f"the workspace {path} cannot be read: permission denied. "
                "Give yourself read access to the folder, or name another one."
            ) from error
        except (OSError, ValueError) as error:
            raise WorkspaceNotFoundError(
                f"there is no workspace at {path}. Create it with 'commonplace init' "
                f"(commonplace -w {path} init), or name an existing folder."
            ) from error
        if not is_folder:
            raise WorkspaceNotFoundError(
                f"the workspace {path} is a file; a folder of Markdown files was expected. "
                "Name the folder that holds it, or create one with 'commonplace init'."
            )
        self._use(path.resolve(), settings or Settings(), rules)

    def _use(self, root: Path, settings: Settings, rules: DiscoveryRules) -> None:
        self.root, self.settings, self.rules = root, settings, rules
        self._below = os.path.join(self.root, "")
        self._extra = tuple(dict.fromkeys(self._extra_roots()))
        self.searched_roots = (os.path.join(self.root, "memory"), *self._extra)
        """Absolute paths below which every ``.md`` file belongs to the memory."""
        self.sessions: SessionFolder | None = None
        """The session files; None for notes only. See `Workspace.with_sessions`."""

    def __repr__(self) -> str:
        return f"Workspace({str(self.root)!r})"

    @property
    def long_term_path(self) -> str:
        """Path of the long-term file, which may not exist yet."""
        return self.long_term_names()[0]

    @property
    def missing_extra_paths(self) -> tuple[str, ...]:
        """Extra paths that do not exist, spelled as in the settings."""
        extra = filter(str.strip, self.settings.extra_paths)
        return tuple(given for given in extra if not os.path.lexists(self._absolute_extra(given)))

    def check_there(self) -> None:
        """Check that the folder still exists: its disk may have been unmounted.

        Raises:
            WorkspaceNotFoundError: The folder is gone.
        """
        if not self.root.is_dir():
            raise WorkspaceNotFoundError(
                f"the workspace {self.root} is gone. Its index is left as it is; put the folder "
                "back, or open another one."
            )

    def locate(self, path: str) -> Path:
        """Resolve a path of a search result to its place on the disk; the file may be missing.

        Raises:
            PathNotAllowedError: The path is not one of the memory's files.
        """
        name = self.plain_name(path)
        if is_session_path(name):
            found = self.sessions.locate(name) if self.sessions else None
            if found is None:
                raise self._refusal(path)
            return found
        if name in ("MEMORY.md", *self.long_term_names()) or self._is_user_file(name):
            return self._without_links(self.root, name, path)
        if not is_normal(name) or self.is_left_out(name):
            raise self._refusal(path)
        absolute = os.path.normpath(os.path.join(self.root, name))
        if self.display_path(absolute) != name:
            raise self._refusal(path)
        for root in self.searched_roots:
            if absolute == root or absolute.startswith(root.rstrip(os.sep) + os.sep):
                above = os.path.dirname(root)
                return self._without_links(Path(above), os.path.relpath(absolute, above), path)
        raise self._refusal(path)

    @staticmethod
    def plain_name(path: str) -> str:
        """Normalize a path to that of the file: no outer blanks, no leading "./", no escapes."""
        return (named_path if "<U+" in path else str)(path.strip().removeprefix("./"))

    def display_path(self, absolute: str | os.PathLike[str]) -> str:
        """Return a file's path as search results show it: POSIX, relative to the workspace."""
        below = os.fspath(absolute).removeprefix(self._below)
        if not os.path.isabs(below):
            return below.replace(os.sep, "/")
        try:
            return os.path.relpath(absolute, self.root).replace(os.sep, "/")
        except ValueError:  # another drive on Windows
            return Path(absolute).as_posix()

    def stat(self, path: str) -> MemoryFile | None:
        """Return a file by the path of a search result; None when it does not exist."""
        if self.sessions is not None and is_session_path(path):
            return self.sessions.stat(path)
        absolute = self.locate(path)
        try:
            info = os.lstat(absolute)
        except OSError:
            return None
        return self.memory_file(str(absolute), info) if stat.S_ISREG(info.st_mode) else None

    def memory_file(self, absolute: str, info: os.stat_result) -> MemoryFile:
        """Describe a file: path as shown, size, time, and the day of a log."""
        path = self.display_path(absolute)
        return MemoryFile(
            path=path,
            absolute=Path(absolute),
            source="memory",
            size=info.st_size,
            mtime_ns=info.st_mtime_ns,
            date=self.rules.date_of(path),
            stamp=file_stamp(info),
        )

    def long_term_names(self) -> tuple[str, ...]:
        """Return MEMORY.md, or memory.md only in its absence, and USER.md where it exists."""
        if self.rules.both_long_term_files:
            return _LONG_TERM_NAMES
        # From the folder's listing: on a disk that ignores case, both names can be opened.
        try:
            names = set(os.listdir(self.root))
        except OSError:
            names = set()
        is_small = "memory.md" in names and "MEMORY.md" not in names
        user = tuple(name for name in (USER_NAME,) if name in names and self._is_user_file(name))
        return ("memory.md" if is_small else "MEMORY.md", *user)

    def is_left_out(self, path: str) -> bool:
        """Return whether a file that lies among the memory's is none of them."""
        return self.rules.knows_user_file and bool(_DREAMS.fullmatch(path))

    def _is_user_file(self, name: str) -> bool:
        return self.rules.knows_user_file and name == USER_NAME

    def _absolute_extra(self, given: str) -> str:
        path = os.path.normpath(os.path.join(self.root, os.path.expanduser(given.strip())))
        # Only the parent is resolved: the last name may itself be a link, which must be refused.
        return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))

    def _extra_roots(self) -> Iterator[str]:
        for given in self.settings.extra_paths:
            if given.strip():
                path = self._absolute_extra(given)
                yield path.rstrip(os.sep) or path

    def _without_links(self, base: Path, inside: str, asked: str) -> Path:
        if crosses_link(base, inside.split(os.sep)):
            raise self._refusal(asked)
        return base / inside

    def _refusal(self, path: str) -> PathNotAllowedError:
        allowed = f"{', '.join(self.long_term_names())}, memory/**/*.md"
        if self._extra:
            extra = ", ".join(map(self.display_path, self._extra))
            allowed += f", and .md files of the extra paths {extra}"
        if self.sessions is not None and self.sessions.enabled:
            allowed += f", and session files, {self.sessions.allowed}"
        shown = path if len(path) <= 200 else path[:200] + "…"
        return PathNotAllowedError(
            f"{shown!r} is not a file of this memory. Allowed are {allowed}: "
            "give the path as memory_search shows it; links are not followed."
        )


def log_path(day: date) -> str:
    """Return the path of a day's log, ``memory/2026-11-20.md``."""
    return f"memory/{date.isoformat(day)}.md"


def is_session_path(path: str) -> bool:
    """Check whether a path of a search result is a session file's; notes end with ``.md``."""
    return path.startswith(SESSIONS_PREFIX) and not path.endswith(".md")


def is_normal(name: str) -> bool:
    """Check that a path is in normal form: one spelling a file, none that evades the policy."""
    return bool(
        name.endswith(".md")
        and not name.startswith("/")
        and not _ODD.search(name)
        and not (os.name == "nt" and _ODD_ON_WINDOWS.search(name))
        and name.strip() == name
        and posixpath.normpath(name) == name
    )


def crosses_link(base: Path, parts: Iterable[str]) -> bool:
    """Check whether a symbolic link or a junction lies on the way from a folder to a file."""
    path = base
    for part in parts:
        path = path / part
        try:
            info = os.lstat(path)
        except (OSError, ValueError):
            return False  # opening the file fails too, and that error names the cause
        if is_link_entry(info):
            return True
    return False


def list_folder(folder: str) -> list[os.DirEntry[str]]:
    """List a folder in descending order of names, so that `pop` takes the first; none if gone.

    Raises:
        OSError: The folder cannot be read.
    """
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name, reverse=True)
    except FileNotFoundError:
        return []


def is_link(path: Path) -> bool:
    """Check whether a path is a symbolic link or a junction; False when it cannot be read."""
    try:
        return is_link_entry(os.lstat(path))
    except OSError:
        return False


def is_link_entry(info: os.stat_result) -> bool:
    """Check whether `os.lstat` found a symbolic link or a junction."""
    if sys.platform == "win32" and info.st_reparse_tag == stat.IO_REPARSE_TAG_MOUNT_POINT:
        return True
    return stat.S_ISLNK(info.st_mode)
