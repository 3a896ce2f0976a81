"""Namespaces: names of users' folders, checked to be safe and distinct on every platform."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from pathlib import Path

from commonplace.errors import NamespaceError
from commonplace.workspace.paths import is_link_entry

__all__ = ["DEVICE_NAME", "INVISIBLE", "check_folder", "check_namespace", "namespace_folder"]

_MAX_BYTES = 200
"""Bytes of a name: file systems take 255, some encrypted ones fewer."""
_UNSAFE = re.compile(r'[/\\<>:"|?*]|~[0-9]')
"""Separators, what Windows does not take, and its short names (``PROGRA~1``)."""
DEVICE_NAME = re.compile(
    r"(con|prn|aux|nul|conin\$|conout\$|clock\$|(com|lpt)[0-9¹²³])(\..*)?", re.IGNORECASE
)
"""Names of devices on Windows, with any ending."""
INVISIBLE = frozenset(("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"))
"""Unicode categories of characters that cannot be seen, or are not assigned."""


def check_namespace(name: object) -> str:
    """Return a namespace that is safe as a folder's name on every platform.

    Raises:
        NamespaceError: It is not.
    """
    if not isinstance(name, str):
        raise NamespaceError(f"the namespace {name!r} is of {type(name).__name__}; give a text.")
    problem = _problem(name)
    if problem is None:
        return name
    shown = name if len(name) <= 60 else name[:60] + "…"
    raise NamespaceError(
        f"the namespace {shown!r} {problem}. It names a folder: give letters, digits and "
        "any of ._@+- or blanks between them."
    )


def namespace_folder(root: Path, name: str) -> Path:
    """Return the folder of a namespace; it, and the folder above it, are made if missing.

    Raises:
        NamespaceError: The name is unsafe, or its folder is another namespace's, as where the file
            system ignores case, or a link, or a file.
    """
    folder = root / check_namespace(name)
    try:
        root.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise NamespaceError(
            f"the folder {folder} of the namespace cannot be made ({error.strerror or error}). "
            "Give yourself write access to the folder above it, or remove what has that name."
        ) from error
    check_folder(root, name)
    return folder


def check_folder(root: Path, name: str) -> None:
    """Check that what has the name of a namespace is its folder.

    Raises:
        NamespaceError: It is another namespace's, as where the file system ignores case, or a link,
            or a file, or cannot be looked at.
    """
    folder = root / name
    try:
        info = os.lstat(folder)
    except OSError as error:
        raise NamespaceError(
            f"the folder {folder} of the namespace cannot be read ({error.strerror or error}). "
            "Give yourself access to the folder above it."
        ) from error
    if is_link_entry(info) or not stat.S_ISDIR(info.st_mode):
        raise NamespaceError(
            f"{folder} is a link or a file; the folder of the namespace {name!r} was expected. "
            "Remove it: links are not followed."
        )
    if _ignores_case(root, name, info) and name not in _names(root):
        raise NamespaceError(
            f"the namespace {name!r} differs from one that is there only in case, and the file "
            "system takes both for one folder. Use one spelling."
        )


def _problem(name: str) -> str | None:
    """Return what is wrong with a name, as the end of a sentence; None if nothing is."""
    unsafe = _UNSAFE.search(name)
    if not name.strip():
        return "is empty"
    if unsafe:
        return f"has {unsafe[0]!r}"
    if any(unicodedata.category(character) in INVISIBLE for character in name):
        return "has characters that cannot be seen"
    if unicodedata.normalize("NFC", name) != name:
        return "is not in Unicode's normal form NFC, so that it looks like another one"
    if name != name.strip() or name.startswith(".") or name.endswith("."):
        return "begins or ends with a blank or a dot"
    if DEVICE_NAME.fullmatch(name):
        return "is a device on Windows"
    if len(name.encode("utf-8")) > _MAX_BYTES:
        return f"is longer than {_MAX_BYTES} bytes"
    return None


def _ignores_case(root: Path, name: str, info: os.stat_result) -> bool:
    """Return whether another spelling finds the same folder."""
    try:
        other = os.lstat(root / name.swapcase())
    except OSError:
        return False
    return name != name.swapcase() and os.path.samestat(info, other)


def _names(root: Path) -> set[str]:
    return {unicodedata.normalize("NFC", name) for name in os.listdir(root)}
