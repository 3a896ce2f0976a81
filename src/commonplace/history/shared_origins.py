"""Shared origins: the origins of a note's lines as a text that other hosts read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from commonplace.history.ledger import note_id, stored_origin

if TYPE_CHECKING:
    import apsw

    from commonplace.history.database import HistoryFile
    from commonplace.history.ledger import OriginLedger

__all__ = ["exported_origins", "import_origins", "merge_origins"]


def exported_origins(file: HistoryFile, paths: Iterable[str]) -> dict[str, str]:
    """Return the origins of the lines of notes as JSON, by path; none where users wrote all."""
    found: dict[str, list[tuple[object, ...]]] = {}
    rows = file.rows(
        "SELECT path, lower(hex(hash)), travels, author, session, tool FROM note"
        " JOIN line_origin ON line_origin.note = note.id JOIN origin ON origin.id = origin"
        " WHERE path IN (SELECT value FROM json_each(?)) ORDER BY path, hash",
        (json.dumps(list(paths)),),
    )
    for path, *origin in rows:
        found.setdefault(path, []).append(tuple(origin))
    return {path: json.dumps(origins) for path, origins in found.items()}


def import_origins(
    ledger: OriginLedger, connection: apsw.Connection, path: str, origins: str | None
) -> None:
    """Replace the origins of a note's lines by exported ones; inside a transaction."""
    connection.execute("DELETE FROM line_origin WHERE note = ?", (note_id(connection, path),))
    if origins is not None:
        merge_origins(ledger, connection, path, origins)


def merge_origins(
    ledger: OriginLedger, connection: apsw.Connection, path: str, origins: str
) -> None:
    """Add exported origins of a note's lines; trust only falls; inside a transaction."""
    rows = {
        bytes.fromhex(key): (stored_origin(*origin), bool(travels))
        for key, travels, *origin in json.loads(origins)
    }
    ledger.insert(connection, note_id(connection, path), rows)
