"""What a sketch of the vectors misses, and what it saves: ``python tests/benchmarks/nearest.py``.

The notes are docstrings of the Python that runs this, or of folders that are named; the questions
are first sentences of others. Each is looked up among all chunks twice: with all vectors compared,
and with those that the sketch chooses, as a search does it; with ``--index
'postgresql://...&resident_mb=0'`` those that an HNSW index finds.
"""

from __future__ import annotations

import argparse
import random
import re
import sysconfig
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import numpy as np
from timing import milliseconds

from commonplace import Memory
from commonplace.embeddings.providers.bundled import BundledEmbedder
from commonplace.store.records import RowFilter
from commonplace.store.resident_vectors import _SKETCHED_FROM

_QUESTIONS = 400
_CANDIDATES = 24
"""What a search for six results takes from its list of vectors."""
_SECTION_CHARS = 1_400
_FILE_SECTIONS = 50
ALL = RowFilter()
Hits = list[tuple[int, float]]
_DOCSTRING = re.compile(r'"""(.{80,1500}?)"""', re.DOTALL)


def main() -> None:
    """Print the shares that were found, and the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="with Python files")
    parser.add_argument("--chunks", type=int, default=10_000, help="about so many")
    parser.add_argument("--index", help="URL of an index to be made; by default a SQLite file")
    options = parser.parse_args()
    paths = sysconfig.get_paths()
    folders = options.folders or [Path(paths["stdlib"]), Path(paths["purelib"])]
    texts = docstrings(folders)
    asked = [text.split(". ")[0] for text in texts[:_QUESTIONS]]
    with tempfile.TemporaryDirectory(prefix="commonplace-nearest-") as folder:
        write(Path(folder), texts[_QUESTIONS:], sections=options.chunks)
        index = options.index or Path(folder) / "index.sqlite"
        with Memory.open(folder, embedder="bundled", index=index) as memory:
            memory.index()
            print(f"{memory.status().chunks:,} chunks, {len(asked)} questions")
            print(f"vectors: {memory.status().vector_engine}")
            if 4 * BundledEmbedder.dimension * memory.status().chunks < _SKETCHED_FROM:
                parser.exit(1, "So few are all compared; ask for more --chunks.\n")
            compare(memory, asked)


def docstrings(folders: Iterable[Path]) -> list[str]:
    """Return the docstrings of all Python files, each once, in an order that is always the same."""
    found: dict[str, None] = {}
    for file in sorted(path for folder in folders for path in folder.rglob("*.py")):
        source = file.read_text(encoding="utf-8", errors="replace")
        found |= dict.fromkeys(" ".join(text.split()) for text in _DOCSTRING.findall(source))
    texts = list(found)
    random.Random(0).shuffle(texts)
    return texts


def write(folder: Path, texts: list[str], *, sections: int) -> None:
    """Write sections of about the size of a chunk."""
    (folder / "memory").mkdir()
    made: list[list[str]] = [[]]
    for text in texts:
        if sum(map(len, made[-1])) >= _SECTION_CHARS:
            if len(made) == sections:
                break
            made.append([])
        made[-1].append(text)
    for first in range(0, len(made), _FILE_SECTIONS):
        parts = ["\n".join(f"- {text}" for text in some) for some in made[first:][:_FILE_SECTIONS]]
        lines = "".join(f"## {first + at}\n{part}\n\n" for at, part in enumerate(parts))
        (folder / "memory" / f"{first}.md").write_text(lines, encoding="utf-8")


def compare(memory: Memory, questions: list[str]) -> None:
    """Look up each question both ways."""
    embedder = BundledEmbedder()
    vectors = [embedder.embed_query(question) for question in questions]
    missed: list[tuple[float, float]] = []
    taken: list[tuple[float, float]] = []
    with memory.snapshot() as snapshot:
        mean = snapshot.mean_line()
        assert mean is not None
        snapshot.nearest(vectors[0], 1, ALL)  # the first scans the file
        for vector in vectors:
            (every, first), (chosen, second) = (
                _timed(partial(snapshot.nearest, vector - mean, _CANDIDATES, ALL, exact=exact))
                for exact in (True, False)
            )
            taken.append((first, second))
            found = {seq for seq, _ in chosen}
            right = [seq in found for seq, _ in every]
            missed.append((1 - np.mean(right[:6]), 1 - np.mean(right)))
    exact, sketched = np.median(taken, axis=0)
    print(f"all compared {exact:.2f} ms, some of them {sketched:.2f} ms")
    first, every = np.mean(missed, axis=0)
    print(f"missed of the nearest 6: {first:.2%}, of the nearest {_CANDIDATES}: {every:.2%}")


def _timed(look_up: Callable[[], Hits]) -> tuple[Hits, float]:
    hits: Hits = []
    return hits, milliseconds(lambda: hits.extend(look_up()))


if __name__ == "__main__":
    main()
