"""Leases of the SQLite engine: lock files beside the index."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from commonplace.errors import IndexBusyError, IndexReadOnlyError, StoreError
from commonplace.store.base import LeaseName
from commonplace.system.locks import FileLease

__all__ = ["hold", "holder", "make_folder"]

_SUFFIXES: dict[LeaseName, str] = {"run": ".lock", "swap": ".swap"}


@contextlib.contextmanager
def hold(
    index: Path, name: LeaseName, *, timeout_s: float, check: Callable[[], object]
) -> Iterator[None]:
    """Hold a lease on an index file; see `Store.lease`."""
    make_folder(index)
    lease = _file_lease(index, name)
    with contextlib.ExitStack() as stack:
        try:
            acquired = stack.enter_context(lease.held(timeout_s=timeout_s, check=check))
        except OSError as error:
            raise IndexReadOnlyError(
                f"the index {index} cannot be locked ({error.strerror or error}). Give yourself "
                "write access to its folder, or set COMMONPLACE_STATE_DIR to a folder of yours."
            ) from error
        if not acquired:
            raise IndexBusyError(
                f"process {lease.owner()} has held the index {index} for {timeout_s:g} s. "
                "Wait for it, or stop it."
            )
        yield


def holder(index: Path) -> str | None:
    """Return the process that holds the ``run`` lease; None when it is free."""
    process = _file_lease(index, "run").holder()
    return None if process is None else f"process {process}"


def make_folder(index: Path) -> None:
    """Create the folder of an index file.

    Raises:
        StoreError: It cannot be created.
    """
    try:
        index.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(
            f"the index folder {index.parent} cannot be created ({error.strerror}). "
            "Set COMMONPLACE_STATE_DIR, or index=, to a folder of yours."
        ) from error


def _file_lease(index: Path, name: LeaseName) -> FileLease:
    return FileLease(index.with_name(index.name + _SUFFIXES[name]))
