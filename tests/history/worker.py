"""Processes that change notes, and are killed: ``worker.py VERB FOLDER STEP ...`` of test_kills.py.

See `support.kills`.
"""

import os
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from commonplace.history import ledger_check
from commonplace.history.mutations import Mutator
from commonplace.memory import Memory
from commonplace.settings import Settings, SyncSettings
from commonplace.system.database import DatabaseFile
from commonplace.workspace import replacement
from commonplace.workspace.file_text import Folder
from commonplace.workspace.places import Place
from support.kills import killable, run_all, step

ledger_check._SHARE = 0  # each run has the same steps: the check is not left out by the clock
BEFORE = "# Notes\n\n- The VPN listens on 1194.\n"
AFTER = BEFORE.replace("1194", "51820")
SETTINGS = Settings(sync=SyncSettings(on_open=False, on_search=False))


def opened(folder):
    return Memory.open(
        folder / "notes", settings=SETTINGS, embedder=None, index=folder / "index.sqlite"
    )


def prepared(folder):
    """Make a workspace with one note that history knows, and one that it does not."""
    (folder / "notes" / "memory").mkdir(parents=True)
    with opened(folder) as memory:
        memory.index()
        memory.write("memory/known.md", BEFORE)
    (folder / "notes" / "memory" / "new.md").write_text(BEFORE, encoding="utf-8")


VERBS = {
    "write": lambda memory: memory.write("memory/deep/er/note.md", AFTER),
    "replace": lambda memory: memory.write("memory/new.md", AFTER),
    "edit": lambda memory: memory.edit("memory/known.md", "1194", "51820"),
    "delete": lambda memory: memory.delete("memory/known.md"),
    "move": lambda memory: memory.move("memory/known.md", "memory/deep/moved.md"),
    "undo": lambda memory: memory.undo(memory.history("memory/known.md")[0].id),
}


def halved(kill_at):
    """Make the writing of a new file two calls, with a step between them."""
    write = os.write

    def wrapped(descriptor, data):
        half = max(1, len(data) // 2)
        count = write(descriptor, data[:half])
        step(kill_at)
        return count

    os.write = wrapped


def instrument(kill_at):
    """Make each call that a change makes of the disk a step at which the process can be killed."""
    for kind, name in (
        (DatabaseFile, "_opened"),
        (DatabaseFile, "rows"),
        (Mutator, "_begin"),
        (Mutator, "_finish"),
        (replacement, "_swap"),
        (Place, "write"),
        (Place, "rename_new"),
        (Place, "rename_by_flag"),
        (Place, "replace"),
        (Place, "read"),
        (Folder, "sync"),
        (Folder, "unlink"),
        (os, "fsync"),
    ):
        killable(kill_at, kind, name)
    halved(kill_at)


def change(verb, folder, kill_at):
    with opened(folder) as memory:
        instrument(kill_at)
        if "FALLBACK" in os.environ:
            Place.rename_by_flag = lambda *names, **flags: False
        VERBS[verb](memory)


def main(verb, *runs):
    run_all(partial(change, verb), *runs, prepare=prepared)


if __name__ == "__main__":
    main(*sys.argv[1:])
