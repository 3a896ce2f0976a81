"""The engines that tests run over, and how a test opens an index of each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from commonplace.store.base import Store
from commonplace.store.registry import open_store

ENGINES: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda folder: open_store(folder / "index.sqlite"),
    "memory": lambda folder: open_store("memory://"),
}
"""Engines by the scheme of their URL; each makes a new store, its files in the folder."""
