"""The demo's workspace, indexed once for all tests of a module."""

from __future__ import annotations

import pytest

from commonplace import Memory
from commonplace.demo import write_demo_workspace
from support.fakes import NOON, HashedWords, clock


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    write_demo_workspace(folder / "notes", today=NOON.date())
    with Memory.open(
        folder / "notes", embedder=HashedWords(), index=folder / "i.sqlite", now=clock()
    ) as memory:
        yield memory
