"""Let four processes work in one workspace and kill them: ``python tests/benchmarks/soak.py``.

Each appends, writes, edits, renames, deletes and searches, by chance, with a memory of its own; one
of them watches the files. Every quarter of a minute one is killed with SIGKILL and another begins.
In the end the index has to equal a fresh one, row for row, and every note that `append` took has
to be there. With ``--clock``, the clock of each process jumps by hours, back and forth, and so do
times of files. Nothing is written but a temporary folder.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from corpus import line_vectors

from commonplace import Memory, Settings
from commonplace.errors import CommonplaceError
from support.notes import Notes

PROCESSES = 4
FILES = 300
KILL_EVERY_S = 15.0
PROMISED_P99_MS = 200.0
_WORDS = [f"{first}{second}" for first in ("red", "sea", "oak", "ice") for second in "abcdefghij"]
_FIRST_DAY = date(2026, 1, 1)


class Embedder:
    """Vectors by the hash of the text; they cost nothing."""

    model_id = "soak"
    is_local = True

    def embed_documents(self, texts: list[str]) -> np.ndarray:
        return line_vectors(texts)

    def embed_query(self, text: str) -> np.ndarray:
        return line_vectors([text])[0]


def main() -> None:
    """Run all of it and print the table; the exit status says whether all promises were kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clock", action="store_true", help="set clocks back and forth")
    parser.add_argument("--worker", nargs=2, metavar=("FOLDER", "NUMBER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        folder, number = options.worker
        Worker(Path(folder), int(number), clock=Clock() if options.clock else None).work()
        return
    with tempfile.TemporaryDirectory(prefix="commonplace-soak-") as folder:
        chance, extra = random.Random(options.seed), ["--clock"] * options.clock
        rows = soak(Path(folder), seconds=60 * options.minutes, chance=chance, extra=extra)
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    width = max(len(row.name) for row in rows)
    for row in rows:
        print(f"{row.name:{width}}  {row.figure:>12}  {row.promise}")
    sys.exit(0 if all(row.kept for row in rows) else 1)


@dataclass(frozen=True)
class Row:
    """A line of the table: what, how much, and what was promised."""

    name: str
    figure: str
    promise: str = ""
    kept: bool = True


# -- one process ---------------------------------------------------------------------------------

_now_s = time.time


class Clock:
    """Clock of a process, and of its memories, that is set back and forth."""

    def __init__(self) -> None:
        self.ahead_s = 0
        time.time = lambda: _now_s() + self.ahead_s
        real_ns = time.time_ns
        time.time_ns = lambda: real_ns() + self.ahead_s * 10**9

    def now(self) -> datetime:
        """Return the time as this clock has it."""
        return datetime.fromtimestamp(time.time(), UTC)


class Worker:
    """Does by chance what agents, editors and people do."""

    def __init__(self, folder: Path, number: int, *, clock: Clock | None) -> None:
        self.clock = clock
        self.notes = folder / "notes"
        self.index = folder / "index.sqlite"
        self.number = number
        self.chance = random.Random(number)
        self.counter = itertools.count()
        self.log = os.open(folder / f"log-{number}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.told: set[str] = set()
        self.is_ended = False

    def work(self) -> None:
        """Go on until the process is told to end, with a new memory now and then."""
        signal.signal(signal.SIGTERM, self._end)
        while not self.is_ended:
            with self._open() as memory:
                self._first_search(memory)
                for _ in range(self.chance.randint(200, 600)):
                    if self.is_ended:
                        break
                    self._act(memory)

    def _end(self, *_: object) -> None:
        # An exception would be lost where the signal falls into a finalizer.
        self.is_ended = True

    def _open(self) -> Memory:
        sync = {"watch": self.number % PROCESSES == 0}
        return Memory.open(
            self.notes,
            settings=Settings.from_mapping({"sync": sync}),
            embedder=Embedder(),
            index=self.index,
            now=self.clock and self.clock.now,
        )

    def _act(self, memory: Memory) -> None:
        acts = {self._search: 50, self._append: 25, self._write: 12, self._rename: 4}
        acts |= {self._delete: 4, self._index: 3, self._status: 1, self._rest: 10}
        if self.clock:
            acts |= {self._set_clock: 15, self._set_times: 10}
        (act,) = self.chance.choices(list(acts), weights=list(acts.values()))
        try:
            act(memory)
        except CommonplaceError as error:
            self._note("error", f"{act.__name__}: {type(error).__name__}: {error}")

    def _first_search(self, memory: Memory) -> None:
        started = time.perf_counter()
        memory.search("first")
        self._note("first", 1000 * (time.perf_counter() - started))

    def _search(self, memory: Memory) -> None:
        query = " ".join(self.chance.choices(_WORDS, k=3))
        started = time.perf_counter()
        found = memory.search(query)
        self._note("search", 1000 * (time.perf_counter() - started))
        for warning in set(found.warnings) - self.told:
            self.told.add(warning)
            self._note("warning", warning)

    def _append(self, memory: Memory) -> None:
        name = f"note{self.number}x{next(self.counter)}"
        when = _FIRST_DAY + timedelta(days=self.chance.randrange(60))
        started = time.perf_counter()
        path = memory.append(f"- {name} {' '.join(self.chance.choices(_WORDS, k=6))}", when=when)
        self._note("appended", [name, path])
        self._note("append", 1000 * (time.perf_counter() - started))
        if self.chance.random() < 0.2:
            # Vectors by chance place some other lines before it: the answer is a long one.
            found = memory.search(name, min_score=0, max_chars=20_000)
            if not any(name in hit.snippet for hit in found):
                self._note("unfound", name)

    def _write(self, _memory: Memory) -> None:
        path = self.notes / "memory" / "files" / f"{self.chance.randrange(FILES)}.md"
        text = _text(self.chance)
        path.parent.mkdir(exist_ok=True)
        if self.chance.random() < 0.5:
            with path.open("w", encoding="utf-8") as file:
                for part in text.splitlines(keepends=True):
                    file.write(part)
                    file.flush()
        else:
            fresh = path.with_name(f".{path.name}.{self.number}~")
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(path)
        self._note("wrote", path.name)

    def _rename(self, _memory: Memory) -> None:
        files = self.notes / "memory" / "files"
        source, target = (files / f"{self.chance.randrange(FILES)}.md" for _ in range(2))
        with contextlib.suppress(FileNotFoundError):
            source.rename(target)
            self._note("renamed", source.name)

    def _delete(self, _memory: Memory) -> None:
        with contextlib.suppress(FileNotFoundError):
            (self.notes / "memory" / "files" / f"{self.chance.randrange(FILES)}.md").unlink()
            self._note("deleted", "")

    def _set_clock(self, _memory: Memory) -> None:
        assert self.clock
        self.clock.ahead_s = self.chance.choice([0, 1, -1, 7_200, -7_200, 172_800, -172_800])
        self._note("clock", self.clock.ahead_s)

    def _set_times(self, _memory: Memory) -> None:
        """Set a file's times to some of before or to come, as copies and archives do."""
        path = self.notes / "memory" / "files" / f"{self.chance.randrange(FILES)}.md"
        at = _now_s() + self.chance.choice([-86_400, -7_200, -2, 0, 3_600])
        with contextlib.suppress(FileNotFoundError):
            os.utime(path, (at, at))
            self._note("times", path.name)

    def _index(self, memory: Memory) -> None:
        report = memory.index(force=self.chance.random() < 0.02)
        self._note("index", 1000 * report.seconds)

    def _status(self, memory: Memory) -> None:
        memory.status()
        self._note("status", "")

    def _rest(self, _memory: Memory) -> None:
        time.sleep(self.chance.uniform(0.0, 0.3))

    def _note(self, kind: str, value: object) -> None:
        """Take a line down; in one write, that a kill cannot cut."""
        os.write(self.log, f"{json.dumps([kind, _now_s(), value])}\n".encode())


def _text(chance: random.Random) -> str:
    lines = (" ".join(chance.choices(_WORDS, k=12)) for _ in range(chance.randint(5, 60)))
    return "".join(f"- {line}\n" for line in lines)


# -- all of them ---------------------------------------------------------------------------------


@dataclass
class Crew:
    """The processes that are at work."""

    folder: Path
    extra: Sequence[str] = ()
    """Options of the processes."""
    numbers: itertools.count = field(default_factory=lambda: itertools.count(PROCESSES))
    processes: dict[int, subprocess.Popen] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)
    kills: list[float] = field(default_factory=list)
    pauses: list[tuple[float, float]] = field(default_factory=list)
    """When, and for how many milliseconds too long, a sleeping process was left waiting."""

    def start(self, number: int) -> None:
        """Start a process."""
        errors = (self.folder / f"errors-{number}").open("wb")
        command = [sys.executable, __file__, "--worker", str(self.folder), str(number), *self.extra]
        self.processes[number] = subprocess.Popen(command, stderr=errors)
        errors.close()

    def kill_one(self, chance: random.Random) -> None:
        """Kill a process, and start another in its place."""
        number = chance.choice(sorted(self.processes))
        self.processes[number].kill()
        self.processes.pop(number).wait()
        self.kills.append(time.time())
        # The number says who watches: the place stays the same.
        self.start(next(n for n in self.numbers if n % PROCESSES == number % PROCESSES))

    def rest(self) -> None:
        """Do nothing for a moment, and see how long the machine makes it."""
        started = time.monotonic()
        time.sleep(0.05)
        self.pauses.append((time.time(), 1000 * (time.monotonic() - started - 0.05)))

    def look(self) -> None:
        """See that all are alive; one that ended by itself is an error."""
        for number, process in list(self.processes.items()):
            if process.poll() is not None:
                self.complaints.append(f"process {number} ended with {process.returncode}")
                del self.processes[number]
                self.start(next(n for n in self.numbers if n % PROCESSES == number % PROCESSES))

    def stop(self) -> None:
        """End all of them."""
        for process in self.processes.values():
            process.terminate()
        for number, process in self.processes.items():
            try:
                status = process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                status = process.wait()
            if status != 0:
                self.complaints.append(f"process {number} ended with {status}")


def soak(
    folder: Path, *, seconds: float, chance: random.Random, extra: Sequence[str] = ()
) -> list[Row]:
    """Let the processes work, then look at what is left."""
    files = folder / "notes" / "memory" / "files"
    files.mkdir(parents=True)
    for number in range(FILES):
        (files / f"{number}.md").write_text(_text(chance), encoding="utf-8")
    crew = Crew(folder, extra)
    for number in range(PROCESSES):
        crew.start(number)
    until, next_kill = time.monotonic() + seconds, time.monotonic() + KILL_EVERY_S
    while time.monotonic() < until:
        crew.rest()
        crew.look()
        if time.monotonic() >= next_kill:
            next_kill += chance.uniform(0.5, 1.5) * KILL_EVERY_S
            crew.kill_one(chance)
    crew.stop()
    return [*of_the_logs(folder, crew), *of_the_index(folder)]


def of_the_logs(folder: Path, crew: Crew) -> list[Row]:
    """Count what was done, and what went wrong."""
    events = [
        json.loads(line)
        for path in folder.glob("log-*")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    counts = Counter(kind for kind, _, _ in events)
    errors = [value for kind, _, value in events if kind in ("error", "warning")]
    errors += [
        line
        for path in folder.glob("errors-*")
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
    ]
    for text, count in Counter(errors + crew.complaints).most_common(20):
        print(f"{count} times: {text}", file=sys.stderr)
    locked = [text for text in errors if "locked" in text or "Busy" in text or "held" in text]
    searches = np.array([value for kind, _, value in events if kind == "search"])
    firsts = np.array([value for kind, _, value in events if kind == "first"])
    appends = np.array([value for kind, _, value in events if kind == "append"])
    worst, ended = max((value, when) for kind, when, value in events if kind == "search")
    beside = (ended - worst / 1000 - 1, ended + 1)
    p99 = float(np.percentile(searches, 99))
    names = ("append", "wrote", "renamed", "deleted", "index", "status", "clock", "times")
    return [
        *(Row(name, f"{counts[name]:,}") for name in names),
        Row("kills", str(len(crew.kills))),
        Row("searches", f"{len(searches):,}"),
        Row("search p50", f"{np.percentile(searches, 50):.1f} ms"),
        Row("search p99", f"{p99:.1f} ms", f"< {PROMISED_P99_MS:.0f} ms", p99 < PROMISED_P99_MS),
        Row("search, worst", f"{worst:.0f} ms", _beside(crew, events, *beside)),
        Row("first search of a memory, p50", f"{np.percentile(firsts, 50):.0f} ms"),
        Row("first search of a memory, worst", f"{firsts.max():.0f} ms"),
        Row("append p99", f"{np.percentile(appends, 99):.1f} ms"),
        Row("locked", str(len(locked)), "0", not locked),
        Row("other errors", str(len(errors) + len(crew.complaints) - len(locked)), "0", not errors),
        Row("notes not found at once", str(counts["unfound"]), "0", not counts["unfound"]),
        _lost_notes(folder, [value for kind, _, value in events if kind == "appended"]),
    ]


def _beside(crew: Crew, events: list[list], start: float, end: float) -> str:
    """Tell what happened about then."""
    runs = sum(kind == "index" and start <= when <= end for kind, when, _ in events)
    kills = sum(start <= when <= end for when in crew.kills)
    pause = max((late for when, late in crew.pauses if start <= when <= end), default=0.0)
    return f"beside {runs} index runs, {kills} kills, a pause of the machine of {pause:.0f} ms"


def _lost_notes(folder: Path, appended: list[list[str]]) -> Row:
    logs = {path for _, path in appended}
    lines = Counter(
        line.split()[1]
        for path in logs
        for line in (folder / "notes" / path).read_text(encoding="utf-8").splitlines()
        if line.startswith("- note")
    )
    lost = [name for name, _ in appended if lines[name] != 1]
    doubled = [name for name, count in lines.items() if count > 1]
    return Row("notes lost or doubled", str(len({*lost, *doubled})), "0", not lost and not doubled)


def of_the_index(folder: Path) -> list[Row]:
    """Hold the index against a fresh one."""
    fresh = folder / "fresh.sqlite"
    settings = Settings.from_mapping({"sync": {"on_open": False, "on_search": False}})
    for index in (folder / "index.sqlite", fresh):
        with Memory.open(
            folder / "notes", settings=settings, embedder=Embedder(), index=index
        ) as memory:
            memory.index()
            status = memory.status(deep=True)
    notes = Notes(folder, create=False)
    chunks, files = notes.rows()
    fresh_chunks, fresh_files = notes.rows(fresh)
    differing = len(set(chunks) ^ set(fresh_chunks))
    differing += sum(files.get(path) != fresh_files.get(path) for path in {*files, *fresh_files})
    failed = [told for told in status.details.values() if told.startswith("failed")]
    return [
        Row("files and chunks in the end", f"{len(files):,} {len(chunks):,}"),
        Row("rows that differ from a fresh index", str(differing), "0", differing == 0),
        Row("parts of the index that failed", str(len(failed)), "0", not failed),
    ]


if __name__ == "__main__":
    main()
