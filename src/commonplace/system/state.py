"""State of a workspace: what cannot be derived from the Markdown, and no rebuild touches."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from commonplace.system.database import DatabaseFile, DatabaseFormat

__all__ = ["StateFile", "StateLocation"]

_SCHEMA = (
    # Flush journal: messages that leave the context window, until their notes are written.
    """CREATE TABLE IF NOT EXISTS flush_entries (
        id INTEGER PRIMARY KEY AUTOINCREMENT, workspace TEXT NOT NULL, thread TEXT NOT NULL,
        reason TEXT NOT NULL, moment TEXT NOT NULL, tokens INTEGER NOT NULL,
        messages TEXT NOT NULL, replies TEXT NOT NULL DEFAULT '[]',
        attempts INTEGER NOT NULL DEFAULT 0, error TEXT, owner TEXT)""",
    # Checksums of the other columns, as `flush.entries` makes them; NULL for what was edited since.
    "ALTER TABLE flush_entries ADD COLUMN checksums TEXT",
    # Hashes of all messages that are, or were, in an entry of the journal, and the time of the
    # flush that met them last, in seconds since the epoch. Version 2 had no times.
    "DROP TABLE IF EXISTS flush_marks",
    """CREATE TABLE flush_marks (
        workspace TEXT NOT NULL, thread TEXT NOT NULL, hash BLOB NOT NULL, at INTEGER NOT NULL,
        PRIMARY KEY (workspace, thread, hash)) WITHOUT ROWID""",
    # Pending jobs of batch APIs: prefixes of the texts' hashes, in order, time of submission
    # (seconds since the epoch), number of attempts.
    """CREATE TABLE IF NOT EXISTS embedding_jobs (
        provider TEXT NOT NULL, model TEXT NOT NULL, endpoint TEXT NOT NULL, job TEXT NOT NULL,
        texts BLOB NOT NULL, submitted REAL NOT NULL, tries INTEGER NOT NULL,
        PRIMARY KEY (provider, model, endpoint, job)) WITHOUT ROWID""",
)


@dataclass(frozen=True, slots=True)
class StateLocation:
    """Paths of a workspace's state, which no rebuild of the index touches.

    Attributes:
        database: The state database: the flush journal, and the jobs of batch APIs.
        history: The history database: what notes were before they were changed.
        sessions: The folder of session files; it may not exist.
        owner: Name of the index that the state belongs to: a folder may hold several.
        is_by_path: Whether it is found by the path of the workspace alone.
    """

    database: Path
    history: Path
    sessions: Path
    owner: str
    is_by_path: bool = False

    @property
    def qmd(self) -> Path:
        """Home of QMD, where it is the search backend; it may not exist."""
        return self.history.with_name(self.history.name.replace("history.sqlite", "qmd"))


class StateFile(DatabaseFile):
    """The state database of a workspace; without a path, a private one in memory."""

    format = DatabaseFormat(
        name="state file",
        application_id=0x636F7374,  # "cost", Commonplace's state
        version=4,  # versions 1 to 3 were never released
        schema=_SCHEMA,
        # The messages of an entry that was lost are taken again when they are given again.
        repair=("DELETE FROM flush_marks",),
    )
