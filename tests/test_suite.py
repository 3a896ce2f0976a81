"""The tests end, whatever shell they are started from."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_children_can_be_interrupted_though_the_run_ignores_interrupts():
    # As under nohup. Without its handler the child would outlive the interrupt, and the deadline.
    code = (
        "import signal, sys, pytest\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "sys.exit(pytest.main(sys.argv[1:]))\n"
    )
    options = ["-q", "-p", "no:cacheprovider", "--timeout=50", "tests/cli/test_watch.py"]
    run = subprocess.run(
        [sys.executable, "-c", code, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
