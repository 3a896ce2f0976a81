"""Atomic replacement of files: a note is swapped with a new file beside it.

A program that saves between the check and the swap loses nothing: what was swapped out is compared
with what was expected, and put back where it differs.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from commonplace.errors import PathNotAllowedError
from commonplace.system.locks import lock_descriptor
from commonplace.workspace.file_text import MAX_FILE_BYTES, Folder, read_bytes
from commonplace.workspace.places import Place

__all__ = ["ChangedMeanwhileError", "FileChange", "FilePlaces", "read_file"]

_LOCKED_RENAME = os.name != "nt"
"""Whether a file can be renamed while it is open; Windows refuses that."""
_PUT_BACK_TRIES = 20


class ChangedMeanwhileError(Exception):
    """Another program changed a file; its text is on the disk, and nothing of it was lost.

    Attributes:
        texts: Texts that the file had meanwhile, in their order; the last one is on the disk.
    """

    def __init__(self, *texts: bytes | None) -> None:
        super().__init__("the file was changed by another program")
        self.texts = texts


@dataclass(frozen=True, slots=True)
class FileChange:
    """Change of one file from one content to another; None is no file.

    Attributes:
        path: The file.
        before: Its bytes.
        after: Its bytes after the change.
        temporary: A file in the same folder, which is not there yet: it holds the new bytes before
            the change, and the old ones after it, until `clean_up`.
        target: New path of a file that is moved; `after` is then what `before` is.
        mode: Mode of the file, or of one that is not there yet; None for the usual one.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    temporary: Path
    target: Path | None = None
    mode: int | None = None

    @contextlib.contextmanager
    def places(self) -> Iterator[FilePlaces]:
        """Hold the folders of the change open: a link that takes the place of one is not followed.

        Raises:
            OSError: One cannot be opened, or a symbolic link is on its path.
        """
        target = self.target or self.path
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(Folder(self.path.parent))
            other = folder
            if target.parent != self.path.parent:
                other = stack.enter_context(Folder(target.parent))
            yield FilePlaces(
                Place(folder, self.path.name),
                Place(folder, self.temporary.name),
                Place(folder, self.temporary.name + ".old"),
                Place(other, target.name),
            )

    def apply(self) -> None:
        """Make the change, durably.

        Raises:
            ChangedMeanwhileError: The file is not what it was; nothing was changed.
            OSError: It cannot be made; nothing was changed.
            TimeoutError: Another process kept the file locked.
        """
        try:
            with self.places() as places:
                self._apply(places)
        except OSError as error:
            if error.errno == errno.ELOOP:
                message = f"{self.path} is a symbolic link, or below one; links are not followed."
                raise PathNotAllowedError(message) from error
            raise

    def _apply(self, places: FilePlaces) -> None:
        try:
            with _locked(places.file, self.before) as info:
                if self.after is not None and self.target is None:
                    places.temporary.write(self.after, like=info, mode=self.mode)
                if _LOCKED_RENAME:
                    self._exchange(places)
            if not _LOCKED_RENAME:
                self._exchange(places)
        except BaseException:
            with contextlib.suppress(OSError):
                places.clean_up()
            raise
        try:
            self._check(places)
            # The new name first: a file that is moved is not lost between the two.
            places.target.folder.sync()
            if places.file.folder is not places.target.folder:
                places.file.folder.sync()
        except OSError:
            self._take_back(places)
            raise

    def take_back(self) -> None:
        """Undo the change after `apply`; what another program wrote since stays."""
        with self.places() as places:
            self._take_back(places)

    def _take_back(self, places: FilePlaces) -> None:
        if self.target is not None:
            places.target.rename_new(places.file)
        elif self.before is None:
            if places.file.read() == self.after:
                places.file.unlink()
        elif self.after is None:
            with contextlib.suppress(FileExistsError):
                places.temporary.rename_new(places.file)
        elif places.file.read() == self.after:
            _swap(places)
        places.clean_up()

    def clean_up(self) -> None:
        """Remove the old content; it is in the history."""
        with contextlib.suppress(FileNotFoundError), self.places() as places:
            places.clean_up()

    def _exchange(self, places: FilePlaces) -> None:
        """Rename what is to be renamed, in one step: where it fails, nothing was changed."""
        try:
            if self.target is not None:
                places.file.rename_new(places.target)
            elif self.before is None:
                places.temporary.rename_new(places.file)
            elif self.after is None:
                places.file.replace(places.temporary)
            else:
                _swap(places)
        except (FileExistsError, FileNotFoundError) as error:
            raise ChangedMeanwhileError(places.file.read()) from error

    def _check(self, places: FilePlaces) -> None:
        """Compare what was swapped out with what was expected, and put it back if it differs."""
        if self.before is None:
            return
        holder = places.temporary if self.target is None else places.target
        found = holder.read()
        # It is gone where a process that held no lock of ours took this one for dead: it settled
        # the change as made, with the text of before in the history.
        if found == self.before or (found is None and self.target is None):
            return
        if self.target is not None or self.after is None:
            with contextlib.suppress(FileExistsError):
                holder.rename_new(places.file)
            raise ChangedMeanwhileError(found)
        texts: list[bytes | None] = [found]
        placed: bytes | None = self.after
        for _ in range(_PUT_BACK_TRIES):
            _swap(places)
            out = places.temporary.read()
            if out == placed:
                break
            placed = texts[-1]  # newer than what was put back
            texts.append(out)
        raise ChangedMeanwhileError(*texts)


class FilePlaces(NamedTuple):
    """Files of a change, in folders that are held open.

    Attributes:
        file: The file.
        temporary: Holder of the new content, then of the old one.
        backup: Holder of the old content during a swap in two steps.
        target: New name of a file that is moved; else the file.
    """

    file: Place
    temporary: Place
    backup: Place
    target: Place

    def clean_up(self) -> None:
        """Remove the old content; it is in the history."""
        self.temporary.unlink()
        self.backup.unlink()

    def restore_swap(self) -> None:
        """Take a swap in two steps that a crash interrupted to one of its ends."""
        if not self.backup.exists():
            return
        if self.temporary.exists():  # the new file was not put in place yet
            self.backup.unlink()
        else:
            self.backup.replace(self.temporary)


def read_file(path: Path) -> bytes | None:
    """Return the bytes of a regular file; None where there is none.

    Raises:
        OSError: It cannot be read, or a symbolic link is on its path.
    """
    try:
        with Folder(path.parent) as folder:
            return Place(folder, path.name).read()
    except (FileNotFoundError, NotADirectoryError):
        return None


@contextlib.contextmanager
def _locked(place: Place, expected: bytes | None) -> Iterator[os.stat_result | None]:
    """Hold the lock that appends take; yield the file's attributes, None where there is no file.

    Raises:
        ChangedMeanwhileError: It has not the expected content.
    """
    if expected is None:
        if place.exists():
            raise ChangedMeanwhileError(place.read())
        yield None
        return
    while True:
        try:
            descriptor = place.folder.open(place.name, os.O_RDWR)
        except FileNotFoundError as error:
            raise ChangedMeanwhileError(None) from error
        try:
            with lock_descriptor(descriptor):
                if not place.folder.names(place.name, descriptor):
                    continue  # replaced during the wait
                found = read_bytes(descriptor, MAX_FILE_BYTES + 1)
                if found != expected:
                    raise ChangedMeanwhileError(found)
                yield os.fstat(descriptor)
                return
        finally:
            os.close(descriptor)


def _swap(places: FilePlaces) -> None:
    """Exchange a file and the temporary one in one step; where there is none, in two."""
    path, temporary, backup = places.file, places.temporary, places.backup
    if temporary.rename_by_flag(path, linux=2, darwin=2):
        return
    try:
        path.link(backup)
    except OSError:
        backup.write(path.read() or b"")
    try:
        temporary.replace(path)
    except OSError:
        backup.unlink()
        raise
    backup.replace(temporary)
