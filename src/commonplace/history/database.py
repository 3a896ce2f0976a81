"""History database: the versions of notes, and the journal of changes that are being made."""

from __future__ import annotations

import contextlib

from commonplace.errors import StateError
from commonplace.system.database import DatabaseFile, DatabaseFormat

__all__ = ["HistoryFile"]

_SCHEMA = (
    # Paths, authors and the like are interned: a version takes some dozens of bytes.
    "CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE)",
    """CREATE TABLE IF NOT EXISTS origin (
        id INTEGER PRIMARY KEY, author TEXT NOT NULL, session TEXT, tool TEXT)""",
    # `at` is in milliseconds since the epoch, `change` a number of `versions.CHANGES`; `hash` is
    # SHA-256 of the file's bytes, NULL for a note that is gone. `batch` is the id of the first
    # version of a change of several notes. `body` is the file's bytes, compressed, as a difference
    # from the version `base` of the same note; whole where that is NULL.
    """CREATE TABLE IF NOT EXISTS version (
        id INTEGER PRIMARY KEY AUTOINCREMENT, batch INTEGER NOT NULL, note INTEGER NOT NULL,
        moved_from INTEGER, at INTEGER NOT NULL, change INTEGER NOT NULL, origin INTEGER,
        size INTEGER NOT NULL, hash BLOB, base INTEGER, body BLOB)""",
    # Versions of a change that was made in several steps, such as an import: `id` is the row of the
    # first one. A row whose version is gone is of one that was pruned.
    "CREATE TABLE IF NOT EXISTS change_group (version INTEGER PRIMARY KEY, id INTEGER NOT NULL)",
    "CREATE INDEX IF NOT EXISTS change_group_id ON change_group (id)",
    # Change groups that were not finished, by name: the next one of the name continues it.
    """CREATE TABLE IF NOT EXISTS open_group (
        name TEXT PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID""",
    # A row once every note that was there has its first version: a note that comes later is new.
    "CREATE TABLE IF NOT EXISTS began (at INTEGER NOT NULL)",
    "CREATE INDEX IF NOT EXISTS version_note ON version (note, id)",
    "CREATE INDEX IF NOT EXISTS version_batch ON version (batch) WHERE batch <> id",
    # Origins of lines that a user did not simply write; `hash` as `ledger.line_key` makes it.
    # `travels`: an untrusted line that is recognised in other notes, too.
    """CREATE TABLE IF NOT EXISTS line_origin (
        note INTEGER NOT NULL, hash BLOB NOT NULL, origin INTEGER NOT NULL,
        travels INTEGER NOT NULL, PRIMARY KEY (note, hash)) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS line_origin_hash ON line_origin (hash)",
    "CREATE INDEX IF NOT EXISTS line_origin_origin ON line_origin (origin, note)",
    # Conversations that were shown untrusted lines.
    "CREATE TABLE IF NOT EXISTS exposed_session (session TEXT PRIMARY KEY) WITHOUT ROWID",
    # Plans of what is being forgotten; empty once only free pages are left to be overwritten.
    "CREATE TABLE IF NOT EXISTS forgetting (id INTEGER PRIMARY KEY, plan TEXT NOT NULL)",
    # Mutation journal: files that are being changed, by the batch of their versions; a process that
    # died left its rows here. `temporary` is a file's name, `before` and `after` are hashes. Rows
    # that are done go with the next change.
    """CREATE TABLE IF NOT EXISTS pending (
        version INTEGER NOT NULL, path TEXT NOT NULL, target TEXT, temporary TEXT NOT NULL,
        before BLOB, after BLOB, done INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (version, path))""",
)


class HistoryFile(DatabaseFile):
    """The history database of a workspace; without a path, a private one in memory."""

    format = DatabaseFormat(
        name="history file",
        application_id=0x636F6869,  # "cohi", Commonplace's history
        version=3,  # versions 1 and 2 were never released
        schema=_SCHEMA,
        # Versions without a note, or based on one that was lost, have no text.
        repair=(
            "DELETE FROM version WHERE note NOT IN (SELECT id FROM note)",
            """DELETE FROM version WHERE id NOT IN (WITH RECURSIVE whole (id) AS (
                SELECT id FROM version WHERE base IS NULL
                UNION SELECT version.id FROM version JOIN whole ON version.base = whole.id)
                SELECT id FROM whole)""",
        ),
    )
    stays_open = True

    @property
    def is_forgetting(self) -> bool:
        """Whether a process is forgetting something, or has left it unfinished."""
        with contextlib.suppress(StateError):
            return bool(self.rows("SELECT 1 FROM forgetting LIMIT 1"))
        return False
