"""Disks that are full, folders that cannot be written, locks that are lost, editors in between."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import apsw
import pytest

from commonplace.errors import CommonplaceError, ConflictError, StateError, WorkspaceReadOnlyError
from commonplace.history.mutations import Mutator
from commonplace.memory import Memory
from commonplace.settings import Settings, SyncSettings
from commonplace.system import waits
from commonplace.system.database import DatabaseFile
from commonplace.system.locks import FileLease
from commonplace.types import Origin
from commonplace.workspace import replacement
from commonplace.workspace.file_text import Folder
from commonplace.workspace.places import Place
from commonplace.workspace.replacement import FileChange
from support.notes import unprivileged

TEXT = "# Notes\n\n- The VPN listens on 1194.\n- Ann looks after it.\n"
SETTINGS = Settings(sync=SyncSettings(on_open=False, on_search=False))
VERBS = {
    "new": lambda memory: memory.write("memory/deep/er/note.md", TEXT),
    "write": lambda memory: memory.write("memory/note.md", "other"),
    "edit": lambda memory: memory.edit("memory/note.md", "1194", "51820"),
    "delete": lambda memory: memory.delete("memory/note.md"),
    "move": lambda memory: memory.move("memory/note.md", "memory/deep/moved.md"),
    "undo": lambda memory: memory.undo(memory.history("memory/note.md")[0].id),
}


@pytest.fixture
def root(tmp_path):
    (tmp_path / "notes").mkdir()
    return tmp_path / "notes"


@pytest.fixture
def memory(root, tmp_path):
    with opened(root, tmp_path / "state") as memory:
        memory.write("memory/note.md", TEXT)
        yield memory


def opened(root, state):
    return Memory.open(root, settings=SETTINGS, embedder=None, index=state / "index.sqlite")


def everything(root):
    """Return the folders and files below a folder, temporary ones included."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes() if path.is_file() else None
        for path in root.rglob("*")
    }


# -- failures at each step -------------------------------------------------------------------------


class Failing:
    """Makes the n-th of the calls that can fail raise what a full disk makes them raise."""

    def __init__(self, monkeypatch):
        self.calls = self.fails_at = 0
        for kind, name, error in (
            (DatabaseFile, "transaction", apsw.FullError("database or disk is full")),
            (DatabaseFile, "rows", apsw.FullError("database or disk is full")),
            (Place, "rename_by_flag", OSError(28, "No space left on device")),
            (Folder, "sync", OSError(5, "Input/output error")),
            (Place, "read", OSError(5, "Input/output error")),
            (os, "write", OSError(28, "No space left on device")),
            (os, "fsync", OSError(28, "No space left on device")),
            (os, "replace", OSError(28, "No space left on device")),
        ):
            self._wrap(monkeypatch, kind, name, error)

    def _wrap(self, monkeypatch, kind, name, error):
        function = getattr(kind, name)

        def wrapped(*args, **options):
            self.calls += 1
            if self.calls == self.fails_at:
                if isinstance(error, apsw.Error):
                    raise StateError(str(error)) from error
                raise error
            return function(*args, **options)

        monkeypatch.setattr(kind, name, wrapped)


@pytest.mark.parametrize("verb", VERBS)
def test_a_failure_at_any_step_is_an_error_and_leaves_the_text_of_before(
    root, memory, monkeypatch, verb
):
    before = everything(root)
    versions = memory.history()
    failing = Failing(monkeypatch)
    VERBS[verb](memory)
    steps = failing.calls
    assert steps > 5
    memory.undo(memory.history()[0].id)
    for folder in ("memory/deep/er", "memory/deep"):
        if (root / folder).exists():
            (root / folder).rmdir()
    assert everything(root) == before
    kept = len(memory.history())
    for step in range(1, steps + 1):
        failing.calls, failing.fails_at = 0, step
        try:
            VERBS[verb](memory)
        except CommonplaceError:
            failing.fails_at = 0
            assert everything(root) == before, step
            assert len(memory.history()) == kept, step
            memory.edit("memory/note.md", "Ann", "Bob")  # and the memory goes on
            memory.undo(memory.history()[0].id)
            assert everything(root) == before
            kept += 2
        else:
            failing.fails_at = 0
            # It failed behind the change: what was left is removed by the next one.
            memory.undo(memory.history()[0].id)
            for folder in ("memory/deep/er", "memory/deep"):
                if (root / folder).exists():
                    (root / folder).rmdir()
            assert everything(root) == before, step
            kept = len(memory.history())
    assert memory.history(limit=1000)[-1] == versions[-1]


# -- real disks ------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a disk cannot be mounted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def fill(disk):
    with open(disk / "ballast", "wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                pass


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="mounts a small disk")
def test_a_full_disk_leaves_the_notes_as_they_are(small_disk, tmp_path):
    root = small_disk / "notes"
    root.mkdir()
    with opened(root, tmp_path / "state") as memory:
        memory.write("memory/note.md", TEXT)
        fill(small_disk)
        before = everything(root)
        for change in (VERBS["new"], VERBS["write"], VERBS["edit"]):
            with pytest.raises(WorkspaceReadOnlyError, match="No space left"):
                change(memory)
            assert everything(root) == before
        (small_disk / "ballast").unlink()
        VERBS["edit"](memory)
        assert len(memory.history()) == 2


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="mounts a small disk")
def test_a_full_disk_under_the_history_changes_nothing(small_disk, root):
    with opened(root, small_disk) as memory:
        memory.write("memory/note.md", TEXT)
        before = everything(root)
        for verb in ("new", "write", "edit", "delete", "move", "undo"):
            fill(small_disk)  # again: what a failure closes gives some room back
            with pytest.raises(StateError, match=r"full|disk"):
                VERBS[verb](memory)
            assert everything(root) == before
        (small_disk / "ballast").unlink()
        for verb in ("edit", "move"):
            VERBS[verb](memory)
        assert memory.paths() == ["memory/deep/moved.md"]


# -- locks and editors -----------------------------------------------------------------------------


def test_a_lock_that_another_process_keeps_is_an_error(root, memory, monkeypatch):
    monkeypatch.setattr(waits, "WRITER_WAIT_S", 0.05)
    monkeypatch.setattr(waits, "STEP_WAIT_S", 0.05)
    before = everything(root)
    lock = memory.state.history.with_name("history.sqlite.lock")
    with FileLease(lock).held(timeout_s=1) as acquired:
        assert acquired
        for verb in VERBS.values():
            with pytest.raises(WorkspaceReadOnlyError, match="kept the notes locked"):
                verb(memory)
    assert everything(root) == before


def test_a_lock_that_is_lost_loses_no_text(root, memory):
    """Two changes at once, as after the lock file was deleted: both are there, or one conflicts."""
    lock = memory.state.history.with_name("history.sqlite.lock")
    stop = threading.Event()

    def lose():
        while not stop.is_set():
            lock.unlink(missing_ok=True)
            time.sleep(0.001)

    def write(name):
        with opened(root, memory.state.history.parent) as own:
            for number in range(20):
                try:
                    own.edit("memory/note.md", "- Ann", f"- {name} {number}\n- Ann")
                except (ConflictError, WorkspaceReadOnlyError):
                    refused.append(number)
                else:
                    written.append(f"- {name} {number}")

    written, refused = [], []
    writers = [threading.Thread(target=write, args=(name,)) for name in ("one", "two")]
    loser = threading.Thread(target=lose)
    loser.start()
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    stop.set()
    loser.join()
    lines = (root / "memory/note.md").read_text("utf-8").splitlines()
    assert sorted(line for line in lines if line[2:5] in ("one", "two")) == sorted(written)


def test_a_change_that_another_process_settled_is_made(root, memory, monkeypatch):
    """The other one, after the lock file was deleted, takes this one for dead after its swap."""
    swap = replacement._swap

    def settle(*args):
        swap(*args)
        memory.state.history.with_name("history.sqlite.lock").unlink()
        with opened(root, memory.state.history.parent) as other:
            other.append("- Of the other one.", path="memory/other.md")

    with monkeypatch.context() as patch:
        patch.setattr(replacement, "_swap", settle)
        memory.edit("memory/note.md", "1194", "51820")
    assert memory.get("memory/note.md").text == TEXT.replace("1194", "51820")
    assert [version.change for version in memory.history("memory/note.md")][:1] == ["edit"]
    memory.undo(memory.history("memory/note.md")[0].id)
    assert memory.get("memory/note.md").text == TEXT


@pytest.mark.parametrize(("kind", "step"), [(Place, "write"), (replacement, "_swap")])
def test_an_editor_that_saves_in_the_middle_loses_nothing(root, memory, monkeypatch, kind, step):
    """The editor's text comes between the check and the swap, each time anew."""
    saved = []
    function = getattr(kind, step)

    def save(*args, **options):
        if len(saved) < 3:
            text = TEXT + f"- Saved {len(saved)}.\n"
            beside = root / "memory/editor.swp"
            beside.write_text(text, encoding="utf-8")
            os.replace(beside, root / "memory/note.md")
            saved.append(text)
        return function(*args, **options)

    monkeypatch.setattr(kind, step, save)
    memory.edit("memory/note.md", "1194", "51820")
    assert memory.get("memory/note.md").text == saved[-1].replace("1194", "51820")
    kept = {
        memory._notes.log.text(state) for state in memory._notes.log.states_of("memory/note.md")
    }
    assert {text.encode() for text in saved} <= kept


def test_an_editor_that_never_stops_is_a_conflict(root, memory, monkeypatch):
    swap, count = replacement._swap, iter(range(10**6))

    def save(*args):
        (root / "memory/note.md").write_text(TEXT + f"{next(count)}\n", encoding="utf-8")
        swap(*args)

    monkeypatch.setattr(replacement, "_swap", save)
    with pytest.raises(ConflictError, match="is being changed by another program"):
        memory.edit("memory/note.md", "1194", "51820")
    assert (root / "memory/note.md").read_text("utf-8").startswith(TEXT)
    assert not [name for name in os.listdir(root / "memory") if name != "note.md"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_a_folder_that_cannot_be_written_leaves_the_notes_as_they_are():
    folder = Path(tempfile.mkdtemp(dir="/tmp")).resolve()
    folder.chmod(0o777)
    try:
        with unprivileged():
            root = folder / "notes"
            root.mkdir()
            with opened(root, folder / "state") as memory:
                memory.write("memory/note.md", TEXT)
                (root / "memory").chmod(0o500)
                for verb, change in VERBS.items():
                    with pytest.raises(WorkspaceReadOnlyError, match="Nothing was changed"):
                        change(memory)
                    assert everything(root) == {"memory": None, "memory/note.md": TEXT.encode()}, (
                        verb
                    )
                (root / "memory").chmod(0o700)
                (root / "memory/note.md").chmod(0o400)
                with pytest.raises(WorkspaceReadOnlyError, match="Nothing was changed"):
                    VERBS["edit"](memory)
                (root / "memory/note.md").chmod(0o600)
            (folder / "state").chmod(0o500)
            with opened(root, folder / "state") as memory:
                with pytest.raises(StateError):
                    VERBS["edit"](memory)
                assert memory.get("memory/note.md").text == TEXT
                (folder / "state").chmod(0o700)
                assert len(memory.history()) == 1
    finally:
        shutil.rmtree(folder)


def test_an_append_that_an_editor_overwrites_before_it_is_indexed_is_in_the_history(
    memory, root, tmp_path
):
    note = root / "memory" / "note.md"

    def overtaken(paths):
        """An editor saves what it had read before, and another process indexes that."""
        note.write_text(TEXT + "- Ben, too.\n")
        with opened(root, tmp_path / "state") as other:
            other.index()

    memory.index()
    memory._index_written = overtaken
    memory.append("- The boat is red.", path="memory/note.md")
    log = memory._notes.log
    texts = [log.text(state).decode() for state in log.states_of("memory/note.md")]
    assert TEXT + "- The boat is red.\n" in texts
    assert texts[0] == note.read_text() == TEXT + "- Ben, too.\n"
    note.unlink()
    memory._index_written = lambda paths: note.unlink()
    memory.append("- The boat is blue.", path="memory/note.md")
    assert any("boat is blue" in log.text(state).decode() for state in log.states_of(path(note)))


def path(note):
    return f"memory/{note.name}"


def test_a_change_whose_end_was_not_written_to_the_disk_counts_as_made(memory, root, tmp_path):
    edited = memory.edit("memory/note.md", "1194", "51820", origin=Origin("agent", "thread"))
    deleted = memory.delete("memory/note.md")
    with memory._notes.log.file.transaction() as connection:  # its file was cleaned up since
        connection.execute("UPDATE pending SET done = 0")
    memory.close()
    with opened(root, tmp_path / "state") as memory:
        assert memory.history()[0] == deleted
        memory.undo(deleted.id)
        with memory._notes.log.file.transaction() as connection:
            connection.execute("UPDATE pending SET done = 0")
    with opened(root, tmp_path / "state") as memory:
        assert [one.change for one in memory.history()][:3] == ["undo", "delete", "edit"]
        assert memory.history()[2] == edited
        memory.undo(edited.id)
        assert memory.get("memory/note.md").text == TEXT


def test_a_recovery_that_is_killed_before_it_cleans_up_leaves_no_file(
    memory, root, tmp_path, monkeypatch
):
    folder = root / "memory"

    def others():
        return [one.name for one in folder.iterdir() if one.suffix != ".md"]

    with monkeypatch.context() as killed:  # after its files, and before it is noted as made
        killed.setattr(Mutator, "_finish", ended)
        killed.setattr(Mutator, "_take_back", lambda *_: None)
        with pytest.raises(SystemExit):
            memory.edit("memory/note.md", "1194", "51820")
    memory.close()
    assert others()
    with monkeypatch.context() as killed:
        killed.setattr(FileChange, "clean_up", ended)
        with pytest.raises(SystemExit):
            opened(root, tmp_path / "state")
    assert others()
    with opened(root, tmp_path / "state") as memory:
        assert others() == []
        assert "51820" in memory.get("memory/note.md").text


def ended(*_):
    raise SystemExit


@pytest.mark.timeout(60, method="thread")  # the other method has the same timer
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(sys.platform == "win32", reason="timers of POSIX")
@pytest.mark.parametrize("share", [at / 12 for at in range(1, 12)])
def test_an_interrupt_between_two_steps_is_settled(memory, root, tmp_path, share):
    def written(path):
        begin = time.perf_counter()
        memory.write(path, TEXT)
        return time.perf_counter() - begin

    def interrupt(*_):
        raise KeyboardInterrupt

    usual = min(written(f"memory/before-{at}.md") for at in range(3))
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for at in range(5):
            with contextlib.suppress(KeyboardInterrupt):
                try:
                    signal.setitimer(signal.ITIMER_REAL, share * usual)
                    written(f"memory/note-{at}.md")
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    memory.close()
    with opened(root, tmp_path / "state") as later:
        later.write("memory/after.md", TEXT)
        for at in range(5):
            path = f"memory/note-{at}.md"
            held = later.history(path)
            assert (root / path).exists() == bool(held)
            assert not held or later.get(path).version == held[0].hash
    assert not list((root / "memory").glob(".commonplace-*"))
