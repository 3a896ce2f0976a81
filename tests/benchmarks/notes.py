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
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from commonplace.history.database import HistoryFile
from commonplace.history.versions import VersionLog
from commonplace.memory import Memory
from commonplace.settings import HistorySettings, Settings, SyncSettings

SYNC = SyncSettings(on_open=False, on_search=False)
WORDS = Path(__file__).read_text("utf-8").split()


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
        times, synced = [], []
        for number in range(count):
            line = lines // 2 + number
            with durable_writes() as durable:
                old, new = f"\n- {line} ", f"\n- {line} then "
                times.append(milliseconds(lambda: memory.edit("memory/log.md", old, new)))  # noqa: B023
            synced.append(1000 * sum(durable))
        files = statistics.median(times)
        print(
            f"edit of a line in {lines:,} lines: {files:.1f} ms, of which {len(durable)} fsync of "
            f"file and folder take {statistics.median(synced):.1f} ms (20 ms wanted)"
        )
        memory._notes._index_files = lambda paths: None
        times = [
            milliseconds(lambda: memory.edit("memory/log.md", f"\n- {n} ", f"\n- {n} - "))  # noqa: B023
            for n in range(1, count + 1)
        ]
        print(f"    without the index: {statistics.median(times):.1f} ms")


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


def a_year(folder: Path, *, notes: int, days: int) -> None:
    draw = random.Random(1)
    log = VersionLog(HistoryFile(folder / "year.sqlite"))
    texts = [note(draw).split("\n") for _ in range(notes)]
    at = datetime(2026, 1, 1, tzinfo=UTC)
    for day in range(days):
        with log.file.transaction(durable=False) as connection:
            for number, lines in enumerate(texts):
                lines[draw.randrange(2, len(lines) - 1)] = f"- {sentence(draw)}"
                data = "\n".join(lines).encode()
                when = at + timedelta(days=day)
                log.add(connection, f"memory/n{number}.md", data, change="changed", at=when)
    with log.file.transaction() as connection:
        size = connection.execute("SELECT sum(length(body)) FROM version").get
    with log.file.kept_open():
        log.file.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    total = (folder / "year.sqlite").stat().st_size
    print(
        f"history of {days} days of edits of {notes} notes: {total / 2**20:.1f} MiB, of which "
        f"texts {size / 2**20:.1f} MiB (10 MiB wanted for 365 days of 100 notes)"
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
        index_runs(Path(folder) / "runs", files=1_000 // part, rounds=5)
        a_year(Path(folder), notes=100, days=365 // part)
        searches_as_of(Path(folder) / "as-of", files=2_000 // part, changed=1_000 // part)


if __name__ == "__main__":
    main()
