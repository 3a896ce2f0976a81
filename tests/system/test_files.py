import contextlib
import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time

import pytest

from commonplace import Memory, Settings
from commonplace.errors import CommonplaceError
from commonplace.settings import SyncSettings
from commonplace.system import files
from commonplace.system.files import create_private, open_without_links, sync
from commonplace.system.locks import FileLease, lock_descriptor

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and links of POSIX")


def run(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a Python process."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "2026-11-20.md"


def test_lock_descriptor_waits_and_times_out(log):
    log.write_text("")
    descriptors = [os.open(log, os.O_RDWR) for _ in range(2)]
    with lock_descriptor(descriptors[0]):
        started = time.monotonic()
        with (
            pytest.raises(TimeoutError, match=r"0\.1 s"),
            lock_descriptor(descriptors[1], timeout_s=0.1),
        ):
            pass
        assert time.monotonic() - started < 5
    with lock_descriptor(descriptors[1], timeout_s=0):
        pass
    for descriptor in descriptors:
        os.close(descriptor)


@pytest.mark.processes
@posix
def test_a_lease_ends_with_its_process(tmp_path):
    code = """
        import sys, time
        from pathlib import Path
        from commonplace.system.locks import FileLease
        with FileLease(Path(sys.argv[1])).held(timeout_s=1) as got:
            print(got, flush=True)
            time.sleep(60)
        """
    lease = FileLease(tmp_path / "lock")
    process = run(code, lease.path)
    assert process.stdout.readline() == "True\n"
    with lease.held(timeout_s=0) as got:
        assert not got
    assert lease.owner() == process.pid
    process.kill()
    process.communicate()
    with lease.held(timeout_s=5) as got:
        assert got
    assert lease.owner() == os.getpid()


def test_a_lease_in_a_folder_that_is_missing_is_an_os_error(tmp_path):
    with pytest.raises(OSError) as caught, FileLease(tmp_path / "no" / "lock").held(timeout_s=0):
        pass
    assert caught.value.errno == errno.ENOENT


# -- links -----------------------------------------------------------------------------------------

NOTE = "- The VPN listens on 51820.\n"
SETTINGS = Settings(sync=SyncSettings(on_open=False, on_search=False, watch=False))


@pytest.fixture(params=["by the system", "part by part"])
def way(request, monkeypatch):
    """How a path is walked."""
    if request.param == "part by part":
        monkeypatch.setattr(files, "_openat2", lambda *args: None)
        monkeypatch.setattr(sys, "platform", "another")
    return request.param


@posix
@pytest.mark.parametrize("part", [0, 1, 2])
def test_no_part_of_a_path_may_be_a_link(tmp_path, way, part):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "note.md").write_text(NOTE)
    parts = ["a", "b", "note.md"]
    path = tmp_path.joinpath(*parts)
    descriptor = open_without_links(path, os.O_RDONLY)
    assert os.read(descriptor, 99).decode() == NOTE
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)
    link = tmp_path.joinpath(*parts[: part + 1])
    link.rename(tmp_path / "real")
    link.symlink_to(tmp_path / "real")
    for flags in (os.O_RDONLY, os.O_RDWR | os.O_CREAT):
        with pytest.raises(OSError) as caught:
            open_without_links(path, flags)
        assert caught.value.errno in (errno.ELOOP, errno.ENOTDIR)
    new = link / "new.md" if part < 2 else link
    with pytest.raises(OSError):
        open_without_links(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    assert not list(tmp_path.rglob("new.md"))


@posix
def test_a_file_that_is_made_has_the_mode_that_is_asked_for(tmp_path, way):
    mask = os.umask(0)
    try:
        os.close(open_without_links(tmp_path / "new.md", os.O_WRONLY | os.O_CREAT, 0o640))
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new.md").stat().st_mode) == 0o640


@posix
@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize("name", ["i.sqlite", "i.history.sqlite"])
@pytest.mark.parametrize("log", ["-wal", "-shm", "-journal"])
def test_a_note_that_has_a_logs_name_too_is_left_alone(tmp_path, link, name, log):
    root, index = tmp_path / "notes", tmp_path / "idx" / "i.sqlite"
    root.mkdir()
    note = root / "MEMORY.md"
    note.write_text(NOTE)
    with Memory.open(root, settings=SETTINGS, embedder=None, index=index) as memory:
        memory.append("- a line of before")
    before = note.read_text()
    place = index.parent / f"{name}{log}"
    place.unlink(missing_ok=True)
    link(note, place)
    with Memory.open(root, settings=SETTINGS, embedder=None, index=index) as memory:
        for verb in (lambda: memory.search("heron"), lambda: memory.history("MEMORY.md")):
            with contextlib.suppress(CommonplaceError):
                verb()
        with contextlib.suppress(CommonplaceError):
            memory.append("- a line more", path="MEMORY.md")
    assert note.read_text().removesuffix("- a line more\n") == before


@posix
def test_a_log_that_a_backup_linked_is_a_log(tmp_path):
    index = tmp_path / "idx" / "i.sqlite"
    (tmp_path / "MEMORY.md").write_text(NOTE)
    with Memory.open(tmp_path, settings=SETTINGS, embedder=None, index=index) as memory:
        memory.index()
        for log in ("-wal", "-shm"):
            os.link(f"{index}{log}", tmp_path / f"backup{log}")
        with Memory.open(tmp_path, settings=SETTINGS, embedder=None, index=index) as other:
            assert other.search("heron") == memory.search("heron")


@posix
@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize("name", ["i.sqlite.lock", "i.sqlite.swap", "i.history.sqlite.lock"])
def test_a_lock_file_that_is_a_link_is_left_alone(tmp_path, link, name):
    root, index = tmp_path / "notes", tmp_path / "idx" / "i.sqlite"
    root.mkdir()
    index.parent.mkdir()
    (root / "MEMORY.md").write_text(NOTE)
    link(root / "MEMORY.md", index.parent / name)
    with Memory.open(root, settings=SETTINGS, embedder=None, index=index) as memory:
        for verb in (memory.index, lambda: memory.edit("MEMORY.md", "51820", "1194")):
            with contextlib.suppress(CommonplaceError):
                verb()
    assert (root / "MEMORY.md").read_text() in (NOTE, NOTE.replace("51820", "1194"))


@posix
@pytest.mark.parametrize("name", ["i.sqlite", "state.sqlite", "i.history.sqlite"])
def test_a_database_that_is_a_link_is_refused(tmp_path, name):
    root, index = tmp_path / "notes", tmp_path / "idx" / "i.sqlite"
    root.mkdir()
    index.parent.mkdir()
    (index.parent / name).symlink_to(tmp_path / "other.sqlite")
    with (
        Memory.open(root, settings=SETTINGS, embedder=None, index=index) as memory,
        contextlib.suppress(CommonplaceError),
    ):
        memory.write("MEMORY.md", NOTE)
        memory.index()
    with pytest.raises(OSError, match="it is a link"):
        create_private(index.parent / name)
    assert not (tmp_path / "other.sqlite").exists()


@posix
def test_what_is_beside_an_index_is_its_owners_alone(tmp_path):
    root, index = tmp_path / "notes", tmp_path / "deep" / "er" / "i.sqlite"
    root.mkdir()
    mask = os.umask(0o022)
    try:
        with Memory.open(root, settings=SETTINGS, embedder=None, index=index) as memory:
            memory.append("- one")
            memory.index()
            memory.write("MEMORY.md", NOTE)
            memory.index(force=True)
            found = [index.parent.parent, index.parent, *index.parent.rglob("*")]
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in found}
    finally:
        os.umask(mask)
    assert len(modes) > 6
    assert {path.name: 0o700 if path.is_dir() else 0o600 for path in found} == modes


@posix
def test_a_folder_that_cannot_be_synced_is_passed_over_and_a_file_is_not(tmp_path, monkeypatch):
    def fail(descriptor):
        raise OSError(errno.EINVAL, "no sync")

    monkeypatch.setattr(os, "fsync", fail)
    folder = os.open(tmp_path, os.O_RDONLY)
    file = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    sync(folder)
    with pytest.raises(OSError, match="no sync"):
        sync(file)
    os.close(folder)
    os.close(file)


# -- forks -----------------------------------------------------------------------------------------


@pytest.mark.processes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of POSIX")
@pytest.mark.parametrize("kind", ["lease", "descriptor"])
def test_a_child_holds_no_lock_of_a_parent_that_is_gone(tmp_path, kind):
    code = """
        import os, sys, time
        from pathlib import Path
        from commonplace.system.locks import FileLease, lock_descriptor
        path = Path(sys.argv[1])
        if sys.argv[2] == "lease":
            lock = FileLease(path).held(timeout_s=1)
        else:
            lock = lock_descriptor(os.open(path, os.O_RDWR | os.O_CREAT))
        with lock:
            child = os.fork()
            if not child:
                time.sleep(60)
            print(child, flush=True)
            time.sleep(60)
        """
    process = run(code, tmp_path / "lock", kind)
    child = int(process.stdout.readline())
    lease = FileLease(tmp_path / "lock")
    with lease.held(timeout_s=0) as got:
        assert not got
    process.kill()
    process.wait()
    try:
        with lease.held(timeout_s=5) as got:
            assert got
    finally:
        os.kill(child, signal.SIGKILL)
        process.stdout.close()


@pytest.mark.processes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of POSIX")
def test_a_child_that_leaves_the_block_of_its_parent_ends_nothing(tmp_path):
    code = """
        import os, sys
        from pathlib import Path
        from commonplace.flush.leases import OneTimeLeases
        from commonplace.system.locks import FileLease
        path, leases = Path(sys.argv[1]), OneTimeLeases(Path(sys.argv[1]))
        with FileLease(path).held(timeout_s=0), leases.acquire() as lease:
            child = os.fork()
            if child:
                os.waitpid(child, 0)
                with FileLease(path).held(timeout_s=0) as again:
                    print(again, len(list(path.parent.glob("*.lease"))), leases.is_alive(lease))
            else:
                print(leases.is_alive(lease), flush=True)
        """
    output, _ = run(code, tmp_path / "lock").communicate(timeout=30)
    assert output.split("\n")[:2] == ["True", "False 1 True"]
