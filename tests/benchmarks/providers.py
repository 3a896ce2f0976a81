"""What an index costs where every fifth request to the provider fails, with the real client.

Run it with ``python tests/benchmarks/providers.py [chunks]``; everything stays on the loopback
interface.
"""

from __future__ import annotations

import argparse
import collections
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from commonplace import Memory, Settings
from commonplace.embeddings.client import EmbeddingClient
from commonplace.embeddings.requests import pack
from commonplace.settings import EmbeddingSettings, SearchSettings, SyncSettings
from support.loopback_vendors import LoopbackVendor

_FAILS = (500, 429, 503, "drop")


def main() -> None:
    """Index a folder through a failing server and print what it cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chunks", type=int, nargs="?", default=10_000)
    parser.add_argument("--every", type=int, default=5, help="Every which request fails.")
    parser.add_argument("--fault", default="500", help=f"How: one of {_FAILS}.")
    asked = parser.parse_args()
    fault = int(asked.fault) if asked.fault.isdigit() else asked.fault
    os.environ.setdefault("OPENAI_API_KEY", "sk-loopback-0000000000")
    with tempfile.TemporaryDirectory() as folder, LoopbackVendor("openai") as server:
        _write(Path(folder) / "notes", asked.chunks)
        server.fail_every(asked.every, fault)
        settings = Settings(
            search=SearchSettings(unit="chunk"),
            sync=SyncSettings(on_open=False, on_search=False),
            embedding=EmbeddingSettings(provider="openai", base_url=server.base_url),
        )
        started = time.perf_counter()
        index = Path(folder) / "index.sqlite"
        with Memory.open(Path(folder) / "notes", settings=settings, index=index) as memory:
            report = memory.index()
        took = time.perf_counter() - started
        _print(server, report, took)


def _write(root: Path, chunks: int) -> None:
    (root / "memory").mkdir(parents=True)
    for number in range(chunks):
        lines = "".join(
            f"- fact {number}.{at} of the log, noted down at once\n" for at in range(20)
        )
        (root / "memory" / f"{number}.md").write_text(f"# Note {number}\n{lines}")


def _print(server: LoopbackVendor, report: object, took: float) -> None:
    sent = len(server.embeddings())
    texts = collections.Counter(server.texts)
    encoder = EmbeddingClient(type("Any", (), {"embed_documents": id, "embed_query": id})())
    least = sum(1 for _ in pack(texts, encoder.limits))
    twice = sum(count > 1 for count in texts.values())
    print(report)
    print(f"{len(texts):,} texts embedded, {twice} of them twice, in {took:.1f} s")
    print(f"{sent:,} requests; at least {least:,} are needed: {sent / least:.3f} times that")


if __name__ == "__main__":
    main()
