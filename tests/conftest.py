import itertools
import os
import shutil
import signal
import threading
import time

import pytest
from hypothesis import settings

from commonplace.embeddings.providers.bundled import TokenVectors, is_available
from support import engines, postgres
from support.notes import Notes

# Machines that run tests are busy. A gate says the same of the same code: its examples stay the
# same, and the thorough profile makes up others.
settings.register_profile("commonplace", deadline=None, derandomize=True, max_examples=40)
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "5000"))
settings.register_profile("thorough", deadline=None, max_examples=EXAMPLES, derandomize=False)
settings.load_profile("commonplace")


IN_MEMORY = "/dev/shm"
"""Folder of a file system in memory."""
NEEDED_BYTES = 4 << 30
"""Space in it from which on it is used: the quick tests fill a tenth of it."""


def pytest_configure(config):
    """Let interrupts through to the processes that tests start; say where their folders are.

    Where interrupts are ignored, as under nohup or in a shell's background, children inherit that.
    The quick tests sync their notes to the disk thousands of times, and would wait for it half of
    their time; they and the slow ones use the disk where .ci/full runs both.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.markexpr == "not slow" and _is_in_memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", IN_MEMORY)


def _is_in_memory():
    return (
        os.path.ismount(IN_MEMORY)
        and os.access(IN_MEMORY, os.W_OK)
        and shutil.disk_usage(IN_MEMORY).free >= NEEDED_BYTES
    )


_NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def _own_settings_and_state(tmp_path_factory, monkeypatch):
    """Keep the settings file and the indexes of the user who runs the tests out of them.

    Each test has a state folder of its own: the folder of a test that passed is deleted, and the
    next one of its name would find what that one noted.
    """
    home = tmp_path_factory.getbasetemp()
    monkeypatch.delenv("COMMONPLACE_CONFIG", raising=False)
    monkeypatch.setenv("COMMONPLACE_STATE_DIR", str(home / "state" / str(next(_NUMBERS))))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))


_OVER_POSTGRESQL = {"test_concurrency", "test_contract", "test_memory", "test_runs", "test_windows"}
"""Modules whose tests also run over PostgreSQL, by .ci/full; test_postgres has quick ones."""


_OVER_MEMORY = {"test_contract", "test_memory"}
"""Modules that the gate runs over the engine in memory, too."""


def pytest_collection_modifyitems(config, items):
    """Mark what runs over SQLite and another engine slow over that one, and most of it full."""
    kept, left = [], []
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        module = item.module.__name__.split(".")[-1] if hasattr(item, "module") else ""
        over_postgresql = postgres.NAME in (it for it in params.values() if isinstance(it, str))
        (left if over_postgresql and module not in _OVER_POSTGRESQL else kept).append(item)
        in_memory = params.get("engine") == "memory"
        if over_postgresql or (in_memory and module not in _OVER_MEMORY):
            item.add_marker("full")
        if over_postgresql or (in_memory and module != "test_contract"):
            item.add_marker("slow")
    if left:
        config.hook.pytest_deselected(items=left)
    items[:] = kept


@pytest.fixture(autouse=True, scope="session")
def _vectors_stay_loaded():
    """Hold the bundled vectors, which are freed with the last memory and loaded by the next one."""
    return TokenVectors.shared() if is_available() else None


@pytest.fixture(params=engines.ENGINES)
def engine(request, monkeypatch):
    """Run a test over each engine; one of the marker ``sqlite`` over SQLite alone."""
    marker = request.node.get_closest_marker("sqlite")
    if marker is not None and request.param != "sqlite":
        pytest.skip(f"SQLite's own: {marker.args[0]}")
    engines.install(monkeypatch)
    return request.param


@pytest.fixture
def notes(tmp_path, engine):
    """Notes whose index is of each engine."""
    return Notes(tmp_path, engine=engine)


@pytest.fixture(autouse=True)
def _no_work_is_left_in_the_background():
    """Fail a test that leaves threads of a memory behind."""
    yield
    until = time.monotonic() + 10.0
    while left := [t.name for t in threading.enumerate() if t.name.startswith(_OURS)]:
        assert time.monotonic() < until, left
        time.sleep(0.01)


_OURS = ("commonplace-index", "commonplace-watch")
