"""Whether the right line comes first in full workspaces, where names are in many lines.

::

    python tests/benchmarks/crowded.py [--embedder NAME] [--misses]

Each file of ``crowded/`` is the notes of three months and 110 questions: of facts that never change
though later lines name their subjects ("stays"), of facts that do ("now"), of what was ("then"),
and of facts that later lines only ask, plan, quote or reject ("idea"). Each was written by somebody
who knew nothing of the ranking. The comparison of lines was tuned on ``team`` and ``home``; of
``lab`` and ``shop`` only the counts were looked at. The counts in brackets are those with no line
compared with another one.
"""

from __future__ import annotations

import argparse
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any
from unittest import mock

from commonplace import Memory, Settings
from commonplace.evaluation import open_at
from commonplace.types import SearchResult

FOLDER = Path(__file__).with_name("crowded")
TUNED, ASIDE = ("team", "home"), ("lab", "shop")
ASKED = date(2026, 11, 2)
KINDS = ("stays", "now", "then", "idea")


def read(name: str) -> dict[str, Any]:
    """Return the notes and questions of a file."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))


def opened(data: dict[str, Any], folder: Path, embedder: str | None) -> Memory:
    """Write the notes and open them on the day on which all is asked."""
    logs = {f"memory/{day['date']}.md": day["lines"] for day in data["day"]}
    for name, lines in {"MEMORY.md": data["memory"]["lines"], **logs}.items():
        path = folder / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"- {line}\n" for line in lines), encoding="utf-8")
    index = folder / "index.sqlite"
    settings = Settings(timezone="UTC")
    return open_at(folder / "notes", settings=settings, embedder=embedder, index=index, now=ASKED)


def best_line(results: list[SearchResult]) -> str:
    """Return the best line of the first result."""
    if not results:
        return ""
    first = results[0]
    line = first.snippet.split("\n")[(first.best_line or first.start_line) - first.start_line]
    return line.removeprefix("- ")


def count_right(
    data: dict[str, Any], memory: Memory, missed: Callable[[dict[str, str], str], object]
) -> Counter[str]:
    """Return how many questions of each kind get their line first; tell of the others."""
    right: Counter[str] = Counter()
    for asked in data["ask"]:
        found = best_line(memory.search(asked["ask"]))
        if found == asked["right"]:
            right[asked["kind"]] += 1
        else:
            missed(asked, found)
    return right


def uncompared(data: dict[str, Any], memory: Memory) -> Counter[str]:
    """Return the same where no line supersedes another one."""
    with mock.patch("commonplace.retrieval.pipeline.supersede", lambda lines, *_: (lines, ())):
        return count_right(data, memory, lambda *_: None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--embedder", default="bundled", help="an embedder, or none")
    parser.add_argument("--misses", action="store_true", help="print those of team and home")
    arguments = parser.parse_args()
    embedder = None if arguments.embedder == "none" else arguments.embedder
    print("first result right (with no line compared with another)")
    for names, label in ((TUNED, "tuned on"), (ASIDE, "kept aside")):
        right, plain, asked = Counter[str](), Counter[str](), Counter[str]()
        for name in names:
            data = read(name)
            shown = arguments.misses and names is TUNED
            with (
                tempfile.TemporaryDirectory() as folder,
                opened(data, Path(folder), embedder) as memory,
            ):
                right += count_right(data, memory, _print_miss if shown else lambda *_: None)
                plain += uncompared(data, memory)
            asked += Counter(question["kind"] for question in data["ask"])
        counts = [f"{kind} {right[kind]} of {asked[kind]} ({plain[kind]})" for kind in KINDS]
        counts.append(f"all {right.total()} of {asked.total()} ({plain.total()})")
        print(f"{', '.join(names)}, {label}: {', '.join(counts)}")


def _print_miss(asked: dict[str, str], found: str) -> None:
    print(f"[{asked['kind']}] {asked['ask']}\n  right: {asked['right']}\n  first: {found}")


if __name__ == "__main__":
    main()
