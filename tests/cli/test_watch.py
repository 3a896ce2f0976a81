"""``commonplace watch``, and what ``commonplace status`` tells while it runs."""

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys

import pytest

from commonplace.cli.watch import until_signalled
from support.notes import Notes, eventually

pytestmark = [pytest.mark.processes, pytest.mark.skipif(os.name == "nt", reason="POSIX signals")]


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path)


@pytest.fixture
def command(notes, tmp_path):
    (tmp_path / "settings.toml").write_text("[sync]\ndebounce_ms = 50\n")
    base = ["-w", str(notes.root), "--embedder", "none"]
    base += ["--settings", str(tmp_path / "settings.toml")]
    return [sys.executable, "-m", "commonplace", *base]


@contextlib.contextmanager
def watching(command):
    process = subprocess.Popen(
        [*command, "watch"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr.readline().startswith("watching ")
        for line in process.stdout:
            if line.startswith("time"):
                break
        yield process
    finally:
        process.kill()
        process.communicate()


RUN = re.compile(r"[0-9:]{8}  1 added, 0 updated, 0 removed, [0-9.]+ s\n")


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_each_run_is_printed_in_one_line_until_a_signal_ends_the_process(notes, command, stop):
    with watching(command) as process:
        for number in range(2):
            (notes.root / "memory" / f"{number}.md").write_text("- the heron\n")
            assert RUN.fullmatch(process.stdout.readline())
        process.send_signal(stop)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "", "stopped\n")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="threads are looked up in /proc")
def test_a_signal_that_the_system_gives_to_another_thread_ends_the_process(command):
    with watching(command) as process:
        tasks = sorted(int(name) for name in os.listdir(f"/proc/{process.pid}/task"))
        assert tasks[0] == process.pid
        assert ctypes.CDLL(None).tgkill(process.pid, tasks[-1], signal.SIGTERM) == 0
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "stopped\n")


def test_a_failed_file_is_reported_with_its_run(notes, command):
    with watching(command) as process:
        (notes.root / "memory" / "broken.md").write_bytes(b"caf\xe9 in Latin-1\n")
        assert RUN.fullmatch(process.stdout.readline())
        assert "memory/broken.md" in process.stderr.readline()


@pytest.mark.slow
def test_a_status_names_the_process_that_is_indexing(notes, command):
    code = """
import sys
from commonplace.cli.options import Options
from pathlib import Path
with Options(Path(sys.argv[1]), "none").open_memory() as memory:
    memory.index()
    with memory._index.store.lease("run", timeout_s=10):
        print("ready", flush=True)
        sys.stdin.read()
"""
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(notes.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout.readline() == "ready\n"

    def told():
        run = subprocess.run([*command, "status"], capture_output=True, text=True, check=True)
        return run.stdout

    assert f"now, by process {holder.pid}\n" in told()
    holder.kill()
    holder.communicate()
    assert eventually(lambda: "by process" not in told())


class Finalized:
    def __init__(self, number):
        self.number = number

    def __del__(self):
        signal.raise_signal(self.number)  # the handler's exception is lost here


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_whose_exception_a_finalizer_loses_is_told_all_the_same(
    number, monkeypatch, capsys
):
    lost = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with until_signalled() as signalled:
        assert not signalled.is_set()
        Finalized(number)
        assert signalled.is_set()
    assert [each.exc_type for each in lost] == [KeyboardInterrupt]
    assert capsys.readouterr().err == "stopped\n"
    with until_signalled():
        signal.raise_signal(number)
        pytest.fail("the signal raised nothing")
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_job_that_ignores_interrupts_goes_on_ignoring_them():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with until_signalled() as signalled:
            signal.raise_signal(signal.SIGINT)
            assert not signalled.is_set()
    finally:
        signal.signal(signal.SIGINT, before)
