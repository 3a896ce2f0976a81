"""A clock that is set back, and forth: what is written is found by the next search."""

import os
from datetime import timedelta

import pytest

from commonplace import Memory
from support.fakes import NOON


class Clock:
    """Clock of the memory and of the disk."""

    def __init__(self):
        self.now = NOON

    def __call__(self):
        return self.now

    def stamp(self, path):
        """Give a file the time of the clock, as a program that writes it now would."""
        moment = int(self.now.timestamp() * 1e9)
        os.utime(path, ns=(moment, moment))


@pytest.mark.parametrize("hours", [-2, -30, 2], ids=["two hours", "over midnight", "forth"])
def test_what_is_written_after_the_clock_was_set_is_found(tmp_path, hours):
    folder, clock = tmp_path / "notes", Clock()
    (folder / "memory").mkdir(parents=True)

    def opened():
        return Memory.open(folder, embedder=None, index=tmp_path / "i.sqlite", now=clock)

    with opened() as memory, opened() as other:
        before = memory.append("- The okapi is striped.")
        clock.stamp(folder / before)
        memory.index()
        for step in range(4):
            clock.now += timedelta(hours=hours if step % 2 == 0 else -hours, seconds=7)
            path = memory.append(f"- The tapir{step} is grey.")
            clock.stamp(folder / path)
            for searched in (memory, other):
                (hit,) = searched.search(f"tapir{step}", max_results=1)
                assert hit.path == path
            note = folder / "memory/zoo.md"
            note.write_text(f"# Zoo\n\n- The lemur{step} sleeps.\n")
            clock.stamp(note)
            other.index()
            assert [hit.path for hit in memory.search(f"lemur{step}")] == ["memory/zoo.md"]
            memory.edit("memory/zoo.md", "sleeps", "wakes")
            assert "wakes" in memory.search(f"lemur{step}")[0].snippet
            assert memory.undo(memory.history("memory/zoo.md")[0].id).path == "memory/zoo.md"
            assert "sleeps" in memory.get("memory/zoo.md").text
