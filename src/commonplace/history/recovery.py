"""Recovery of the mutation journal: changes of a process that died are kept or taken back."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from commonplace.history.bodies import remove_batch
from commonplace.history.deleted_modes import deleted_mode
from commonplace.workspace.file_text import digest_of
from commonplace.workspace.replacement import ChangedMeanwhileError, FileChange, FilePlaces

if TYPE_CHECKING:
    from commonplace.history.versions import VersionLog

__all__ = ["digest", "recover"]


class _Entry(NamedTuple):
    """Row of the journal, and the files that it names."""

    version: int
    path: str
    target: str | None
    temporary: str
    before: bytes | None
    after: bytes | None
    done: bool


def recover(log: VersionLog, root: Path, now: datetime) -> None:
    """Settle the rows of the journal; the caller holds the lease, so their processes are dead.

    A change of several notes that reached one of them is finished; any other one that did not reach
    its file is taken back. Texts that another program wrote meanwhile go to the history.

    Raises:
        StateError: The history cannot be read or written.
        OSError: A file cannot be read or written.
    """
    rows = log.file.rows(
        "SELECT version, path, target, temporary, before, after, done FROM pending ORDER BY rowid"
    )
    entries = [_Entry(*row) for row in rows]
    for entry in entries:
        if entry.done:
            _file(root, entry).clean_up()
    for version in dict.fromkeys(entry.version for entry in entries if not entry.done):
        _recover_batch(log, root, [one for one in entries if one.version == version], now)


def _recover_batch(log: VersionLog, root: Path, entries: Sequence[_Entry], now: datetime) -> None:
    version = entries[0].version
    texts = _Texts(log, version)
    found: list[tuple[str, bytes]] = []
    reached = [entry for entry in entries if _is_applied(root, entry, texts, found)]
    for entry in entries:
        if reached and entry not in reached and _finish(root, entry, texts):
            reached.append(entry)
    with log.file.transaction() as connection:
        for entry in entries:
            if entry not in reached:
                remove_batch(connection, version, paths=[entry.path, entry.target])
        if len(reached) < len(entries):  # a host without the folder made it: it is made again
            connection.execute("DELETE FROM applied WHERE version = ?", (version,))
        for path, text in found:
            log.meet(connection, path, text, at=now)
        # Not removed: where this process is killed before it cleans up, the next one finds them.
        connection.execute("UPDATE pending SET done = 1 WHERE version = ?", (version,))
    for entry in entries:
        _file(root, entry).clean_up()


class _Texts:
    """Texts of the versions of a batch."""

    def __init__(self, log: VersionLog, version: int) -> None:
        self._log = log
        self._states = {state.version.path: state for state in log.batch(version, settled=False)}

    def after(self, entry: _Entry) -> bytes | None:
        if entry.after is None:
            return None
        return self._log.text(self._states[entry.target or entry.path])

    def before(self, entry: _Entry) -> bytes | None:
        state = self._log.before(self._states[entry.path])
        return None if state is None or entry.before is None else self._log.text(state)

    def mode(self, entry: _Entry) -> int | None:
        """Return the mode of a file that an undo brings back; None for others."""
        state = self._states[entry.path]
        if entry.before is not None or state.version.change != "undo":
            return None
        return deleted_mode(self._log.file, entry.path, before=state.id)


def _is_applied(root: Path, entry: _Entry, texts: _Texts, found: list[tuple[str, bytes]]) -> bool:
    """Return whether a change reached its file; add texts of other programs to `found`."""
    try:
        with _file(root, entry).places() as places:
            if entry.target is not None:
                return _is_moved(places, entry)
            return _is_swapped(places, entry, texts, found)
    except FileNotFoundError:  # a folder is gone, with all that was in it
        return False


def _is_swapped(
    places: FilePlaces, entry: _Entry, texts: _Texts, found: list[tuple[str, bytes]]
) -> bool:
    places.restore_swap()
    held, current = places.temporary.read(), places.file.read()
    if entry.before is None:
        # A link that was made in place of a rename may have both names.
        return current is not None and (held is None or places.temporary.is_same(places.file))
    if held is None:  # it was cleaned up, or never made
        return digest(current) == entry.after
    if digest(held) == entry.before:  # it was swapped out
        return True
    after = texts.after(entry)
    if after is not None and after.startswith(held):
        return False
    # Another program saved between the check and the swap, and its text was swapped out.
    if current is None:
        places.temporary.replace(places.file)
        return False
    found.append((entry.path, held))
    if current == after:
        places.temporary.replace(places.file)
        return False
    found.append((entry.path, current))
    return True


def _is_moved(places: FilePlaces, entry: _Entry) -> bool:
    moved = places.target.read()
    if moved is None or digest(moved) != entry.before:
        return False
    if places.file.exists() and places.file.is_same(places.target):
        places.file.unlink()  # a link was made in place of a rename
    return True


def _finish(root: Path, entry: _Entry, texts: _Texts) -> bool:
    """Make the rest of a change that reached another note; False where it cannot be made."""
    file = _file(root, entry)
    with contextlib.suppress(OSError):
        file.clean_up()
    change = FileChange(
        *(file.path, texts.before(entry), texts.after(entry), file.temporary, file.target),
        mode=texts.mode(entry),
    )
    try:
        change.apply()
    except ChangedMeanwhileError:
        return False
    return True


def _file(root: Path, entry: _Entry) -> FileChange:
    path = root.joinpath(*entry.path.split("/"))
    target = root.joinpath(*entry.target.split("/")) if entry.target else None
    return FileChange(path, None, None, path.with_name(entry.temporary), target)


def digest(data: bytes | None) -> bytes | None:
    """Return the SHA-256 of a text; None for no file."""
    return None if data is None else digest_of(data)
