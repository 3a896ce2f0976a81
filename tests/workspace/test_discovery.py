import os
import shutil
import subprocess

import pytest

from commonplace.errors import WorkspaceNotFoundError
from commonplace.memory import Memory
from commonplace.settings import Settings
from commonplace.workspace.discovery import Workspace
from commonplace.workspace.paths import DiscoveryRules
from support.notes import unprivileged
from workspace.files import found, posix, write


@posix
def test_memory_md_in_small_letters_stands_in_for_one_in_capitals_only(tmp_path):
    write(tmp_path, "memory.md")
    assert found(tmp_path) == ["memory.md"]
    assert Workspace(tmp_path).long_term_path == "memory.md"
    write(tmp_path, "MEMORY.md")
    assert found(tmp_path) == ["MEMORY.md"]
    both = Workspace(tmp_path, rules=DiscoveryRules(both_long_term_files=True))
    assert [file.path for file in both.scan().files] == ["MEMORY.md", "memory.md"]


def test_an_empty_folder_is_a_workspace_in_which_nothing_is_created(tmp_path):
    assert found(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("missing", ["nowhere", "file", "file/below", "nul\0nul", "~nobody-i-know"])
def test_a_workspace_that_is_no_folder_is_an_error_with_advice(tmp_path, missing):
    write(tmp_path, "file")
    with pytest.raises(WorkspaceNotFoundError, match="commonplace init") as caught:
        Workspace(tmp_path / missing)
    assert "\n" not in str(caught.value)


@posix
def test_a_workspace_that_cannot_be_read_is_an_error(shared):
    shared.chmod(0)
    with unprivileged(), pytest.raises(WorkspaceNotFoundError, match="permission denied"):
        Workspace(shared)
    shared.chmod(0o700)


def test_a_workspace_that_is_gone_is_not_taken_for_an_empty_one(tmp_path):
    write(tmp_path, "notes/MEMORY.md")
    workspace = Workspace(tmp_path / "notes")
    shutil.rmtree(tmp_path / "notes")
    with pytest.raises(WorkspaceNotFoundError, match="is gone"):
        workspace.scan()


def test_extra_paths_may_be_files_and_folders_in_any_spelling(tmp_path, monkeypatch):
    root = tmp_path / "notes"
    write(tmp_path, "notes/a/1.md", "notes/b.md", "home/c/2.md", "out/3.md", "out/4.txt")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    assert found(root, " a ", "b.md", "~/c", str(tmp_path / "out"), "../out/4.txt", "") == [
        "a/1.md",
        "b.md",
        "../home/c/2.md",
        "../out/3.md",
    ]


def test_missing_extra_paths_are_named(tmp_path):
    write(tmp_path, "a.md")
    workspace = Workspace(tmp_path, Settings(extra_paths=["a.md", "b.md", "~nobody-i-know/x"]))
    assert workspace.missing_extra_paths == ("b.md", "~nobody-i-know/x")
    assert [file.path for file in workspace.scan().files] == ["a.md"]


@pytest.mark.parametrize(
    "extra", [["memory"], ["memory/sub", "memory/a.md"], ["."], [".."], ["memory", ".", "memory/"]]
)
def test_files_that_several_paths_lead_to_are_listed_once(tmp_path, extra):
    root = tmp_path / "notes"
    write(root, "MEMORY.md", "memory/a.md", "memory/sub/b.md")
    assert found(root, *extra) == ["MEMORY.md", "memory/a.md", "memory/sub/b.md"]
    memory = Memory.open(root, settings=Settings(extra_paths=extra), index=tmp_path / "i")
    assert {memory.get(path).text for path in found(root, *extra)} == {"x"}


@posix
def test_hard_links_are_one_file_under_its_first_name(tmp_path):
    write(tmp_path, "memory/a.md")
    os.link(tmp_path / "memory" / "a.md", tmp_path / "memory" / "b.md")
    os.link(tmp_path / "memory" / "a.md", tmp_path / "c.md")
    assert found(tmp_path, "c.md") == ["memory/a.md"]


@posix
def test_links_are_not_followed_anywhere(tmp_path):
    root = tmp_path / "notes"
    write(tmp_path, "out/secret.md", "notes/memory/a.md")
    for name in ("MEMORY.md", "memory/link.md", "extra.md"):
        (root / name).symlink_to(tmp_path / "out" / "secret.md")
    for name in ("memory/folder", "extra"):
        (root / name).symlink_to(tmp_path / "out")
    (root / "memory" / "circle").symlink_to(root / "memory")
    assert found(root, "extra", "extra.md") == ["memory/a.md"]


@posix
def test_a_memory_folder_that_is_a_link_is_skipped(tmp_path):
    write(tmp_path, "out/a.md", "notes/MEMORY.md")
    (tmp_path / "notes" / "memory").symlink_to(tmp_path / "out")
    assert found(tmp_path / "notes") == ["MEMORY.md"]


@posix
def test_a_workspace_may_itself_be_behind_a_link(tmp_path):
    write(tmp_path, "notes/memory/a.md")
    (tmp_path / "link").symlink_to(tmp_path / "notes")
    assert found(tmp_path / "link") == ["memory/a.md"]


@posix
def test_what_is_no_regular_file_is_skipped(tmp_path):
    write(tmp_path, "memory/a.md")
    os.mkfifo(tmp_path / "memory" / "pipe.md")
    (tmp_path / "memory" / "folder.md").mkdir()
    (tmp_path / "MEMORY.md").mkdir()
    assert found(tmp_path) == ["memory/a.md"]


@pytest.mark.processes
@posix
def test_folders_may_be_nested_as_deep_as_the_disk_lets_them(tmp_path):
    folder = os.open(tmp_path, os.O_RDONLY)
    for name in ["memory"] + ["d"] * 1100:
        os.mkdir(name, dir_fd=folder)
        below = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(os.open("deep.md", os.O_CREAT, dir_fd=folder))
    os.close(folder)
    listed = found(tmp_path)
    subprocess.run(["rm", "-r", tmp_path / "memory"], check=True)  # pytest cannot, so deep
    assert listed == ["memory/" + "d/" * 1100 + "deep.md"]


@posix
def test_names_that_cannot_be_encoded_are_reported_and_skipped(tmp_path):
    write(tmp_path, "memory/a.md", "memory/b\\c.md", "memory/ umlaut ä # 日本 \n.md")
    with open(os.fsencode(tmp_path / "memory") + b"/\xff.md", "w"):
        pass
    scan = Workspace(tmp_path).scan()
    assert [file.path for file in scan.files] == ["memory/ umlaut ä # 日本 \n.md", "memory/a.md"]
    assert [path for path, _ in scan.problems] == ["memory/b\\c.md", "memory/\\udcff.md"]


@posix
def test_a_folder_that_cannot_be_read_is_reported_and_the_rest_is_found(shared):
    write(shared, "memory/a.md", "memory/locked/b.md", "memory/z.md")
    (shared / "memory").chmod(0o777)
    (shared / "memory" / "locked").chmod(0)
    with unprivileged():
        scan = Workspace(shared).scan()
    assert [file.path for file in scan.files] == ["memory/a.md", "memory/z.md"]
    assert scan.problems == (("memory/locked", "Permission denied"),)


def test_only_folders_of_the_memory_are_watched_with_all_below_them(tmp_path):
    write(tmp_path, "notes/memory/a.md", "home/todo.md", "home/big/x.md", "out/b.md")
    extra = ["../home/todo.md", "../out", "../missing/folder", "../nowhere.md"]
    workspace = Workspace(tmp_path / "notes", Settings(extra_paths=extra))
    assert workspace.watched_folders() == {
        tmp_path / "notes": False,
        tmp_path / "notes" / "memory": True,
        tmp_path / "home": False,
        tmp_path / "out": True,
        tmp_path: False,
    }
