"""Failures of PostgreSQL, translated into `StoreError` by their SQLSTATE, each with its remedy."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import psycopg
from psycopg import errors

from commonplace.errors import (
    IndexBusyError,
    IndexDamagedError,
    IndexReadOnlyError,
    StoreError,
)

__all__ = [
    "CLOSED",
    "ConnectionLostError",
    "IndexGoneError",
    "TransientError",
    "connect_error",
    "translate",
    "translated",
]

CLOSED = "the memory is closed; open it again with Memory.open(...)."


class ConnectionLostError(StoreError):
    """The server cannot be reached, or ended the connection; a later attempt may succeed."""


class TransientError(StoreError):
    """A deadlock, a serialisation failure or a conflict with recovery: an attempt succeeds soon."""


class IndexGoneError(StoreError):
    """The tables of the index are not there: they were dropped meanwhile."""


_LOST = ("08", "57P01", "57P02", "57P03", "57P05", "25P03", "25P04")
"""SQLSTATEs, or their beginnings, of a session that the server ended or did not begin."""
_TRANSIENT = ("40001", "40P01")
_REMEDIES = (
    ("password authentication failed", "Check user and password, or the password file."),
    ("no password supplied", "Give a password: in the URL, PGPASSWORD, or the password file."),
    ("pg_hba.conf", "Let pg_hba.conf of the server admit this host, user and TLS setting."),
    ("does not exist", "Create it, or correct the URL."),
    ("translate host name", "Check the name of the host."),
    ("resolve host", "Check the name of the host."),
    ("too many", "Raise max_connections, or put PgBouncer before the server."),
    ("remaining connection slots", "Raise max_connections, or put PgBouncer before the server."),
    ("starting up", "Try again in a moment."),
    (
        "definition of service",
        "Check the name of the service and the file that PGSERVICEFILE names.",
    ),
    ("certificate", "Check sslmode, sslrootcert and the certificate of the server."),
    ("SSL", "Check sslmode, sslrootcert and the certificate of the server."),
)
_CONNECT_REMEDY = "Check that the server runs, and its host and port."


def connect_error(error: psycopg.Error, location: str) -> StoreError:
    """Return the error of a connection that could not be made."""
    said = " ".join(str(error).split())
    remedy = next((text for sign, text in _REMEDIES if sign in said), _CONNECT_REMEDY)
    return ConnectionLostError(f"the index {location} cannot be reached ({said}). {remedy}")


@contextlib.contextmanager
def translated(location: str) -> Iterator[None]:
    """Translate the errors of the block."""
    try:
        yield
    except psycopg.Error as error:
        raise translate(error, location) from error


def translate(error: psycopg.Error, location: str) -> StoreError:
    """Return the error of a statement as a `StoreError`."""
    state = error.sqlstate or ""
    said = " ".join((error.diag.message_primary or str(error)).split())
    index = f"the index {location}"
    if state.startswith(_LOST) or (not state and isinstance(error, psycopg.OperationalError)):
        return ConnectionLostError(
            f"the connection of {index} was lost ({said}). Try again; if it stays so, check the "
            "server."
        )
    if state in _TRANSIENT:
        return TransientError(f"{index} was changed by another session meanwhile ({said}).")
    if isinstance(error, (errors.UndefinedTable, errors.InvalidSchemaName)):
        return IndexGoneError(f"the tables of {index} are gone ({said}). Index again.")
    for kinds, failure, text in _BY_KIND:
        if isinstance(error, kinds):
            return failure(text.format(index=index, said=said))
    return StoreError(
        f"{index} failed ({type(error).__name__} {state}: {said}). Its schema can be dropped: it "
        "is rebuilt from the Markdown files."
    )


_Row = tuple[tuple[type[psycopg.Error], ...], type[StoreError], str]

_BY_KIND: tuple[_Row, ...] = (
    (
        (errors.ReadOnlySqlTransaction,),
        IndexReadOnlyError,
        "{index} cannot be written: its server is read-only ({said}). Open the primary server's.",
    ),
    (
        (errors.InsufficientPrivilege,),
        IndexReadOnlyError,
        "{index} refused the role ({said}). Grant it rights on the schema and its tables.",
    ),
    (
        (errors.LockNotAvailable,),
        IndexBusyError,
        "{index} was held by another session for too long ({said}). Try again.",
    ),
    (
        (errors.QueryCanceled,),
        StoreError,
        "{index} did not answer in time ({said}). Raise statement_timeout of the role.",
    ),
    (
        (errors.DiskFull, errors.OutOfMemory, errors.ConfigurationLimitExceeded),
        StoreError,
        "{index} has no room left ({said}). Make some on the server: what was indexed is there.",
    ),
    (
        (errors.DataCorrupted, errors.IndexCorrupted),
        IndexDamagedError,
        "{index} is damaged ({said}). It is rebuilt from the Markdown files.",
    ),
)
