"""Changes of hosts without the folder are made exactly once, however often its host is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("psycopg")

from commonplace import Memory, Settings, SyncSettings
from support import postgres
from support.fakes import clock
from support.python_path import environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

QUIET = Settings(sync=SyncSettings(on_open=False, on_search=False))


@pytest.mark.parametrize(
    ("history", "every"),
    [
        ("kept", 9),
        pytest.param("kept", 1, marks=pytest.mark.full),
        pytest.param("off", 1, marks=pytest.mark.full),
        pytest.param("apart", 1, marks=pytest.mark.full),
    ],
)
def test_a_host_that_is_killed_at_any_step_makes_each_change_once(tmp_path, history, every):
    url, root = postgres.url_of(tmp_path, history), tmp_path / "notes"
    (root / "memory").mkdir(parents=True)
    (root / "memory" / "count.md").write_text("# Count\n\nIt is 0\n")
    with Memory.open(root, index=url, settings=QUIET, embedder=None, now=clock()) as memory:
        memory.index()
    worker = Path(__file__).with_name("worker.py")
    runs = range(5, 95, every)
    done = subprocess.run(
        [sys.executable, worker, url, root, history, *map(str, (5, 95, every))],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert not done.stderr, done.stderr
    ended = [int(line) for line in done.stdout.split()]
    assert len(ended) == len(runs)
    assert ended.count(-signal.SIGKILL) > len(runs) / 3, ended
    with Memory.open(root, index=url, settings=QUIET, embedder=None, now=clock()) as memory:
        memory.index()
        assert "empty" in memory.status().details["inbox"]
        assert not [one for one in memory.status().warnings if "refused" in one]
        log, count = (root / "memory" / f"{name}.md" for name in ("2026-11-20", "count"))
        numbers = range(1, len(runs) + 1)
        facts, hand = (
            [f"- {said} {number}." for number in numbers] for said in ("Fact", "By hand")
        )
        written = hand if history == "apart" else []
        lines = [line for line in log.read_text().split("\n") if line and line[0] != "#"]
        assert [line for line in lines if line not in written] == facts
        assert [line for line in lines if line in written] == written
        assert count.read_text().split("\n") == ["# Count", "", f"It is {len(runs)}", *written, ""]
        with Memory.connect(url, settings=QUIET, embedder=None, now=clock()) as far:
            for path in ("memory/2026-11-20.md", "memory/count.md"):
                assert far.get(path).text == (root / path).read_text()
            assert far.history() == memory.history()
