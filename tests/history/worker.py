"""Processes that change notes, and are killed at the step that they are told: by test_kills.py.

``python worker.py VERB FOLDER STEP [FOLDER STEP ...]`` starts one process after the other; step 0
is none. It prints how each ended: the signal that killed it, or how many steps there were.
"""

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from commonplace.history.mutations import Mutator
from commonplace.memory import Memory
from commonplace.settings import Settings, SyncSettings
from commonplace.system.database import DatabaseFile
from commonplace.workspace import replacement
from commonplace.workspace.file_text import Folder
from commonplace.workspace.places import Place

BEFORE = "# Notes\n\n- The VPN listens on 1194.\n"
AFTER = BEFORE.replace("1194", "51820")
SETTINGS = Settings(sync=SyncSettings(on_open=False, on_search=False))

steps = 0


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


def step(kill_at):
    global steps
    steps += 1
    if steps == kill_at:
        os.kill(os.getpid(), signal.SIGKILL)


def killable(kill_at, kind, name):
    """Make each call of a function a step before and a step after it."""
    function = getattr(kind, name)

    def wrapped(*args, **options):
        step(kill_at)
        try:
            return function(*args, **options)
        finally:
            step(kill_at)

    setattr(kind, name, wrapped)


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
        return steps


def in_process_of_its_own(verb, folder, kill_at):
    """Return how the process ended."""
    process = os.fork()
    if not process:
        count = change(verb, folder, kill_at)
        os._exit(count)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status)


def main(verb, *runs):
    for folder, kill_at in zip(runs[::2], runs[1::2], strict=True):
        prepared(Path(folder))
        ended = in_process_of_its_own(verb, Path(folder), int(kill_at))
        sys.stdout.write(f"{ended}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
