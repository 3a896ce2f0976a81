"""Files and links of a workspace, for tests."""

import sys
from pathlib import Path

import pytest

from commonplace.settings import Settings
from commonplace.workspace.discovery import Workspace

posix = pytest.mark.skipif(sys.platform == "win32", reason="file names and links of POSIX")


def write(root: Path, *names: str, text: str = "x") -> None:
    """Create files; ``a -> b`` is a symbolic link."""
    for name in names:
        path, _, target = name.partition(" -> ")
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if target:
            (root / path).symlink_to(root / target)
        else:
            (root / path).write_text(text, encoding="utf-8")


def found(root: Path, *extra_paths: str) -> list[str]:
    """Return the paths that a walk finds."""
    scan = Workspace(root, Settings(extra_paths=extra_paths)).scan()
    assert scan.problems == ()
    return [file.path for file in scan.files]
