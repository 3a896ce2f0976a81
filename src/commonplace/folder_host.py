"""Folder host: the process that has the folder of a memory which several hosts share.

Of the hosts that serve one memory, one leads: it watches the files, makes the changes of hosts
without the folder in them, and indexes them. The others wait, and one of them leads when it ends.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from commonplace.errors import CommonplaceError, StoreError

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.store.hosts import Hosts
    from commonplace.types import IndexReport

__all__ = ["FolderHost"]

logger = logging.getLogger(__name__)

_LOOK_EVERY_S = 10.0
"""How often the inbox is looked at without a notice, and after a change could not be made."""
_FIRST_RETRY_S, _LAST_RETRY_S = 0.5, 5.0


class _StoppedError(Exception):
    """The host was stopped while it waited."""


class FolderHost:
    """Host of one memory's folder, until it is stopped.

    Args:
        memory: The memory, over an index that hosts share.
        say: Called with a line for people when something begins or fails.
        on_run: Called, by any thread, with the report of each index run.

    Raises:
        StoreError: The index is one of this machine.
        WorkspaceNotFoundError: The memory is a connected one, without the folder.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        say: Callable[[str], object] = logger.info,
        on_run: Callable[[IndexReport], object] = lambda _: None,
    ) -> None:
        memory.workspace.require("serving a memory")
        hosts = memory.hosts
        if hosts is None:
            raise StoreError(
                f"the index {memory.index_location} is one of this machine; an index on a server "
                "was expected, such as postgresql://host/database?name=team. Use 'commonplace "
                "watch' to keep this one fresh."
            )
        self._memory = memory
        self._hosts: Hosts = hosts
        self._say = say
        self._on_run = on_run
        self._wake = threading.Event()
        self._stopped = False
        self._lost = False
        self._problem = ""
        self._has_begun = False

    def stop(self) -> None:
        """Let `run` return at its next step."""
        self._stopped = True
        self._wake.set()

    def run(self) -> None:
        """Lead, or wait for the host that does, until the host is stopped.

        A server that goes away is waited for, once it was reached.

        Raises:
            CommonplaceError: The server cannot be reached at the beginning, the index cannot be
                written, or the files cannot be indexed the first time.
        """
        retry_s = _FIRST_RETRY_S
        while not self._stopped:
            began = time.monotonic()
            try:
                with self._hosts.leading(check=self._look_around(), lost=self._lose):
                    self._lead()
            except _StoppedError:
                return
            except (CommonplaceError, OSError) as error:
                if self._stopped:
                    return
                if not self._has_begun:
                    raise
                self._report(error)
            if time.monotonic() - began > _LAST_RETRY_S:
                retry_s = _FIRST_RETRY_S
            if not self._stopped:
                time.sleep(retry_s)
            retry_s = min(_LAST_RETRY_S, 2 * retry_s)

    def _lead(self) -> None:
        self._lost = False
        self._say("leads: this host watches the files")
        self._on_run(self._memory.index())
        self._has_begun, self._problem = True, ""
        with (
            self._hosts.followed(self._wake.set),
            self._memory.watch(on_run=self._on_run),
        ):
            while not (self._stopped or self._lost):
                self._apply_inbox()
                self._wake.wait(_LOOK_EVERY_S)
                self._wake.clear()
        if self._lost:
            self._say("leads no longer: its connection to the server was lost")

    def _apply_inbox(self) -> None:
        try:
            count = self._memory.apply_inbox()
        except (CommonplaceError, OSError) as error:
            self._report(error)
        else:
            self._problem = ""
            if count:
                notes = f"{count} notes" if count > 1 else "1 note"
                self._say(f"{notes} changed by hosts without the folder")

    def _lose(self) -> None:
        self._lost = True
        self._wake.set()

    def _look_around(self) -> Callable[[], None]:
        """Return what is called while another host leads: it says once which one."""
        said = False

        def look() -> None:
            nonlocal said
            if self._stopped:
                raise _StoppedError
            if not said:
                said = True
                self._has_begun = True  # a host that waits outlives the server, too
                leader = self._hosts.status().leader or "another host"
                self._say(f"waits: {leader} leads")

        return look

    def _report(self, error: Exception) -> None:
        """Say what failed, once until it succeeds."""
        if str(error) != self._problem:
            self._problem = str(error)
            self._say(self._problem)
