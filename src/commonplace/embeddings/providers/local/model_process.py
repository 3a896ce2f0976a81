"""Process of a local model: llama.cpp in a child process, asked through its pipes.

llama.cpp ends its process on a model that it did not expect, writes a hundred lines to standard
error, and its threads do not survive a fork. In a process of its own none of this reaches the
program that uses the memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.errors import EmbedderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ModelProcess"]

_WORKER = Path(__file__).with_name("worker.py")
_REASON = re.compile(rb"^.*(?:error|failed|ASSERT|Error:).*$", re.MULTILINE)
_MAX_REASON_CHARS = 200


class ModelProcess:
    """Child process that holds one model; it ends with the pipe, or when it is closed.

    Args:
        model: Runner, path, and parameters, as ``worker.py`` takes them.

    Raises:
        EmbedderError: The model cannot be loaded.
    """

    def __init__(self, model: Mapping[str, Any]) -> None:
        self._path = model["path"]
        self._lock = threading.Lock()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "GGML_NO_BACKTRACE": "1",  # it would start a debugger
        }
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
        )
        try:
            self._ask(model)
        except BaseException:
            self.close()
            raise

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Return ``(len(texts), d)``.

        Raises:
            EmbedderError: The model failed, or its process ended.
        """
        import numpy as np

        with self._lock:
            rows, dimension = self._ask({"texts": texts})["shape"]
            assert self._process.stdout is not None
            data = self._process.stdout.read(4 * rows * dimension)
        if len(data) != 4 * rows * dimension:
            raise self._ended()
        return np.frombuffer(data, dtype="<f4").reshape(rows, dimension)

    def close(self) -> None:
        """End the process; a call that is under way fails."""
        self._process.kill()
        self._process.wait()
        with self._lock:
            for pipe in (self._process.stdin, self._process.stdout, self._log):
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]

    def _ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except (OSError, ValueError) as error:
            raise self._ended() from error
        if not line.endswith(b"\n"):
            raise self._ended()
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise EmbedderError(f"the model {self._path} failed: {answer['error']}")
        return answer

    def _ended(self) -> EmbedderError:
        status = self._process.wait()
        reason = ""
        with contextlib.suppress(OSError, ValueError, IndexError):  # closed, or nothing was said
            self._log.seek(0)
            lines = _REASON.findall(self._log.read())
            reason = lines[-1].decode("utf-8", "replace").strip()[-_MAX_REASON_CHARS:]
        return EmbedderError(
            f"the process of the model {self._path} ended with status {status}"
            f"{f' ({reason})' if reason else ''}; the file may be damaged: fetch it again, or "
            "name another model."
        )
