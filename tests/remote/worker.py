"""Hosts with the folder that are killed at a step: ``worker.py URL ROOT HISTORY FIRST STOP EVERY``.

A host without the folder appends a fact and counts in a note; then a host with the folder applies
the inbox, and is killed at its FIRST step. The next one is killed EVERY steps behind it, and so on.
HISTORY is ``kept``, ``off``, or ``apart``: two hosts in turns have a history each, and a user
writes in the folder what the change of the other host does not know.
"""

import os
import sys
from pathlib import Path

from commonplace import Memory, Settings, SyncSettings
from commonplace.history.mutations import Mutator
from commonplace.settings import HistorySettings
from commonplace.store.postgres.database import Database
from commonplace.store.postgres.publication import PostgresPublication
from commonplace.system.database import DatabaseFile
from commonplace.workspace import replacement
from commonplace.workspace.file_text import Folder
from commonplace.workspace.places import Place
from support.fakes import NOON, clock
from support.kills import killable, run_all

EVERY = int(sys.argv[6])
SETTINGS = Settings(
    sync=SyncSettings(on_open=False, on_search=False),
    history=HistorySettings(enabled=sys.argv[3] != "off"),
)
STEPS = (
    (Mutator, "_begin"),
    (Mutator, "_finish"),
    (Mutator, "is_applied"),
    (DatabaseFile, "rows"),
    (replacement, "_swap"),
    (Place, "write"),
    (Place, "rename_new"),
    (Folder, "sync"),
    (Database, "write"),
    (Database, "borrowed"),
    (PostgresPublication, "announce"),
    (PostgresPublication, "acknowledge"),
    (PostgresPublication, "put_versions"),
    (os, "fsync"),
)


def applied(url, folder, kill_at):
    if sys.argv[3] == "apart":
        state = Path(os.environ["COMMONPLACE_STATE_DIR"]) / f"{kill_at // EVERY % 2}"
        os.environ["COMMONPLACE_STATE_DIR"] = str(state)
    memory = Memory.open(folder, index=url, settings=SETTINGS, embedder=None, now=clock())
    for kind, name in STEPS:
        killable(kill_at, kind, name)
    memory.apply_inbox()
    memory.index()


def main(url, root, history, *steps):
    far = Memory.connect(url, settings=SETTINGS, embedder=None, now=clock())

    def change(folder):
        number = far.get("memory/count.md").text.split()[-1]
        far.append(f"- Fact {int(number) + 1}.")
        far.edit("memory/count.md", number, str(int(number) + 1))
        if history == "apart":
            for name in (f"memory/{NOON:%Y-%m-%d}.md", "memory/count.md"):
                with (folder / name).open("a") as file:
                    file.write(f"- By hand {int(number) + 1}.\n")

    runs = [part for step in range(*map(int, steps)) for part in (root, str(step))]
    run_all(lambda folder, step: applied(url, folder, step), *runs, prepare=change)
    far.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
