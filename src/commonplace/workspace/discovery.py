"""Which files belong to the memory, and which paths may be read."""

from __future__ import annotations

import os
import posixpath
import re
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from commonplace.errors import PathNotAllowedError, WorkspaceNotFoundError
from commonplace.settings import Settings
from commonplace.types import MemoryFile
from commonplace.workspace.log_dates import log_date, openclaw_log_date
from commonplace.workspace.sessions import SessionFolder, is_session_path

__all__ = ["Scan", "Workspace"]

_LONG_TERM_NAMES = ("MEMORY.md", "memory.md")
_ODD = re.compile(r"\\|\0|[\ud800-\udfff]")
"""What no path that search shows has in it: Windows' separator, NUL, halves of characters."""
_ODD_ON_WINDOWS = re.compile(r"(?<!^[A-Za-z]):|[. ](?:/|$)|[<>\"|?*\x00-\x1f]")
"""Windows drops blanks and dots at the end of a name, and a colon names a stream of the file."""
_JUNCTIONS = sys.platform == "win32"


@dataclass(frozen=True, slots=True)
class Scan:
    """What a walk over the workspace found.

    Attributes:
        files: The memory's files, in the order of discovery, each once.
        problems: ``(path, reason)`` of folders and files that could not be looked at.
    """

    files: tuple[MemoryFile, ...]
    problems: tuple[tuple[str, str], ...]


class Workspace:
    """A folder that holds a memory.

    Its files are ``MEMORY.md``, ``memory/**/*.md`` and the extra paths of the settings. Symbolic
    links are never followed: a link could lead anything into the memory.
    """

    def __init__(self, folder: str | os.PathLike[str], settings: Settings | None = None) -> None:
        """Open a folder; nothing is created in it.

        Raises:
            WorkspaceNotFoundError: It is missing, is not a folder, or cannot be read.
        """
        path = Path(os.path.expanduser(folder))
        try:
            is_folder = stat.S_ISDIR(path.stat().st_mode)
            if is_folder:
                with os.scandir(path):
                    pass
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
        self.root = path.resolve()
        self._below = os.path.join(self.root, "")
        self.settings = settings or Settings()
        self._extra = tuple(dict.fromkeys(self._extra_roots()))
        self.sessions: SessionFolder | None = None
        """Where transcripts are, once somebody has said so: beside an index, as a rule."""

    def __repr__(self) -> str:
        return f"Workspace({str(self.root)!r})"

    @property
    def long_term_path(self) -> str:
        """The path of the long-term file, whether it is there or not."""
        return self._long_term_names()[0]

    @property
    def missing_extra_paths(self) -> tuple[str, ...]:
        """Extra paths of the settings that are not there, as they were given."""
        return tuple(
            given
            for given in self.settings.extra_paths
            if given.strip() and not os.path.lexists(self._absolute_extra(given))
        )

    def watched_folders(self) -> dict[Path, bool]:
        """The folders whose changes concern the memory, and whether those below them do, too.

        A file, and a folder that is not there yet, is watched through the folder it stands in.
        """
        found = {self.root: False}
        for root in (os.path.join(self.root, "memory"), *self._extra):
            path = Path(root)
            if _is_link(path):
                continue
            whole = path.is_dir()
            folder = path if whole else path.parent
            if folder.is_dir():
                found[folder] = found.get(folder, False) or whole
        return found

    def check_there(self) -> None:
        """Go on, unless the folder has vanished since it was opened: it may be unmounted.

        Raises:
            WorkspaceNotFoundError: It has.
        """
        if not self.root.is_dir():
            raise WorkspaceNotFoundError(
                f"the workspace {self.root} is gone. Its index is left as it is; put the folder "
                "back, or open another one."
            )

    def scan(self) -> Scan:
        """Walk the disk. A file that has two names is listed by the first.

        Raises:
            WorkspaceNotFoundError: The workspace itself is gone.
        """
        self.check_there()
        files: list[MemoryFile] = []
        problems: list[tuple[str, str]] = []
        seen: set[object] = set()
        for path, info in self._walk(problems):
            names = {path, (info.st_dev, info.st_ino) if info.st_ino else path}
            if not seen.isdisjoint(names):
                continue
            seen |= names
            file = self._memory_file(path, info)
            if _is_normal(file.path):
                files.append(file)
            else:
                problems.append((_printable(file.path), "its name is no plain text: rename it"))
        if self.sessions is not None:
            files += self.sessions.scan(problems)
        return Scan(tuple(files), tuple(dict.fromkeys(problems)))

    def locate(self, path: str) -> Path:
        """Return where a path that search shows stands on the disk; the file may be missing.

        Raises:
            PathNotAllowedError: The path is not one of the memory's files.
        """
        name = self.plain_name(path)
        if is_session_path(name):
            found = self.sessions.locate(name) if self.sessions else None
            if found is None:
                raise self._refusal(path)
            return found
        if name in ("MEMORY.md", *self._long_term_names()):
            return self._without_links(self.root, name, path)
        if not _is_normal(name):
            raise self._refusal(path)
        absolute = os.path.normpath(os.path.join(self.root, name))
        if self.display_path(absolute) != name:
            raise self._refusal(path)
        for root in (os.path.join(self.root, "memory"), *self._extra):
            if absolute == root or absolute.startswith(root.rstrip(os.sep) + os.sep):
                above = os.path.dirname(root)
                return self._without_links(Path(above), os.path.relpath(absolute, above), path)
        raise self._refusal(path)

    @staticmethod
    def plain_name(path: str) -> str:
        """Return a path as search shows it: without blanks around it, or "./" in front."""
        return path.strip().removeprefix("./")

    def display_path(self, absolute: str | os.PathLike[str]) -> str:
        """Name a file the way search shows it: POSIX, relative to the workspace."""
        below = os.fspath(absolute).removeprefix(self._below)
        if not os.path.isabs(below):
            return below.replace(os.sep, "/")
        try:
            return os.path.relpath(absolute, self.root).replace(os.sep, "/")
        except ValueError:  # another drive on Windows
            return Path(absolute).as_posix()

    def stat(self, path: str) -> MemoryFile | None:
        """Look at one file by the path that search shows; None when it is not there."""
        if self.sessions is not None and is_session_path(path):
            return self.sessions.stat(path)
        absolute = self.locate(path)
        try:
            info = os.lstat(absolute)
        except OSError:
            return None
        return self._memory_file(str(absolute), info) if stat.S_ISREG(info.st_mode) else None

    def _memory_file(self, absolute: str, info: os.stat_result) -> MemoryFile:
        path = self.display_path(absolute)
        dated = openclaw_log_date if self.settings.openclaw_rules else log_date
        return MemoryFile(
            path=path,
            absolute=Path(absolute),
            source="memory",
            size=info.st_size,
            mtime_ns=info.st_mtime_ns,
            date=dated(path),
        )

    def _long_term_names(self) -> tuple[str, ...]:
        """The names that the long-term file may have: memory.md only stands in for MEMORY.md."""
        if self.settings.openclaw_rules:
            return _LONG_TERM_NAMES
        # Asked of the folder's own listing: on a disk that ignores case, both names would open.
        try:
            names = set(os.listdir(self.root))
        except OSError:
            names = set()
        if "memory.md" in names and "MEMORY.md" not in names:
            return ("memory.md",)
        return ("MEMORY.md",)

    def _walk(self, problems: list[tuple[str, str]]) -> Iterator[tuple[str, os.stat_result]]:
        roots = [os.path.join(self.root, name) for name in self._long_term_names()]
        roots.append(os.path.join(self.root, "memory"))
        for root in [*roots, *self._extra]:
            yield from self._walk_path(root, problems)

    def _walk_path(
        self, path: str, problems: list[tuple[str, str]]
    ) -> Iterator[tuple[str, os.stat_result]]:
        try:
            info = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            problems.append((self.display_path(path), error.strerror or str(error)))
            return
        if _leads_away(info):
            return
        if stat.S_ISDIR(info.st_mode):
            yield from self._walk_folder(path, problems)
        elif stat.S_ISREG(info.st_mode) and path.endswith(".md"):
            yield path, info

    def _walk_folder(
        self, folder: str, problems: list[tuple[str, str]]
    ) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the files below a folder, each folder's entries by name."""
        waiting = self._listed(folder, problems)
        while waiting:
            entry = waiting.pop()
            try:
                if entry.is_dir(follow_symlinks=False):
                    if not (_JUNCTIONS and _is_link(Path(entry.path))):
                        waiting += self._listed(entry.path, problems)
                elif entry.name.endswith(".md") and entry.is_file(follow_symlinks=False):
                    yield entry.path, entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError as error:
                problems.append((self.display_path(entry.path), error.strerror or str(error)))

    def _listed(self, folder: str, problems: list[tuple[str, str]]) -> list[os.DirEntry[str]]:
        """List a folder, last name first."""
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name, reverse=True)
        except FileNotFoundError:
            return []
        except OSError as error:
            problems.append((self.display_path(folder), error.strerror or str(error)))
            return []

    def _absolute_extra(self, given: str) -> str:
        path = os.path.join(self.root, os.path.expanduser(given.strip()))
        path = os.path.normpath(path)
        # The parent is resolved, the last name is not: it may be the link that is to be refused.
        return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))

    def _extra_roots(self) -> Iterator[str]:
        for given in self.settings.extra_paths:
            if given.strip():
                path = self._absolute_extra(given)
                yield path.rstrip(os.sep) or path

    def _without_links(self, base: Path, inside: str, asked: str) -> Path:
        path = base
        for part in inside.split(os.sep):
            path = path / part
            try:
                info = os.lstat(path)
            except OSError:
                break  # nothing can be opened there either, and that says why
            if _leads_away(info):
                raise self._refusal(asked)
        return base / inside

    def _refusal(self, path: str) -> PathNotAllowedError:
        allowed = f"{self.long_term_path}, memory/**/*.md"
        if self._extra:
            allowed += ", and .md files of the extra paths " + ", ".join(
                self.display_path(extra) for extra in self._extra
            )
        if self.sessions is not None and self.sessions.enabled:
            allowed += f", and session files, {self.sessions.allowed}"
        shown = path if len(path) <= 200 else path[:200] + "…"
        return PathNotAllowedError(
            f"{shown!r} is not a file of this memory. Allowed are {allowed}: "
            "give the path as memory_search shows it; links are not followed."
        )


def _is_normal(name: str) -> bool:
    """Tell whether a name is in normal form: one spelling a file, no way around the checks."""
    return bool(
        name.endswith(".md")
        and not name.startswith("/")
        and not _ODD.search(name)
        and not (os.name == "nt" and _ODD_ON_WINDOWS.search(name))
        and name.strip() == name
        and posixpath.normpath(name) == name
    )


def _printable(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _is_link(path: Path) -> bool:
    try:
        return _leads_away(os.lstat(path))
    except OSError:
        return False  # nothing can be opened there either, and that says why


def _leads_away(info: os.stat_result) -> bool:
    """Tell whether a directory entry is a symbolic link or a junction."""
    if sys.platform == "win32" and info.st_reparse_tag == stat.IO_REPARSE_TAG_MOUNT_POINT:
        return True
    return stat.S_ISLNK(info.st_mode)
