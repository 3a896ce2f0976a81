"""Whether the line that holds now comes first: corrections, traps, and questions of a past time.

::

    python tests/benchmarks/corrections.py [--embedder NAME] [--misses]

``corrections.toml`` explains a block; the other files were written later, in other styles and
languages, and are printed by themselves; each says how. Each case is a workspace of some days,
asked on a later one. Of the first three files every third block of a style is kept aside while the
ranking is tuned, and is printed apart.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from commonplace import Memory, Settings
from commonplace.evaluation import open_at

BLOCKS = Path(__file__).with_name("corrections.toml")
LATER_LISTS = tuple(
    Path(__file__).with_name(f"corrections_{name}.toml")
    for name in (
        *("later", "third", "blind", "unseen", "fresh", "world", "notes", "plain", "trades"),
        *("styles", "indirect", "strangers"),
    )
)
LATER, THIRD, BLIND, UNSEEN, FRESH = LATER_LISTS[:5]
OLD, NEW, LOOK = "2026-02-10", "2026-04-20", "2026-04-23"
DAYS = (
    *("2026-01-28", OLD, "2026-02-17", "2026-03-05", "2026-03-19", "2026-04-02", NEW, LOOK),
    "2026-04-29",
)
ASKED = date(2026, 5, 4)
NOTES_ASKED = date(2026, 11, 20)


_DAYS_OF_STYLE = {
    "evergreen": ("MEMORY", NEW, LOOK),
    "dayof": (NEW, NEW, NEW),
    "undated": ("topics/home", "topics/all", "topics/work"),
}
"""Days of `old`, `new` and `look`; or names of files, where these are not daily logs."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question to a workspace, and the line that has to come first."""

    kind: str
    style: str
    is_aside: bool
    question: str
    files: dict[str, str]
    right: str
    asked: date = ASKED


def cases(path: Path = BLOCKS) -> Iterator[Case]:
    """Yield the cases of all blocks of a file, or those that it has as they are."""
    beside = tomllib.loads(BLOCKS.read_text("utf-8"))["beside"]["lines"]
    data = tomllib.loads(path.read_text("utf-8"))
    for case in data.get("case", ()):
        yield Case(is_aside=False, asked=NOTES_ASKED, **case)
    seen: Counter[str] = Counter()
    for number, block in enumerate(data.get("block", ())):
        style = block["style"]
        seen[style] += 1
        is_aside = seen[style] % 3 == 0 and path in (BLOCKS, LATER, THIRD)
        for kind, question, lines, right in _questions(block):
            files = _files(lines, beside, seed=number)
            yield Case(kind, style, is_aside, question, files, right)


def _questions(block: dict[str, str]) -> Iterator[tuple[str, str, list[tuple[str, str]], str]]:
    old_day, new_day, look_day = _DAYS_OF_STYLE.get(block["style"], (OLD, NEW, LOOK))
    old, new = (old_day, block["old"]), (new_day, block["new"])
    look = (look_day, block.get("look", ""))
    yield "now", block["ask"], [old, new], block["new"]
    if block["trap"] == "quote":
        yield "trap", block["ask"], [old, new, look], block["new"]
    elif block["trap"] != "none":
        yield "trap", block["ask"], [old, look], block["old"]
    then = block.get("then")
    is_plain = block["style"] not in ("dayof", "evergreen", "struck", "quote", "tasks", "undated")
    if then is None and is_plain and block.get("lang", "en") == "en":
        then = block["ask"].rstrip("?") + " in February 2026?"
    if then is not None:
        yield "then", then, [old, new], block["old"]


def _files(lines: list[tuple[str, str]], beside: list[str], *, seed: int) -> dict[str, str]:
    """Return the notes of all days: the lines of the case among lines of other subjects."""
    others = random.Random(seed).sample(beside, min(len(beside), 2 * len(DAYS) - 4))
    days = {day: [others[at % len(others)]] for at, day in enumerate(DAYS)}
    days |= {day: ["Notes that stay."] for day, _ in lines if day not in days}
    for day, line in lines:
        days[day].append(line)
    for at, day in enumerate(DAYS, len(DAYS)):
        days[day].append(others[at % len(others)])
    return {
        "MEMORY.md" if day == "MEMORY" else f"memory/{day}.md": "".join(map(_written, said))
        for day, said in days.items()
    }


def _written(line: str) -> str:
    """Return a line as it stands in a note: an item of a list, or a table of one row."""
    if not line.startswith("|"):
        return f"- {line}\n"
    cells = line.count("|") - 1
    return f"\n|{' what |' * cells}\n|{' --- |' * cells}\n{line}\n\n"


def opened(folder: Path, embedder: str | None, *, now: date = ASKED) -> Memory:
    """Open the notes of a folder at the day on which all is asked."""
    index = folder / f"{embedder}.sqlite"
    settings = Settings(timezone="UTC")
    return open_at(folder / "notes", settings=settings, embedder=embedder, index=index, now=now)


def is_right(case: Case, embedder: str | None) -> bool:
    """Return whether the first result holds the right line, and holds it first."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in case.files.items():
            path = Path(folder) / "notes" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        with opened(Path(folder), embedder, now=case.asked) as memory:
            found = memory.search(case.question)
    return bool(found) and case.right in found[0].snippet


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--embedder", default="bundled", help="an embedder, or none")
    parser.add_argument("--misses", action="store_true", help="print those that fail, aside not")
    arguments = parser.parse_args()
    embedder = None if arguments.embedder == "none" else arguments.embedder
    for path in (BLOCKS, *LATER_LISTS):
        print(path.name)
        _print_shares(path, embedder, misses=arguments.misses)


def _print_shares(path: Path, embedder: str | None, *, misses: bool) -> None:
    right: Counter[tuple[str, bool]] = Counter()
    asked: Counter[tuple[str, bool]] = Counter()
    for case in cases(path):
        asked[case.kind, case.is_aside] += 1
        if is_right(case, embedder):
            right[case.kind, case.is_aside] += 1
        elif misses and not case.is_aside:
            print(f"{case.kind:5}{case.style:15}{case.question} -> {case.right}")
    for kind in ("now", "trap", "then"):
        tuned, aside = (kind, False), (kind, True)
        apart = f", kept aside {right[aside]} of {asked[aside]}" if asked[aside] else ""
        print(f"{kind}: first result right {right[tuned]} of {asked[tuned]}{apart}")


if __name__ == "__main__":
    main()
