"""The program: QMD's command line, run in a home of its own, and what its words mean."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.system.files import make_private_folder

__all__ = ["INDEX", "QmdError", "QmdHit", "QmdProgram", "end_process", "hits_of", "typed_queries"]

INDEX = "commonplace"
"""Name of QMD's index in its home."""
TESTED = "2.8.3"
"""Version of QMD that the tests run against."""
_MAX_OUTPUT = 4 * 1024 * 1024
"""Characters of QMD's output that are read."""


class QmdError(Exception):
    """Failure of QMD: the text says what was found, and what to do."""


class QmdHit(NamedTuple):
    """A place that QMD named.

    Attributes:
        collection: QMD's name of the folder.
        file: Path in it.
        line: Line of the file, from 1.
        score: QMD's score, 0..1.
    """

    collection: str
    file: str
    line: int
    score: float


@dataclass(frozen=True)
class QmdProgram:
    """QMD's program and the home that it runs in.

    Attributes:
        command: The program and its arguments, as a shell would read them.
        home: Folder of its index, its configuration and its models.
    """

    command: str
    home: Path

    def make_home(self) -> None:
        """Make the home, which its owner only may enter.

        Raises:
            QmdError: It cannot be made.
        """
        try:
            make_private_folder(self.home)
        except OSError as error:
            raise QmdError(f"QMD's home {self.home} cannot be made: {error.strerror}") from error

    def arguments(self, *arguments: str) -> list[str]:
        """Return a command line.

        Raises:
            QmdError: There is no such program.
        """
        given = self.command.strip()
        try:
            words = [given] if os.path.isfile(given) else shlex.split(given, posix=os.name != "nt")
        except ValueError as error:
            raise QmdError(f"qmd.command is {given!r}, which no shell reads: {error}") from error
        found = shutil.which(words[0]) if words else None
        if found is None:
            raise QmdError(
                f"there is no program {words[0] if words else given!r} (qmd.command): install QMD "
                f"with 'npm install -g @tobilu/qmd@{TESTED}', or name its program"
            )
        return [found, *words[1:], "--index", INDEX, *arguments]

    @property
    def fault(self) -> str | None:
        """Why there is no such program, and what to do; None where it is there."""
        try:
            self.arguments()
        except QmdError as error:
            return str(error)
        return None

    def environment(self) -> dict[str, str]:
        """Return the environment: the user's, with a home of its own and no graphics card."""
        return os.environ | {
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "QMD_FORCE_CPU": os.environ.get("QMD_FORCE_CPU", "1"),
            "NO_COLOR": "1",
        }

    def start(self, *arguments: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Start the program in a process group of its own.

        Raises:
            QmdError: It cannot be started.
        """
        self.make_home()
        try:
            return subprocess.Popen(
                self.arguments(*arguments),
                env=self.environment(),
                cwd=self.home,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise QmdError(f"QMD cannot be started: {error.strerror or error}") from error

    def run(
        self,
        *arguments: str,
        timeout_s: float,
        started: Callable[[subprocess.Popen[bytes]], object] | None = None,
    ) -> str:
        """Run a command to its end and return what it printed.

        Args:
            arguments: The command.
            timeout_s: Seconds after which it is ended.
            started: Called with the process, for a caller that may want to end it sooner.

        Raises:
            QmdError: It cannot be started, took too long, or failed.
        """
        process = self.start(*arguments)
        if started is not None:
            started(process)
        try:
            printed, errors = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise QmdError(f"'qmd {arguments[0]}' did not end within {timeout_s:.3g} s") from None
        finally:
            end_process(process)
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        if process.returncode:
            said = last_line(errors) or last_line(printed) or "without a word"
            raise QmdError(f"'qmd {arguments[0]}' failed with {process.returncode}: {said}")
        return printed[:_MAX_OUTPUT].decode("utf-8", "replace")

    def search(self, queries: Iterable[tuple[str, str]], *, limit: int, timeout_s: float) -> Any:
        """Ask by the command line and return the results as QMD prints them.

        Raises:
            QmdError: It failed, or printed no JSON.
        """
        document = "\n".join(f"{kind}: {text}" for kind, text in queries)
        options = ("--json", "--no-rerank", "-n", str(limit))
        printed = self.run("query", document, *options, timeout_s=timeout_s)
        try:
            return json.loads(printed or "[]")
        except ValueError as error:
            raise QmdError(unexpected(printed)) from error


def typed_queries(words: Iterable[str], question: str, *, mode: str) -> list[tuple[str, str]]:
    """Return typed sub-queries, which need none of QMD's chat models.

    QMD joins the words of one sub-query by AND, so that each is one of its own.

    Args:
        words: The rarest words of the question, rarest first.
        question: The question as it was asked.
        mode: ``search`` by words, ``vsearch`` by vectors, ``query`` by both.
    """
    flat = " ".join(question.replace('"', " ").split())
    plain = (word.strip("-\"'") for word in words)
    by_words = [] if mode == "vsearch" else [("lex", word) for word in plain if word]
    return by_words + ([("vec", flat)] if mode != "search" and flat else [])


def hits_of(results: Any) -> list[QmdHit]:
    """Return the places among QMD's results, as its server or its command line gives them.

    Raises:
        QmdError: The results have another form.
    """
    try:
        return [
            QmdHit(*_parts(result["file"]), int(result["line"]), _score(result["score"]))
            for result in results
        ]
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise QmdError(unexpected(json.dumps(results, ensure_ascii=False))) from error


def _parts(file: str) -> tuple[str, str]:
    """Return the collection and the path in it of ``qmd://memory/a.md?index=name``."""
    name = file.removeprefix("qmd://").removesuffix(f"?index={INDEX}")
    collection, slash, path = name.partition("/")
    if not slash:
        raise ValueError(file)
    return collection, path


def _score(score: object) -> float:
    value = float(score)  # type: ignore[arg-type]
    if not 0 <= value <= 1:  # NaN, too
        raise ValueError(score)
    return value


def unexpected(answer: str) -> str:
    """Return the message about an answer of another form."""
    shown = " ".join(answer.split())[:80]
    return f"QMD answered {shown!r}, which is not the form of QMD {TESTED}; install that version"


def last_line(output: bytes) -> str:
    """Return the last line of what a program printed, shortened."""
    lines = output[-4096:].decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip()[:200] if lines else ""


def end_process(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it started."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        elif process.returncode is None:  # a process that was waited for has no group any more
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        process.wait(timeout=1)
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
