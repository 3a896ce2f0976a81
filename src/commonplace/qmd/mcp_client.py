"""MCP client: one ``qmd mcp`` process on standard input and output, asked behind a deadline."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import subprocess
import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any

from commonplace.qmd.program import (
    QmdError,
    QmdProgram,
    end_process,
    last_line,
    unexpected,
)

__all__ = ["QmdServer", "SlowServerError", "UnsupportedServerError"]

_PROTOCOL = "2025-06-18"
_MAX_LINE = 4 * 1024 * 1024
"""Bytes of one message, at most."""
_MAX_LINES = 1_000
"""Messages that wait to be read, at most: a program that prints without end is held up."""


class SlowServerError(QmdError):
    """The server has not answered yet: it may load a model, or hang."""


class UnsupportedServerError(QmdError):
    """The program has no server, or one that speaks another protocol: its command line may do."""


class QmdServer:
    """A running ``qmd mcp``. A request that is late stays open: its answer is waited for later."""

    def __init__(self, program: QmdProgram) -> None:
        """Start it.

        Raises:
            QmdError: There is no such program.
        """
        self.version = ""
        self.process = program.start("mcp", stdin=subprocess.PIPE)
        self._lines: queue.Queue[bytes] = queue.Queue(_MAX_LINES)
        self._errors: deque[bytes] = deque(maxlen=20)
        self._numbers = itertools.count(1)
        self._is_ready = False
        self._open: tuple[int, float] | None = None
        """Number of the request that is not answered yet, and since when."""
        owner = os.getpid()
        self._end = weakref.finalize(self, _end_own, self.process, owner)
        for target in (_read_lines, _read_errors):
            sink = self._lines if target is _read_lines else self._errors
            arguments = (self.process, sink)
            threading.Thread(target=target, args=arguments, name="qmd", daemon=True).start()

    @property
    def busy_s(self) -> float:
        """Seconds since the request that is not answered yet; 0 without one."""
        return 0.0 if self._open is None else time.monotonic() - self._open[1]

    def close(self) -> None:
        """End the process."""
        self._end()

    def query(
        self,
        queries: Sequence[tuple[str, str]],
        *,
        limit: int,
        collections: Sequence[str],
        until: float,
    ) -> Any:
        """Ask for places and return the results as QMD gives them.

        Args:
            queries: Typed sub-queries.
            limit: Results, at most.
            collections: Names of the collections to search.
            until: Deadline, by `time.monotonic`.

        Raises:
            SlowServerError: It did not answer in time.
            UnsupportedServerError: It is no server of this protocol.
            QmdError: It died, or refused the question.
        """
        if self._open is not None:  # a question of before: its answer is there by now, or awaited
            self._answer(self._open[0], time.monotonic())
        if not self._is_ready:
            self._initialize(until)
        searches = [{"type": kind, "query": text} for kind, text in queries]
        arguments = {
            "searches": searches,
            "limit": limit,
            "collections": list(collections),
            "rerank": False,
        }
        answer = self._call("tools/call", {"name": "query", "arguments": arguments}, until)
        if not isinstance(answer, dict) or answer.get("isError"):
            raise QmdError(f"QMD refused the question: {_text(answer)}")
        try:
            return answer["structuredContent"]["results"]
        except (KeyError, TypeError) as error:
            raise QmdError(unexpected(json.dumps(answer))) from error

    def _initialize(self, until: float) -> None:
        client = {"name": "commonplace", "version": "1"}
        wanted = {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": client}
        try:
            answer = self._call("initialize", wanted, until)
            self.version = str(answer["serverInfo"]["version"])[:40]
        except SlowServerError:
            raise
        except (QmdError, KeyError, TypeError) as error:
            raise UnsupportedServerError(
                f"'qmd mcp' is no server of its protocol: {error}"
            ) from error
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self._is_ready = True

    def _call(self, method: str, parameters: dict[str, Any], until: float) -> Any:
        number = next(self._numbers)
        self._open = (number, time.monotonic())
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})
        return self._answer(number, until)

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            # A message is shorter than a pipe holds, so a program that does not read holds up none.
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except (OSError, ValueError) as error:
            raise QmdError(self._death()) from error

    def _answer(self, number: int, until: float) -> Any:
        """Wait for the answer to a request; other messages are skipped."""
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                raise SlowServerError("QMD did not answer in time") from None
            if not line:
                self._lines.put(b"")  # for whatever asks next
                raise QmdError(self._death())
            message = _message(line)
            if message.get("id") == number:
                self._open = None
                if "result" not in message:
                    raise QmdError(f"QMD refused the question: {_text(message.get('error'))}")
                return message["result"]

    def _death(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=0.2)
        said = last_line(b"".join(self._errors))
        return f"'qmd mcp' ended ({self.process.returncode})" + (f": {said}" if said else "")


def _message(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise QmdError(unexpected(line[:400].decode("utf-8", "replace")))
    return message


def _text(answer: Any) -> str:
    """Return the words of a refusal, shortened."""
    with contextlib.suppress(KeyError, TypeError, IndexError):
        return " ".join(str(answer["content"][0]["text"]).split())[:200]
    with contextlib.suppress(KeyError, TypeError):
        return " ".join(str(answer["message"]).split())[:200]
    return "it gave no reason"


def _read_lines(process: subprocess.Popen[bytes], lines: queue.Queue[bytes]) -> None:
    assert process.stdout is not None
    with contextlib.suppress(OSError, ValueError), process.stdout as output:
        while line := output.readline(_MAX_LINE):
            while line.strip() and process.returncode is None:
                with contextlib.suppress(queue.Full):
                    lines.put(line, timeout=1)
                    break
    with contextlib.suppress(queue.Full):
        lines.put(b"", timeout=1)


def _read_errors(process: subprocess.Popen[bytes], errors: deque[bytes]) -> None:
    assert process.stderr is not None
    with contextlib.suppress(OSError, ValueError), process.stderr as output:
        while line := output.readline(_MAX_LINE):
            errors.append(line)


def _end_own(process: subprocess.Popen[bytes], owner: int) -> None:
    """End a process of this process, not of the parent that it was forked from."""
    if os.getpid() == owner:
        end_process(process)
