"""Salvage of a damaged database file: what can be read of it goes to a new one.

The damaged file is moved aside, never deleted.
"""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

from commonplace.system.files import sync, sync_folder
from commonplace.system.locks import FileLease

if TYPE_CHECKING:
    from commonplace.system.database import DatabaseFile

__all__ = ["damaged_copies", "keep_aside", "replace_damaged"]

logger = logging.getLogger(__name__)

_TIMEOUT_S = 10.0
_TABLES = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
_SIDE_FILES = ("-wal", "-shm", "")
"""The log first: beside another file, it would be taken for that one's."""
_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.IOError, UnicodeDecodeError)
_PROBES = 64
"""Places of a table from which its rows are read where those before cannot be."""

Values = tuple[Any, ...]


def replace_damaged(file: DatabaseFile, error: Exception) -> None:
    """Replace a damaged file by what can be read of it, unless another process has done so.

    Args:
        file: The file; no connection to it is open.
        error: What was found.

    Raises:
        apsw.Error: Another process is at it for too long.
    """
    path = file.path
    assert path is not None
    with FileLease(path.with_name(path.name + ".repair")).held(timeout_s=_TIMEOUT_S) as got:
        if not got:
            raise error
        new = path.with_name(f"{path.name}.salvaged")
        for suffix in _SIDE_FILES:
            _unlink(f"{new}{suffix}")
        empty = type(file)(new)
        with empty.transaction() as connection:
            tables = dict(connection.execute(_TABLES))
        if not _is_damaged(path, tables):  # another process has replaced it
            empty.close()
            _unlink(str(new))
            return
        count = _copy(path, empty, tables)
        aside = f"{path}.damaged-{time.time_ns()}"
        for suffix in _SIDE_FILES:
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{path}{suffix}", f"{aside}{suffix}")
        os.replace(new, path)
        for rest in path.parent.glob(f"{glob.escape(new.name)}*"):
            rest.unlink(missing_ok=True)
        sync_folder(path.parent)
        logger.warning(
            "the %s %s is damaged (%s); it is kept as %s, and %d rows of it are in a new one; "
            "what else it held is lost",
            *(file.format.name, path, error, aside, count),
        )


def keep_aside(path: Path, label: str, data: bytes) -> Path:
    """Keep what was damaged in a file of its own, beside another; return the new file."""
    kept = path.with_name(f"{path.name}.damaged-{label}-{time.time_ns()}")
    descriptor = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, data)
        sync(descriptor)
    finally:
        os.close(descriptor)
    sync_folder(path.parent)
    return kept


def damaged_copies(file: DatabaseFile) -> list[Path]:
    """Return what was damaged of a file, and is kept beside it."""
    path = file.path
    return sorted(path.parent.glob(f"{glob.escape(path.name)}.damaged-*")) if path else []


def _is_damaged(path: Path, tables: dict[str, str]) -> bool:
    if not os.path.getsize(path):  # not opened: SQLite would delete its log
        return True
    try:
        with contextlib.closing(_opened(path)) as connection:
            if connection.pragma("integrity_check") != "ok":
                return True
            return dict(connection.execute(_TABLES)) != tables
    except (apsw.Error, UnicodeDecodeError):
        return True


def _opened(path: Path) -> apsw.Connection:
    return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)


def _copy(path: Path, new: DatabaseFile, tables: Iterable[str]) -> int:
    """Copy the rows that can be read; return their number."""
    count = 0
    if not os.path.getsize(path):
        return count
    with (
        new.transaction() as connection,
        contextlib.suppress(*_DAMAGE),
        contextlib.closing(_opened(path)) as old,
    ):
        for table in tables:
            count += _copy_table(old, connection, table)
        for statement in new.format.repair:
            connection.execute(statement)
    new.close()  # the log goes into the file, which can be renamed then
    return count


def _copy_table(old: apsw.Connection, new: apsw.Connection, table: str) -> int:
    columns = [_Column(*row[1:]) for row in new.execute(f"PRAGMA table_info({table})")]
    # Texts go as bytes: one that is no UTF-8 any more is copied as it is.
    names = ", ".join(column.name for column in columns)
    read = ", ".join(f"CAST({c.name} AS BLOB)" if c.is_text else c.name for c in columns)
    values = ", ".join("CAST(? AS TEXT)" if column.is_text else "?" for column in columns)
    insert = f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({values})"
    keys = sorted((column.key, column.name) for column in columns if column.key)
    count = 0
    for row in _rows(old, table, read, [name for _, name in keys] or ["rowid"]):
        new.execute(insert, row)
        count += new.changes()
    return count


class _Column(NamedTuple):
    name: str
    kind: str
    not_null: int
    default: Any
    key: int

    @property
    def is_text(self) -> bool:
        return self.kind == "TEXT"


def _rows(old: apsw.Connection, table: str, read: str, keys: list[str]) -> Iterator[Values]:
    """Yield the rows that can be read, from both ends and from places between; some twice."""
    wheres = ["", ""]
    with contextlib.suppress(*_DAMAGE, apsw.SQLError):
        ((least, most),) = old.execute(f"SELECT min({keys[0]}), max({keys[0]}) FROM {table}")
        if isinstance(least, int) and isinstance(most, int) and len(keys) == 1:
            step = max(1, (most - least) // _PROBES)
            wheres += [f"WHERE {keys[0]} >= {at}" for at in range(least, most, step)]
    for number, where in enumerate(wheres):
        order = ", ".join(f"{key} {'DESC' if number == 1 else 'ASC'}" for key in keys)
        try:
            yield from old.execute(f"SELECT {read} FROM {table} {where} ORDER BY {order}")
        except apsw.SQLError:
            return  # the file has no such table
        except _DAMAGE:
            continue
        return


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
