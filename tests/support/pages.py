"""Blocks of a Markdown page: code, the commands that run it, and what they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md"))
TEXTS = [
    *(ROOT / "docs" / page for page in PAGES),
    ROOT / "README.md",
    ROOT / ".github/CONTRIBUTING.md",
]


class Block(NamedTuple):
    language: str
    text: str

    @property
    def file(self) -> str | None:
        """The name of the file that the block is: its first line, as a comment."""
        named = re.match(r"# ([\w.]+\.(?:py|toml))\n", self.text)
        return named and named[1]


def blocks(text: str) -> list[Block]:
    found = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [Block(language, code) for language, code in found]


def without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def sections(text: str) -> list[str]:
    """Return what stands below each heading, with it."""
    return re.split(r"^(?=#+ )", text, flags=re.MULTILINE)


class Example(NamedTuple):
    """Code, and what it prints."""

    code: str
    output: str

    @property
    def framework(self) -> str | None:
        imported = re.search(
            r"^(?:from|import) (langchain|llama_index\.core)(?:_core)?\b", self.code, re.MULTILINE
        )
        return imported and imported[1]


def examples(text: str) -> list[Example]:
    """Return the Python of a page whose every block is followed by what it prints."""
    found = blocks(text)
    pairs = [(code, shown) for code, shown in pairwise(found) if code.language == "python"]
    assert all(shown.language == "text" for _, shown in pairs)
    return [Example(code.text, shown.text) for code, shown in pairs]


def without_days(text: str) -> str:
    return re.sub(r"\d{4}-\d{2}-\d{2}", "YYYY-MM-DD", text).rstrip()


def run(command: list[str], folder: Path, **variables: str) -> str:
    """Run a command in a folder that is its home, too; return what it prints."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    state = {"COMMONPLACE_STATE_DIR": str(folder / "state"), "HOME": str(folder), "PATH": path}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **state, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
