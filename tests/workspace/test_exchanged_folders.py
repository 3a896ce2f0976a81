"""Folders that are exchanged with links while they are used: nothing outside is read or written."""

import subprocess
import sys
import threading
from collections import Counter

import pytest

from commonplace import Memory, Settings
from commonplace.errors import CommonplaceError
from commonplace.settings import SyncSettings

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux exchanges two names from here"
)

SETTINGS = Settings(sync=SyncSettings(on_open=False, on_search=False, watch=False))
EXCHANGE = """
import ctypes, sys, time
library, one, other = ctypes.CDLL(None), *map(str.encode, sys.argv[1:3])
for count in range(int(sys.argv[3])):
    if library.renameat2(-100, one, -100, other, 2):
        sys.exit("no exchange")
    time.sleep(0.0002 * (count % 3))
"""


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    (folder / "sub").mkdir(parents=True)
    for name in ("a.md", "sub/b.md", "only.md"):
        (folder / name).write_text("- The OUTSIDE cat.\n")
    return folder


@pytest.fixture
def root(tmp_path, outside):
    root = tmp_path / "notes"
    (root / "memory" / "sub").mkdir(parents=True)
    for name in ("a.md", "sub/b.md"):
        (root / "memory" / name).write_text("- The inside cat.\n")
    (root / "other").symlink_to(outside)
    return root


def everything(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def repeat(stop, counts, name, verb):
    """Call a verb until it is enough; count how it ends."""
    turn = 0
    while not stop.is_set():
        turn += 1
        try:
            found = str(verb(turn))
        except CommonplaceError:
            outcome = "refused"
        except Exception as error:  # noqa: BLE001 - counted
            outcome = repr(error)
        else:
            outcome = "outside" if "OUTSIDE" in found or "only.md" in found else "done"
        counts[name, outcome] += 1


def verbs(memory):
    return {
        "get": lambda turn: memory.get(f"memory/{('a', 'sub/b')[turn % 2]}.md").text,
        "append": lambda turn: memory.append(f"- note {turn}", path=f"memory/n{turn % 7}.md"),
        "new": lambda turn: memory.append("- a note", path=f"memory/d{turn % 99}/n.md"),
        "write": lambda turn: memory.write("memory/w.md", f"text {turn}\n"),
        "move": lambda turn: memory.move("memory/w.md", f"memory/sub/w{turn}.md"),
        "delete": lambda turn: memory.delete(f"memory/n{turn % 7}.md"),
        "search": lambda turn: [hit.snippet for hit in memory.search("cat")],
        "index": lambda turn: memory.index(),
        "paths": lambda turn: memory.paths(),
    }


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize(
    "exchanges",
    [3_000, pytest.param(100_000, marks=[pytest.mark.full, pytest.mark.timeout(300)])],
)
def test_nothing_outside_is_read_or_written_while_a_folder_is_exchanged_with_a_link(
    tmp_path, root, outside, exchanges
):
    before, counts, stop = everything(outside), Counter(), threading.Event()
    index = tmp_path / "state" / "index.sqlite"
    with Memory.open(root, settings=SETTINGS, embedder=None, index=index) as memory:
        memory.index()
        command = [sys.executable, "-c", EXCHANGE, root / "memory", root / "other", str(exchanges)]
        threads = [
            threading.Thread(target=repeat, args=(stop, counts, *item))
            for item in verbs(memory).items()
        ]
        for thread in threads:
            thread.start()
        try:
            subprocess.run(command, check=True)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        memory.index()
        assert "OUTSIDE" not in str([hit.snippet for hit in memory.search("OUTSIDE cat")])
    assert everything(outside) == before
    assert {kind for _, kind in counts} == {"done", "refused"}, counts
    for name in ("get", "append", "search", "index", "paths"):
        assert counts[name, "done"], counts
