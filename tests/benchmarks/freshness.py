"""Measure how soon a saved file is found, and what watching costs: ``freshness.py --seconds 60``.

Nothing is written but a temporary folder.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from corpus import CheapEmbedder
from timing import Row, table

from commonplace import Memory, Settings

_SAVES = 20
_EDITS = {"written in place": False, "saved by renaming": True}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5_000)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the idle one watches")
    parser.add_argument("--idle", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.idle:
        print(_idle_share(options.idle, seconds=options.seconds))
        return
    with tempfile.TemporaryDirectory(prefix="commonplace-bench-") as folder:
        workspace = write(Path(folder) / "notes", options.files)
        rows = [
            *save_to_found(workspace, options.files),
            look(workspace, options.files),
            idle(workspace, options.files, seconds=options.seconds),
        ]
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print(table(rows))


def write(workspace: Path, files: int) -> Path:
    """Write notes that were there for long."""
    for number in range(files):
        path = workspace / "memory" / f"{number % 50}" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"- note {number}, line {n}\n" for n in range(10)), "utf-8")
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return workspace


def _open(workspace: Path, **sync: bool) -> Memory:
    off = {"on_open": False, "on_search": False}
    return Memory.open(
        workspace,
        settings=Settings.from_mapping({"sync": {**off, **sync}}),
        embedder=CheapEmbedder(),
        index=workspace.with_name("index.sqlite"),
    )


def save_to_found(workspace: Path, files: int) -> Iterator[Row]:
    """Save files at any moment, and search until they are found."""
    chance = random.Random(1)
    with _open(workspace) as memory:
        memory.index()
        with memory.watch():
            time.sleep(3.0)
            for name, renames in _EDITS.items():
                took = [_found_after(memory, chance, renames=renames) for _ in range(_SAVES)]
                label = f"{name}, {files:,} files: found after"
                yield Row(f"{label}, p50", float(np.median(took)), None, "s", None)
                yield Row(f"{label}, worst", max(took), None, "s", 2.5, absolute=True)


def _found_after(memory: Memory, chance: random.Random, *, renames: bool) -> float:
    time.sleep(chance.uniform(0.1, 1.0))
    word = f"heron{chance.randrange(10**9)}"
    path = memory.workspace.root / "memory" / "0" / f"{chance.randrange(0, 5_000, 50)}.md"
    started = time.monotonic()
    if renames:
        fresh = path.with_suffix(".new")
        fresh.write_text(f"- {word}\n", "utf-8")
        fresh.replace(path)
    else:
        path.write_text(f"- {word}\n", "utf-8")
    while not any(
        word in hit.snippet for hit in memory.with_search_settings(vector_weight=0).search(word)
    ):
        time.sleep(0.01)
    return time.monotonic() - started


def look(workspace: Path, files: int) -> Row:
    """Look at an unchanged folder, as each trigger does."""
    with _open(workspace) as memory:
        memory.index()
        took = []
        for _ in range(5):
            started = time.perf_counter()
            assert memory.index().added == 0
            took.append(1000 * (time.perf_counter() - started))
    return Row(f"a look at {files:,} files", min(took), None, "ms", None)


def idle(workspace: Path, files: int, *, seconds: float) -> Row:
    """Watch with nothing to do, in a process of its own."""
    arguments = ("--idle", str(workspace), "--seconds", str(seconds))
    run = subprocess.run(
        [sys.executable, __file__, *arguments], check=True, capture_output=True, text=True
    )
    label = f"processor time while watching {files:,} files"
    return Row(label, 100 * float(run.stdout), None, "%", 0.5, absolute=True)


def _idle_share(workspace: Path, *, seconds: float) -> float:
    with _open(workspace, on_open=True, on_search=True, watch=True) as memory:
        memory.search("note")
        time.sleep(5.0)
        before = time.process_time()
        time.sleep(seconds)
        return (time.process_time() - before) / seconds


if __name__ == "__main__":
    main()
