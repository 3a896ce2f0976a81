"""The engines that tests run over, and where a test's index is in each of them."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from commonplace.errors import StoreError
from commonplace.store import registry
from commonplace.store.base import Store
from commonplace.store.registry import open_store
from support import postgres

ENGINES: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda folder: open_store(folder / "index.sqlite"),
    "memory": lambda folder: open_store("memory://"),
    "postgresql": lambda folder: open_store(postgres.url_of(folder)),
}
"""Engines by the scheme of their URL; each makes a new store, its files in the folder."""


def _installed(scheme: str) -> Callable[[Path], Store]:
    return lambda folder: open_store(f"{scheme}://{folder}/index")


# The tests run over the engines of installed packages, too.
ENGINES |= {
    point.name: _installed(point.name)
    for point in entry_points(group=registry.ENTRY_POINTS)
    if point.name not in registry._ENGINES
}


def index_at(engine: str, folder: Path, name: str = "index.sqlite") -> Path | str:
    """Return where an index is; the memories that a test opens there share it."""
    if engine == "postgresql":
        return postgres.url_of(folder, name)
    if engine == "memory":
        return f"shared://{folder}/{name}"
    return folder / name if engine == "sqlite" else f"{engine}://{folder}/{name}"


class SharedIndex:
    """A client of an index in memory, which outlives it as a server's index does."""

    def __init__(self, url: str, store: Store) -> None:
        self.location = url
        self._store = store
        self._closed = False

    def __getattr__(self, name: str) -> object:
        if self._closed:
            raise StoreError("the memory is closed; open it again with Memory.open(...).")
        return getattr(self._store, name)

    def close(self) -> None:
        self._closed = True


_SHARED: dict[str, Store] = {}


def open_shared(url: str) -> SharedIndex:
    """Open an index in memory by a name; for the engine ``shared``."""
    return SharedIndex(url, _SHARED.setdefault(url, open_store("memory://")))


def install(monkeypatch) -> None:
    """Let `Memory.open` know the engine ``shared``, for one test."""
    _SHARED.clear()
    monkeypatch.setitem(registry._ENGINES, "shared", f"{__name__}:open_shared")
