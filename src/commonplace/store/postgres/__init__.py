"""PostgreSQL engine: one schema a memory, tsvector for terms, pgvector and a resident matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.errors import StoreError

if TYPE_CHECKING:
    from commonplace.store.postgres.store import PostgresStore

__all__ = ["open_store"]


def open_store(url: str) -> PostgresStore:
    """Open the PostgreSQL index of a URL; see `commonplace.store.registry.open_store`."""
    try:
        import psycopg  # noqa: F401 - the driver is there, or the error names the command
    except ImportError as error:
        raise StoreError(
            f"an index in PostgreSQL needs psycopg ({error}). Install it: "
            "pip install 'commonplace[postgres]'."
        ) from error
    from commonplace.store.postgres.address import Address
    from commonplace.store.postgres.store import PostgresStore

    return PostgresStore(Address.from_url(url))
