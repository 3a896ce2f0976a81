"""Clocks that are set back and forth while processes work, and are killed: nothing is lost."""

import os
import random
import sys
import time

import pytest

from support.notes import LINES, find, paths

sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir, "benchmarks"))

posix = pytest.mark.skipif(os.name != "posix", reason="processes are ended by signals")


def soaked(folder, *, seconds):
    """Return the promises that were not kept, those of speed aside: machines are busy."""
    import soak

    rows = soak.soak(folder, seconds=seconds, chance=random.Random(), extra=["--clock"])
    figures = {row.name: row.figure for row in rows}
    assert int(figures["clock"].replace(",", "")) > 0, figures
    return {row.name: row.figure for row in rows if not row.kept and row.name != "search p99"}


def test_a_note_is_found_at_once_though_the_clock_was_set_back_since_the_last_one(
    notes, monkeypatch
):
    real_ns, ahead_s = time.time_ns, 7200
    monkeypatch.setattr(time, "time_ns", lambda: real_ns() + ahead_s * 10**9)
    with notes.open(None, LINES) as memory:
        memory.index()
        memory.append("- the heron was written two hours ahead", path="memory/clock.md")
        for ahead_s, word in ((0, "kestrel"), (-7200, "plover"), (86_400, "lapwing"), (1, "owl")):  # noqa: B007
            memory.append(f"- the {word} was written then", path="memory/clock.md")
            assert paths(find(memory, word)) == ["memory/clock.md"], word


@posix
@pytest.mark.slow
@pytest.mark.full
@pytest.mark.processes
@pytest.mark.timeout(240)
def test_a_soak_with_clocks_that_jump_keeps_all_promises(tmp_path):
    assert soaked(tmp_path, seconds=15) == {}


@posix
@pytest.mark.full
@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.timeout(1500)
def test_ten_minutes_with_clocks_that_jump_keep_all_promises(tmp_path):
    assert soaked(tmp_path, seconds=600) == {}
