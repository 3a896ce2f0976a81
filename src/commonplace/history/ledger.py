"""Origin ledger: where the lines of notes came from, by their hashes; never in the text itself.

A line without a row is a user's own. Trust only falls: of two origins of a line, the less trusted
one counts; what replaces untrusted lines, repeats them, or was written by a conversation that read
them, is untrusted itself, unless a user wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from commonplace.errors import StateError
from commonplace.history.lines import hunks, line_key, lines_begun_with, normal_line, standing_keys
from commonplace.text.quotation import SHORTENED, UNTRUSTED_MARK
from commonplace.types import USER, Author, Origin, SearchResult

if TYPE_CHECKING:
    import apsw

    from commonplace.history.database import HistoryFile

__all__ = ["OriginLedger", "lowest", "note_id", "origin_id", "stored_origin"]

_TRUST: tuple[Author, ...] = get_args(Author)
"""Authors, the most trusted one first."""
_DISTINCTIVE_CHARS = 24
"""Length from which an untrusted line is recognised in another note: shorter ones are chance."""
_HASHES_PER_QUERY = 500


def lowest(origins: Iterable[Origin]) -> Origin:
    """Return the least trusted of some origins, the first one of equals; a user's for none."""
    return max(origins, key=_distrust, default=USER)


def _distrust(origin: Origin) -> int:
    return _TRUST.index(origin.author)


def stored_origin(author: str, session: str | None = None, tool: str | None = None) -> Origin:
    """Return an origin as the file has it; one that is damaged is untrusted."""
    return Origin(author if author in _TRUST else "untrusted", session, tool)


class OriginLedger:
    """Ledger of the lines that a user did not simply write.

    Args:
        file: The history database.
        is_sound: Returns whether the rows are as they were written; while they are not, all lines
            are untrusted.
    """

    def __init__(self, file: HistoryFile, *, is_sound: Callable[[], bool] = lambda: True) -> None:
        self._file = file
        self.is_sound = is_sound
        self._sound = True
        self._unattributed = False
        """Whether this process showed untrusted lines to a conversation that it cannot name."""
        self._held_at: tuple[object, dict[str, Author]] = None, {}

    # -- writing ---------------------------------------------------------------------------------

    def attribute(
        self,
        connection: apsw.Connection,
        path: str,
        before: str,
        after: str,
        origin: Origin | None,
        *,
        untrusted: Collection[str] = (),
        elsewhere: Callable[[str], Iterable[str]] = lambda _: (),
    ) -> None:
        """Record the origin of the lines that a change brings; inside a transaction.

        It comes before the change itself, so that no crash leaves a line without its origin. A line
        that stands in the note already keeps the one it has: repeating a user's words takes nothing
        from them.

        Args:
            connection: Of the history database.
            path: The note.
            before: Its text before the change.
            after: Its text after it.
            origin: Origin of the change, as `effective` returned it; None for a user's.
            untrusted: Lines that are untrusted, whatever the origin is, unless it is a user's.
            elsewhere: Returns the other notes in which a line stands. An untrusted line is
                recognised wherever it is copied to, but not where a user had written it before.
        """
        if origin is None or origin == USER:
            return
        rows: dict[bytes, tuple[Origin, bool]] = {}
        for removed, added in hunks(before.split("\n"), after.split("\n")):
            given = origin
            kept = set(map(line_key, added))  # moved, formatted or struck through
            replaced = [line for line in removed if line_key(line) not in kept]
            if replaced and origin.author != "user":
                least = lowest([origin, *self._of_lines(path, replaced)])
                given = replace(origin, author=least.author)
            standing = standing_keys(before, added)
            for line in added:
                key = line_key(line)
                if key is not None and key not in standing:
                    own = replace(given, author="untrusted") if line in untrusted else given
                    travels = own.author == "untrusted" and self._travels(line, elsewhere)
                    rows[key] = own, travels
        if rows:
            self.insert(connection, note_id(connection, path), rows)

    def insert(
        self, connection: apsw.Connection, note: int, rows: Mapping[bytes, tuple[Origin, bool]]
    ) -> None:
        """Record origins of a note's lines by their keys, where they are trusted less."""
        for key, (origin, travels) in rows.items():
            held = connection.execute(
                "SELECT author, session, tool FROM line_origin JOIN origin ON id = origin"
                " WHERE note = ? AND hash = ?",
                (note, key),
            ).fetchone()
            if held is None or _distrust(stored_origin(*held)) < _distrust(origin):
                connection.execute(
                    # Not OR REPLACE: the triggers that keep the sums would not see the old row.
                    "INSERT INTO line_origin VALUES (?, ?, ?, ?) ON CONFLICT (note, hash) "
                    "DO UPDATE SET origin = excluded.origin, travels = excluded.travels",
                    (note, key, origin_id(connection, origin), travels),
                )

    def _travels(self, line: str, elsewhere: Callable[[str], Iterable[str]]) -> bool:
        """Return whether an untrusted line is recognised in other notes."""
        return len(normal_line(line)) >= _DISTINCTIVE_CHARS and all(
            self._of_lines(path, [line])[0].author == "untrusted" for path in elsewhere(line)
        )

    def effective(self, origin: Origin) -> Origin:
        """Return an origin; an untrusted one for a conversation that read untrusted lines."""
        if not isinstance(origin, Origin):
            raise TypeError(f"origin is {origin!r}; an Origin was expected: Origin('agent').")
        if origin.author in ("user", "untrusted"):
            return origin
        return replace(origin, author="untrusted") if self.is_exposed(origin.session) else origin

    def copy(self, connection: apsw.Connection, path: str, to: str) -> None:
        """Record that the lines of a note stand under another path, too; inside a transaction."""
        found: Iterable[Any] = connection.execute(
            "SELECT hash, travels, author, session, tool FROM line_origin"
            " JOIN origin ON id = origin WHERE note = ?",
            (note_id(connection, path),),
        ).fetchall()
        rows = {key: (stored_origin(*origin), bool(travels)) for key, travels, *origin in found}
        self.insert(connection, note_id(connection, to), rows)

    # -- conversations ---------------------------------------------------------------------------

    def expose(self, session: str | None) -> None:
        """Record that a conversation was shown untrusted lines.

        Args:
            session: The conversation; empty for those without an id. None where it is not known:
                all that conversations write through this process is untrusted from then on.
        """
        if session is None:
            self._unattributed = True
        elif not self.is_exposed(session):
            sql = "INSERT OR IGNORE INTO exposed_session VALUES (?)"
            try:
                with self._file.transaction() as connection:
                    connection.execute(sql, (session,))
            except StateError:
                self._unattributed = True  # at least this process knows
                raise

    def is_exposed(self, session: str | None) -> bool:
        """Return whether a conversation was shown untrusted lines, by any process."""
        sql = "SELECT 1 FROM exposed_session WHERE session = ?"
        return (
            self._unattributed
            or not self.is_sound()
            or bool(self._file.rows(sql, (session or "",)))
        )

    # -- reading ---------------------------------------------------------------------------------

    def of_lines(self, path: str, lines: Sequence[str]) -> list[Origin]:
        """Return the origin of each of a note's lines."""
        self._sound = self.is_sound()
        return self._of_lines(path, lines)

    def _of_lines(self, path: str, lines: Sequence[str]) -> list[Origin]:
        """Return the same without a check, which would wait for the transaction of `attribute`."""
        return self._of_places([(path, line) for line in lines])

    def attributed(
        self, results: Sequence[SearchResult], *, read: Callable[[str], str], state: object
    ) -> list[SearchResult]:
        """Return results with the origins of the lines that they show.

        Args:
            results: Results of a search.
            read: Returns a note's whole text, in which lines that are cut are looked up.
            state: State of the history file, as `is_empty` takes it.
        """
        held = self._held(state)
        everywhere = "untrusted" in held.values() or not self._sound
        known = [each.source == "memory" and (everywhere or each.path in held) for each in results]
        shown = [each for each, is_known in zip(results, known, strict=True) if is_known]
        found = self._of_shown(shown, held, read)
        return [
            _with_origins(result, next(found)) if is_known else result
            for result, is_known in zip(results, known, strict=True)
        ]

    def is_empty(self, state: object = None) -> bool:
        """Return whether users wrote all lines.

        Args:
            state: State of the history file: the same one gives the same answer, without a query.
                None asks in any case.
        """
        return not self._held(state) and self._sound

    def untrusted_lines(self, path: str, text: str, *, first_line: int = 1) -> tuple[int, ...]:
        """Return the numbers of the untrusted lines among whole lines of a note.

        Args:
            path: The note.
            text: Its lines.
            first_line: Number of the first one.
        """
        return tuple(_untrusted(self.of_lines(path, text.split("\n")), first_line))

    def quoted(self, path: str) -> Callable[[str], str]:
        """Return a function that marks a note's line if it is untrusted, for messages."""

        def mark(line: str) -> str:
            untrusted = self.of_lines(path, [line])[0].author == "untrusted"
            return UNTRUSTED_MARK + line if untrusted else line

        return mark

    def _of_shown(
        self,
        results: Sequence[SearchResult],
        held: Mapping[str, Author],
        read: Callable[[str], str],
    ) -> Iterator[list[Origin]]:
        """Yield the origins of the lines that each result shows; cut ones are looked up."""
        shown = [[*_context_lines(each), *each.snippet.split("\n")] for each in results]
        pairs = zip(results, shown, strict=True)
        found = iter(self._of_places([(it.path, line) for it, own in pairs for line in own]))
        texts: dict[str, list[str]] = {}
        for each, lines in zip(results, shown, strict=True):
            path, origins = each.path, [next(found) for _ in lines]
            first = len(_context_lines(each))
            cut = [at for at in range(first) if lines[at].endswith(SHORTENED)]
            for at in {*cut, first, len(lines) - 1}:
                if origins[at] != USER or line_key(lines[at]) is None:
                    continue
                if path not in texts:
                    texts[path] = read(path).split("\n")
                if lines[at] in texts[path]:
                    continue
                if at < first:
                    beginning = lines[at].removesuffix(SHORTENED)
                    whole = lines_begun_with(beginning, texts[path], below=lines[first])
                else:
                    whole = [line for line in texts[path] if lines[at].strip() in line]
                unknown = Origin("untrusted") if held.get(path) == "untrusted" else USER
                origins[at] = lowest(self.of_lines(path, whole)) if whole else unknown
            yield origins

    def _held(self, state: object) -> dict[str, Author]:
        """Return the notes with lines in the ledger, and the least trusted author of each."""
        known, held = self._held_at
        if state is None or known != state:
            held = {}
            self._sound = self.is_sound()
            try:
                rows = self._file.rows(
                    "SELECT path, author FROM (SELECT DISTINCT origin, note FROM line_origin)"
                    " JOIN note ON note.id = note JOIN origin ON origin.id = origin"
                )
            except StateError:
                if self._sound:
                    raise
                rows = []  # all lines are untrusted
            for path, author in rows:
                held[path] = lowest([stored_origin(author), Origin(held.get(path, "user"))]).author
            self._held_at = state, held
        return held

    def _of_places(self, places: Sequence[tuple[str, str]]) -> list[Origin]:
        keys = [line_key(line) for _, line in places]
        if not self._sound:
            return [USER if key is None else Origin("untrusted") for key in keys]
        wanted = list(dict.fromkeys(filter(None, keys)))
        rows: dict[bytes, list[tuple[str, bool, Origin]]] = {}
        for at in range(0, len(wanted), _HASHES_PER_QUERY):
            some = wanted[at : at + _HASHES_PER_QUERY]
            for key, path, travels, *origin in self._file.rows(
                "SELECT hash, path, travels, author, session, tool FROM line_origin"
                " JOIN note ON note.id = note JOIN origin ON origin.id = origin"
                f" WHERE hash IN ({', '.join('?' * len(some))})",
                tuple(some),
            ):
                rows.setdefault(key, []).append((path, bool(travels), stored_origin(*origin)))
        return [
            lowest([origin for at, travels, origin in rows.get(key, ()) if travels or at == path])
            if key is not None
            else USER
            for (path, _), key in zip(places, keys, strict=True)
        ]


def _context_lines(result: SearchResult) -> list[str]:
    return result.context.split("\n") if result.context else []


def _with_origins(result: SearchResult, origins: Sequence[Origin]) -> SearchResult:
    first_line = result.start_line - len(_context_lines(result))
    untrusted = tuple(_untrusted(origins, first_line))
    return replace(result, origin=lowest(origins), untrusted=untrusted)


def _untrusted(origins: Iterable[Origin], first_line: int) -> Iterator[int]:
    for number, origin in enumerate(origins, start=first_line):
        if origin.author == "untrusted":
            yield number


def note_id(connection: apsw.Connection, path: str) -> int:
    """Return the number of a note; it gets one at its first use, inside a transaction."""
    connection.execute("INSERT OR IGNORE INTO note (path) VALUES (?)", (path,))
    return int(connection.execute("SELECT id FROM note WHERE path = ?", (path,)).get)


def origin_id(connection: apsw.Connection, origin: Origin) -> int:
    """Return the number of an origin; it gets one at its first use, inside a transaction."""
    values = (origin.author, origin.session, origin.tool)
    sql = "SELECT id FROM origin WHERE author = ? AND session IS ? AND tool IS ?"
    found = connection.execute(sql, values).get
    if found is None:
        sql = "INSERT INTO origin (author, session, tool) VALUES (?, ?, ?)"
        connection.execute(sql, values)
        found = connection.last_insert_rowid()
    return int(found)
