"""Measure changes of notes and their history, and print the figures.

::

    python tests/benchmarks/notes.py [--quick]

Times are medians; ratios are of runs that alternate, because machines are noisy. Durable writes
(fsync) are counted and timed apart: what they cost is the disk's.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import commonplace.workspace.notes
from commonplace.history.database import HistoryFile
from commonplace.history.versions import VersionLog
from commonplace.memory import Memory
from commonplace.settings import HistorySettings, Settings, SyncSettings

SYNC = SyncSettings(on_open=False, on_search=False)
ROOT = Path(__file__).parents[2]
WORDS = Path(__file__).read_text("utf-8").split()
NAMES = ["Ada", "Ben", "Carla", "Dmitri", "Elif", "Farid", "Grete", "Hiro", "Ines", "Jonas", "Kofi"]


def opened(folder: Path, *, history: bool = True, now=None) -> Memory:
    settings = Settings(sync=SYNC, history=HistorySettings(enabled=history))
    return Memory.open(
        folder / "notes",
        settings=settings,
        embedder="bundled",
        index=folder / f"state-{history}" / "index.sqlite",
        now=now,
    )


def write(folder: Path, path: str, text: str) -> None:
    place = folder / "notes" / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def sentence(draw: random.Random) -> str:
    return " ".join(draw.choices(WORDS, k=9))


def note(draw: random.Random, lines: int = 30) -> str:
    return "# Note\n\n" + "".join(f"- {sentence(draw)}\n" for _ in range(lines))


@contextmanager
def durable_writes() -> Iterator[list[float]]:
    """Yield the times of the fsync calls of a block; SQLite's own are not among them."""
    times: list[float] = []
    sync = os.fsync

    def timed(descriptor: int) -> None:
        started = time.perf_counter()
        sync(descriptor)
        times.append(time.perf_counter() - started)

    os.fsync = timed
    try:
        yield times
    finally:
        os.fsync = sync


def milliseconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - started)


def edits(folder: Path, *, lines: int, count: int) -> None:
    draw = random.Random(1)
    write(folder, "memory/log.md", "".join(f"- {n} {sentence(draw)}\n" for n in range(lines)))
    with opened(folder) as memory:
        memory.index()

        def edited(first: int, new: str) -> tuple[float, float, int]:
            """Return the medians of edits, and of their durable writes, and how many these are."""
            times, synced = [], []
            for line in range(first, first + count):
                with durable_writes() as durable:
                    old, text = f"\n- {line} ", new.format(line)
                    times.append(milliseconds(lambda: memory.edit("memory/log.md", old, text)))  # noqa: B023
                synced.append(1000 * sum(durable))
            return statistics.median(times), statistics.median(synced), len(durable)

        edited(lines // 3, "\n- {} once ")
        places = {"beginning": 1, "middle": lines // 2, "end": lines - 2 * count}
        for what, new in (("edit of", "\n- {} then "), ("new line above", "\n- new\n- {} now ")):
            for place, first in places.items():
                took, synced, calls = edited(first + (count if "new" in what else 0), new)
                print(
                    f"{what} a line at the {place} of {lines:,}: {took:.1f} ms, of which {calls} "
                    f"fsync of file and folder take {synced:.1f} ms (20 ms wanted)"
                )
        memory._notes._index_files = lambda paths: None
        took, _, _ = edited(2 * lines // 3, "\n- {} - ")
        print(f"    without the index: {took:.1f} ms")


@contextmanager
def times_locked() -> Iterator[list[float]]:
    """Yield how long the appends of a block hold the lock of their file, in milliseconds."""
    times: list[float] = []
    lock = commonplace.workspace.notes.lock_descriptor

    @contextmanager
    def timed(descriptor: int) -> Iterator[None]:
        with lock(descriptor):
            started = time.perf_counter()
            yield
            times.append(1000 * (time.perf_counter() - started))

    commonplace.workspace.notes.lock_descriptor = timed
    try:
        yield times
    finally:
        commonplace.workspace.notes.lock_descriptor = lock


def appends(folder: Path, *, size: int, count: int) -> None:
    draw = random.Random(1)
    text = "".join(f"- {n} {sentence(draw)}\n" for n in range(size // 80))
    write(folder, "memory/log.md", text)
    place = folder / "notes" / "memory" / "log.md"
    with opened(folder) as memory:
        memory.index()
        for items in (1, 1_000):
            times = []
            with times_locked() as locked:
                for number in range(count):
                    note = "\n".join(f"- {number} of {n}: {sentence(draw)}" for n in range(items))
                    times.append(
                        milliseconds(lambda: memory.append(note, path="memory/log.md"))  # noqa: B023
                    )
            print(
                f"append of {items:,} items onto {place.stat().st_size / 1e6:.1f} MB: "
                f"{statistics.median(times):.0f} ms; the log is locked for at most "
                f"{max(locked):.0f} ms"
            )


def index_runs(folder: Path, *, files: int, rounds: int) -> None:
    ratios = []
    for number in range(rounds):
        draw = random.Random(number)
        own = folder / f"round-{number}"
        for n in range(files):
            write(own, f"memory/n{n}.md", note(draw))
        seconds = {}
        for history in (number % 2 == 0, number % 2 != 0):
            with opened(own, history=history) as memory:
                seconds[history] = milliseconds(memory.index)
        ratios.append(seconds[True] / seconds[False])
    print(
        f"first index run of {files} notes, with history by without: "
        f"{statistics.median(ratios):.2f} (1.15 wanted; {min(ratios):.2f} to {max(ratios):.2f})"
    )


def vocabulary() -> list[str]:
    """Return the words of the documentation and of the code, each once: some ten thousand."""
    words: set[str] = set()
    for pattern in ("docs/**/*.md", "src/**/*.py", "tests/**/*.py", "*.md"):
        for file in ROOT.glob(pattern):
            words.update(re.findall(r"[^\W\d_]{2,}", file.read_text("utf-8")))
    return sorted(words)


def edited(draw: random.Random, lines: list[str], line: Callable[[], str], kind: str) -> None:
    """Edit a note as people do: a word changed, a line written anew, or one added."""
    kind = draw.choice(("word", "line", "added")) if kind == "each" else kind
    at = draw.randrange(2, len(lines) - 1)
    if kind == "added":
        lines.insert(draw.choice((at, len(lines) - 1, len(lines) - 1)), line())
    elif kind == "line":
        lines[at] = line()
    else:
        words = lines[at].split(" ")
        words[draw.randrange(1, len(words))] = line().split(" ")[1]
        lines[at] = " ".join(words)


def a_year(folder: Path, *, notes: int, days: int, kind: str) -> None:
    """Measure the history of daily edits; any of ten thousand words is as likely as another."""
    draw = random.Random(1)
    known = vocabulary()

    def word() -> str:
        kind = draw.random()
        return (
            str(draw.randrange(10**5))
            if kind < 0.1
            else draw.choice(NAMES if kind < 0.2 else known)
        )

    def line() -> str:
        return "- " + " ".join(word() for _ in range(draw.randint(6, 14)))

    file = folder / f"year-{kind}.sqlite"
    log = VersionLog(HistoryFile(file))
    texts = [["# Note", "", *(line() for _ in range(30)), ""] for _ in range(notes)]
    at = datetime(2026, 1, 1, tzinfo=UTC)
    for day in range(days):
        with log.file.transaction(durable=False) as connection:
            for number, lines in enumerate(texts):
                edited(draw, lines, line, kind)
                data = "\n".join(lines).encode()
                when = at + timedelta(days=day)
                log.add(connection, f"memory/n{number}.md", data, change="changed", at=when)
    with log.file.transaction() as connection:
        size = connection.execute("SELECT sum(length(body)) FROM version").get
    with log.file.kept_open():
        log.file.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    total = file.stat().st_size
    print(
        f"history of {days} days of edits of {notes} notes ({kind}): {total / 2**20:.1f} MiB, of "
        f"which texts {size / 2**20:.1f} MiB (10 MiB wanted for 365 days of 100 notes)"
    )


def searches_as_of(folder: Path, *, files: int, changed: int) -> None:
    draw = random.Random(1)
    clock = [datetime(2026, 11, 1, tzinfo=UTC)]
    for n in range(files):
        write(folder, f"memory/n{n}.md", note(draw, 12))
    with opened(folder, now=lambda: clock[0]) as memory:
        memory.index()
        clock[0] += timedelta(days=5)
        for n in range(changed):
            write(folder, f"memory/n{n}.md", note(draw, 12))
        memory.index()
        queries = [sentence(draw) for _ in range(20)]
        first = milliseconds(lambda: memory.search(queries[0], as_of="2026-11-02"))
        ratios = []
        for _ in range(3):
            for query in queries:
                now = milliseconds(lambda: memory.search(query))  # noqa: B023
                then = milliseconds(lambda: memory.search(query, as_of="2026-11-02"))  # noqa: B023
                ratios.append(then / now)
        print(
            f"search as of a time, {changed} of {files} files changed since, by a search now: "
            f"{statistics.median(ratios):.1f} (3 wanted); the first one takes {first / 1000:.1f} s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    part = 10 if parser.parse_args().quick else 1
    with tempfile.TemporaryDirectory() as folder:
        edits(Path(folder) / "edits", lines=10_000 // part, count=10)
        appends(Path(folder) / "appends", size=10_000_000 // part, count=3)
        index_runs(Path(folder) / "runs", files=1_000 // part, rounds=5)
        for kind in ("each", "line", "added"):
            a_year(Path(folder), notes=100, days=365 // part, kind=kind)
        searches_as_of(Path(folder) / "as-of", files=2_000 // part, changed=1_000 // part)


if __name__ == "__main__":
    main()
