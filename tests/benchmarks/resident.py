"""A fresh process that searches and prints the bytes it came to hold.

``resident.py FOLDER [INDEX]``
"""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

import apsw  # noqa: F401 - part of the empty process
import numpy as np


def resident_bytes() -> int:
    """Return what of this process is in memory."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except FileNotFoundError:  # no Linux: the most it ever was
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main(folder: Path, index: str | None = None) -> None:
    """Search for all questions of a folder, by default in the index file there."""
    a = np.ones((8, 8), dtype=np.float32)
    assert (a @ a).any()  # wakes the threads that multiply matrices
    before = resident_bytes()
    from corpus import CheapEmbedder

    from commonplace import Memory

    questions = pickle.loads((folder / "questions.pickle").read_bytes())
    embedder = CheapEmbedder(questions)
    where = index or folder / "index.sqlite"
    with Memory.open(folder, embedder=embedder, index=where) as memory:
        for question in questions:
            memory.search(question.text)
        print(resident_bytes() - before)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
