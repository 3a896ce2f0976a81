"""A long transcript: the memory and the time that indexing takes, and what one more message costs.

    python tests/benchmarks/transcripts.py              # 200 MB, bundled vectors
    python tests/benchmarks/transcripts.py --megabytes 20 --embedder none

Each figure is of a process of its own. Memory is the most that the process came to hold, less what
it held before it began to index. One more message is appended eleven times; the median run counts,
and beside it stands the same of a transcript of 1 MB.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from timing import Row, table

from commonplace import Memory, Settings
from commonplace.settings import SessionsSettings, SyncSettings

_BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
_APPENDS = 11
_MIB = 2**20


def main() -> None:
    """Generate, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--embedder", default="bundled", help="or: none")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(_measured(arguments.measure, arguments.embedder)))
        return
    with tempfile.TemporaryDirectory(prefix="commonplace-transcripts-") as name:
        small, large = (
            _process(Path(name) / str(size), size, arguments.embedder)
            for size in (1, arguments.megabytes)
        )
    seconds = large["seconds"]
    print(f"{arguments.megabytes} MB, {large['messages']:,.0f} messages, ", end="")
    print(f"{large['chunks']:,.0f} chunks, index {large['index_mib']:,.0f} MiB, ", end="")
    print(f"embedder {arguments.embedder}")
    rows = [
        Row("memory above the start", large["peak_mib"], None, "MiB", 200, absolute=True),
        Row("indexed in", seconds, None, "s", None),
        Row("a second", arguments.megabytes / seconds, None, "MB", None),
        Row("one more message", large["append_ms"], small["append_ms"], "ms", 3),
        Row("  of it, at the processor", large["append_cpu_ms"], small["append_cpu_ms"], "ms", 3),
    ]
    print(table(rows).replace("floor", " 1 MB"))


def _process(folder: Path, megabytes: int, embedder: str) -> dict[str, float]:
    messages = _write(folder / "sessions" / "long.jsonl", megabytes * 10**6)
    (folder / "notes" / "memory").mkdir(parents=True)
    (folder / "notes" / "MEMORY.md").write_text("- The printer is called Gutenberg.\n")
    done = subprocess.run(
        [sys.executable, __file__, "--measure", str(folder), "--embedder", embedder],
        check=True,
        stdout=subprocess.PIPE,
    )
    return json.loads(done.stdout) | {"messages": messages}


def _write(path: Path, size: int) -> int:
    """Write turns of a conversation until the file has a size; return how many messages."""
    path.parent.mkdir(parents=True)
    rng = random.Random(5)
    vocabulary = [
        "".join(rng.choices("abcdefghijklmnop", k=rng.randint(2, 9))) for _ in range(9000)
    ]

    def words(fewest: int, most: int) -> str:
        return " ".join(rng.choices(vocabulary, k=rng.randint(fewest, most))) + "."

    count, moment = 0, _BEGUN
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            for role, text in (
                ("user", words(5, 60)),
                ("toolResult", words(100, 800)),
                ("assistant", words(20, 250)),
            ):
                file.write(_line(role, text, moment))
            moment += timedelta(minutes=7)
            count += 2
    return count


def _line(role: str, text: str, moment: datetime) -> str:
    message = {"role": role, "content": [{"type": "text", "text": text}]}
    record = {"type": "message", "timestamp": moment.isoformat(), "message": message}
    return json.dumps(record) + "\n"


def _measured(folder: Path, embedder: str) -> dict[str, float]:
    """Index a folder in this process; then append a message, and again."""
    sessions = SessionsSettings(enabled=True, path=str(folder / "sessions"), delta_bytes=0)
    settings = Settings(sessions=sessions, sync=SyncSettings(on_open=False, on_search=False))
    index = folder / "index.sqlite"
    with Memory.open(
        folder / "notes",
        settings=settings,
        embedder=None if embedder == "none" else embedder,
        index=index,
    ) as memory:
        memory.status()
        before, started = _peak_bytes(), time.perf_counter()
        report = memory.index()
        seconds = time.perf_counter() - started
        peak = _peak_bytes() - before
        walls, cpus = zip(*(_append(memory, folder, n) for n in range(_APPENDS)), strict=True)
    return {
        "peak_mib": peak / _MIB,
        "seconds": seconds,
        "chunks": report.chunks,
        "index_mib": index.stat().st_size / _MIB,
        "append_ms": statistics.median(walls) * 1e3,
        "append_cpu_ms": statistics.median(cpus) * 1e3,
    }


def _append(memory: Memory, folder: Path, number: int) -> tuple[float, float]:
    with (folder / "sessions" / "long.jsonl").open("a", encoding="utf-8") as file:
        text = f"One more message, the {number}th, about a printer."
        file.write(_line("user", text, _BEGUN + timedelta(days=900)))
    wall, cpu = time.perf_counter(), time.process_time()
    report = memory.index()
    assert report.updated == 1, report
    return time.perf_counter() - wall, time.process_time() - cpu


def _peak_bytes() -> int:
    """Return the most that this process has held."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except FileNotFoundError:  # no Linux
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    main()
