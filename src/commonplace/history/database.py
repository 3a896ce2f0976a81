"""History database: the versions of notes, and the journal of changes that are being made."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from commonplace.errors import StateError
from commonplace.system.database import DatabaseFile, DatabaseFormat
from commonplace.system.files import create_private
from commonplace.types import Change

if TYPE_CHECKING:
    import apsw

__all__ = [
    "CHANGES",
    "NAMES_SUM",
    "VERSION_SUMS",
    "HistoryFile",
    "change_of",
    "ledger_changes",
    "line_checksum",
    "milliseconds",
    "moment_of",
]


CHANGES: tuple[Change, ...] = get_args(Change)
"""Kinds of changes; the database has their numbers: a new kind goes to the end."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAMAGED = (
    "the history is damaged: the {} of version {} is {!r}, which is none. "
    "'commonplace verify --repair' mends it; the notes are as they are."
)


def milliseconds(moment: datetime) -> int:
    """Return a moment as the database has it."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def moment_of(version: int, ms: int) -> datetime:
    """Return the time of a version.

    Raises:
        StateError: Damage has made another value of it.
    """
    try:
        return _EPOCH + timedelta(milliseconds=ms)
    except (OverflowError, TypeError) as error:
        raise StateError(_DAMAGED.format("time", version, ms)) from error


def change_of(version: int, number: int) -> Change:
    """Return the kind of a version.

    Raises:
        StateError: Damage has made another value of it.
    """
    if number not in range(len(CHANGES)):
        raise StateError(_DAMAGED.format("kind", version, number))
    return CHANGES[number]


def line_checksum(row: str = "") -> str:
    """Return SQL for the checksum of a row of `line_origin`: ``new``, ``old`` or of a query."""
    of = f"{row}." if row else ""
    numbers = f"{of}note * 1000003 + {of}origin * 7368787 + {of}travels * 15485863"
    return f"((crc32({of}hash) + {numbers}) % 4294967291)"


def _crc32(value: Any) -> int:
    """Return the checksum of bytes; -1 for a number, which damage may have made of them."""
    return zlib.crc32(value) if isinstance(value, bytes) else -1


def _triggers(table: str, checksum: str) -> tuple[str, ...]:
    """Return triggers that keep the sum of a table's rows in `ledger_sum`."""
    was, now = checksum.format("old."), checksum.format("new.")
    changes = {"INSERT": f"+ {now}", "DELETE": f"- {was}", "UPDATE": f"- {was} + {now}"}
    return tuple(
        f"""CREATE TRIGGER IF NOT EXISTS {table}_{verb.lower()} AFTER {verb} ON {table} BEGIN
        UPDATE ledger_sum SET changes = changes + 1, names = names {change}; END"""
        for verb, change in changes.items()
    )


_PRIME = 4294967291
_FACTORS = {
    "id": 1000003,
    "batch": 7368787,
    "note": 15485863,
    "moved_from": 32452843,
    "at": 49979687,
    "change": 67867967,
    "origin": 86028121,
    "size": 104395301,
}
"""Factors of the columns of a version that are numbers: its text has a hash."""


def version_checksum(row: str = "") -> str:
    """Return SQL for the checksum of a row of `version`: ``new``, ``old`` or of a query."""
    of = f"{row}." if row else ""
    parts = (f"ifnull({of}{name}, -1) % {_PRIME} * {one}" for name, one in _FACTORS.items())
    return f"(({' + '.join(parts)}) % {_PRIME})"


VERSION_SUMS = f"SELECT note, count(*), sum({version_checksum()}) FROM version GROUP BY note"
"""SQL for the number of each note's versions, and the sum of their checksums."""

_COUNT_BYTES = 32
_NAMED = {
    "note": "((crc32(CAST({0}path AS BLOB)) + {0}id * 1000003) % 4294967291)",
    "origin": "((crc32(CAST({0}author || '/' || ifnull({0}session, '') || '/' || "
    "ifnull({0}tool, '') AS BLOB)) + {0}id * 1000003) % 4294967291)",
    "exposed_session": "crc32(CAST({0}session AS BLOB))",
}
"""SQL for the checksums of the rows that the ledger names, by table."""
NAMES_SUM = " + ".join(
    f"(SELECT ifnull(sum({checksum.format('')}), 0) FROM {table})"
    for table, checksum in _NAMED.items()
)
"""SQL for the sum of the notes, the origins and the conversations that the ledger names."""

_SUMS = (
    # Sums of the ledger's rows, which triggers keep: a lost row, or one that is not as it was
    # written, would let a line pass for a user's. `changes` only grows.
    """CREATE TABLE IF NOT EXISTS note_sum (
        note INTEGER PRIMARY KEY, lines INTEGER NOT NULL, total INTEGER NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS ledger_sum (
        id INTEGER PRIMARY KEY CHECK (id = 1), changes INTEGER NOT NULL, names INTEGER NOT NULL)""",
    f"""INSERT OR IGNORE INTO note_sum SELECT note, count(*), sum({line_checksum()})
        FROM line_origin GROUP BY note""",
    """CREATE TABLE IF NOT EXISTS version_sum (
        note INTEGER PRIMARY KEY, versions INTEGER NOT NULL, total INTEGER NOT NULL)""",
    f"INSERT OR IGNORE INTO version_sum {VERSION_SUMS}",
    f"""CREATE TRIGGER IF NOT EXISTS version_insert AFTER INSERT ON version BEGIN
        INSERT INTO version_sum SELECT new.note, 0, 0
            WHERE NOT EXISTS (SELECT 1 FROM version_sum WHERE note = new.note);
        UPDATE version_sum SET versions = versions + 1, total = total + {version_checksum("new")}
            WHERE note = new.note; END""",
    f"""CREATE TRIGGER IF NOT EXISTS version_delete AFTER DELETE ON version BEGIN
        UPDATE version_sum SET versions = versions - 1, total = total - {version_checksum("old")}
            WHERE note = old.note; END""",
    f"""CREATE TRIGGER IF NOT EXISTS version_update
        AFTER UPDATE OF {", ".join(_FACTORS)} ON version BEGIN
        UPDATE version_sum SET total = total - {version_checksum("old")} WHERE note = old.note;
        UPDATE version_sum SET total = total + {version_checksum("new")} WHERE note = new.note;
        END""",
    f"INSERT OR IGNORE INTO ledger_sum VALUES (1, 0, {NAMES_SUM})",
    *(trigger for named in _NAMED.items() for trigger in _triggers(*named)),
    f"""CREATE TRIGGER IF NOT EXISTS line_origin_insert AFTER INSERT ON line_origin BEGIN
        INSERT INTO note_sum SELECT new.note, 0, 0
            WHERE NOT EXISTS (SELECT 1 FROM note_sum WHERE note = new.note);
        UPDATE note_sum SET lines = lines + 1, total = total + {line_checksum("new")}
            WHERE note = new.note;
        UPDATE ledger_sum SET changes = changes + 1; END""",
    f"""CREATE TRIGGER IF NOT EXISTS line_origin_delete AFTER DELETE ON line_origin BEGIN
        UPDATE note_sum SET lines = lines - 1, total = total - {line_checksum("old")}
            WHERE note = old.note;
        UPDATE ledger_sum SET changes = changes + 1; END""",
    f"""CREATE TRIGGER IF NOT EXISTS line_origin_update
        AFTER UPDATE OF origin, travels ON line_origin BEGIN
        UPDATE note_sum SET total = total - {line_checksum("old")} + {line_checksum("new")}
            WHERE note = new.note;
        UPDATE ledger_sum SET changes = changes + 1; END""",
)

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
    # Modes of the files that were deleted, by the row of the deletion: an undo gives them back.
    "CREATE TABLE IF NOT EXISTS deleted_mode (version INTEGER PRIMARY KEY, mode INTEGER)",
    """CREATE TRIGGER IF NOT EXISTS deleted_mode_gone AFTER DELETE ON version BEGIN
        DELETE FROM deleted_mode WHERE version = old.id; END""",
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
    # Changes of hosts without the folder that were made here, by the key of the inbox, and the
    # batch of their versions; NULL where nothing had to be changed.
    "CREATE TABLE IF NOT EXISTS applied (key TEXT PRIMARY KEY, version INTEGER) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS applied_version ON applied (version)",
    # Indexes at which this history is published: its key among those of other hosts, the same at
    # each of them, and the number of the last forgetting there that it has followed.
    """CREATE TABLE IF NOT EXISTS published (
        location TEXT PRIMARY KEY, key TEXT NOT NULL, forgets INTEGER NOT NULL) WITHOUT ROWID""",
    *_SUMS,
)


class HistoryFile(DatabaseFile):
    """The history database of a workspace; without a path, a private one in memory."""

    format = DatabaseFormat(
        name="history file",
        application_id=0x636F6869,  # "cohi", Commonplace's history
        # 7 had no modes of deleted files, 6 no sums of versions, 5 no `published`, 4 no `applied`,
        # 3 no sums of the ledger; 1 and 2 were never released.
        version=8,
        schema=_SCHEMA,
        # Versions without a note, or based on one that was lost, have no text.
        repair=(
            "DELETE FROM version WHERE note NOT IN (SELECT id FROM note)",
            """DELETE FROM version WHERE id NOT IN (WITH RECURSIVE whole (id) AS (
                SELECT id FROM version WHERE base IS NULL
                UNION SELECT version.id FROM version JOIN whole ON version.base = whole.id)
                SELECT id FROM whole)""",
            "DELETE FROM version_sum",
            f"INSERT INTO version_sum {VERSION_SUMS}",
            # The sums were made of the rows that could be read: the next check finds them wrong.
            "UPDATE ledger_sum SET names = names + 1",
        ),
        functions=MappingProxyType({"crc32": _crc32}),
    )
    stays_open = True

    @contextlib.contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[apsw.Connection]:
        """Run a block in one write transaction; the ledger's changes are counted beside the file.

        What a disk loses of a write-ahead log is taken for never written: the count tells.
        """
        with super().transaction(durable=durable) as connection:
            before = ledger_changes(connection)
            yield connection
            after = ledger_changes(connection)
        # Noted before its commit is on the disk, a count would tell of a loss that is none; noted
        # over a higher one, it would hide a loss.
        if durable and after != before and after > self.noted_changes():
            self.note_changes(after)

    def _create(self, path: Path) -> None:
        with contextlib.suppress(OSError):  # of a history that was deleted
            path.with_name(f"{path.name}.count").unlink()
        super()._create(path)

    @property
    def _count_path(self) -> Path | None:
        return self.path and self.path.with_name(f"{self.path.name}.count")

    def noted_changes(self) -> int:
        """Return the number of the ledger's changes as it is noted beside the file; 0 for none."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            data = self._count_path.read_bytes()  # type: ignore[union-attr]
            count, checksum = map(int, data.split())
            if checksum == zlib.crc32(b"%d" % count):
                return count
        return 0

    def note_changes(self, count: int) -> None:
        """Note the number of the ledger's changes; after their commit, never before it."""
        if (path := self._count_path) is None:
            return
        with contextlib.suppress(OSError):  # it is a second witness: the file itself is durable
            create_private(path)
            descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0))
            try:
                os.write(descriptor, b"%20d %10d\n" % (count, zlib.crc32(b"%d" % count)))
                os.ftruncate(descriptor, _COUNT_BYTES)
            finally:
                os.close(descriptor)

    @property
    def is_forgetting(self) -> bool:
        """Whether a process is forgetting something, or has left it unfinished."""
        with contextlib.suppress(StateError):
            return bool(self.rows("SELECT 1 FROM forgetting LIMIT 1"))
        return False


def ledger_changes(connection: apsw.Connection) -> int:
    """Return the number of changes of the ledger so far."""
    return int(connection.execute("SELECT changes FROM ledger_sum").get or 0)
