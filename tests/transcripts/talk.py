"""Session files on the disk, and memories that index them."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from commonplace import Memory, Settings
from commonplace.settings import SessionsSettings, SyncSettings
from support.fakes import clock
from support.notes import Notes

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def message(role, content, at=NOON):
    """A record in OpenClaw's form."""
    record = {"type": "message", "message": {"role": role, "content": content}}
    return record | ({"timestamp": at.isoformat()} if at else {})


def user(text, at=NOON):
    return message("user", text, at)


def assistant(text, at=NOON):
    return message("assistant", [{"type": "text", "text": text}], at)


def tool_noise(count):
    """Calls of tools and their results: a line each, and nobody speaks."""
    call = message("assistant", [{"type": "toolCall", "id": "1", "name": "ls", "arguments": {}}])
    return [call, message("toolResult", "a b c")] * count


def days_ago(days):
    return NOON - timedelta(days=days)


class Talk(Notes):
    """A workspace with a folder of session files."""

    def __init__(self, folder: Path, *, engine: str = "sqlite", **sessions):
        super().__init__(folder, engine=engine)
        self.folder = folder / "sessions"
        self.folder.mkdir(exist_ok=True)
        path = str(self.folder)  # of an index beside it, it is the default
        sessions = {"enabled": True, "delta_bytes": 0, "path": path, **sessions}
        # Nothing runs in the background: what a test finds is what it has asked for.
        sync = SyncSettings(on_open=False, on_search=False)
        self.settings = Settings(sessions=SessionsSettings(**sessions), sync=sync, timezone="UTC")

    def path(self, name="a.jsonl"):
        return self.folder / name

    def say(self, *records, name="a.jsonl", end="\n"):
        """Append records to a session file."""
        text = "\n".join(map(json.dumps, records)) + end
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(text)

    def rewrite(self, text, name="a.jsonl"):
        self.path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
        then = time.time() - 1000.0
        os.utime(self.path(name), (then, then))

    def open(self, embedder=None, settings=None, index=None, now=NOON):
        return Memory.open(
            self.root,
            settings=settings or self.settings,
            embedder=embedder,
            index=index or self.index,
            now=clock(now),
        )

    def indexed(self, embedder=None, **options):
        """Run once in a memory of its own; return the report."""
        with self.open(embedder, **options) as memory:
            return memory.index()
