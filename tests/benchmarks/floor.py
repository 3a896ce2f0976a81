"""The floor: what the bare parts take to do the same, with nothing of ours around them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import apsw
import numpy as np
import sqlite_vec
from corpus import DIMENSION, Question

_LIMIT = 200


def insert(path: Path, texts: list[str], vectors: np.ndarray, *, after: int = 0) -> float:
    """Insert into FTS5 and vec0, in one transaction; return the seconds.

    Args:
        path: The file; a new one, unless rows are there already.
        texts: The texts.
        vectors: Their vectors.
        after: Rows that are there already.
    """
    if not after:
        path.unlink(missing_ok=True)
    connection = apsw.Connection(str(path))
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "normal")
    connection.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, tokenize='porter unicode61')"
    )
    connection.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS vectors "
        f"USING vec0(id INTEGER PRIMARY KEY, v FLOAT[{DIMENSION}])"
    )
    started = time.perf_counter()
    with connection:
        connection.executemany(
            "INSERT INTO words (rowid, text) VALUES (?, ?)", enumerate(texts, after + 1)
        )
        connection.executemany(
            "INSERT INTO vectors VALUES (?, ?)",
            ((row, vector.tobytes()) for row, vector in enumerate(vectors, after + 1)),
        )
    seconds = time.perf_counter() - started
    connection.close()
    return seconds


class Search:
    """A matrix-vector product with a partial sort, and one FTS5 query for the rarest words."""

    def __init__(self, path: Path, vectors: np.ndarray) -> None:
        self._connection = apsw.Connection(str(path))
        self._vectors = vectors

    def __call__(self, question: Question) -> None:
        """Find 200 of each."""
        scores = self._vectors @ question.vector
        np.argpartition(-scores, _LIMIT)[:_LIMIT]
        self._connection.execute(
            f"SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT {_LIMIT}",
            (" OR ".join(f'"{word}"' for word in question.rarest),),
        ).fetchall()


def walk(folder: Path) -> int:
    """Ask for the size and the time of every file of a folder."""
    with os.scandir(folder) as entries:
        return sum(entry.stat().st_mtime_ns > 0 for entry in entries)
