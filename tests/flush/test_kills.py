"""Processes that are killed at each step of a flush: no fact is lost, none is doubled."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.silent import Chat, Noting, said

WORKER = Path(__file__).with_name("worker.py")
STEPS = 18
"""Steps of a flush of two facts; the first test counts them."""
TIMEOUT_S = 60

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL"),
]


def flushed(facts, runs):
    """Flush in processes that are killed, each in its folder at its step; tell how each ended."""
    for folder in dict(runs):
        folder.mkdir(exist_ok=True)
        Chat(folder)
    command = [sys.executable, str(WORKER), facts]
    command += [str(part) for run in runs for part in run]
    ended = subprocess.run(command, stdout=subprocess.PIPE, timeout=TIMEOUT_S, check=True)
    return [int(line) for line in ended.stdout.split()]


@pytest.mark.slow
def test_a_flush_has_as_many_steps_as_are_tried(tmp_path):
    assert flushed("1,2", [(tmp_path, 0)]) == [STEPS]
    assert Chat(tmp_path).noted() == ["fact-1", "fact-2"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "resume", ["by the journal", pytest.param("by the caller", marks=pytest.mark.full)]
)
def test_a_flush_that_is_killed_at_any_step_is_resumed(tmp_path, resume):
    runs = [(tmp_path / str(step), step) for step in range(1, STEPS + 1)]
    assert flushed("1,2", runs) == [-signal.SIGKILL] * STEPS
    found = {}
    for folder, step in runs:
        chat = Chat(folder)
        entered = step > 1  # before that, the messages are only the caller's
        if resume == "by the journal" and entered:
            chat.flusher().process_pending()
        else:
            chat.flusher().flush(said(1, 2), thread="t")
        found[step] = chat.noted()
        model = Noting()
        assert chat.flusher(model).flush(said(1, 2), thread="t").skipped, step
        assert model.requests == []
        assert chat.sessions() == []
    assert found == {step: ["fact-1", "fact-2"] for _, step in runs}


@pytest.mark.slow
@pytest.mark.full
def test_a_flush_that_is_killed_twice_is_resumed(tmp_path):
    pairs = [(first, second) for first in (3, 11, 14) for second in (2, 8, 11, 17)]
    folders = [tmp_path / f"{first}-{second}" for first, second in pairs]
    once = [(folder, first) for folder, (first, _) in zip(folders, pairs, strict=True)]
    again = [(folder, second) for folder, (_, second) in zip(folders, pairs, strict=True)]
    assert set(flushed("1,2", once)) == {-signal.SIGKILL}
    flushed("1,2,3", again)
    for folder in folders:
        chat = Chat(folder)
        chat.flusher().flush(said(1, 2, 3), thread="t")
        assert sorted(chat.noted()) == ["fact-1", "fact-2", "fact-3"], folder.name
        assert chat.sessions() == []
