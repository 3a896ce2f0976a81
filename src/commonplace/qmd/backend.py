"""QMD backend: places for a question, behind a deadline, with a circuit breaker.

Circuit breaker: after a failure QMD is left alone for a time that doubles with each further one,
from 5 s to 5 min; searches are answered by the own index at once, and say why.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace.qmd.folders import folders_of, is_known, path_of
from commonplace.qmd.index_updates import QmdIndex, QmdState
from commonplace.qmd.mcp_client import QmdServer, SlowServerError, UnsupportedServerError
from commonplace.qmd.program import QmdError, QmdProgram, hits_of, typed_queries
from commonplace.retrieval.query import FoundLine, FoundLines
from commonplace.workspace.paths import is_normal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.settings import QmdSettings
    from commonplace.workspace.paths import WorkspacePaths

__all__ = ["MAX_WORDS", "QmdAnswer", "QmdBackend", "QmdHealth"]

MAX_WORDS = 3
"""Words of a question that QMD is asked for, the rarest."""
_FIRST_DELAY_S, _LAST_DELAY_S = 5.0, 300.0
_HUNG_S = 30.0
"""Seconds after which a server that has not answered is ended; until then it may load a model."""
_SERVER_RETRY_S = 300.0
"""Seconds that the command line is used for where there is no server."""


class QmdAnswer(NamedTuple):
    """What QMD found for a search.

    Attributes:
        found: The lines; None where the own index answers.
        notice: Why it does; None where QMD answered.
    """

    found: FoundLines | None
    notice: str | None = None


class QmdHealth(NamedTuple):
    """State of the backend, for `Memory.status`.

    Attributes:
        summary: What QMD does at the moment.
        warning: What is wrong, and what to do; None when nothing is.
    """

    summary: str
    warning: str | None = None


class QmdBackend:
    """QMD, as the backend of one memory. Threads share it."""

    def __init__(self, workspace: WorkspacePaths, settings: QmdSettings, home: Path) -> None:
        """Nothing is started before the first search.

        Raises:
            SettingsError: `QmdSettings.collections` names what is not of the memory.
        """
        self._settings = settings
        self._program = QmdProgram(settings.command, home)
        self.index = QmdIndex(
            self._program,
            folders_of(workspace, settings.collections),
            vectors=settings.mode != "search",
            minutes=settings.refresh,
        )
        self._lock = threading.Lock()
        self._server: QmdServer | None = None
        self._server_of: tuple[Any, ...] = ()
        """Collections that the server was started with: it reads them once."""
        self._no_server_until = 0.0
        self._failures = 0
        self._failure = ""
        self._retry_at = 0.0
        self._answered = 0

    def find(self, question: str, words: Sequence[str]) -> QmdAnswer:
        """Ask QMD for the lines that may answer a question; it never raises for what QMD does.

        Args:
            question: The question.
            words: Its rarest words, rarest first.
        """
        until = time.monotonic() + self._settings.timeout_s
        if not self._lock.acquire(timeout=self._settings.timeout_s):
            return self._own("it is busy with the questions of other threads")
        try:
            return self._find(question, words, until)
        finally:
            self._lock.release()

    def _find(self, question: str, words: Sequence[str], until: float) -> QmdAnswer:
        updates = self.index.update_in_background()
        state = self.index.state
        if state is None:
            return self._own(self._program.fault or self._unmade(updates))
        if (wait_s := self._retry_at - time.monotonic()) > 0:
            return self._own(self._failure, retry_s=wait_s)
        queries = typed_queries(words, question, mode=self._settings.mode)
        if not queries:
            return self._own("the question has no words that it could be asked for")
        try:
            hits = hits_of(self._ask(queries, state, until))
        except SlowServerError as error:
            if self._server is None or self._server.busy_s > _HUNG_S:
                return self._failed(f"{error}, for {_HUNG_S:g} s, and was ended")
            return self._own(f"it did not answer within {self._settings.timeout_s:g} s")
        except (QmdError, OSError, RuntimeError) as error:  # such as a process without threads left
            return self._failed(str(error))
        self._failures, self._failure, self._answered = 0, "", self._answered + 1
        named = [(path_of(state.collections, it.collection, it.file), it) for it in hits]
        lines = tuple(
            FoundLine(path, it.line, it.score) for path, it in named if path and is_normal(path)
        )
        if not lines:
            return self._own("it found nothing")
        known = state.collections
        return QmdAnswer(FoundLines(lines, lambda path: is_known(known, path), state.updated_ns))

    def _ask(self, queries: list[tuple[str, str]], state: QmdState, until: float) -> Any:
        limit = self._settings.limits
        if time.monotonic() >= self._no_server_until:
            names = [folder.name for folder in state.collections]
            if self._server is not None and self._server_of != state.collections:
                self._end_server()
            try:
                if self._server is None:
                    self._server = QmdServer(self._program)
                    self._server_of = state.collections
                return self._server.query(queries, limit=limit, collections=names, until=until)
            except UnsupportedServerError:
                self._end_server()
                self._no_server_until = time.monotonic() + _SERVER_RETRY_S
        left_s = max(0.01, until - time.monotonic())
        return self._program.search(queries, limit=limit, timeout_s=left_s)

    def update(self) -> None:
        """Bring QMD's index up to date and wait for it; what fails is kept for `health`."""
        try:
            self.index.update()
        except (QmdError, OSError) as error:
            self.index.failure = str(error)
            return
        self._retry_at, self._failures = 0.0, 0

    def health(self) -> QmdHealth:
        """Return what QMD does at the moment, without asking it."""
        state = self.index.state
        if failure := self._failure or self.index.failure or self._program.fault:
            wait_s = max(0.0, self._retry_at - time.monotonic())
            again = f" It is tried again in {wait_s:.0f} s." if wait_s else ""
            return QmdHealth("fails", f"The own index answers, not QMD: {failure}.{again}")
        if state is None:
            reason = self._unmade(self.index.is_updating)
            return QmdHealth("has no index", f"The own index answers, not QMD: {reason}.")
        by = f"server {self._server.version}" if self._server is not None else "not running"
        age = (time.time_ns() - state.updated_ns) / 6e10
        summary = f"{by}, {len(state.collections)} collections, updated {age:.0f} min ago"
        return QmdHealth(summary, f"{state.note}." if state.note else None)

    def close(self) -> None:
        """End QMD's processes; the next search starts them again."""
        self.index.close()
        if self._lock.acquire(timeout=0.1):
            try:
                self._end_server()
            finally:
                self._lock.release()
        elif (server := self._server) is not None:  # a search waits for it, and ends with it
            server.close()

    def _end_server(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def _failed(self, reason: str) -> QmdAnswer:
        """Open the circuit: QMD is left alone for a while."""
        self._end_server()
        delay_s = min(_FIRST_DELAY_S * 2**self._failures, _LAST_DELAY_S)
        self._failures += 1
        self._failure, self._retry_at = reason, time.monotonic() + delay_s
        return self._own(reason, retry_s=delay_s)

    def _unmade(self, updates: bool) -> str:
        if self.index.failure:
            return f"its index could not be made: {self.index.failure}"
        if updates:
            return "its index is being made; 'commonplace index' waits for it"
        return "its index is not made yet: run 'commonplace index', or Memory.index()"

    @staticmethod
    def _own(reason: str, *, retry_s: float | None = None) -> QmdAnswer:
        again = f"; it is tried again in {retry_s:.0f} s" if retry_s is not None else ""
        return QmdAnswer(None, f"the own index answered, not QMD: {reason}{again}")
