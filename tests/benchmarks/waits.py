"""Measure the longest waits: ``python tests/benchmarks/waits.py [--calls 1000] [--minutes 5]``.

Processes append to one log and search it, all at once, and one of them rebuilds the index now and
then. A writer waits for the writers before it; a search waits for none. The exit status is 1 when a
wait was longer than its bound, or the minutes were over before the calls were made: the figures are
printed in any case. 100,000 calls take about 600 s of processor time.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from commonplace import Memory, Settings
from commonplace.system.waits import STEP_WAIT_S, WRITER_WAIT_S

BOUNDS_S = {"append": WRITER_WAIT_S + 5 * STEP_WAIT_S, "search": 5.0}
"""Seconds that a call may take: a writer gives up after so long; a search waits for nobody."""
_REBUILD_EVERY = 2_000


def main() -> None:
    """Print the median and the longest of all calls, by verb."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="commonplace-bench-") as folder:
        root = Path(folder) / "notes"
        root.mkdir()
        (root / "MEMORY.md").write_text("# Memory\n\n- The VPN listens on 51820.\n")
        with opened(root) as memory:
            memory.index()
        each = options.calls // options.processes
        until = time.time() + 60 * options.minutes
        work = [(root, number, each, until) for number in range(options.processes)]
        with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
            parts = pool.map(calls, work)
    print(
        f"{os.cpu_count()} processors, {options.processes} processes, load {os.getloadavg()[0]:.1f}"
    )
    late = any(len(part["search"]) < each // 2 for part in parts)
    if late:
        print(f"cut off after {options.minutes:g} minutes")
    for verb, bound in BOUNDS_S.items():
        took = sorted(second for part in parts for second in part[verb])
        late |= took[-1] > bound
        print(
            f"{verb}: {len(took)} calls, p50 {took[len(took) // 2] * 1000:.1f} ms, "
            f"p99 {took[len(took) * 99 // 100] * 1000:.0f} ms, "
            f"longest {took[-1] * 1000:.0f} ms, bound {bound:g} s"
        )
    sys.exit(late)


def opened(root: Path) -> Memory:
    """Open the notes without background runs."""
    settings = Settings()
    sync = replace(settings.sync, on_open=False, on_search=False, watch=False)
    settings = replace(settings, sync=sync)
    return Memory.open(root, settings=settings, embedder=None, index=root.parent / "index.sqlite")


def calls(work: tuple[Path, int, int, float]) -> dict[str, list[float]]:
    """Append and search in turns; return how long each call took."""
    root, number, count, until = work
    took: dict[str, list[float]] = {verb: [] for verb in BOUNDS_S}
    with opened(root) as memory:
        for turn in range(count // 2):
            if time.time() >= until:
                break
            began = time.perf_counter()
            # A log a hundred notes: what is measured is the waits, not the length of a log.
            memory.append(f"- note {turn} of {number}", path=f"memory/log-{turn // 100}.md")
            appended = time.perf_counter()
            memory.search(f"note {turn}", max_results=3)
            took["append"].append(appended - began)
            took["search"].append(time.perf_counter() - appended)
            if not number and not (turn + 1) % _REBUILD_EVERY:
                memory.index(force=True)
    return took


if __name__ == "__main__":
    main()
