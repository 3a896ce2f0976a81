"""The command line over a workspace of its own, and nothing of the machine's."""

from __future__ import annotations

import os

import pytest
from click.testing import CliRunner

from commonplace.cli.app import app


@pytest.fixture(autouse=True)
def environment(tmp_path, monkeypatch):
    for name in list(os.environ):
        if name.startswith("COMMONPLACE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COMMONPLACE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def notes(request, tmp_path):
    """Make a workspace whose MEMORY.md is the test module's ``MEMORY``."""
    folder = tmp_path / "notes"
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text(request.module.MEMORY, encoding="utf-8")
    return folder


@pytest.fixture
def run(notes):
    def run(*arguments, workspace=notes, stdin=None):
        options = ["-w", str(workspace), "--embedder", "none"]
        return CliRunner().invoke(app, [*options, *arguments], input=stdin)

    return run
