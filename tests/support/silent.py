"""Chat models for silent turns: they note the facts that they are shown, fail, hang, or babble."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

from commonplace.flush import Flusher, FlushMessage, FlushReply, ToolCall
from commonplace.memory import Memory
from commonplace.settings import FlushSettings, Settings
from support.fakes import clock

FACT = re.compile(r"fact-\d+")
SILENT = FlushReply("NO_REPLY")


def facts_in(text):
    return list(dict.fromkeys(FACT.findall(text)))


def append(*notes):
    """Return a reply that calls memory_append once for each note."""
    calls = (ToolCall("memory_append", {"text": note}, f"c{i}") for i, note in enumerate(notes))
    return FlushReply(tool_calls=tuple(calls))


def partly(*notes):
    """Return a reply that also calls a tool that is not there: it is asked about once."""
    return FlushReply(tool_calls=(*append(*notes).tool_calls, ToolCall("write", {}, "wrong")))


def said(*numbers):
    """Return messages of a user, each with a fact, and of an assistant."""
    found = []
    for number in numbers:
        found.append(FlushMessage("user", f"Please note fact-{number}: it matters."))
        found.append(FlushMessage("assistant", "ok"))
    return found


class Noting:
    """Notes each fact that it is shown in a call of its own, then has nothing to say."""

    def __init__(self):
        self.requests = []
        self._lock = threading.Lock()

    def reply(self, request):
        with self._lock:
            self.requests.append(request)
        if len(request.messages) > 1:
            return SILENT
        return append(*(f"- Noted {fact}." for fact in facts_in(request.messages[0].text)))

    async def areply(self, request):
        return self.reply(request)


class Scripted(Noting):
    """Gives the replies in order; an exception is raised, a function is called."""

    def __init__(self, *replies):
        super().__init__()
        self.replies = list(replies)

    def reply(self, request):
        with self._lock:
            self.requests.append(request)
            reply = self.replies.pop(0) if self.replies else SILENT
        if isinstance(reply, BaseException):
            raise reply
        return reply(request) if callable(reply) else reply


class FailingAt(Noting):
    """Raises at the calls that are named, counted from 1."""

    def __init__(self, *calls):
        super().__init__()
        self.calls = calls

    def reply(self, request):
        reply = super().reply(request)
        if len(self.requests) in self.calls:
            raise ConnectionError("the provider is down, sk-abcdefghijklmnopqrstuvwxyz")
        return reply


class Slow(Noting):
    """Waits before each reply."""

    def __init__(self, delay_s):
        super().__init__()
        self.delay_s = delay_s

    def reply(self, request):
        time.sleep(self.delay_s)
        return super().reply(request)


class Chat:
    """A workspace, and flushers on it as if each were of another process."""

    def __init__(self, folder: Path, **flush):
        self.root = folder / "notes"
        self.root.mkdir(exist_ok=True)
        self.state = folder / "state"
        self.flush_settings = {"deadline_s": 20.0, **flush}
        self.reports = []
        self.options = {}

    def memory(self, now=None, **settings):
        settings.setdefault("timezone", "UTC")
        flush = FlushSettings(**self.flush_settings)
        return Memory.open(
            self.root,
            settings=Settings(flush=flush, **settings),
            embedder=None,
            index=self.state / "index.sqlite",
            now=now or clock(),
        )

    def flusher(self, model=None, *, memory=None, **options):
        options.setdefault("on_flush", self.reports.append)
        return Flusher(memory or self.memory(), model or Noting(), **options)

    def log(self, day="2026-11-20"):
        path = self.root / "memory" / f"{day}.md"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def noted(self):
        """Return every fact of every log, in order, as often as it stands there."""
        logs = sorted(self.root.glob("memory/*.md"))
        return [fact for log in logs for fact in FACT.findall(log.read_text(encoding="utf-8"))]

    def sessions(self):
        return sorted((self.state / "sessions").glob("*.jsonl"))
