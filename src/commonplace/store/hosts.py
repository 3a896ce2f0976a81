"""Hosts that share one memory over an engine on a server: freshness and leadership.

One of the hosts that have the folder leads: it watches the files and applies the inbox. All hosts
can follow the writes of the others. An engine for that has the capability ``"hosts"``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from commonplace.store.base import Store
    from commonplace.types import ServerStatus

__all__ = ["Hosts", "hosts_of"]


class Hosts(Protocol):
    """The hosts of one memory, as this process meets them."""

    def followed(self, changed: Callable[[], object] = ...) -> AbstractContextManager[None]:
        """Follow the writes of every host while the block runs.

        The vectors that this process holds are kept in step, so that no search waits for them.

        Args:
            changed: Called, by another thread, at the beginning and after writes. What it raises is
                logged.
        """

    def leading(
        self, *, check: Callable[[], object] = ..., lost: Callable[[], object] = ...
    ) -> AbstractContextManager[None]:
        """Wait for the leadership among the hosts; hold it while the block runs.

        It ends with its process, and with its connection: another one leads within ten seconds.
        From the first call on, this process writes to the index only while it leads.

        Args:
            check: Called about every second while waiting; what it raises ends the wait.
            lost: Called, by another thread, when the leadership was lost.

        Raises:
            IndexReadOnlyError: The index cannot be written.
            StoreError: The server cannot be reached.
        """

    def is_led_by_another(self) -> bool:
        """Return whether another process leads."""

    def status(self) -> ServerStatus:
        """Return what the server knows of the memory and its hosts."""

    def close(self) -> None:
        """End what follows the writes."""


def hosts_of(store: Store) -> Hosts | None:
    """Return the hosts of an index; None where it is this machine's alone."""
    if "hosts" not in store.capabilities:
        return None
    found: Hosts | None = getattr(store, "hosts", None)
    return found
