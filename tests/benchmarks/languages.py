"""Questions in other languages than English: whether an answer shows the line that it is about.

::

    python tests/benchmarks/languages.py

The lines are those of the corrections (``corrections.py``) whose blocks name a language, all in one
workspace: an older and a newer line each, and one that only looks like the newer one.
"""

from __future__ import annotations

import tempfile
import tomllib
from pathlib import Path
from typing import Any

from corrections import ASKED, BLIND, BLOCKS, FRESH, LATER, LOOK, NEW, OLD, THIRD, UNSEEN, opened

from commonplace import Memory
from commonplace.text.stopwords import FUNCTION_WORDS

_LINES_A_FILE = 12
_NORDIC = ("da", "no")


def blocks() -> list[dict[str, Any]]:
    """Return the blocks of the languages whose function words are known, a question each."""
    known = {*FUNCTION_WORDS, *_NORDIC}
    found: dict[str, dict[str, Any]] = {}
    for path in (BLOCKS, LATER, THIRD, BLIND, UNSEEN, FRESH):
        for block in tomllib.loads(path.read_text("utf-8"))["block"]:
            if block.get("lang") in known:
                found.setdefault(block["ask"], block)
    return list(found.values())


def write(root: Path, asked: list[dict[str, Any]]) -> None:
    """Write the lines of blocks: the older ones, the newer ones, and those that look like them."""
    for number, at in enumerate(range(0, len(asked), _LINES_A_FILE)):
        for key, day in (("old", OLD), ("new", NEW), ("look", LOOK)):
            lines = [f"- {block[key]}" for block in asked[at : at + _LINES_A_FILE] if key in block]
            path = root / f"memory/{day}-{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join((f"# {day}", "", *lines, "")), encoding="utf-8")


def main() -> None:
    """Print the share of questions whose line is shown, by embedder."""
    asked = blocks()
    languages = {block["lang"] for block in asked}
    print(f"{len(asked)} questions in {len(languages)} languages, {ASKED}")
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "notes", asked)
        for embedder in ("bundled", None):
            with opened(Path(folder), embedder) as memory:
                memory.index()
                places = [_place(memory, block) for block in asked]
            shown = sum(place is not None for place in places) / len(places)
            mrr = sum(1 / place for place in places if place) / len(places)
            print(f"{embedder or 'keywords only'}: shown {shown:.3f}, MRR {mrr:.3f}")


def _place(memory: Memory, block: dict[str, Any]) -> int | None:
    """Return the place of the first result with the older or the newer line; None without one."""
    found = memory.search(block["ask"])
    return next(
        (
            place
            for place, hit in enumerate(found, start=1)
            if block["old"] in hit.snippet or block["new"] in hit.snippet
        ),
        None,
    )


if __name__ == "__main__":
    main()
