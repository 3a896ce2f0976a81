"""What a second process does with an index: ``worker.py <task> <index> ...``."""

from __future__ import annotations

import json
import os
import random
import sys
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from commonplace.errors import CommonplaceError
from commonplace.store.sqlite.recovery import check_pages
from commonplace.store.sqlite.store import SqliteStore
from store.samples import a_file, filled, matching, nearest, vector_of

NOBODY = 65534


def write_batches(path: Path, name: str, batches: str) -> None:
    """Write two files a batch, and replace them in the next one."""
    store = SqliteStore(path)
    for version in range(1, int(batches) + 1):
        before = version - 1 or None
        files = [
            a_file(f"{name}.md", f"{name} {version}", version=version, replaces=before),
            a_file(f"{name}-{version}.md", f"{name} {version}", "another"),
        ]
        assert store.write(files) == ()
    store.close()


def write_on(path: Path) -> None:
    """Write and remove files until the process is killed; a file's size is its number of chunks."""
    store = SqliteStore(path)
    with store.snapshot() as snapshot:
        known = {name: record.indexed_ns for name, record in snapshot.files().items()}
        versions = count(max(known.values(), default=0) + 1)
    print("ready", flush=True)  # noqa: T201
    for version in versions:
        names = {f"{random.randrange(20)}.md" for _ in range(3)}
        files = [
            a_file(
                name,
                *(f"{name} {version} chunk {at}\n" * 20 for at in range(random.randrange(1, 8))),
                version=version,
                replaces=known.get(name),
            )
            for name in names
        ]
        assert store.write(files) == ()
        known |= dict.fromkeys(names, version)
        if removed := [name for name in known if random.random() < 0.05]:
            store.write([], removed)
            for name in removed:
                del known[name]


def read_only(path: Path) -> None:
    """Open an index without the right to write it, and say what it can do."""
    if os.getuid() == 0:
        with TemporaryDirectory() as folder:  # what is imported on the way may be root's alone
            rehearsal = filled(SqliteStore(Path(folder) / "index"), a_file("a.md", "word"))
            nearest(rehearsal, vector_of("q"))
            nearest(rehearsal, vector_of("q"))
            rehearsal.close()
            Path(folder).as_uri()  # imports when it is called, as of Python 3.13
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    answer: dict[str, object] = {}
    try:
        store = SqliteStore(path)
        answer["writable"] = store.access == "read-write"
        answer["identity"] = store.identity is not None
        answer["words"] = matching(store, "word")
        answer["vectors"] = [sorted(nearest(store, vector_of("q"))) for _ in range(2)]
        check_pages(store._opened())
        store.write([a_file("new.md", "new")])
    except CommonplaceError as error:
        answer["error"] = type(error).__name__
    print(json.dumps(answer))  # noqa: T201


TASKS = {task.__name__: task for task in (write_batches, write_on, read_only)}

if __name__ == "__main__":
    TASKS[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
