"""Discovery: a walk over the workspace that finds the files of the memory."""

from __future__ import annotations

import copy
import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self

from commonplace.types import MemoryFile
from commonplace.workspace.file_text import FileText, Folder, open_file, read_text
from commonplace.workspace.paths import WorkspacePaths, is_link, is_link_entry, is_normal
from commonplace.workspace.sessions import SessionFolder

__all__ = ["Scan", "Workspace"]

_JUNCTIONS = sys.platform == "win32"

Problems = list[tuple[str, str]]
"""``(path, reason)`` of each folder and file that the walk could not read."""


@dataclass(frozen=True, slots=True)
class Scan:
    """Result of a walk over the workspace.

    Attributes:
        files: The memory's files, in the order of discovery, each once.
        problems: ``(path, reason)`` of folders and files that could not be read.
    """

    files: tuple[MemoryFile, ...]
    problems: tuple[tuple[str, str], ...]


class _Found(NamedTuple):
    """File that a walk found, or, without attributes, a folder."""

    path: str
    info: os.stat_result | None


class Workspace(WorkspacePaths):
    """A folder that holds a memory: its paths, and the walk that finds its files."""

    def with_sessions(self, folder: Path) -> Self:
        """Return this workspace together with the session files of a folder."""
        other = copy.copy(self)
        other.sessions = SessionFolder(folder, self.settings, dated=self.rules.dated_sessions)
        return other

    def read(self, path: str) -> FileText:
        """Read a file by the path of a search result; see `read_text`.

        Raises:
            PathNotAllowedError: The path is not one of the memory's files.
            FileNotFoundError: There is no such file.
            UnreadableFileError: It cannot be read.
        """
        return read_text(self.locate(path))

    def open(self, path: str) -> BinaryIO:
        """Open a file by the path of a search result; see `open_file`."""
        return open_file(self.locate(path))

    def exists(self, path: str) -> bool:
        """Return whether anything has the path of a search result, such as a folder."""
        return os.path.lexists(self.locate(path))

    def require(self, what: str) -> None:
        """Check that this host has the folder, for what works on the files themselves.

        Args:
            what: The subject of the error.

        Raises:
            WorkspaceNotFoundError: Another host has it; see `commonplace.Memory.connect`.
        """

    def unwritable(self, path: str) -> str | None:
        """Return why a note cannot be written now, as far as its folder tells; None if it can."""
        log = self.root / path
        place = next((path for path in (log, log.parent, self.root) if path.exists()), None)
        if place is None:
            return f"the workspace {self.root} is gone"
        if not os.access(place, os.W_OK):
            return f"{place} cannot be written: the workspace is read-only"
        return None

    def watched_folders(self) -> dict[Path, bool]:
        """Return the folders to watch for changes, and whether to watch the folders below them.

        A file, and a folder that does not exist yet, is watched through its parent folder.
        """
        found = {self.root: False}
        for root in self.searched_roots:
            path = Path(root)
            if is_link(path):
                continue
            whole = path.is_dir()
            folder = path if whole else path.parent
            if folder.is_dir():
                found[folder] = found.get(folder, False) or whole
        return found

    def scan(self) -> Scan:
        """Walk the disk. A file with two names is listed under the first.

        Raises:
            WorkspaceNotFoundError: The workspace itself is gone.
        """
        self.check_there()
        files: list[MemoryFile] = []
        problems: Problems = []
        seen: set[object] = set()
        for path, info in self._walk(problems):
            names = {path, (info.st_dev, info.st_ino) if info.st_ino else path}
            if not seen.isdisjoint(names):
                continue
            seen |= names
            file = self.memory_file(path, info)
            if is_normal(file.path):
                files += [] if self.is_left_out(file.path) else [file]
            else:
                problems.append((_printable(file.path), "its name is no plain text: rename it"))
        if self.sessions is not None and _may_exist(self.sessions.root):
            files += self.sessions.scan(problems)
        return Scan(tuple(files), tuple(dict.fromkeys(problems)))

    def _walk(self, problems: Problems) -> Iterator[tuple[str, os.stat_result]]:
        for name in self.long_term_names():
            yield from self._walk_path(os.path.join(self.root, name), problems)
        for root in self.searched_roots:
            yield from self._walk_path(root, problems)

    def _walk_path(self, path: str, problems: Problems) -> Iterator[tuple[str, os.stat_result]]:
        try:
            info = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            problems.append((self.display_path(path), error.strerror or str(error)))
            return
        if is_link_entry(info):
            return
        if stat.S_ISDIR(info.st_mode):
            yield from self._walk_folder(path, problems)
        elif stat.S_ISREG(info.st_mode) and path.endswith(".md"):
            yield path, info

    def _walk_folder(self, path: str, problems: Problems) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the files below a folder, each folder's entries by name."""
        waiting: list[_Found] = [_Found(path, None)]
        while waiting:
            found = waiting.pop()
            if found.info is not None:
                yield found.path, found.info
            else:
                waiting += self._listed(found.path, problems)

    def _listed(self, path: str, problems: Problems) -> list[_Found]:
        """List a folder in descending order of names, so that `pop` takes the first."""
        listed = []
        try:
            with Folder(Path(path)) as folder, folder.scan() as entries:
                for entry in sorted(entries, key=lambda entry: entry.name, reverse=True):
                    place = os.path.join(path, entry.name)
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            if not (_JUNCTIONS and is_link(Path(place))):
                                listed.append(_Found(place, None))
                        elif entry.name.endswith(".md") and entry.is_file(follow_symlinks=False):
                            listed.append(_Found(place, entry.stat(follow_symlinks=False)))
                    except FileNotFoundError:
                        continue
                    except OSError as error:
                        problems.append((self.display_path(place), error.strerror or str(error)))
        except FileNotFoundError:
            return []
        except OSError as error:
            problems.append((self.display_path(path), error.strerror or str(error)))
        return listed


def _printable(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _may_exist(folder: Path) -> bool:
    """Return whether a folder is there, or cannot be examined."""
    try:
        os.lstat(folder)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True
