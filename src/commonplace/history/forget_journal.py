"""Journal of plans to forget: what is not gone yet, and is finished by the next open."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from commonplace.errors import CommonplaceError, StateError, StoreError

if TYPE_CHECKING:
    import apsw

    from commonplace.history.database import HistoryFile
    from commonplace.history.forget_plan import ForgetPlan

__all__ = ["ForgetJournal", "unfinished"]


class ForgetJournal:
    """Journal of plans; one that is done has no text, until the files are rewritten.

    Args:
        file: The history.
    """

    def __init__(self, file: HistoryFile) -> None:
        self._file = file

    def plans(self) -> list[tuple[int, str]]:
        """Return the numbers and texts of the plans; the text is empty where one is done."""
        return self._file.rows("SELECT id, plan FROM forgetting ORDER BY id")

    def add(self, plan: ForgetPlan) -> int:
        """Add a plan; return its number."""
        with self._file.transaction() as connection:
            connection.execute("INSERT INTO forgetting (plan) VALUES (?)", (plan.to_json(),))
            return connection.last_insert_rowid()

    def drop(self, number: int) -> bool:
        """Remove a plan of which nothing was done; return whether it is gone."""
        with contextlib.suppress(StateError):  # as of a disk that is full
            with self._file.transaction() as connection:
                connection.execute("DELETE FROM forgetting WHERE id = ?", (number,))
            return True
        return False

    def mark_done(self, connection: apsw.Connection, number: int) -> None:
        """Empty a plan with the transaction that removes the last texts."""
        connection.execute("UPDATE forgetting SET plan = '' WHERE id = ?", (number,))

    def drop_done(self) -> None:
        """Remove the plans that are done: no file has any of the texts."""
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM forgetting WHERE plan = ''")


def unfinished(error: CommonplaceError | OSError) -> CommonplaceError:
    """Return the error of a forgetting that has begun, and that the next open finishes.

    One of the index stays one of the index; any other is a `StateError`.
    """
    said = str(error)
    if isinstance(error, OSError) and not isinstance(error, CommonplaceError):
        said = f"{error.filename}: {error.strerror or error}."
    kind = type(error) if isinstance(error, StoreError) else StateError
    return kind(
        f"not all of it is forgotten yet, and the next open of this memory does the rest: {said}"
    )
