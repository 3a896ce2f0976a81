"""Measure the core against its promises: ``python tests/benchmarks/core.py --quick``.

Each figure stands beside a floor that is measured in the same run, in turns: what numpy, FTS5 and
sqlite-vec take for the same work with nothing around them. Nothing is written but a temporary
folder.
"""

from __future__ import annotations

import argparse
import gc
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import floor
import numpy as np
from corpus import CheapEmbedder, Corpus, Question
from timing import Row, fastest_process, milliseconds, seconds, table

from commonplace import Memory

_QUESTIONS = 400
_TURN = 20
_WARM_UP = 40
_FILES = 10_000


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--quick", action="store_true", help="10,000 chunks only")
    parser.add_argument("--only", nargs="+", choices=sorted(PARTS), default=sorted(PARTS))
    options = parser.parse_args()
    sizes = [10_000] if options.quick else options.chunks
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="commonplace-bench-") as folder:
        for part in (name for name in PARTS if name in options.only):
            for row in PARTS[part](Path(folder), sizes):
                print(table([row]).splitlines()[1], file=sys.stderr)
                rows.append(row)
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print(table(rows))


# -- search and first index ----------------------------------------------------------------------


def of_chunks(folder: Path, sizes: list[int]) -> Iterator[Row]:
    """Index, search and memory."""
    for size in sizes:
        corpus = Corpus(size)
        workspace = corpus.write(folder / str(size))
        questions = corpus.questions(_QUESTIONS)
        gc.freeze()  # the corpus is no part of what is measured
        (workspace / "questions.pickle").write_bytes(pickle.dumps(questions))
        yield first_index(workspace, corpus, rounds=2 if size <= 10_000 else 1)
        yield from warm_search(workspace, corpus, questions)
        yield resident_memory(workspace, size)


def first_index(workspace: Path, corpus: Corpus, *, rounds: int) -> Row:
    """Index everything, without the embedder's time, in turns with bare inserts."""
    vectors = np.random.default_rng(2).standard_normal((len(corpus.texts), 384), dtype=np.float32)
    ours, bare = [], []
    for _ in range(rounds):
        for file in workspace.glob("index.sqlite*"):
            file.unlink()
        ours.append(_index_seconds(workspace, CheapEmbedder(), chunks=len(corpus.texts)))
        bare.append(floor.insert(workspace / "floor.sqlite", corpus.texts, vectors))
    speeds = (len(corpus.texts) / min(ours), len(corpus.texts) / min(bare))
    return Row(_label("first index", len(corpus.texts)), *speeds, "/s", 0.5, at_least=True)


def _index_seconds(workspace: Path, embedder: CheapEmbedder, *, chunks: int) -> float:
    with Memory.open(workspace, embedder=embedder, index=workspace / "index.sqlite") as memory:
        taken = seconds(memory.index)
        assert memory.status().chunks == chunks
    return taken - embedder.seconds


def warm_search(workspace: Path, corpus: Corpus, questions: list[Question]) -> Iterator[Row]:
    """Ask different questions, in turns with the floor."""
    index = workspace / "index.sqlite"
    bare = floor.Search(workspace / "floor.sqlite", _chunk_vectors(index))
    with Memory.open(workspace, embedder=CheapEmbedder(questions), index=index) as memory:
        ours, theirs = _in_turns(lambda asked: memory.search(asked.text), bare, questions)
    median = 3.0 if len(corpus.texts) <= 10_000 else 0.7 if len(corpus.texts) >= 100_000 else None
    for name, share, promised in (("p50", 50, median), ("p95", 95, None)):
        figures = (float(np.percentile(ours, share)), float(np.percentile(theirs, share)))
        yield Row(_label(f"warm search {name}", len(corpus.texts)), *figures, "ms", promised)


def _in_turns(
    ours: Callable[[Question], object],
    theirs: Callable[[Question], object],
    questions: list[Question],
) -> tuple[list[float], list[float]]:
    """Time two ways to answer, by turns of some questions each; the first of them warm up."""
    taken: tuple[list[float], list[float]] = ([], [])
    for at in range(0, len(questions), _TURN):
        for call, times in zip((ours, theirs), taken, strict=True):
            for question in questions[at : at + _TURN]:
                times.append(milliseconds(lambda call=call, asked=question: call(asked)))
    return taken[0][_WARM_UP:], taken[1][_WARM_UP:]


def _chunk_vectors(index: Path) -> np.ndarray:
    with apsw.Connection(str(index)) as connection:
        rows = connection.execute("SELECT embedding FROM vectors ORDER BY seq")
        return np.frombuffer(b"".join(row[0] for row in rows), dtype=np.float32).reshape(-1, 384)


def resident_memory(workspace: Path, size: int) -> Row:
    """Search in a fresh process and see what it came to hold."""
    script = Path(__file__).with_name("resident.py")
    run = subprocess.run(
        [sys.executable, str(script), str(workspace)], check=True, capture_output=True, text=True
    )
    mib = 2**20
    promised = 1.5 if size >= 100_000 else None
    return Row(_label("memory", size), int(run.stdout) / mib, size * 384 * 4 / mib, "MiB", promised)


# -- the bundled vectors -------------------------------------------------------------------------


def of_bundled(folder: Path, _sizes: list[int]) -> Iterator[Row]:
    """The bundled model against its own package, and a search from cold."""
    texts = Corpus(2_000).texts
    yield embedding_speed(texts)
    yield from cold_start(folder)


def embedding_speed(texts: list[str]) -> Row:
    """Embed chunks with the bundled embedder, in turns with WordLlama's own code."""
    import wordllama

    from commonplace.embeddings.providers.bundled import BundledEmbedder

    package = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=package, disable_download=True)
    embedder = BundledEmbedder()
    ours, theirs = [], []
    for _ in range(5):
        ours.append(seconds(lambda: embedder.embed_documents(texts)))
        theirs.append(seconds(lambda: model.embed(texts)))
    speeds = (len(texts) / min(ours), len(texts) / min(theirs))
    return Row("embedding, bundled", *speeds, "/s", 1.0, at_least=True)


def cold_start(folder: Path) -> Iterator[Row]:
    """Import, and search from the command line, as processes of their own."""
    nothing = fastest_process("-c", "pass", rounds=10)
    ours = fastest_process("-c", "import commonplace", rounds=10)
    yield Row("import commonplace", ours, nothing, "s", 0.15, absolute=True)
    corpus = Corpus(10_000)
    workspace = corpus.write(folder / "bundled")
    environment = {**os.environ, "COMMONPLACE_STATE_DIR": str(folder / "state")}
    command = ("-m", "commonplace", "-w", str(workspace))
    fastest_process(*command, "index", rounds=1, env=environment)
    question = corpus.questions(1)[0].text
    imports = fastest_process("-c", "import apsw, click, numpy, tokenizers", rounds=10)
    ours = fastest_process(*command, "search", question, rounds=10, env=environment)
    label = _label("commonplace search, cold", 10_000)
    yield Row(label, ours, imports, "s", 0.6, absolute=True)


# -- an unchanged folder -------------------------------------------------------------------------


def of_files(folder: Path, _sizes: list[int]) -> Iterator[Row]:
    """Index a folder of many files again."""
    workspace = folder / "files"
    notes = workspace / "memory"
    notes.mkdir(parents=True)
    for number in range(_FILES):
        path = notes / f"note-{number}.md"
        path.write_text(f"- note {number}\n", encoding="utf-8")
        os.utime(path, (1_700_000_000, 1_700_000_000))
    index = workspace / "index.sqlite"
    with Memory.open(workspace, embedder=CheapEmbedder(), index=index) as memory:
        memory.index()
        ours, bare = [], []
        for _ in range(7):
            ours.append(seconds(memory.index))
            bare.append(seconds(lambda: floor.walk(notes)))
        assert memory.index().unchanged == _FILES
    yield Row("unchanged folder, 10,000 files", min(ours), min(bare), "s", 0.5, absolute=True)


def _label(what: str, size: int) -> str:
    return f"{what}, {size:,} chunks"


PARTS = {"chunks": of_chunks, "files": of_files, "bundled": of_bundled}

if __name__ == "__main__":
    main()
