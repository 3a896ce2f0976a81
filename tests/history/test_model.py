"""Processes and an editor that change the same notes at random, with kills, against a model.

The model is what each of them says that it wrote: no text on the disk and none in the history may
be another one, no text that was written may be missing from the history, and what a process was
told to have done is there unless another one changed it since.
"""

import itertools
import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from history.model_worker import NAMES, opened
from support.sampling import sampled

WORKER = Path(__file__).with_name("model_worker.py")

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL"),
]


class Editor:
    """A program that reads a note, waits as people do, and saves another text by a rename."""

    def __init__(self, root, seed):
        self.saved = []
        self._root = root
        self._draw = random.Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _run(self):
        while not self._stop.is_set():
            place = self._root / self._draw.choice(NAMES)
            text = f"# Editor\n\n- editor {len(self.saved)} {self._draw.random():.6f}\n"
            beside = place.with_name("editor.swp")
            beside.write_text(text, encoding="utf-8")
            os.replace(beside, place)
            self.saved.append((place.name, text))
            time.sleep(self._draw.random() * 0.05)


def run(tmp_path, *, processes, changes, kills, seed):
    root, state = tmp_path / "notes", tmp_path / "state"
    (root / "memory").mkdir(parents=True)
    draw = random.Random(seed)
    said, killed = [], 0
    with Editor(root, seed) as editor:
        seeds = range(seed * 1000, seed * 1000 + processes)
        running = [start(root, state, one, changes, kills, draw) for one in seeds]
        for process in running:
            output, _ = process.communicate(timeout=240)
            said.append([json.loads(line) for line in output.splitlines() if line.endswith(b"}")])
            killed += process.returncode == -9
            assert process.returncode in (0, -9), process.returncode
    return root, state, said, editor.saved, killed


def start(root, state, seed, changes, kills, draw):
    kill_at = draw.randrange(1, 15 * changes) if draw.random() < kills else 0
    command = [sys.executable, str(WORKER), *map(str, (root, state, seed, changes, kill_at))]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def check(root, state, said, saved):
    with opened(root, state) as memory:
        log = memory._notes.log
        assert not [path.name for path in (root / "memory").iterdir() if path.suffix != ".md"]
        memory.index()
        versions = {}
        for path in NAMES:
            texts = [log.text(one).decode() for one in log.states_of(path) if one.exists]
            versions[path] = texts
            newest = log.states_of(path)[:1]
            place = root / path
            on_disk = place.read_text("utf-8") if place.exists() else None
            kept = log.text(newest[0]).decode() if newest and newest[0].exists else None
            assert on_disk == kept, path
        every = list(itertools.chain.from_iterable(said))
        written = [one["begins"] for one in every if "begins" in one and not one.get("part")]
        known = {text for one in written for text in one.values() if text}
        known |= {text for _, text in saved}
        lines = {line for text in known for line in text.split("\n")}
        lines |= {line for one in every for line in one.get("begins", {}).values() if line}
        # Another process may meet half of an append, before the writer takes it back.
        parts = [one["begins"] for one in every if one.get("part")]
        lines |= {line[:end] for one in parts for line in one.values() for end in range(len(line))}
        for path in NAMES:
            for state in log.states_of(path):  # no mixture: each line was written by a writer
                text = log.text(state).decode() if state.exists else ""
                assert set(text.split("\n")) <= lines, (state.version, text)
        done = [
            (path, text)
            for own in said
            for begins, ended in itertools.pairwise(own)
            if ended.get("done") and not begins.get("part")
            for path, text in begins.get("begins", {}).items()
            if text is not None
        ]
        for path, text in done:  # what was done is in the history of its note, whoever came then
            assert text in versions[path], (path, text)
        for query in ("editor", "p"):
            memory.search(query)
        for path in memory.paths():
            assert memory.get(path).status == "ok"


@pytest.mark.slow
def test_random_changes_of_processes_and_an_editor_lose_no_text(tmp_path):
    root, state, said, saved, _ = run(tmp_path, processes=3, changes=20, kills=0.4, seed=1)
    check(root, state, said, saved)
    assert sum("done" in one for own in said for one in own) > 3


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", sampled(range(2, 6), every=4))
def test_many_random_changes_with_kills_lose_no_text(tmp_path, seed):
    root, state, said, saved, killed = run(tmp_path, processes=8, changes=60, kills=0.6, seed=seed)
    check(root, state, said, saved)
    assert killed > 0
