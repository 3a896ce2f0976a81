"""Files of the system: opened without links, synced to the disk, private."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
import struct
import sys
from pathlib import Path
from typing import Any

__all__ = [
    "c_library",
    "create_private",
    "link_new",
    "make_private_folder",
    "open_without_links",
    "refuse_linked_logs",
    "sync",
    "sync_folder",
]

_OPENAT2, _AT_FDCWD, _RESOLVE_NO_SYMLINKS = 437, -100, 4  # the same on all of Linux
_FOLDER_FLAGS = getattr(os, "O_PATH", 0) | getattr(os, "O_DIRECTORY", 0)
_FOLDER_FLAGS |= getattr(os, "O_NOFOLLOW", 0)
_WINDOWS_LINKS = (0xA000000C, 0xA0000003)
"""Tags of symbolic links and of junctions."""
_LOGS = {
    "-wal": (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"),
    "-shm": (struct.pack("=I", 3_007_000),),
}
"""What SQLite maps or writes beside a database, each with how it begins."""
_UNSYNCED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOTTY}


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
        import fcntl

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


def link_new(path: Path, to: Path) -> None:
    """Give a file another name, durably, unless there is a file of that name.

    Raises:
        FileExistsError: There is one.
    """
    try:
        os.link(path, to)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(to):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(to)) from None
        os.replace(path, to)
    sync_folder(to.parent)


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


def refuse_linked_logs(database: Path) -> None:
    """Refuse a log of SQLite's that is a hard link to another file, which SQLite would overwrite.

    Symbolic links SQLite refuses itself; a log that a backup linked is a log.

    Raises:
        OSError: A log has a second name and is no log.
    """
    for suffix, beginnings in _LOGS.items():
        path = database.with_name(database.name + suffix)
        try:
            if os.lstat(path).st_nlink < 2:
                continue
            with path.open("rb") as file:
                beginning = file.read(4)
        except OSError:
            continue
        if beginning and beginning not in beginnings:
            raise OSError(
                errno.EMLINK,
                f"{path.name} is a hard link to a file of another kind: remove it",
                os.fspath(path),
            )
