"""Processes that are killed at a step that they are told: for the workers of test_kills.py.

``python worker.py SUBJECT FOLDER STEP [FOLDER STEP ...]`` starts one process after the other; step
0 is none. It prints how each ended: the signal that killed it, or how many steps there were.
"""

import os
import signal
import sys
from pathlib import Path

__all__ = ["killable", "run_all", "step"]

_steps = 0


def step(kill_at):
    """Count a step; the process is killed at the one that it is told."""
    global _steps
    _steps += 1
    if _steps == kill_at:
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


def run_all(run, *runs, prepare=lambda folder: None):
    """Call ``run(folder, step)`` in a process of its own for each; print how each ended."""
    for folder, kill_at in zip(runs[::2], runs[1::2], strict=True):
        prepare(Path(folder))
        process = os.fork()
        if not process:
            run(Path(folder), int(kill_at))
            os._exit(_steps)
        _, status = os.waitpid(process, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
