"""Many threads and processes at one index, and processes that are killed at any moment."""

import contextlib
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.fakes import HashedWords, Logging, Slow
from support.notes import LINES, find, paths

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

PRELUDE = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from support.fakes import HashedWords, Logging, Slow
from support.notes import CHUNKS, LINES, Notes, find, paths
notes = Notes(Path({folder!r}), create=False)
"""


@pytest.fixture
def start(notes):
    """Start processes that know the notes; whatever is left of them is killed in the end."""
    if notes.engine != "sqlite":
        pytest.skip("SQLite's own: other processes share the index")
    started = []

    def start(code, *arguments):
        prelude = PRELUDE.format(
            tests=str(Path(__file__).parents[1]), folder=str(notes.root.parent)
        )
        command = [sys.executable, "-c", prelude + textwrap.dedent(code), *map(str, arguments)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def finish(process):
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    return output


def fresh_rows(notes, embedder, settings=LINES):
    index = notes.index_at("fresh")
    with notes.open(embedder, settings, index) as memory:
        memory.index()
    return notes.rows(index)


@pytest.mark.slow
@pytest.mark.processes
def test_processes_and_threads_that_index_append_and_search_lose_and_double_nothing(notes, start):
    for number in range(60):
        notes.write(f"memory/{number}.md", f"- note {number} on the printer\n" * 20)
    code = """
        with notes.open(HashedWords(), LINES) as memory:
            for number in range(12):
                path = memory.append(f"- process {sys.argv[1]} says heron{sys.argv[1]}x{number}")
                hits = find(memory, f"heron{sys.argv[1]}x{number}")
                assert any(f"heron{sys.argv[1]}x{number}" in hit.snippet for hit in hits), hits
                if number % 4 == 0:
                    memory.index()
        """
    processes = [start(code, process) for process in range(2)]

    def work(thread):
        for number in range(6):
            memory.append(f"- thread {thread} note {number}")
            if (thread + number) % 3 == 0:
                memory.index(force=number == 4)
            assert find(memory, "printer")

    with notes.open(HashedWords(), LINES) as memory:
        with ThreadPoolExecutor(10) as pool:
            list(pool.map(work, range(10)))
        for process in processes:
            finish(process)
        memory.index()
        assert memory.status().stale == ()
        rows = notes.rows()
    log = (notes.root / "memory" / "2026-11-20.md").read_text()
    assert sum(log.count(f"heron{process}x{n}\n") for process in range(2) for n in range(12)) == 24
    assert sum(log.count(f"- thread {thread} note") for thread in range(10)) == 60
    assert rows == fresh_rows(notes, HashedWords())


@pytest.mark.slow
@pytest.mark.processes
def test_a_note_is_found_by_the_next_search_in_another_process(notes, start):
    code = """
        with notes.open(HashedWords(), LINES) as memory:
            find(memory, "printer")
            print("ready", flush=True)
            for line in sys.stdin:
                print(line.strip() in "".join(h.snippet for h in find(memory, line)), flush=True)
        """
    process = start(code)
    searcher = subprocess.Popen(
        process.args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert searcher.stdout.readline() == "ready\n"
    with notes.open(None, LINES) as memory:
        for word in ("kingfisher", "heron", "bittern"):
            path = memory.append(f"- Saw a {word}.")
            assert paths(find(memory, word))[:1] == [path]
            searcher.stdin.write(f"{word}\n")
            searcher.stdin.flush()
            assert searcher.stdout.readline() == "True\n"
    searcher.communicate()


@pytest.mark.slow
@pytest.mark.processes
def test_a_note_is_found_when_nothing_was_indexed_before(notes, start):
    with notes.open(None, LINES) as memory:
        path = memory.append("- Saw a heron.")
    code = """
        with notes.open(HashedWords(), LINES) as memory:
            print(paths(find(memory, "heron"))[0])
        """
    assert finish(start(code)) == f"{path}\n"


def test_a_note_that_is_appended_during_a_rebuild_is_found_before_and_after(notes):
    for number in range(20):
        notes.write(f"memory/{number}.md", f"- note {number}\n" * 200)
    with notes.open(HashedWords(), LINES) as memory:
        memory.index()
    with notes.open(Slow(0.05), LINES) as memory:
        running = threading.Thread(target=memory.index, kwargs={"force": True})
        running.start()
        number = 0
        while running.is_alive() or number < 3:
            memory.append(f"- Saw bird{number}.")
            assert paths(find(memory, f"bird{number}"))[:1] == ["memory/2026-11-20.md"]
            number += 1
        running.join()
        for seen in range(number):
            hit = find(memory, f"bird{seen}")[0]
            assert f"bird{seen}" in hit.snippet
        memory.index()
    assert notes.rows() == fresh_rows(notes, HashedWords())


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.processes
def test_searches_go_on_while_another_process_rebuilds(notes, start):
    for number in range(200):
        notes.write(f"memory/{number}.md", f"- note {number} on the printer\n" * 30)
    with notes.open(HashedWords(), LINES) as memory:
        memory.index()
        code = """
            for model in range(3):
                embedder = HashedWords(48, model_id=f"model {model}")
                with notes.open(embedder, LINES) as memory:
                    assert memory.index().updated == 202
            with notes.open(HashedWords(), LINES) as memory:
                assert memory.index(force=True).updated == 202
            """
        process = start(code)
        searches = 0
        while process.poll() is None:
            assert "memory/42.md" in paths(find(memory, "printer 42"))
            searches += 1
        assert finish(process) == ""
        assert searches > 20
        assert memory.search("printer").mode == "hybrid"


def test_the_first_searches_of_many_threads_index_once(notes):
    embedder = HashedWords()
    with notes.open(embedder, LINES) as memory, ThreadPoolExecutor(10) as pool:
        found = list(pool.map(lambda _: paths(find(memory, "Gutenberg"))[0], range(10)))
    assert found == ["MEMORY.md"] * 10
    assert len(embedder.texts) == len(set(embedder.texts))


@pytest.mark.slow
@pytest.mark.processes
def test_a_run_waits_for_one_of_another_process(notes, start):
    code = """
        with notes.open(Slow(0.5), LINES) as memory:
            memory.index(progress=lambda *_: print("running", flush=True))
        """
    notes.write("memory/long.md", "".join(f"- line {number} of many\n" for number in range(2000)))
    process = start(code)
    embedder = HashedWords()
    while not notes.index.with_name("index.sqlite.lock").exists():
        time.sleep(0.01)
    time.sleep(0.1)
    with notes.open(embedder, LINES) as memory:
        report = memory.index()
    finish(process)
    assert report.failed == ()
    assert notes.rows() == fresh_rows(notes, HashedWords())


def lines_with_vectors(index):
    """The numbered lines of chunks whose vectors are written, as they are embedded."""
    if not index.exists():
        return set()
    with contextlib.closing(sqlite3.connect(index)) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
        found = (
            "SELECT text FROM chunk_texts JOIN vectors USING (seq)" if "vectors" in tables else ""
        )
        texts = [text for (text,) in db.execute(found)] if found else []
    return {line for text in texts for line in re.findall(r"^- (\d+ \d+)$", text, re.MULTILINE)}


@pytest.mark.slow
@pytest.mark.processes
@posix
@pytest.mark.parametrize(
    "force",
    [pytest.param(False, id="first"), pytest.param(True, id="forced", marks=pytest.mark.full)],
)
def test_after_a_kill_at_any_moment_only_what_is_missing_is_embedded(notes, start, tmp_path, force):
    for number in range(400):  # more chunks than are embedded and written together
        notes.write(f"memory/{number}.md", "".join(f"- {number} {n}\n" for n in range(12)))
    log = tmp_path / "embedded"
    log.touch()
    if force:
        with notes.open(Logging(log), LINES) as memory:
            memory.index()
    code = """
        print("started", flush=True)
        with notes.open(Logging(sys.argv[1], delay_s=0.05), LINES) as memory:
            memory.index(force=bool(sys.argv[2]))
        """
    chance = random.Random(1)
    for _ in range(3):
        kept, before = lines_with_vectors(notes.index), len(log.read_text())
        process = start(code, log, "x" if force else "")
        process.stdout.readline()
        time.sleep(chance.uniform(0.3, 5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert kept.isdisjoint(log.read_text()[before:].splitlines())
    kept, before = lines_with_vectors(notes.index), len(log.read_text())
    with notes.open(Logging(log), LINES) as memory:
        assert find(memory, "Gutenberg")
        assert memory.index().failed == ()
    texts = log.read_text().splitlines()
    assert kept.isdisjoint(log.read_text()[before:].splitlines())
    assert kept
    assert len(set(texts)) >= 400 * 12
    assert notes.rows() == fresh_rows(notes, HashedWords())


@pytest.mark.slow
@pytest.mark.processes
@posix
def test_a_kill_while_appending_leaves_files_and_index_whole(notes, start):
    code = """
        import itertools, os
        with notes.open(HashedWords(), LINES) as memory:
            memory.index()
            print("ready", flush=True)
            for number in itertools.count():
                memory.append(f"- {os.getpid()} {number} heron")
                if number % 5 == 4:
                    memory.index()
        """
    chance = random.Random(2)
    for _ in range(3):
        processes = [start(code) for _ in range(2)]
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0.05, 0.4))
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.communicate()
    with notes.open(HashedWords(), LINES) as memory:
        memory.append("- the last kingfisher")
        # Anywhere: a number of a process may hash to the same vector, and stands in many lines.
        assert any("the last kingfisher" in hit.snippet for hit in find(memory, "kingfisher"))
        memory.index()
    lines = (notes.root / "memory" / "2026-11-20.md").read_text().splitlines()
    assert len(lines) == len(set(lines)) + lines.count("") - 1
    assert all(line.endswith(" heron") for line in lines if line[:3].strip("- ").isdigit())
    assert notes.rows() == fresh_rows(notes, HashedWords())


def test_closing_while_others_work_raises_nothing_but_errors_of_ours(notes):
    with notes.open(HashedWords(), LINES) as memory:
        memory.index()
        problems = []

        def work():
            try:
                while True:
                    find(memory, "printer")
            except Exception as error:  # noqa: BLE001 - which one is what is tested
                problems.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.2)
    for thread in threads:
        thread.join(timeout=30)
    assert len(problems) == 4
    assert {type(problem).__module__ for problem in problems} == {"commonplace.errors"}
    assert all("closed" in str(problem) for problem in problems)


def test_indexing_closed_memories_again_leaves_no_open_files(notes):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("counts open files through /proc")
    with notes.open(HashedWords(), LINES) as memory:
        memory.index()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with notes.open(HashedWords(), LINES) as memory, contextlib.suppress(ValueError):
            memory.index(force=True)
            memory.append("- a note")
            find(memory, "printer")
            memory.append("")
    assert len(os.listdir("/proc/self/fd")) <= before
