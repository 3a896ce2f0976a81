"""Places: names of files in folders that are held open, so that a link is never followed."""

from __future__ import annotations

import errno
import os
import sys
from typing import NamedTuple

from commonplace.system.files import c_library, sync
from commonplace.workspace.file_text import MAX_FILE_BYTES, Folder, read_bytes

__all__ = ["Place"]

_UNSUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}


class Place(NamedTuple):
    """Name of a file in a folder that is held open."""

    folder: Folder
    name: str

    def read(self) -> bytes | None:
        """Return the bytes of the file; None where there is none.

        Raises:
            OSError: It cannot be read, or is a symbolic link.
        """
        try:
            descriptor = self.folder.open(self.name, os.O_RDONLY)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            return read_bytes(descriptor, MAX_FILE_BYTES + 1)
        finally:
            os.close(descriptor)

    def exists(self) -> bool:
        """Return whether there is a file, or a link."""
        try:
            self.folder.stat(self.name)
        except FileNotFoundError:
            return False
        return True

    def is_same(self, other: Place) -> bool:
        """Return whether two names are those of one file."""
        return os.path.samestat(self.folder.stat(self.name), other.folder.stat(other.name))

    def replace(self, target: Place) -> None:
        """Rename the file; one of the new name is replaced."""
        os.replace(
            *(self.folder.at(self.name), target.folder.at(target.name)),
            src_dir_fd=self.folder.descriptor,
            dst_dir_fd=target.folder.descriptor,
        )

    def link(self, target: Place) -> None:
        """Give the file a second name."""
        os.link(
            *(self.folder.at(self.name), target.folder.at(target.name)),
            src_dir_fd=self.folder.descriptor,
            dst_dir_fd=target.folder.descriptor,
            follow_symlinks=False,
        )

    def unlink(self) -> None:
        """Remove the file, if it is there."""
        self.folder.unlink(self.name)

    def write(
        self, data: bytes, *, like: os.stat_result | None = None, mode: int | None = None
    ) -> None:
        """Write a new file durably, with the mode and the owner of another one, or with a mode."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        descriptor = self.folder.open(self.name, flags, 0o666 if mode is None else 0o600)
        try:
            if like is not None and os.name != "nt":
                made = os.fstat(descriptor)
                if (made.st_uid, made.st_gid) != (like.st_uid, like.st_gid):
                    os.fchown(descriptor, like.st_uid, like.st_gid)
                mode = like.st_mode
            if mode is not None and os.name != "nt":
                os.fchmod(descriptor, mode & 0o7777)
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            sync(descriptor)
        finally:
            os.close(descriptor)

    def rename_new(self, target: Place) -> None:
        """Rename the file to a name that is not there yet.

        Raises:
            FileExistsError: There is a file of this name.
        """
        if self.rename_by_flag(target, linux=1, darwin=4):
            return
        if os.name == "nt":
            os.rename(self.folder.at(self.name), target.folder.at(target.name))
            return
        self.link(target)
        self.unlink()

    def rename_by_flag(self, target: Place, *, linux: int, darwin: int) -> bool:
        """Rename the file with a flag of the system's own call; False where it has none."""
        if not sys.platform.startswith(("linux", "darwin")):
            return False
        import ctypes

        is_mac = sys.platform == "darwin"
        try:
            rename = c_library().renameatx_np if is_mac else c_library().renameat2
        except AttributeError:
            return False
        failed = rename(
            *(self.folder.descriptor, os.fsencode(self.name)),
            *(target.folder.descriptor, os.fsencode(target.name)),
            darwin if is_mac else linux,
        )
        if not failed:
            return True
        number = ctypes.get_errno()
        if number in _UNSUPPORTED:
            return False
        raise OSError(number, os.strerror(number), os.fspath(target.folder.path / target.name))
