"""Processes that are killed at each step of a change: the text of before or of after is there."""

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from history.worker import AFTER, BEFORE, VERBS, opened

WORKER = Path(__file__).with_name("worker.py")
TIMEOUT_S = 120
OUTCOMES = {
    "write": [{}, {"memory/deep/er/note.md": AFTER}],
    "replace": [{"memory/new.md": BEFORE}, {"memory/new.md": AFTER}],
    "edit": [{"memory/known.md": BEFORE}, {"memory/known.md": AFTER}],
    "delete": [{"memory/known.md": BEFORE}, {}],
    "move": [{"memory/known.md": BEFORE}, {"memory/deep/moved.md": BEFORE}],
    "undo": [{"memory/known.md": BEFORE}, {}],
}
"""Files before and after each verb, the others left out."""

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL"),
]


def changed(verb, runs, **environment):
    """Change notes in processes that are killed, each in its folder; tell how each ended."""
    for folder, _ in runs:
        folder.mkdir()
    command = [sys.executable, str(WORKER), verb, *(str(part) for run in runs for part in run)]
    ended = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        timeout=TIMEOUT_S,
        check=True,
        env=os.environ | environment,
    )
    return [int(line) for line in ended.stdout.split()]


def texts(folder):
    """Return the files of the notes, temporary ones included."""
    root = folder / "notes"
    return {
        path.relative_to(root).as_posix(): path.read_text("utf-8")
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def check(verb, folder, step):
    """Check the notes after a kill: atomic, with nothing left, and usable."""
    others = {"memory/known.md": BEFORE, "memory/new.md": BEFORE}
    before, after = ({**others, **outcome} for outcome in OUTCOMES[verb])
    for path in OUTCOMES[verb][0]:
        if path not in OUTCOMES[verb][1]:
            del after[path]
    visible = {path: text for path, text in texts(folder).items() if path.endswith(".md")}
    # Without a rename that replaces nothing, a move has both names for a moment.
    assert visible in (before, after) or (verb, visible) == ("move", {**before, **after}), step
    with opened(folder) as memory:
        if visible not in (before, after):
            visible = after
        assert texts(folder) == visible, step  # nothing but notes is left
        assert memory._notes.log.file.rows("SELECT * FROM pending WHERE NOT done") == []
        newest = {one.path: one.hash for one in reversed(memory.history())}
        known = {path: known for path, known in newest.items() if known}
        expected = {
            path: hashlib.sha256(text.encode()).hexdigest()
            for path, text in visible.items()
            if path != "memory/new.md" or path in known
        }
        assert known == expected, step
        memory.index()
        for path, text in visible.items():
            memory.write(path, text + "- More.\n")
            memory.undo(memory.history(path)[0].id)
        assert texts(folder) == visible, step
    return visible == after


def _cases():
    """Yield verbs by swap and by its fallback; a gate has time for one."""
    for fallback, name in (("", "swap"), ("FALLBACK", "fallback")):
        for verb in VERBS:
            is_gated = not fallback and verb == "move"
            marks = () if is_gated else pytest.mark.full
            yield pytest.param(verb, fallback, id=f"{verb}-{name}", marks=marks)


@pytest.mark.parametrize(("verb", "fallback"), list(_cases()))
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_change_that_is_killed_at_any_step_leaves_before_or_after(tmp_path, verb, fallback):
    environment = {fallback: "1"} if fallback else {}
    (count,) = changed(verb, [(tmp_path / "0", 0)], **environment)
    assert count > 10
    assert check(verb, tmp_path / "0", 0)
    runs = [(tmp_path / str(step), step) for step in range(1, count + 1)]
    assert set(changed(verb, runs, **environment)) == {-signal.SIGKILL}
    outcomes = [check(verb, folder, step) for folder, step in runs]
    assert outcomes[0] is False
    assert outcomes == sorted(outcomes)  # from one step on, the change is made


@pytest.mark.slow
def test_a_change_that_is_killed_halfway_leaves_before_or_after(tmp_path):
    (count,) = changed("edit", [(tmp_path / "0", 0)])
    runs = [(tmp_path / str(step), step) for step in range(1, count + 1, 7)]
    assert set(changed("edit", runs)) == {-signal.SIGKILL}
    outcomes = [check("edit", folder, step) for folder, step in runs]
    assert outcomes == sorted(outcomes)
