"""The page for contributors names what there is."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / ".github/CONTRIBUTING.md").read_text()
BASES = ("", "src/commonplace", "src/commonplace/embeddings")


def named_paths():
    yield from re.findall(r"`([\w./-]+/[\w.-]*)`", PAGE)
    tree = PAGE.split("```\nsrc/commonplace\n")[1].split("```")[0]
    for line in tree.splitlines():
        if match := re.match(r"(?:  )?((?:[\w/]+(?:/|\.py) *)+)(?:  |$)", line):
            yield from match[1].split()


@pytest.mark.parametrize("name", sorted({*named_paths()}))
def test_a_path_that_it_names_is_there(name):
    assert any((ROOT / base / name).exists() for base in BASES)


def test_the_tree_was_read():
    assert {"memory.py", "text/", "flush/", "tools/", "compat/openclaw/", "integrations/"} <= {
        *named_paths()
    }


def test_it_lists_the_markers():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]
    markers = {re.match(r"\w+", line)[0] for line in options["ini_options"]["markers"]}
    listed = re.search(r"Markers: (.+?) \(", PAGE)[1]
    assert {*re.findall(r"`(\w+)`", listed)} == markers
