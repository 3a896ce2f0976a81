"""Removal of forgotten texts from the versions of notes, and of the origins of their lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.history.bodies import rewrite_bodies
from commonplace.history.edits import FileCodec
from commonplace.history.forgotten_lines import ForgottenLines
from commonplace.history.known_texts import remove_unused_names
from commonplace.history.lines import line_key
from commonplace.workspace.replacement import read_file

if TYPE_CHECKING:
    import apsw

    from commonplace.history.forget_plan import FileEdit, ForgetPlan
    from commonplace.history.forgotten_text import ForgottenText

__all__ = ["forget_in_versions"]

_LINES_OF_SESSION = """SELECT path, hash FROM line_origin JOIN note ON note.id = note
    JOIN origin ON origin.id = origin WHERE session = ?"""


def forget_in_versions(
    connection: apsw.Connection,
    plan: ForgetPlan,
    forgotten: ForgottenText,
    *,
    locate: Callable[[str], Path],
) -> int:
    """Remove texts, origins and names from the history; return the number of versions.

    Args:
        connection: The history, in a transaction.
        plan: What is forgotten; the notes are changed already.
        forgotten: Texts that are removed from every version.
        locate: Returns the file of a note.
    """
    keys = {
        path: {key for line in edit.removed if (key := line_key(line)) is not None}
        for path, edit in plan.files.items()
    }
    own = {path: _own_lines(edit, locate(path)) for path, edit in plan.files.items()}
    execute = connection.execute
    if plan.session is not None:  # lines that were edited since have an origin, too
        for path, key in execute(_LINES_OF_SESSION, (plan.session,)):
            keys.setdefault(path, set()).add(key)

    def scrubbed(path: str, data: bytes) -> bytes | None:
        if path in plan.paths:
            return None
        codec = FileCodec.of(data)
        gone, earlier = keys.get(path, set()), own.get(path)
        lines = codec.decode(data).split("\n")
        places = forgotten.places(lines)
        kept = [
            line
            for at, line in enumerate(lines)
            if at not in places
            and (not gone or line_key(line) not in gone)
            and (earlier is None or not earlier.are_in(line))
        ]
        return data if len(kept) == len(lines) else codec.encode("\n".join(kept))

    note = "(SELECT id FROM note WHERE path = ?)"
    for path in plan.paths:  # what remains of a change group is all of it
        of_note = f"SELECT id FROM version WHERE note = {note}"
        execute(f"DELETE FROM change_group WHERE version IN ({of_note})", (path,))
    count = rewrite_bodies(connection, scrubbed)
    for path in plan.paths:
        execute(f"DELETE FROM version WHERE note = {note}", (path,))
        execute(f"DELETE FROM line_origin WHERE note = {note}", (path,))
        execute(f"UPDATE version SET moved_from = NULL WHERE moved_from = {note}", (path,))
    for path, edit in plan.files.items():
        _forget_origins(connection, edit, path, locate(path))
    if plan.session is not None:
        _forget_session(connection, plan, plan.session)
    execute("DELETE FROM pending WHERE done")
    remove_unused_names(connection)
    return count


def _forget_session(connection: apsw.Connection, plan: ForgetPlan, session: str) -> None:
    """Remove what is known of a conversation, but for the notes that still have lines of it.

    A later forgetting finds the lines by their origins, once the notes can be read.
    """
    execute = connection.execute
    notes = execute("SELECT id, path FROM note") if plan.unread else ()
    kept = ",".join(str(number) for number, path in notes if plan.is_unread(path))
    of_session = "origin IN (SELECT id FROM origin WHERE session = ?)"
    gone = f"{of_session} AND note NOT IN ({kept})"
    execute(f"UPDATE version SET origin = NULL WHERE {gone}", (session,))
    execute(f"DELETE FROM line_origin WHERE {gone}", (session,))
    if not execute(f"SELECT 1 FROM line_origin WHERE {of_session}", (session,)).fetchone():
        execute("DELETE FROM exposed_session WHERE session = ?", (session,))


def _own_lines(edit: FileEdit, place: Path) -> ForgottenLines:
    """Return the lines that a note loses, to be recognised in what it was before."""
    lines = ForgottenLines(edit.removed, own=True)
    lines.spare(_text_of(place))
    return lines


def _text_of(place: Path) -> str:
    data = read_file(place) or b""
    return FileCodec.of(data).decode(data)


def _forget_origins(connection: apsw.Connection, edit: FileEdit, path: str, place: Path) -> None:
    left = set(map(line_key, _text_of(place).split("\n")))
    for key in set(map(line_key, edit.removed)) - left - {None}:
        connection.execute(
            "DELETE FROM line_origin WHERE hash = ? AND note = "
            "(SELECT id FROM note WHERE path = ?)",
            (key, path),
        )
