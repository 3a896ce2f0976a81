"""The help that the package carries is read as a manual, and what it shows works."""

from __future__ import annotations

import inspect
import pydoc
import re
import textwrap

import pytest

import commonplace
from commonplace import Memory
from support.fakes import HashedWords, clock


def blocks(text):
    """Return the literal blocks of a docstring."""
    found = re.findall(r"::\n\n((?:    .*\n|\n)+)", inspect.cleandoc(text) + "\n")
    return [textwrap.dedent(block) for block in found]


@pytest.fixture
def notes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("# Memory\n\n- The VPN listens on port 51820.\n")
    return folder


def test_what_the_manual_shows_works(notes, capsys):
    shown = blocks(commonplace.__doc__)
    assert len(shown) == 5
    index = notes.parent / "index.sqlite"
    with Memory.open(notes, embedder=HashedWords(), index=index, now=clock()) as memory:
        for block in shown:
            exec(block, {"memory": memory})
    printed = capsys.readouterr().out
    assert "MEMORY.md#L1-L3" in printed
    assert "51820" in (notes / "memory/2026-11-20.md").read_text()


def test_help_names_everything_public():
    manual = pydoc.render_doc(commonplace, renderer=pydoc.plaintext)
    for heading in ("The folder", "Searching", "Settings", "Agents", "Errors"):
        assert f"{heading}\n    {'-' * len(heading)}\n" in manual
    for name in commonplace.__all__:
        assert name in manual


def public_things():
    for name in commonplace.__all__:
        thing = getattr(commonplace, name)
        yield pytest.param(thing, id=name)
        for attribute, member in vars(thing).items():
            if not attribute.startswith("_") and callable(getattr(member, "__func__", member)):
                yield pytest.param(member, id=f"{name}.{attribute}")


@pytest.mark.parametrize("thing", list(public_things()))
def test_everything_public_says_what_it_is(thing):
    said = inspect.getdoc(thing)
    assert said
    assert not said.startswith(f"{getattr(thing, '__name__', '')}(")  # what dataclasses make up
    assert said.splitlines()[0].endswith((".", ":"))
