"""Integrity of the origin ledger: rows that were lost, or are not as written, and what then counts.

A line without a row is a user's: what is lost would pass for that. So the ledger has sums of its
rows, and a count of its changes beside the file. Where they differ, each line that is in doubt
counts as untrusted, unless a user's version brought it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, get_args

from commonplace.errors import CommonplaceError, StateError
from commonplace.history.database import NAMES_SUM, line_checksum
from commonplace.history.ledger import note_id, origin_id
from commonplace.history.lines import line_key
from commonplace.system import forks
from commonplace.types import Author, Origin
from commonplace.workspace.file_text import decode_text

if TYPE_CHECKING:
    import apsw

    from commonplace.history.versions import VersionLog

__all__ = ["LedgerCheck", "LedgerDamage"]

logger = logging.getLogger(__name__)

_SHARE = 100
"""Least ratio of the time between two checks and the time that one takes."""
_RETRY_S = 5.0
"""Seconds after which it is tried again to mend the ledger."""
_UNTRUSTED = Origin("untrusted")
_SUMS = f"""SELECT 'lines', note, count(*), sum({line_checksum()})
    FROM line_origin NOT INDEXED GROUP BY note
    UNION ALL SELECT 'sums', note, lines, total FROM note_sum WHERE lines
    UNION ALL SELECT 'names', changes, names, {NAMES_SUM} FROM ledger_sum"""
_AUTHORS = ", ".join(f"'{author}'" for author in get_args(Author))


class LedgerDamage(NamedTuple):
    """Damage of the ledger.

    Attributes:
        why: What was found.
        notes: Notes whose rows are not as they were written, by their numbers.
        is_everywhere: Whether rows of any note may be lost.
    """

    why: str
    notes: frozenset[int] = frozenset()
    is_everywhere: bool = False


class LedgerCheck:
    """Check of the ledger, after the first in a hundredth of a process's time, and its repair.

    Args:
        log: The versions, which tell what users wrote.
        paths: Returns the paths of all notes.
        read: Returns a note's text; empty for one that is gone.
    """

    def __init__(
        self,
        log: VersionLog,
        *,
        paths: Callable[[], Iterable[str]],
        read: Callable[[str], str],
    ) -> None:
        self._log = log
        self._file = log.file
        self._paths = paths
        self._read = read
        self._due = 0.0
        self._sound = True
        self._lock = threading.Lock()
        forks.renewed_in_child(self)

    def renew(self) -> None:
        """Begin again in a forked process."""
        self._lock = threading.Lock()

    def is_sound(self) -> bool:
        """Return whether the ledger is as it was written; it is mended where it is not.

        Lines without a row are users' only if it is.
        """
        with self._lock:
            began = time.monotonic()
            if began >= self._due:
                self._sound = self._is_found_sound()
                took = time.monotonic() - began
                self._due = time.monotonic() + (took * _SHARE if self._sound else _RETRY_S)
            return self._sound

    def _is_found_sound(self) -> bool:
        try:
            damage = self.damage()
        except StateError as error:
            if self._sound:  # said once
                logger.warning(
                    "where lines of notes come from cannot be read, and all of them count as "
                    "untrusted: %s",
                    error,
                )
            return False
        return damage is None or self._is_mended(damage)

    def damage(self) -> LedgerDamage | None:
        """Compare the ledger with its sums, its indexes, and the count beside it."""
        noted = self._file.noted_changes()  # first: others go on writing
        found: dict[str, dict[int, tuple[int, int]]] = {"lines": {}, "sums": {}, "names": {}}
        for kind, number, *sums in self._file.rows(_SUMS):
            found[kind][number] = sums[0], sums[1]
        if not found["names"] and not found["lines"]:
            return None  # there is no file
        if not found["names"]:
            return LedgerDamage("its sums are lost", is_everywhere=True)
        ((changes, (names, names_now)),) = found["names"].items()
        if changes < noted:
            why = f"it has {changes} changes, and had {noted}: its last ones are lost"
            return LedgerDamage(why, is_everywhere=True)
        rows = found["lines"].items() ^ found["sums"].items()
        notes = frozenset(note for note, _ in rows)
        if names != names_now:
            return LedgerDamage("a name in it is not as it was written", notes, is_everywhere=True)
        if notes:
            why = f"rows of {len(notes)} of its notes are not as they were written"
            return LedgerDamage(why, notes)
        answers = [answer for (answer,) in self._file.rows("PRAGMA integrity_check(line_origin)")]
        return None if answers == ["ok"] else LedgerDamage(f"{answers[0]}" if answers else "empty")

    def mend(self, damage: LedgerDamage) -> int:
        """Count what is in doubt as untrusted; return the number of such lines.

        Raises:
            StateError: The history cannot be written.
        """
        noted = self._file.noted_changes()
        unknown = {path: self._unknown(path) for path in sorted(self._in_doubt(damage))}
        with self._file.transaction() as connection:
            connection.execute("REINDEX line_origin")
            count = self._distrust(connection, damage)
            for path, keys in unknown.items():
                count += self._add(connection, path, keys)
            connection.execute("DELETE FROM note_sum")
            connection.execute(
                f"INSERT INTO note_sum SELECT note, count(*), sum({line_checksum()}) "
                "FROM line_origin GROUP BY note"
            )
            connection.execute(
                f"INSERT INTO ledger_sum VALUES (1, ?1, {NAMES_SUM}) ON CONFLICT (id) DO UPDATE "
                "SET changes = max(changes, ?1) + 1, names = excluded.names",
                (noted + 1,),
            )
        return count

    def _is_mended(self, damage: LedgerDamage) -> bool:
        place, why = self._file.path, damage.why
        try:
            count = self.mend(damage)
        except StateError as error:
            logger.warning(
                "the record of where lines of notes come from, in %s, is damaged (%s): all lines "
                "count as untrusted until it can be mended (%s)",
                *(place, why, error),
            )
            return False
        logger.warning(
            "the record of where lines of notes come from, in %s, is damaged (%s): %d lines of "
            "which that is not known any more count as untrusted",
            *(place, why, count),
        )
        return True

    def _distrust(self, connection: apsw.Connection, damage: LedgerDamage) -> int:
        """Distrust rows that are damaged, or refer to what is; return their number."""
        execute = connection.execute
        execute(f"UPDATE origin SET author = 'untrusted' WHERE author NOT IN ({_AUTHORS})")
        execute("DELETE FROM line_origin WHERE note NOT IN (SELECT id FROM note)")
        untrusted = origin_id(connection, _UNTRUSTED)
        sql = "UPDATE line_origin SET origin = ?, travels = travels IS NOT 0 WHERE "
        execute(f"{sql} origin NOT IN (SELECT id FROM origin)", (untrusted,))
        count = connection.changes()
        for note in damage.notes:
            execute(f"{sql} note = ?", (untrusted, note))
            count += connection.changes()
        if damage.is_everywhere:  # what conversations were shown may be lost, too
            execute(
                "INSERT OR IGNORE INTO exposed_session "
                "SELECT DISTINCT session FROM origin WHERE session NOT NULL"
            )
        return count

    def _in_doubt(self, damage: LedgerDamage) -> set[str]:
        known = self._file.rows("SELECT id, path FROM note")
        paths = {path for number, path in known if number in damage.notes}
        return paths | set(self._paths()) if damage.is_everywhere else paths

    def _unknown(self, path: str) -> set[bytes]:
        """Return the keys of the lines of a note that no user's version brought."""
        keys = map(line_key, self._read(path).split("\n"))
        return {key for key in keys if key is not None} - self._of_users(path)

    def _add(self, connection: apsw.Connection, path: str, keys: set[bytes]) -> int:
        """Add rows for those lines of a note that have none; return their number."""
        note, untrusted = note_id(connection, path), origin_id(connection, _UNTRUSTED)
        count = 0
        for key in keys:
            connection.execute(
                "INSERT OR IGNORE INTO line_origin VALUES (?, ?, ?, 0)", (note, key, untrusted)
            )
            count += connection.changes()
        return count

    def _of_users(self, path: str) -> set[bytes]:
        """Return the keys of the lines that a user's version of a note was the first to have."""
        brought: dict[bytes, bool] = {}
        for state in reversed(self._log.states_of(path)):
            if not state.exists:
                continue
            origin = state.version.origin
            by_user = origin is None or origin.author == "user"
            try:
                text, _ = decode_text(self._log.text(state))
            except CommonplaceError:
                continue  # a text that is not kept any more, or is damaged itself
            for line in text.split("\n"):
                key = line_key(line)
                if key is not None:
                    brought.setdefault(key, by_user)
        return {key for key, by_user in brought.items() if by_user}
