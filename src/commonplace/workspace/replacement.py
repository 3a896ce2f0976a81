"""Atomic replacement of files: a note is swapped with a new file beside it.

A program that saves between the check and the swap loses nothing: what was swapped out is compared
with what was expected, and put back where it differs.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from commonplace.errors import PathNotAllowedError
from commonplace.system.locks import lock_descriptor
from commonplace.workspace.file_text import MAX_FILE_BYTES, read_bytes

__all__ = ["ChangedMeanwhileError", "FileChange", "read_file", "restore_swap"]

_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_LOCKED_RENAME = os.name != "nt"
"""Whether a file can be renamed while it is open; Windows refuses that."""
_UNSUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}
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
    """

    path: Path
    before: bytes | None
    after: bytes | None
    temporary: Path
    target: Path | None = None

    def apply(self) -> None:
        """Make the change, durably.

        Raises:
            ChangedMeanwhileError: The file is not what it was; nothing was changed.
            OSError: It cannot be made; nothing was changed.
            TimeoutError: Another process kept the file locked.
        """
        try:
            with _locked(self.path, self.before) as info:
                if self.after is not None and self.target is None:
                    _write(self.temporary, self.after, like=info)
                if _LOCKED_RENAME:
                    self._exchange()
            if not _LOCKED_RENAME:
                self._exchange()
        except BaseException:
            with contextlib.suppress(OSError):
                self.clean_up()
            raise
        try:
            self._check()
            for folder in {self.path.parent, (self.target or self.path).parent}:
                _sync_folder(folder)
        except OSError:
            self.take_back()
            raise

    def take_back(self) -> None:
        """Undo the change after `apply`; what another program wrote since stays."""
        if self.target is not None:
            _rename_new(self.target, self.path)
        elif self.before is None:
            if read_file(self.path) == self.after:
                self.path.unlink()
        elif self.after is None:
            with contextlib.suppress(FileExistsError):
                _rename_new(self.temporary, self.path)
        elif read_file(self.path) == self.after:
            _swap(self.temporary, self.path)
        self.clean_up()

    def clean_up(self) -> None:
        """Remove the old content; it is in the history."""
        self.temporary.unlink(missing_ok=True)
        _backup(self.temporary).unlink(missing_ok=True)

    def _exchange(self) -> None:
        """Rename what is to be renamed, in one step: where it fails, nothing was changed."""
        try:
            if self.target is not None:
                _rename_new(self.path, self.target)
            elif self.before is None:
                _rename_new(self.temporary, self.path)
            elif self.after is None:
                os.rename(self.path, self.temporary)
            else:
                _swap(self.temporary, self.path)
        except (FileExistsError, FileNotFoundError) as error:
            raise ChangedMeanwhileError(read_file(self.path)) from error

    def _check(self) -> None:
        """Compare what was swapped out with what was expected, and put it back if it differs."""
        if self.before is None:
            return
        holder = self.temporary if self.target is None else self.target
        found = read_file(holder)
        if found == self.before:
            return
        if self.target is not None or self.after is None:
            with contextlib.suppress(FileExistsError):
                _rename_new(holder, self.path)
            raise ChangedMeanwhileError(found)
        texts: list[bytes | None] = [found]
        placed: bytes | None = self.after
        for _ in range(_PUT_BACK_TRIES):
            _swap(self.temporary, self.path)
            out = read_file(self.temporary)
            if out == placed:
                break
            placed = texts[-1]  # newer than what was put back
            texts.append(out)
        raise ChangedMeanwhileError(*texts)


def read_file(path: Path) -> bytes | None:
    """Return the bytes of a regular file; None where there is none.

    Raises:
        OSError: It cannot be read, or is a symbolic link.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return read_bytes(descriptor, MAX_FILE_BYTES + 1)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder durable; a system that cannot do that is passed over."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _locked(path: Path, expected: bytes | None) -> Iterator[os.stat_result | None]:
    """Hold the lock that appends take; yield the file's attributes, None where there is no file.

    Raises:
        ChangedMeanwhileError: It has not the expected content.
    """
    if expected is None:
        if os.path.lexists(path):
            raise ChangedMeanwhileError(read_file(path))
        yield None
        return
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | _FLAGS)
        except FileNotFoundError as error:
            raise ChangedMeanwhileError(None) from error
        except OSError as error:
            if error.errno == errno.ELOOP:
                message = f"{path} is a symbolic link; links are not followed."
                raise PathNotAllowedError(message) from error
            raise
        try:
            with lock_descriptor(descriptor):
                info = os.fstat(descriptor)
                if not _is_still(path, info):
                    continue  # replaced during the wait
                found = read_bytes(descriptor, MAX_FILE_BYTES + 1)
                if found != expected:
                    raise ChangedMeanwhileError(found)
                yield info
                return
        finally:
            os.close(descriptor)


def _is_still(path: Path, info: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.lstat(path), info)
    except OSError:
        return False


def _write(path: Path, data: bytes, *, like: os.stat_result | None) -> None:
    """Write a new file durably, with the mode, the owner and the attributes of another one."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o666)
    try:
        if like is not None and os.name != "nt":
            made = os.fstat(descriptor)
            if (made.st_uid, made.st_gid) != (like.st_uid, like.st_gid):
                os.fchown(descriptor, like.st_uid, like.st_gid)
            os.fchmod(descriptor, like.st_mode & 0o7777)
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _backup(temporary: Path) -> Path:
    return temporary.with_name(temporary.name + ".old")


def _swap(temporary: Path, path: Path) -> None:
    """Exchange two files in one step; where the system has none, in two, the old one kept."""
    if _rename_by_flag(temporary, path, linux=2, darwin=2):
        return
    backup = _backup(temporary)
    try:
        os.link(path, backup)
    except OSError:
        backup.write_bytes(read_file(path) or b"")
    try:
        os.replace(temporary, path)
    except OSError:
        backup.unlink()
        raise
    os.replace(backup, temporary)


def restore_swap(temporary: Path) -> None:
    """Take a swap in two steps that a crash interrupted to one of its ends."""
    backup = _backup(temporary)
    if not backup.exists():
        return
    if temporary.exists():  # the new file was not put in place yet
        backup.unlink()
    else:
        os.replace(backup, temporary)


def _rename_new(source: Path, target: Path) -> None:
    """Rename a file to a name that is not there yet.

    Raises:
        FileExistsError: There is a file of this name.
    """
    if _rename_by_flag(source, target, linux=1, darwin=4):
        return
    if os.name == "nt":
        os.rename(source, target)
        return
    os.link(source, target)
    os.unlink(source)


def _rename_by_flag(source: Path, target: Path, *, linux: int, darwin: int) -> bool:
    """Rename with a flag of the system's own call; False where there is no such call."""
    if not sys.platform.startswith(("linux", "darwin")):
        return False
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(source), os.fsencode(target)
    try:
        if sys.platform == "darwin":
            failed = library.renamex_np(*names, darwin)
        else:
            here = -100  # AT_FDCWD
            failed = library.renameat2(here, names[0], here, names[1], linux)
    except AttributeError:
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), os.fspath(target))
