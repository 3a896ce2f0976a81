"""Shared origins: the origins of a note's lines as a text that other hosts read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from commonplace.history.ledger import note_id, stored_origin

if TYPE_CHECKING:
    import apsw

    from commonplace.history.database import HistoryFile
    from commonplace.history.ledger import OriginLedger

__all__ = ["exported_origins", "import_origins", "merge_origins"]


def exported_origins(file: HistoryFile, path: str) -> str | None:
    """Return the origins of a note's lines as JSON; None where users wrote all of them."""
    rows = file.rows(
        "SELECT lower(hex(hash)), travels, author, session, tool FROM line_origin"
        " JOIN origin ON id = origin"
        " WHERE note = (SELECT id FROM note WHERE path = ?) ORDER BY hash",
        (path,),
    )
    return json.dumps(rows) if rows else None


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
