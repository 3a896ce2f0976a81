"""Days of logs, and evergreen files, as OpenClaw 2026.3.24 recognises them by their paths."""

from __future__ import annotations

import re
from datetime import date

__all__ = ["openclaw_is_evergreen", "openclaw_log_date"]

_LOG = re.compile(r"(?:.*/)?memory/([0-9]{4}-[0-9]{2}-[0-9]{2})\.md", re.DOTALL)


def openclaw_log_date(path: str) -> date | None:
    """Return the day of a log: a file directly in a memory/ folder, without a slug."""
    match = _LOG.fullmatch(_normalized(path))
    try:
        return date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None


def openclaw_is_evergreen(path: str) -> bool:
    """Check whether a file never ages.

    A log's name with an impossible day is neither dated nor evergreen.
    """
    path = _normalized(path)
    if path in ("MEMORY.md", "memory.md"):
        return True
    return path.startswith("memory/") and not _LOG.fullmatch(path)


def _normalized(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./")
