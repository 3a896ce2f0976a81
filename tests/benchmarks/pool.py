"""Many users in one process: what a pool of their memories takes.

    python tests/benchmarks/pool.py [--users 1000] [--notes 200] [--threads 16] [--max-open 8]

Each user has notes of their own; all are asked in random order by several threads. It prints the
milliseconds of a search in an open workspace and in one that must be opened, the most descriptors
and the memory of the process, and whether a line of one user was shown to another.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import statistics
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from commonplace import Memory, MemoryPool

WORDS = re.findall(
    r"\w+",
    "router printer kettle garden invoice train ticket doctor mother bicycle recipe passport "
    "landlord dentist concert novel backup deploy meeting budget window guitar flight harbour",
)


def write_notes(root: Path, user: str, notes: int) -> None:
    """Write a user's notes, each with a word that no other user's note has."""
    folder = root / user / "memory"
    folder.mkdir(parents=True)
    rng = random.Random(user)
    for number in range(notes):
        said = " ".join(rng.choices(WORDS, k=14))
        text = f"# Note {number}\n\n- {said}.\n- The code of {user} is {user}x{number}.\n"
        (folder / f"note-{number:03}.md").write_text(text, encoding="utf-8")


class Watch(threading.Thread):
    """Looks at the process every few milliseconds, until it is told to stop."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.descriptors, self.resident, self.threads = 0, 0, 0
        self._end = threading.Event()

    def run(self) -> None:
        from resident import resident_bytes

        while not self._end.wait(0.003):
            self.descriptors = max(self.descriptors, len(os.listdir("/proc/self/fd")))
            self.resident = max(self.resident, resident_bytes())
            self.threads = max(self.threads, threading.active_count())

    def result(self) -> str:
        self._end.set()
        self.join()
        return (
            f"{self.descriptors} descriptors, {self.resident / 2**20:.0f} MiB, "
            f"{self.threads} threads at most"
        )


def milliseconds(seconds: list[float]) -> str:
    """Return median and 95th percentile."""
    cuts = statistics.quantiles(seconds, n=20)
    return f"{1e3 * statistics.median(seconds):.1f} ms (p95 {1e3 * cuts[18]:.1f} ms)"


def timed_search(memory: Memory, rng: random.Random) -> float:
    """Search for two words, and return how long it took."""
    question = " ".join(rng.sample(WORDS, 2))
    start = time.perf_counter()
    memory.search(question)
    return time.perf_counter() - start


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--users", type=int, default=1000)
    parser.add_argument("--notes", type=int, default=200)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--max-open", type=int, default=8)
    parser.add_argument("--asked", type=int, default=3000)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="commonplace-pool-"))
    os.environ["COMMONPLACE_STATE_DIR"] = str(folder / "state")
    users = [f"user{number:04}" for number in range(given.users)]
    try:
        for user in users:
            write_notes(folder / "users", user, given.notes)
        measure(folder / "users", users, given)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(root: Path, users: list[str], given: argparse.Namespace) -> None:
    """Print what a pool takes."""
    rng = random.Random(1)
    with MemoryPool(root, max_open=given.max_open) as pool:
        watch = Watch()
        watch.start()
        start = time.perf_counter()
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda user: index(pool, user), users))
        took = time.perf_counter() - start
        print(f"index {len(users)} users: {took:.0f} s, {watch.result()}")

        warm, cold = [], []
        for user in rng.sample(users, min(len(users), 100)):
            with pool.memory(user) as memory:
                start = time.perf_counter()
                memory.search(f"the code {user}x7")
                cold.append(time.perf_counter() - start)
                warm.append([timed_search(memory, rng) for _ in range(5)][-1])
        print(f"one thread, must be opened: {milliseconds(cold)}; open: {milliseconds(warm)}")

        watch = Watch()
        watch.start()
        asked = [rng.choice(users) for _ in range(given.asked)]
        start = time.perf_counter()
        with ThreadPoolExecutor(given.threads) as threads:
            foreign = sum(threads.map(lambda user: ask(pool, user), asked))
        took = time.perf_counter() - start
        print(f"{given.threads} threads: {given.asked / took:.0f} searches/s, {watch.result()}")
        print(f"lines of other users shown: {foreign}")

    alone = []
    for user in users[:20]:
        with Memory.open(root / user) as memory:
            alone.append([timed_search(memory, rng) for _ in range(5)][-1])
    print(f"for comparison, a memory opened by itself: {milliseconds(alone)}")


def index(pool: MemoryPool, user: str) -> None:
    """Index a user's notes."""
    with pool.memory(user) as memory:
        memory.index()


def ask(pool: MemoryPool, user: str) -> int:
    """Search for a user's own line; return how many lines of others came."""
    with pool.memory(user) as memory:
        found = memory.search(f"the code {user}x{random.randrange(100)}")
    assert found, user
    return sum(
        f"The code of {user} is" not in hit.snippet for hit in found if "code" in hit.snippet
    )


if __name__ == "__main__":
    main()
