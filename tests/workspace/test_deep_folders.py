"""Folders that are nested as deep as the system takes: no step recurses."""

import json
import os
import sys
from contextlib import chdir

import pytest

from commonplace.settings import SessionsSettings, Settings
from support.notes import Notes

DEPTH = 1_100

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="paths of 4,000 bytes are Linux's"),
]


def write_below(folder, name, text):
    """Write a file below more folders than Python's calls may nest."""
    folder.mkdir(parents=True, exist_ok=True)
    with chdir(folder):
        for _ in range(DEPTH):
            os.mkdir("d")
            os.chdir("d")
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)


def remove_below(folder):
    """Remove the folders, from the last one: `shutil.rmtree` recurses, too."""
    with chdir(folder):
        while os.path.isdir("d"):
            os.chdir("d")
        for _ in range(DEPTH):
            for name in os.listdir("."):
                os.unlink(name) if os.path.isfile(name) else os.rmdir(name)
            os.chdir("..")


@pytest.mark.full
def test_notes_and_sessions_below_many_folders_are_found_and_forgotten(tmp_path):
    notes, sessions = Notes(tmp_path), tmp_path / "sessions"
    said = {"type": "message", "message": {"role": "user", "content": "a giraffe"}}
    write_below(notes.root / "memory", "note.md", "# Zebra\n\n- a zebra\n")
    write_below(sessions, "a.jsonl", json.dumps(said) + "\n")
    chosen = SessionsSettings(enabled=True, path=str(sessions), patterns=("**/*.jsonl",))
    try:
        with notes.open(settings=Settings(sessions=chosen)) as memory:
            assert memory.index().failed == ()
            path = "memory/" + "d/" * DEPTH + "note.md"
            assert [hit.path for hit in memory.search("zebra")] == [path]
            (hit,) = memory.search("giraffe")
            assert hit.source == "sessions"
            assert memory.status().files == 4
            with memory.watch():
                memory.forget(text="a zebra")
            assert "a zebra" not in memory.get(path).text
    finally:
        remove_below(notes.root / "memory")
        remove_below(sessions)
