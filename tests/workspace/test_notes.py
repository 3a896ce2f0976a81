import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import PathNotAllowedError, WorkspaceReadOnlyError
from commonplace.system.locks import lock_descriptor
from commonplace.workspace.notes import append_note, create_folder

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and links of POSIX")


def run(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a Python process."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finish(processes: list[subprocess.Popen[str]]) -> list[str]:
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return outputs


@pytest.fixture
def log(tmp_path):
    return tmp_path / "2026-11-20.md"


def append(log: Path, note: str) -> bool:
    return append_note(log, note, title="2026-11-20")


# Appending: the form.


def test_a_new_log_begins_with_its_day(log):
    assert append(log, "first")
    assert append(log, "second")
    assert log.read_text() == "# 2026-11-20\n\nfirst\n\nsecond\n"


def test_a_file_without_a_title_begins_with_the_note(log):
    assert append_note(log, "first", title=None)
    assert log.read_text() == "first\n"


@pytest.mark.parametrize("empty", ["", " \n", "\ufeff", "\n\n"])
def test_an_empty_log_gets_its_day_once(log, empty):
    log.write_text(empty, encoding="utf-8")
    append(log, "first")
    text = log.read_text(encoding="utf-8")
    assert text.startswith(empty)
    assert text[len(empty) :].lstrip("\n") == "# 2026-11-20\n\nfirst\n"


@pytest.mark.parametrize(
    ("held", "note", "expected"),
    [
        ("- a\n", "- b", "- a\n- b\n"),
        ("- a", "- b", "- a\n- b\n"),
        ("- a\n\n", "- b", "- a\n\n- b\n"),
        ("- a\n  goes on\n", "- b", "- a\n  goes on\n- b\n"),
        ("1. a\n", "2. b", "1. a\n2. b\n"),
        ("- a\n", "b", "- a\n\nb\n"),
        ("a\n", "- b", "a\n\n- b\n"),
        ("a", "b", "a\n\nb\n"),
        ("a\n\n", "b", "a\n\nb\n"),
        ("a\n \t\n", "b", "a\n \t\nb\n"),
        ("- a\r\n", "- b", "- a\r\n- b\n"),
        ("a\r\n\r\n", "b", "a\r\n\r\nb\n"),
        ("# 2026-11-20\n", "- b", "# 2026-11-20\n\n- b\n"),
        ("- a\n\nb\n", "- c", "- a\n\nb\n\n- c\n"),
        ("a\n", "\n\n  - b\n\n", "a\n\n  - b\n"),
        ("a\n", "b  \n\n\nc\n", "a\n\nb  \n\n\nc\n"),
        ("a\n", "- b\n\n- c\n  - d\n", "a\n\n- b\n\n- c\n  - d\n"),
        ("a\n", "b\r\nc\r\n", "a\n\nb\r\nc\n"),
        ("a\n", "\ud800", "a\n\n?\n"),
    ],
)
def test_a_note_is_written_as_it_is_behind_a_blank_line_but_among_list_items(
    log, held, note, expected
):
    log.write_bytes(held.encode())
    assert append(log, note)
    assert log.read_bytes().decode() == expected


def test_a_log_in_utf_16_stays_in_it(log):
    log.write_bytes("# day\n\n- ä\n".encode("utf-16"))
    assert append(log, "- ö")
    assert log.read_bytes().decode("utf-16") == "# day\n\n- ä\n- ö\n"


@pytest.mark.parametrize("note", ["", "\n", " \t\r\n ", "\u2003"])
def test_an_empty_note_is_refused_and_creates_nothing(log, note):
    with pytest.raises(ValueError, match="empty"):
        append(log, note)
    assert not log.exists()


@given(
    held=st.text("ab-# \n\r\t1.", max_size=60),
    note=st.text("ab-# \n\r\t1.", min_size=1, max_size=60),
)
def test_what_was_there_stays_and_a_note_is_written_once(tmp_path_factory, held, note):
    log = tmp_path_factory.getbasetemp() / "property.md"
    log.write_bytes(held.encode())
    if not note.strip():
        return
    append(log, note)
    once = log.read_bytes().decode()
    assert once.startswith(held)
    assert once.endswith("\n") or once == held
    assert not append(log, note)
    assert log.read_bytes().decode() == once


# Appending: what a day holds already.


@pytest.mark.parametrize(
    ("held", "note"),
    [
        ("- a\n- b\n", "- b"),
        ("- a\n- b\n", "- b\n- a"),
        ("- a  b\n", "-   a b"),
        ("- a b\n", "- a\n  b"),
        ("- a\r\n- b\r\n", "- a"),
        ("- a\n", "- a\r\n"),
        ("a\n\nb\n", "b"),
        ("a\nb\n", "a\n\nb"),
        ("a\n\nb\n", "a b"),
        ("## 10:00\n- a\n", "## 10:00\n\n- a"),
        ("- a\n  - sub\n- b\n", "- a\n  - sub"),
        ("- a\n  - sub\n- b\n", "- sub"),
        ("x\n\n## Met Ann\n\nShe called.\n\ny\n", "## Met Ann\nShe called."),
    ],
)
def test_what_a_day_holds_is_not_written_again(log, held, note):
    log.write_bytes(held.encode())
    assert not append(log, note)
    assert log.read_bytes().decode() == held


@pytest.mark.parametrize(
    ("held", "note", "added"),
    [
        ("- a b c\n", "- a b", "- a b\n"),
        ("a b c\n", "b", "\nb\n"),
        ("- port 51820\n", "- port 5182", "- port 5182\n"),
        ("- a\n", "- a\n- b", "- b\n"),
        ("- b\n", "- a\n- b\n- c", "- a\n- c\n"),
        ("- a\n", "- b\n- b", "- b\n"),
        ("- a\n", "- a\n  - sub", "- a\n  - sub\n"),
        ("- x\n  - sub\n", "- y\n  - sub", "- y\n  - sub\n"),
        ("## A\n- a\n", "## B\n- a", "\n## B\n- a\n"),
        ("- a\n", "* a", "* a\n"),
        ("- a\n", "a", "\na\n"),
        ("a\n\nb\n\nc\n", "a\n\nc", "\na\n\nc\n"),
    ],
)
def test_only_what_is_the_same_as_a_whole_is_left_out(log, held, note, added):
    log.write_text(held)
    assert append(log, note)
    assert log.read_text() == held + added


# Appending: what stands in the way.


@posix
def test_a_link_and_a_folder_are_not_appended_to(tmp_path, log):
    (tmp_path / "real.md").write_text("real\n")
    log.symlink_to(tmp_path / "real.md")
    with pytest.raises(PathNotAllowedError, match="symbolic link"):
        append(log, "note")
    assert (tmp_path / "real.md").read_text() == "real\n"
    log.unlink()
    log.mkdir()
    with pytest.raises(PathNotAllowedError, match="is a folder"):
        append(log, "note")
    log.rmdir()
    os.mkfifo(log)
    with pytest.raises(PathNotAllowedError, match="not a regular file"):
        append(log, "note")


@posix
def test_a_folder_is_made_but_not_through_links_or_files(tmp_path):
    create_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "file").write_text("")
    for name in ("link", "file", "file/below"):
        with pytest.raises(PathNotAllowedError):
            create_folder(tmp_path / name)


@pytest.mark.processes
@posix
def test_a_full_disk_leaves_the_log_as_it_was(log):
    log.write_text("- before\n")
    code = """
        import resource, signal, sys
        from pathlib import Path
        from commonplace.errors import WorkspaceReadOnlyError
        from commonplace.workspace.notes import append_note
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        log = Path(sys.argv[1])
        try:
            append_note(log, "- after " + "x" * 5000, title=None)
        except WorkspaceReadOnlyError as error:
            print(error)
        append_note(log, "- short", title=None)
        """
    (output,) = finish([run(code, log)])
    assert "Nothing was changed" in output
    assert log.read_text() == "- before\n- short\n"


@pytest.mark.processes
@posix
@pytest.mark.parametrize("held", [None, ""])
def test_a_full_disk_leaves_no_file_that_was_not_there(log, held):
    if held is not None:
        log.write_text(held)
    code = """
        import resource, signal, sys
        from pathlib import Path
        from commonplace.errors import WorkspaceReadOnlyError
        from commonplace.workspace.notes import append_note
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        log = Path(sys.argv[1])
        for limit in (0, 1000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, 10_000))
            try:
                append_note(log, "- after " + "x" * 5000, title="2026-11-20")
            except WorkspaceReadOnlyError as error:
                print(error, log.exists())
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        append_note(log, "- short", title=None)
        """
    (output,) = finish([run(code, log)])
    assert output.count(f"Nothing was changed; give yourself write access to the folder and the "
                        f"file. {held is not None}") == 2  # fmt: skip
    assert log.read_text() == "- short\n"


@pytest.mark.processes
@posix
@pytest.mark.skipif(sys.platform != "linux", reason="mounts a small disk")
def test_a_disk_that_is_really_full_leaves_the_log_as_it_was(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a disk cannot be mounted here")
    try:
        log = disk / "log.md"
        append(log, "before")
        held = log.read_text()
        new = disk / "new.md"
        for full in (log, new):
            with pytest.raises(WorkspaceReadOnlyError, match="No space left"):
                append(full, "x" * 100_000)
        assert log.read_text() == held
        assert not new.exists()
        assert append(log, "after")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# Appending: many at once.


def test_threads_lose_and_double_nothing(log):
    notes = [f"- thread {thread} note {note}" for thread in range(8) for note in range(25)]
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda note: append(log, note), notes))
    lines = log.read_text().splitlines()
    assert lines[:2] == ["# 2026-11-20", ""]
    assert sorted(lines[2:]) == sorted(notes)


@pytest.mark.slow
@pytest.mark.processes
def test_processes_lose_and_double_nothing_and_keep_each_ones_order(log):
    code = """
        import sys
        from pathlib import Path
        from commonplace.workspace.notes import append_note
        for number in range(50):
            note = f"- {sys.argv[2]} {number}" if number % 2 else f"{sys.argv[2]} {number}"
            assert append_note(Path(sys.argv[1]), note, title="2026-11-20")
            append_note(Path(sys.argv[1]), "- everyone says this", title="2026-11-20")
        """
    finish([run(code, log, f"p{process}") for process in range(8)])
    text = log.read_text()
    assert text.count("# 2026-11-20") == 1
    assert text.startswith("# 2026-11-20\n\n")
    assert text.count("everyone") == 1
    notes = [line.lstrip("- ") for line in text.splitlines() if line.lstrip("- ").startswith("p")]
    for process in range(8):
        mine = [note for note in notes if note.startswith(f"p{process} ")]
        assert mine == [f"p{process} {number}" for number in range(50)]


@pytest.mark.slow
@pytest.mark.processes
@posix
def test_a_kill_at_any_moment_leaves_whole_notes(log):
    code = """
        import itertools, os, sys
        from pathlib import Path
        from commonplace.workspace.notes import append_note
        print("ready", flush=True)
        for number in itertools.count():
            append_note(Path(sys.argv[1]), f"- {os.getpid()} {number} " + "x" * 200, title="day")
        """
    chance = random.Random(7)
    held = ""
    for _ in range(4):
        processes = [run(code, log) for _ in range(2)]
        for process in processes:
            process.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.1))
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        text = log.read_text() if log.exists() else ""
        assert text.startswith(held)
        held = text
    append(log, "- last")
    lines = log.read_text().splitlines()
    assert lines[:2] == ["# day", ""]
    assert lines[-1] == "- last"
    assert all(line.endswith("x" * 200) for line in lines[2:-1])


def test_notes_that_wait_go_to_the_file_that_an_editor_puts_in_place(log):
    append(log, "- before")
    edited = log.with_name("edited")
    edited.write_text("# 2026-11-20\n\n- before, edited\n")
    descriptor = os.open(log, os.O_RDWR)
    with lock_descriptor(descriptor):
        waiting = threading.Thread(target=append, args=(log, "- after"))
        waiting.start()
        time.sleep(0.05)
        os.replace(edited, log)
    waiting.join()
    os.close(descriptor)
    assert log.read_text() == "# 2026-11-20\n\n- before, edited\n- after\n"


def test_a_log_that_is_deleted_while_a_note_waits_is_created_again(log):
    append(log, "- before")
    descriptor = os.open(log, os.O_RDWR)
    with lock_descriptor(descriptor):
        waiting = threading.Thread(target=append, args=(log, "- after"))
        waiting.start()
        time.sleep(0.05)
        log.unlink()
    waiting.join()
    os.close(descriptor)
    assert log.read_text() == "# 2026-11-20\n\n- after\n"


def test_a_long_log_that_changes_before_it_is_locked_is_read_again(log, monkeypatch):
    from commonplace.workspace import notes

    lines = "".join(f"- {number} words of a log that is long\n" for number in range(3_000))
    changes = iter(["- said twice\n", "- other\n", "- other still\n", "- the last change\n"])

    def locked(descriptor):
        with log.open("a") as file:  # another program, between reading and locking
            file.write(next(changes, ""))
        return lock_descriptor(descriptor)

    log.write_text(lines)
    monkeypatch.setattr(notes, "lock_descriptor", locked)
    assert not append(log, "- said twice")
    assert append(log, "- new")
    assert (
        log.read_text()
        == lines + "- said twice\n- other\n- other still\n- the last change\n- new\n"
    )
    assert not append(log, "- new\n- 17 words of a log that is long")
