import os
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import PathNotAllowedError
from commonplace.memory import Memory
from commonplace.workspace.discovery import Workspace
from support.notes import unprivileged
from workspace.files import found, posix, write

HOSTILE = [
    "",
    " ",
    ".",
    "..",
    ".md",
    "MEMORY.md/",
    "MEMORY.md/x.md",
    "memory",
    "memory/",
    "memory/.",
    "memory//a.md",
    "memory/./a.md",
    "memory/a.md/",
    "memory/a.md/.",
    "memory/a.md/..",
    "memory/a.md/../../out/secret.md",
    "memory/../MEMORY.md",
    "memory/../../out/secret.md",
    "memory/..\\..\\out\\secret.md",
    "memory\\a.md",
    "../out/secret.md",
    "../notes/MEMORY.md",
    "..\\out\\secret.md",
    "/etc/passwd",
    "//etc/passwd.md",
    "~/secret.md",
    "C:\\secret.md",
    "C:/secret.md",
    "C:secret.md",
    "\\\\server\\share\\secret.md",
    "file:///etc/passwd.md",
    "memory/a.md\0",
    "memory/a\0.md",
    "\0",
    "memory/a.md.",
    "memory/a.md::$DATA",
    "memory/a.MD",
    "MEMORY.MD",
    "memory/image.png",
    "memory/\ud800.md",
    "README.md",
    "a.md",
    "memory.md",
    ".../a.md",
    "././MEMORY.md",
    "memory/link.md",
    "memory/folder/secret.md",
    "memory/folder/missing.md",
]


@pytest.fixture
def trapped(tmp_path):
    """A workspace with a secret beside it and links that lead there."""
    root = tmp_path / "notes"
    write(root, "MEMORY.md", "memory/a.md", "README.md", "memory/image.png")
    write(tmp_path, "out/secret.md", text="secret")
    if sys.platform != "win32":
        (root / "memory" / "link.md").symlink_to(tmp_path / "out" / "secret.md")
        (root / "memory" / "folder").symlink_to(tmp_path / "out")
    return Memory.open(root, index=tmp_path / "index")


@posix
@pytest.mark.parametrize("path", HOSTILE)
def test_no_other_path_is_read_and_the_refusal_says_which_are(trapped, path):
    with pytest.raises(PathNotAllowedError, match=r"MEMORY\.md, memory/\*\*/\*\.md"):
        trapped.get(path)


@posix
@pytest.mark.parametrize("length", [254, 255, 256, 4095, 4096, 100_000])
def test_a_name_that_is_too_long_is_not_found(trapped, length):
    assert trapped.get("memory/" + "x" * length + ".md").status == "not_found"
    deep = "memory/" + "d/" * (length // 2) + "a.md"
    assert trapped.get(deep).status == "not_found"


@posix
@pytest.mark.parametrize(
    "name", ["a b.md", "#1.md", "ä日本.md", "new\nline.md", "..a.md", "%2e.md"]
)
def test_unusual_names_are_read(trapped, name):
    write(trapped.workspace.root, f"memory/{name}", text="unusual")
    assert trapped.get(f"memory/{name}").text == "unusual"
    assert f"memory/{name}" in found(trapped.workspace.root)


parts = st.one_of(
    st.sampled_from(["..", ".", "", "memory", "MEMORY.md", "a.md", "folder", "out", "secret.md"]),
    st.text(max_size=8),
)


@posix
@given(path=st.lists(parts, max_size=6).map("/".join) | st.text(max_size=40))
def test_no_path_leaves_the_workspace(path):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "notes")
        write(root, "MEMORY.md", "memory/a.md")
        write(Path(folder), "out/secret.md", text="secret")
        (root / "memory" / "folder").symlink_to(Path(folder, "out"))
        workspace = Workspace(root)
        try:
            located = workspace.locate(path)
        except PathNotAllowedError:
            return
        assert located.is_relative_to(workspace.root)
        assert Path(os.path.realpath(located)).is_relative_to(workspace.root)
        assert workspace.display_path(located) == workspace.plain_name(path)


@posix
def test_a_file_in_a_folder_that_cannot_be_entered_is_an_error_of_ours(shared):
    write(shared, "memory/locked/a.md")
    (shared / "memory" / "locked").chmod(0)
    with unprivileged():
        memory = Memory.open(shared, index=shared.parent / "index")
        with pytest.raises(Exception, match=r"memory/locked/a\.md: it cannot be read") as caught:
            memory.get("memory/locked/a.md")
    assert type(caught.value).__module__ == "commonplace.errors"


@posix
def test_a_folder_with_the_name_of_a_file_is_an_error_of_ours(trapped):
    (trapped.workspace.root / "memory" / "folder.md").mkdir()
    with pytest.raises(Exception, match="not a regular file") as caught:
        trapped.get("memory/folder.md")
    assert type(caught.value).__module__ == "commonplace.errors"
