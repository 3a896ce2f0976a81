"""Environment of the processes that tests start: they import the code that the test imports."""

import os
from pathlib import Path

__all__ = ["environment"]

TESTS = Path(__file__).parents[1]


def environment() -> dict[str, str]:
    """Return the environment with the tests' folder in front of the module search path."""
    before = os.environ.get("PYTHONPATH")
    paths = [str(TESTS), *filter(None, [before])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
