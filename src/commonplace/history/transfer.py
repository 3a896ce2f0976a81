"""Transfer of a history: its versions and origins as JSON values, and back into an empty one."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from commonplace.history.bodies import make_body, read_bodies
from commonplace.history.causes import record_group
from commonplace.history.database import CHANGES
from commonplace.history.ledger import note_id, origin_id
from commonplace.types import Origin
from commonplace.workspace.paths import is_normal

if TYPE_CHECKING:
    import apsw

    from commonplace.history.database import HistoryFile

__all__ = ["HISTORY_SECTIONS", "history_values", "is_from", "restore_history"]

Values = Iterator[Mapping[str, Any]]

HISTORY_SECTIONS = ("versions", "line_origins", "conversations", "open_groups", "began")
"""Names of the lists that a history is written as."""

_VERSIONS = """SELECT version.id, batch, change_group.id, old.path, at, change, author, session,
    tool, hash, body IS NOT NULL FROM version
    LEFT JOIN change_group ON change_group.version = version.id
    LEFT JOIN note AS old ON old.id = moved_from LEFT JOIN origin ON origin.id = origin
    WHERE note = ? AND batch NOT IN (SELECT version FROM pending WHERE NOT done)
    ORDER BY version.id"""
_ORIGINS = """SELECT path, lower(hex(hash)), travels, author, session, tool FROM line_origin
    JOIN note ON note.id = note JOIN origin ON origin.id = origin ORDER BY path, hash"""


def history_values(connection: apsw.Connection) -> dict[str, Values]:
    """Return the lists of a history, each read as it is iterated over."""
    return {
        "versions": _versions(connection),
        "line_origins": (
            {"path": path, "hash": key, "travels": bool(travels), "origin": _origin(*origin)}
            for path, key, travels, *origin in connection.execute(_ORIGINS)
        ),
        "conversations": (
            {"session": session, "exposed": True}
            for (session,) in connection.execute("SELECT session FROM exposed_session")
        ),
        "open_groups": (
            {"name": name, "id": group}
            for name, group in connection.execute("SELECT name, id FROM open_group")
        ),
        "began": ({"at": at} for (at,) in connection.execute("SELECT at FROM began")),
    }


def is_from(file: HistoryFile, versions: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a history has no version but some of an export's."""
    known = {(one["id"], one["hash"]) for one in versions}
    rows = file.rows("SELECT id, lower(hex(hash)) FROM version")
    return all((row, digest or None) in known for row, digest in rows)


def restore_history(file: HistoryFile, lists: Mapping[str, Iterable[Mapping[str, Any]]]) -> int:
    """Write an exported history into one that has nothing else; return the number of versions.

    Raises:
        KeyError, TypeError, ValueError: A value is none that `history_values` gave; nothing was
            written.
    """
    count = 0
    with file.transaction() as connection:
        execute = connection.execute
        for table in ("version", "change_group", "line_origin", "open_group", "began", "pending"):
            execute(f"DELETE FROM {table}")
        for one in lists["versions"]:
            _add_version(connection, one)
            count += 1
        for one in lists["line_origins"]:
            values = (note_id(connection, one["path"]), bytes.fromhex(one["hash"]))
            origin = origin_id(connection, Origin(**one["origin"]))
            execute(
                "INSERT INTO line_origin VALUES (?, ?, ?, ?)", (*values, origin, one["travels"])
            )
        for one in lists["conversations"]:
            execute("INSERT OR IGNORE INTO exposed_session VALUES (?)", (one["session"],))
        for one in lists["open_groups"]:
            record_group(connection, one["name"], one["id"])
        for one in lists["began"]:
            execute("INSERT INTO began VALUES (?)", (one["at"],))
    return count


def _versions(connection: apsw.Connection) -> Values:
    notes: list[Any] = connection.execute("SELECT id, path FROM note ORDER BY id").fetchall()
    return chain.from_iterable(_versions_of(connection, *note) for note in notes)


def _versions_of(connection: apsw.Connection, note: int, path: str) -> Values:
    texts = read_bodies(connection, note)
    rows: list[Any] = connection.execute(_VERSIONS, (note,)).fetchall()
    for row in rows:
        number, batch, group, moved_from, at, change, author, session, tool, digest, has_text = row
        text = None
        if has_text:
            text = next(body for version, body in texts if version == number)
        yield {
            "id": number,
            "batch": batch,
            "group": group,
            "path": path,
            "moved_from": moved_from,
            "at": at,
            "change": CHANGES[change],
            "origin": _origin(author, session, tool) if author else None,
            "hash": None if digest is None else digest.hex(),
            **_encoded(text),
        }


def _add_version(connection: apsw.Connection, one: Mapping[str, Any]) -> None:
    text = _decoded(one)
    if (one["hash"] or None) != (None if text is None else hashlib.sha256(text).hexdigest()):
        raise ValueError(f"the text of version {one['id']} is not the one that was exported")
    for path in filter(None, (one["path"], one["moved_from"])):
        if not is_normal(path):
            raise ValueError(f"version {one['id']} is of {path!r}, which is no path of a note")
    note, moved = note_id(connection, one["path"]), one["moved_from"]
    base, body = make_body(connection, note, text)
    origin = one["origin"] and origin_id(connection, Origin(**one["origin"]))
    connection.execute(
        "INSERT INTO version (id, batch, note, moved_from, at, change, origin, size, hash, base, "
        "body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(one["id"], one["batch"], note, moved and note_id(connection, moved), one["at"]),
            *(CHANGES.index(one["change"]), origin, len(text or b"")),
            *(one["hash"] and bytes.fromhex(one["hash"]), base, body),
        ),
    )
    if one["group"] is not None:
        connection.execute("INSERT INTO change_group VALUES (?, ?)", (one["id"], one["group"]))


def _origin(author: str, session: str | None, tool: str | None) -> dict[str, Any]:
    return {"author": author, "session": session, "tool": tool}


def _encoded(text: bytes | None) -> dict[str, Any]:
    """Return the bytes of a file as JSON takes them: as text where they are UTF-8."""
    if text is None:
        return {"text": None}
    try:
        return {"text": text.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(text).decode("ascii")}


def _decoded(one: Mapping[str, Any]) -> bytes | None:
    if "base64" in one:
        return base64.b64decode(one["base64"])
    text = one["text"]
    return None if text is None else str(text).encode("utf-8")
