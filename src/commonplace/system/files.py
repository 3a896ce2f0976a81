"""Files of the system: opened without links, synced to the disk, private, locked among processes.

The operating system releases a lock at the end of the process that took it, also after a crash. A
process that is forked holds none of its parent's.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

__all__ = [
    "FileLease",
    "c_library",
    "create_private",
    "lock_descriptor",
    "make_private_folder",
    "open_without_links",
    "sync",
    "sync_folder",
]

_OPENAT2, _AT_FDCWD, _RESOLVE_NO_SYMLINKS = 437, -100, 4  # the same on all of Linux
_FOLDER_FLAGS = getattr(os, "O_PATH", 0) | getattr(os, "O_DIRECTORY", 0)
_FOLDER_FLAGS |= getattr(os, "O_NOFOLLOW", 0)
_WINDOWS_LINKS = (0xA000000C, 0xA0000003)
"""Tags of symbolic links and of junctions."""
_UNSYNCED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOTTY}
_LOCK_BYTES = 32
"""Bytes that a lock file has at most: the id of a process."""

_POLL_S = 0.01

if sys.platform == "win32":  # pragma: no cover - exercised on Windows only
    import msvcrt

    # Windows locks are mandatory: locking a byte far behind the end does not block other readers.
    _BYTE = 0x7FFF_FFFF

    def _try_lock(descriptor: int) -> bool:
        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        try:
            os.lseek(descriptor, _BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(descriptor, position, os.SEEK_SET)
        return True

    def _unlock(descriptor: int) -> None:
        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        os.lseek(descriptor, position, os.SEEK_SET)

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def open_without_links(path: str | os.PathLike[str], flags: int, mode: int = 0o666) -> int:
    """Open a file no part of whose path is a symbolic link, whatever is exchanged meanwhile.

    Linux (``openat2``) and macOS (``O_NOFOLLOW_ANY``) check each part as they walk the path; on
    other POSIX systems, and older kernels, it is walked here, from descriptor to descriptor.
    Windows opens the file, and the path is checked behind it.

    Raises:
        OSError: The file cannot be opened; of a link, with ``ELOOP``, or ``ENOTDIR``.
    """
    if os.name == "nt":
        return _open_and_check(path, flags, mode)
    if sys.platform == "darwin" and int(os.uname().release.split(".")[0]) >= 20:
        return os.open(path, flags & ~os.O_NOFOLLOW | os.O_NOFOLLOW_ANY, mode)
    if sys.platform.startswith("linux"):
        descriptor = _openat2(path, flags, mode)
        if descriptor is not None:
            return descriptor
    return _open_part_by_part(path, flags, mode)


@functools.cache
def c_library() -> Any:
    """Return the C library of the process."""
    import ctypes  # takes 6 ms

    library = ctypes.CDLL(None, use_errno=True)
    long, text = ctypes.c_long, ctypes.c_char_p
    library.syscall.argtypes = (long, long, text, text, ctypes.c_size_t)
    library.syscall.restype = long
    return library


def _openat2(path: str | os.PathLike[str], flags: int, mode: int) -> int | None:
    """Open a file without links; None where the kernel, or a sandbox, does not do that."""
    import ctypes

    how = struct.pack(
        "=QQQ",
        flags & ~os.O_NOFOLLOW | os.O_CLOEXEC,
        mode if flags & os.O_CREAT else 0,
        _RESOLVE_NO_SYMLINKS,
    )
    call = c_library().syscall
    descriptor: int = call(_OPENAT2, _AT_FDCWD, os.fsencode(path), how, len(how))
    if descriptor >= 0:
        return descriptor
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EPERM, errno.EINTR):
        return None
    raise OSError(number, os.strerror(number), os.fspath(path))


def _open_part_by_part(path: str | os.PathLike[str], flags: int, mode: int) -> int:
    *folders, name = os.path.abspath(path).split(os.sep)
    at = os.open(os.sep, _FOLDER_FLAGS)
    try:
        for folder in filter(None, folders):
            inner = os.open(folder, _FOLDER_FLAGS, dir_fd=at)
            os.close(at)
            at = inner
        return os.open(name or os.curdir, flags | os.O_NOFOLLOW, mode, dir_fd=at)
    finally:
        os.close(at)


def _open_and_check(path: str | os.PathLike[str], flags: int, mode: int) -> int:
    descriptor = os.open(path, flags, mode)
    for part in (Path(path), *Path(path).parents):
        if getattr(os.lstat(part), "st_reparse_tag", 0) in _WINDOWS_LINKS:
            os.close(descriptor)
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(part))
    return descriptor


def sync(descriptor: int) -> None:
    """Make a file, or the names in a folder, durable: they survive a power failure.

    macOS needs a full sync for that. A file system that cannot sync a folder is passed over.
    """
    if sys.platform == "darwin":
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        except OSError as error:
            if error.errno not in _UNSYNCED:
                raise
        else:
            return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSYNCED or not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable; NTFS does that by itself."""
    if os.name != "nt":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            sync(descriptor)
        finally:
            os.close(descriptor)


def make_private_folder(folder: Path) -> None:
    """Make a folder that its owner only may enter, and those above it, durably."""
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for path in reversed(missing):
        try:
            path.mkdir(mode=0o700)
        except OSError:
            if not path.is_dir():
                raise
        else:
            sync_folder(path.parent)


def create_private(path: Path) -> None:
    """Create a file that its owner only may read, unless it is there; a link is refused.

    A file that is there is not opened: closing it would end the locks that SQLite has on it.

    Raises:
        OSError: It cannot be created, or is a symbolic link.
    """
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):
            make_private_folder(path.parent)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        return
    if not stat.S_ISREG(info.st_mode):
        raise OSError(errno.ELOOP, "it is a link, or no file: remove it", os.fspath(path))


_LOCKABLE: set[int] = set()
"""Descriptors that this process locks, or waits to lock."""


def _forget_locks() -> None:
    """Close the parent's descriptors in a child, which else would keep its locks."""
    for descriptor in _LOCKABLE:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _LOCKABLE.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget_locks)


@contextlib.contextmanager
def _lockable(descriptor: int) -> Iterator[None]:
    """Note that this process may lock a descriptor during the block, and unlock it then."""
    owner = os.getpid()
    _LOCKABLE.add(descriptor)
    try:
        yield
    finally:
        if os.getpid() == owner:
            _LOCKABLE.discard(descriptor)
            with contextlib.suppress(OSError):  # Windows: it was not locked
                _unlock(descriptor)


def _wait(descriptor: int, timeout_s: float, check: Callable[[], object] = lambda: None) -> bool:
    deadline = time.monotonic() + timeout_s
    while not _try_lock(descriptor):
        if time.monotonic() >= deadline:
            return False
        check()
        time.sleep(_POLL_S)
    return True


@contextlib.contextmanager
def lock_descriptor(descriptor: int, *, timeout_s: float = 30.0) -> Iterator[None]:
    """Hold an exclusive lock on an open file, among processes and threads.

    Raises:
        TimeoutError: Another process or thread held the lock for `timeout_s` seconds.
    """
    with _lockable(descriptor):
        if not _wait(descriptor, timeout_s):
            raise TimeoutError(f"the file stayed locked for {timeout_s:g} s")
        yield


class FileLease:
    """Lease on a task, held by one process at a time through a lock file.

    The file contains the holder's process id, for messages.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextlib.contextmanager
    def held(
        self, *, timeout_s: float, check: Callable[[], object] = lambda: None
    ) -> Iterator[bool]:
        """Wait for the lease; yield whether it was acquired within `timeout_s` seconds.

        Args:
            timeout_s: Maximum wait.
            check: Called while waiting; an exception that it raises ends the wait.
        """
        descriptor, owner = _open_lock(self.path, os.O_CREAT), os.getpid()
        try:
            with _lockable(descriptor):
                acquired = _wait(descriptor, timeout_s, check)
                if acquired:
                    _write_owner(descriptor)
                yield acquired
        finally:
            if os.getpid() == owner:  # a forked child has closed it
                os.close(descriptor)

    def owner(self) -> int | None:
        """Return the id of the process that holds the lease, or held it last."""
        with contextlib.suppress(OSError, ValueError):
            descriptor = _open_lock(self.path)
            try:
                return int(os.read(descriptor, _LOCK_BYTES))
            finally:
                os.close(descriptor)
        return None

    def holder(self) -> int | None:
        """Return the id of the process that holds the lease now; None when it is free."""
        try:
            descriptor = _open_lock(self.path)
        except OSError:
            return None
        try:
            if _try_lock(descriptor):
                _unlock(descriptor)
                return None
            return self.owner()
        finally:
            os.close(descriptor)


def _open_lock(path: Path, flags: int = 0) -> int:
    """Open a lock file.

    Raises:
        OSError: It cannot be opened, or is a link or no lock file, which stays as it is.
    """
    descriptor = os.open(path, os.O_RDWR | flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        info = os.fstat(descriptor)
        found = os.read(descriptor, _LOCK_BYTES + 1).strip() if os.name != "nt" else b""
        if not stat.S_ISREG(info.st_mode) or (found and not found.isdigit()):
            raise OSError(errno.EEXIST, "it is no lock file: move it away", os.fspath(path))
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _write_owner(descriptor: int) -> None:
    """Write the process's id into a lock file, unless that is another file, too."""
    if os.fstat(descriptor).st_nlink <= 1:
        # Of a fixed length: a file that is truncated first is written to the disk when it closes.
        os.write(descriptor, f"{os.getpid():<{_LOCK_BYTES - 1}}\n".encode("ascii"))
