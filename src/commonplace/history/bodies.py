"""Bodies of versions: the texts of the past as the history file keeps them.

The first text of a note is kept as a whole, and each later one as its difference from the one
before; from time to time one is a whole again, so that a text is made of few differences.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.errors import StateError
from commonplace.history.deltas import appended_delta, compress, decompress, from_delta, to_delta
from commonplace.workspace.file_text import GrownBytes, digest_of, joined

if TYPE_CHECKING:
    import apsw

    Query = Callable[[str, tuple[Any, ...]], Iterable[tuple[Any, ...]]]

__all__ = [
    "is_kept",
    "make_body",
    "make_whole",
    "read_bodies",
    "read_body",
    "remove_batch",
    "rewrite_bodies",
]

_MAX_CHAIN = 256
"""Differences behind a whole text, at most."""
_CHAIN_BYTES = 4
"""Bytes of the differences behind a whole text, at most, as a multiple of its own."""


def make_body(
    connection: apsw.Connection,
    note: int,
    text: bytes | GrownBytes | None,
    *,
    before: bytes | None = None,
) -> tuple[int | None, bytes | None]:
    """Return the body of a note's next text, and the row that it is a difference from.

    Args:
        connection: Connection in a transaction.
        note: Row of the note.
        text: The text; None for a note that is gone.
        before: The text before it, where it is at hand; else it is put together of differences.
    """
    if text is None:
        return None, None
    whole = "note = ? AND base IS NULL AND body NOT NULL ORDER BY id DESC LIMIT 1"
    rows: list[tuple[Any, ...]] = connection.execute(
        f"SELECT id, length(body) FROM version WHERE id >= (SELECT id FROM version WHERE {whole}) "
        "AND note = ? ORDER BY id",
        (note, note),
    ).fetchall()
    if not rows or rows[-1][1] is None:  # a new note, or one that was gone
        return None, compress(joined(text))
    (_, size), *deltas = rows
    if len(deltas) >= _MAX_CHAIN or sum(each or 0 for _, each in deltas) > _CHAIN_BYTES * size:
        return None, compress(joined(text))
    base = rows[-1][0]
    known = connection.execute("SELECT hash FROM version WHERE id = ?", (base,)).get
    if isinstance(text, GrownBytes):
        if text.before_digest == known:
            return base, appended_delta(text.added, text.before)
        text = text.joined()
    if before is None or digest_of(before) != known:
        before = read_body(connection.execute, base)
    return base, to_delta(text, before)


def read_body(query: Query, row: int) -> bytes:
    """Return the text of a version: the whole one before it, and the differences up to it.

    Args:
        query: Runs a query.
        row: Row of the version.

    Raises:
        StateError: The text is not the one that was kept.
    """
    chain = query(
        """WITH RECURSIVE chain (id, base, body, hash) AS (
            SELECT id, base, body, hash FROM version WHERE id = ?
            UNION ALL
            SELECT version.id, version.base, version.body, version.hash
            FROM chain JOIN version ON version.id = chain.base)
        SELECT base, body, hash FROM chain ORDER BY id""",
        (row,),
    )
    text, known = b"", None
    for base, body, digest in chain:
        known = digest
        if body is not None:
            text = decompress(body) if base is None else from_delta(body, text)
    if known is not None and digest_of(text) != known:
        raise StateError(
            f"the history is damaged: the text of version {row} is not the one that was kept. "
            "Restore history.sqlite from a backup; the notes are as they are."
        )
    return text


def read_bodies(connection: apsw.Connection, note: int) -> Iterator[tuple[int, bytes]]:
    """Yield the row and the text of each version of a note that has one, in order."""
    text = b""
    rows = connection.execute(
        "SELECT id, base, body FROM version WHERE note = ? AND body NOT NULL ORDER BY id",
        (note,),
    )
    for row, base, body in rows:
        text = decompress(body) if base is None else from_delta(body, text)
        yield row, text


def make_whole(connection: apsw.Connection, row: int) -> None:
    """Keep a text as a whole, so that those before it can be removed."""
    whole = compress(read_body(connection.execute, row))
    connection.execute("UPDATE version SET base = NULL, body = ? WHERE id = ?", (whole, row))


def is_kept(connection: apsw.Connection, version: int) -> bool:
    """Return whether a version is there: the recovery may have taken it back."""
    return bool(connection.execute("SELECT 1 FROM version WHERE id = ?", (version,)).fetchone())


def remove_batch(
    connection: apsw.Connection, batch: int, *, paths: Sequence[str | None] | None = None
) -> None:
    """Remove the versions of a change; texts that are kept as differences from them stay.

    Args:
        connection: Connection in a transaction.
        batch: The change.
        paths: Notes whose versions are removed; None for all of the change.
    """
    rows: list[tuple[Any, ...]] = connection.execute(
        "SELECT version.id FROM version JOIN note ON note.id = note WHERE batch = ?1 AND "
        "(?2 IS NULL OR path IN (SELECT value FROM json_each(?2)))",
        (batch, None if paths is None else json.dumps(list(paths))),
    ).fetchall()
    for (row,) in rows:
        later: list[tuple[Any, ...]] = connection.execute(
            "SELECT id FROM version WHERE base = ?1 AND "
            "note = (SELECT note FROM version WHERE id = ?1)",
            (row,),
        ).fetchall()
        for (other,) in later:
            make_whole(connection, other)
        connection.execute("DELETE FROM version WHERE id = ?", (row,))
        connection.execute("DELETE FROM change_group WHERE version = ?", (row,))


def rewrite_bodies(
    connection: apsw.Connection, change: Callable[[str, bytes], bytes | None]
) -> int:
    """Replace texts of the past; return the number of versions that changed.

    Args:
        connection: Connection in a transaction.
        change: Takes the path and a text of a note, and returns another text, the same one, or None
            where the version is to be removed.
    """
    count = 0
    notes: list[tuple[Any, ...]] = connection.execute("SELECT id, path FROM note").fetchall()
    for note, path in notes:
        changed = [
            (row, text, change(path, text)) for row, text in list(read_bodies(connection, note))
        ]
        differing = sum(text != other for _, text, other in changed)
        if differing:
            count += differing
            _replace(connection, [(row, other) for row, _, other in changed])
    return count


def _replace(connection: apsw.Connection, texts: Sequence[tuple[int, bytes | None]]) -> None:
    """Replace all texts of a note; None removes the version."""
    base: tuple[int, bytes] | None = None
    for number, (row, text) in enumerate(texts):
        if text is None:
            connection.execute("DELETE FROM version WHERE id = ?", (row,))
            continue
        if not number % _MAX_CHAIN:
            base = None
        body = compress(text) if base is None else to_delta(text, base[1])
        connection.execute(
            "UPDATE version SET size = ?, hash = ?, base = ?, body = ? WHERE id = ?",
            (len(text), digest_of(text), base[0] if base else None, body, row),
        )
        base = row, text
