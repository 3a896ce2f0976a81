"""What is saved, moved, deleted and restored while a memory watches its files."""

import contextlib
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from commonplace.settings import Settings
from support.fakes import HashedWords
from support.notes import eventually, find, paths

linux = pytest.mark.skipif(sys.platform != "linux", reason="inotify")
git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    before = set(threading.enumerate())
    yield
    assert eventually(lambda: set(threading.enumerate()) <= before, deadline_s=5.0)


def settings(*, debounce_ms=100, **changes):
    sync = {"on_open": False, "on_search": False, "debounce_ms": debounce_ms}
    return Settings.from_mapping({"sync": sync, **changes})


class Watched:
    """Notes that are watched, and what was done about them."""

    def __init__(self, memory, runs):
        self.memory = memory
        self.runs = runs

    @property
    def files(self):
        with self.memory._index.store.snapshot() as snapshot:
            return set(snapshot.files())

    def has(self, *expected):
        return eventually(lambda: self.files == set(expected))

    def finds(self, word, path):
        return eventually(lambda: path in paths(find(self.memory, word)))


@contextlib.contextmanager
def watched(notes, **options):
    runs = []
    with notes.open(HashedWords(), settings(**options)) as memory:
        memory.index()
        with memory.watch(on_run=runs.append):
            assert eventually(lambda: memory._background.scheduler.last_scan_s)  # the first is over
            yield Watched(memory, runs)


LONG, LOG = "MEMORY.md", "memory/2026-11-20.md"


# Files.


def test_what_is_saved_is_found(notes):
    with watched(notes) as found:
        (notes.root / "memory" / "new.md").write_text("- the heron\n")
        assert found.finds("heron", "memory/new.md")
        (notes.root / "MEMORY.md").write_text("- the kingfisher\n")
        assert found.finds("kingfisher", LONG)
        (notes.root / "memory" / "new.md").unlink()
        assert found.has(LONG, LOG)


def test_an_editor_that_saves_by_renaming_is_followed(notes):
    with watched(notes) as found:
        for number in range(3):
            fresh = notes.root / f".MEMORY.md.{number}~"
            fresh.write_text(f"- the heron{number}\n")
            fresh.replace(notes.root / "MEMORY.md")
            assert found.finds(f"heron{number}", LONG)


def test_a_burst_of_changes_is_indexed_together(notes):
    with watched(notes, debounce_ms=300) as found:
        for number in range(60):
            (notes.root / "memory" / f"{number}.md").write_text(f"- note {number}\n")
        assert found.has(LONG, LOG, *(f"memory/{number}.md" for number in range(60)))
        assert eventually(lambda: sum(run.added for run in found.runs) == 60)
        assert len(found.runs) <= 5


@pytest.mark.slow
def test_a_file_that_grows_is_left_alone_until_it_stops_and_holds_up_no_other(notes):
    quiet_s = 1.0
    with watched(notes, debounce_ms=int(1000 * quiet_s)) as found:
        growing = notes.root / "memory" / "growing.md"
        (notes.root / "memory" / "other.md").write_text("- the heron\n")
        written = [time.monotonic()]
        with growing.open("w") as file:
            while "memory/other.md" not in found.files or written[-1] - written[0] < 2 * quiet_s:
                file.write("- one more line\n")
                file.flush()
                written.append(time.monotonic())
                time.sleep(0.03)
                assert written[-1] - written[0] < 60
                rested = max(after - before for before, after in pairwise(written)) > quiet_s / 2
                assert rested or "memory/growing.md" not in found.files
        assert found.has(LONG, LOG, "memory/other.md", "memory/growing.md")


def test_files_of_other_kinds_start_no_run(notes):
    with watched(notes) as found:
        (notes.root / "memory" / "picture.png").write_bytes(b"\x89PNG")
        (notes.root / "memory" / "draft.txt").write_text("heron")
        (notes.root / "memory" / "new.md").write_text("- the heron\n")
        assert found.has(LONG, LOG, "memory/new.md")
        assert found.memory._background.watcher._settling.restless == ()


# Folders.


@pytest.mark.slow
def test_folders_that_appear_move_and_vanish_are_followed(notes):
    with watched(notes) as found:
        deep = notes.root / "memory" / "projects" / "heron"
        deep.mkdir(parents=True)
        (deep / "a.md").write_text("- the heron\n")
        assert found.has(LONG, LOG, "memory/projects/heron/a.md")
        deep.rename(notes.root / "memory" / "birds")
        assert found.has(LONG, LOG, "memory/birds/a.md")
        (notes.root / "memory" / "birds" / "b.md").write_text("- the kingfisher\n")
        assert found.has(LONG, LOG, "memory/birds/a.md", "memory/birds/b.md")
        shutil.rmtree(notes.root / "memory" / "birds")
        assert found.has(LONG, LOG)


@pytest.mark.slow
def test_a_folder_that_is_deleted_and_restored_is_watched_again(notes):
    with watched(notes) as found:
        for number in range(2):
            shutil.rmtree(notes.root / "memory")
            assert found.has(LONG)
            (notes.root / "memory").mkdir()
            (notes.root / "memory" / f"{number}.md").write_text("- back\n")
            assert found.has(LONG, f"memory/{number}.md")
            (notes.root / "memory" / "again.md").write_text("- the heron\n")
            assert found.has(LONG, f"memory/{number}.md", "memory/again.md")


@pytest.mark.slow
def test_a_folder_that_is_exchanged_for_another_is_the_one_that_is_watched(notes, tmp_path):
    with watched(notes) as found:
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "a.md").write_text("- the heron\n")
        (notes.root / "memory").rename(tmp_path / "before")
        (tmp_path / "other").rename(notes.root / "memory")
        assert found.has(LONG, "memory/a.md")
        (notes.root / "memory" / "b.md").write_text("- the kingfisher\n")
        assert found.has(LONG, "memory/a.md", "memory/b.md")


def test_a_memory_folder_that_is_made_later_is_watched(notes):
    shutil.rmtree(notes.root / "memory")
    with watched(notes) as found:
        (notes.root / "memory").mkdir()
        (notes.root / "memory" / "new.md").write_text("- the heron\n")
        assert found.has(LONG, "memory/new.md")
        (notes.root / "memory" / "newer.md").write_text("- the heron\n")
        assert found.has(LONG, "memory/new.md", "memory/newer.md")


@pytest.mark.slow
def test_a_workspace_that_goes_and_comes_back_is_watched_again(notes, tmp_path):
    with watched(notes) as found:
        notes.root.rename(tmp_path / "away")
        assert eventually(lambda: "is gone" in "".join(found.memory.search("x").warnings))
        (tmp_path / "away").rename(notes.root)
        (notes.root / "memory" / "new.md").write_text("- the heron\n")
        assert found.has(LONG, LOG, "memory/new.md")
        assert eventually(lambda: found.memory.search("x").warnings == ())


@pytest.mark.slow
def test_extra_paths_that_are_not_there_yet_are_watched_when_they_come(notes, tmp_path):
    extra = ("../wiki", "../deep/er/page.md")
    with watched(notes, extra_paths=extra) as found:
        (tmp_path / "wiki").mkdir()
        (tmp_path / "wiki" / "a.md").write_text("- the heron\n")
        assert found.has(LONG, LOG, "../wiki/a.md")
        (tmp_path / "deep" / "er").mkdir(parents=True)
        (tmp_path / "deep" / "er" / "page.md").write_text("- the kingfisher\n")
        assert found.has(LONG, LOG, "../wiki/a.md", "../deep/er/page.md")
        (tmp_path / "deep" / "er" / "page.md").write_text("- the bittern\n")
        assert found.finds("bittern", "../deep/er/page.md")


@pytest.mark.processes
@git
def test_another_branch_is_followed(notes):
    def run(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *identity, *arguments], cwd=notes.root, check=True)

    run("init", "-q")
    run("add", ".")
    run("commit", "-qm", "one")
    run("checkout", "-qb", "other")
    for number in range(30):
        notes.write(f"memory/deep/{number}.md", f"- note {number}\n")
    (notes.root / "MEMORY.md").write_text("- the heron\n")
    run("add", ".")
    run("commit", "-qm", "two")
    with watched(notes) as found:
        run("checkout", "-q", "main")
        assert found.has(LONG, LOG)
        assert found.finds("Gutenberg", LONG)
        run("checkout", "-q", "other")
        assert found.has(LONG, LOG, *(f"memory/deep/{number}.md" for number in range(30)))
        assert found.finds("heron", LONG)


# For how long.


def test_a_watcher_runs_until_its_last_user_leaves(notes):
    with notes.open(None, settings()) as memory:
        assert "watching" not in memory.status().details
        with memory.watch():
            watcher = memory._background.watcher
            with memory.watch():
                assert memory._background.watcher is watcher
            assert memory.status().details["watching"] == "yes"
        assert not watcher.is_alive()
        with memory.watch():
            assert memory._background.watcher is not watcher
            assert eventually(lambda: memory.status().files == 2)


def test_a_setting_watches_from_opening_to_closing(notes):
    wanted = Settings.from_mapping({"sync": {"watch": True, "debounce_ms": 50, "on_open": False}})
    with notes.open(None, wanted) as memory:
        watcher = memory._background.watcher
        assert eventually(lambda: memory.status().files == 2)
        (notes.root / "memory" / "new.md").write_text("- the heron\n")
        assert eventually(lambda: memory.status().files == 3)
    assert not watcher.is_alive()


def test_closing_within_the_block_ends_the_watching(notes):
    memory = notes.open(None, settings())
    with memory.watch():
        started = time.monotonic()
        memory.close()
        assert time.monotonic() - started < 1.0


@pytest.mark.parametrize("thread", ["commonplace-watch", "commonplace-index"])
def test_a_signal_while_a_thread_is_started_ends_the_watching(notes, thread, monkeypatch):
    started, main = threading.Thread.start, threading.current_thread()

    def interrupted(self):
        if self.name != thread:
            started(self)
        elif threading.current_thread() is main:  # the watcher may ask for a run, too
            raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with (
        pytest.raises(KeyboardInterrupt),
        notes.open(None, settings()) as memory,
        memory.watch(),
    ):
        memory._background.scheduler.request("test")


def test_two_that_watch_one_workspace_share_the_work(notes):
    with watched(notes) as found, notes.open(HashedWords(), settings()) as other, other.watch():
        for number in range(10):
            (notes.root / "memory" / f"{number}.md").write_text(f"- note {number}\n")
            time.sleep(0.02)
        assert found.has(LONG, LOG, *(f"memory/{number}.md" for number in range(10)))
        assert eventually(lambda: other.status().stale == ())
        assert other.search("note").warnings == found.memory.search("note").warnings == ()


# Where the platform has no more watches.

SCARCE = """
    import sys, time
    sys.path.insert(0, {tests!r})
    import commonplace.indexing.background.watcher as watcher
    watcher._POLL_EVERY_S = 0.2
    from support.notes import LINES, Notes, eventually
    from pathlib import Path
    notes = Notes(Path({folder!r}), create=False)
    for number in range(20):
        notes.write(f"memory/{{number}}/a.md", "- a note")
    with notes.open(None, LINES) as memory:
        memory.index()
        with memory.watch():
            assert eventually(lambda: memory.status().warnings)
            (notes.root / "memory" / "19" / "b.md").write_text("- the heron")
            assert eventually(lambda: memory.status().files == 23)
            time.sleep(0.5)
            told, state = memory.status().warnings, memory.status().details["watching"]
        print(*told, state, sep="|")
    """


def few(kind, count):
    """Return a command that runs another with few inotify watches, or instances."""
    set_limit = f'echo {count} > /proc/sys/user/{kind}; exec "$@"'
    return ["unshare", "--user", "--map-root-user", "sh", "-c", set_limit, "sh"]


def namespaces():
    if shutil.which("unshare") is None:
        return False
    probe = [*few("max_inotify_watches", 5), "cat", "/proc/sys/user/max_inotify_watches"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return (done.returncode, done.stdout) == (0, "5\n")


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.processes
@linux
@pytest.mark.skipif(not namespaces(), reason="needs user namespaces")
@pytest.mark.parametrize(
    ("kind", "count"), [("max_inotify_watches", 8), ("max_inotify_instances", 0)]
)
def test_without_enough_watches_it_says_so_once_and_goes_on(notes, kind, count):
    values = {"tests": str(Path(__file__).parents[1]), "folder": str(notes.root.parent)}
    code = textwrap.dedent(SCARCE).format(**values)
    command = [*few(kind, count), sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    *told, state = done.stdout.strip().split("|")
    told = [text for text in told if "watched" in text]
    assert len(told) == 1
    assert f"fs.inotify.{kind.replace('inotify', 'user')}" in told[0]
    assert "Changes are noticed by looking every few seconds instead" in told[0]
    assert state == "in part"
