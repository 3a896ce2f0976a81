"""Installation of an index in PostgreSQL: what the server has, and the schema at the first use."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

from psycopg import errors, sql

from commonplace.errors import StoreError
from commonplace.store.postgres.schema import (
    SCHEMA_VERSION,
    Role,
    Tables,
    create_generation,
    shared_tables,
)

if TYPE_CHECKING:
    from commonplace.store.postgres.database import Connection, Database

__all__ = ["Installation", "add_generation", "drop_generation", "install", "is_begun"]


class Installation(NamedTuple):
    """What was found on the server.

    Attributes:
        server: Version of PostgreSQL.
        pgvector: Version of pgvector.
        reason: Why the role may not write here; empty where it may.
    """

    server: str
    pgvector: str
    reason: str = ""

    @property
    def writable(self) -> bool:
        """Whether the role may write here."""
        return not self.reason


def install(database: Database) -> Installation:
    """Look at the server, and create the extension, the schema and its tables where missing.

    Raises:
        StoreError: The server is of another encoding, lacks pgvector, or the schema is of a newer
            version, or is missing and the role may not create it.
    """
    location, schema = database.address.location, database.address.schema
    with database.borrowed() as connection:
        server, encoding, is_replica = _row(
            connection,
            "SELECT current_setting('server_version'), current_setting('server_encoding'), "
            "pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean",
        )
        if encoding != "UTF8":
            raise StoreError(
                f"the database of the index {location} has the encoding {encoding}; UTF8 was "
                "expected. Create another one: CREATE DATABASE notes ENCODING 'UTF8' TEMPLATE "
                "template0."
            )
        version = _version(connection, schema)
        if version is None and is_replica:
            raise StoreError(
                f"the index {location} was not begun yet, and its server is read-only. Index once "
                "on the primary server."
            )
        pgvector = _extension(database, connection)
        if version is None:
            _create(database, connection)
        elif version > SCHEMA_VERSION:
            raise StoreError(
                f"the index {location} was written by a newer version of Commonplace (tables "
                f"{version}, {SCHEMA_VERSION} expected). Upgrade, or drop the schema {schema}: it "
                "is rebuilt from the Markdown files."
            )
        reason = "its server is a read-only replica" if is_replica else ""
        if not reason and not _may_write(connection, schema):
            reason = f"the role may only read the schema {schema}"
        if version is not None and version < SCHEMA_VERSION and not reason:
            _upgrade(database, connection)
        return Installation(server.split()[0], pgvector, reason)


def is_begun(database: Database, role: Role) -> bool:
    """Return whether an index with an identity is there; create nothing."""
    indexes = sql.Identifier(database.address.schema, "indexes")
    statement = sql.SQL("SELECT 1 FROM {} WHERE role = %s AND identity IS NOT NULL")
    with database.borrowed() as connection:
        try:
            return connection.execute(statement.format(indexes), (role,)).fetchone() is not None
        except (errors.UndefinedTable, errors.InvalidSchemaName):
            return False


def _row(connection: Connection, statement: Any, *values: object) -> tuple[Any, ...]:
    found = connection.execute(statement, values or None).fetchone()
    assert found is not None
    return found


def _version(connection: Connection, schema: str) -> int | None:
    """Return the version of the schema's tables; None where there are none."""
    (held,) = _row(
        connection,
        "SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace "
        "WHERE nspname = %s AND relname = 'meta'",
        schema,
    )
    if not held:
        return None
    statement = sql.SQL("SELECT value FROM {} WHERE key = 'version'")
    return int(_row(connection, statement.format(sql.Identifier(schema, "meta")))[0])


def _extension(database: Database, connection: Connection) -> str:
    """Return the version of pgvector, created where it is missing; note where its type is."""
    wanted = (
        "SELECT extversion, nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
        "WHERE extname = 'vector'"
    )
    found = connection.execute(wanted).fetchone()
    if found is None:
        _create_extension(database, connection)
        found = _row(connection, wanted)
    version, schema = found
    database.search_schema(schema)
    return str(version)


def _create_extension(database: Database, connection: Connection) -> None:
    location = database.address.location
    try:
        # Two sessions at once: one of them finds what the other one has made.
        with contextlib.suppress(errors.UniqueViolation, errors.DuplicateObject):
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction) as error:
        raise StoreError(
            f"the database of the index {location} lacks the extension pgvector, and this role may "
            "not create it. Run once as a superuser, in that database: CREATE EXTENSION vector;"
        ) from error
    except (errors.FeatureNotSupported, errors.UndefinedFile) as error:
        raise StoreError(
            f"the server of the index {location} has no pgvector. Install its package on the "
            "server (postgresql-18-pgvector, or the image pgvector/pgvector), then run in the "
            "database: CREATE EXTENSION vector;"
        ) from error


def _create(database: Database, connection: Connection) -> None:
    """Create the schema and its tables, in one transaction, which one session runs at a time."""
    address = database.address
    schema = sql.Identifier(address.schema).as_string()
    try:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (address.lock_key("install"),))
            (is_there,) = _row(
                connection,
                "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = %s)",
                address.schema,
            )
            if not is_there:
                connection.execute(f"CREATE SCHEMA {schema}")
            if _version(connection, address.schema) is not None:
                return
            connection.execute(database.local)
            for statement in shared_tables():
                connection.execute(statement)
            connection.execute("INSERT INTO meta VALUES ('version', %s)", (str(SCHEMA_VERSION),))
            add_generation(connection, "live")
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"the role may not create the schema of the index {address.location}. Run once as the "
            f"owner of the database: CREATE SCHEMA {schema} AUTHORIZATION "
            f"{_quoted_user(connection)};"
        ) from error


def _upgrade(database: Database, connection: Connection) -> None:
    """Create the tables that later versions added, in one transaction."""
    address = database.address
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (address.lock_key("install"),))
        connection.execute(database.local)
        for statement in shared_tables():
            connection.execute(statement)
        connection.execute(
            "UPDATE meta SET value = %s WHERE key = 'version'", (str(SCHEMA_VERSION),)
        )


def _quoted_user(connection: Connection) -> str:
    return sql.Identifier(connection.info.user).as_string()


def add_generation(connection: Connection, role: Role) -> int:
    """Create the tables of a new index; inside a transaction. Return its number."""
    (generation,) = _row(
        connection, "INSERT INTO indexes (role) VALUES (%s) RETURNING generation", role
    )
    for statement in create_generation(generation):
        connection.execute(statement)
    return int(generation)


def drop_generation(connection: Connection, generation: int) -> bool:
    """Drop the tables of an index, if no reader holds them; inside a transaction."""
    tables = ", ".join(Tables.of(generation))
    try:
        with connection.transaction():
            connection.execute(f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE NOWAIT")
            connection.execute(f"DROP TABLE {tables}")
            for shared in ("indexes", "books"):
                connection.execute(f"DELETE FROM {shared} WHERE generation = %s", (generation,))
    except errors.LockNotAvailable:
        return False
    return True


def _may_write(connection: Connection, schema: str) -> bool:
    """Return whether the role owns the tables' rights: to write, and to make those of a rebuild."""
    (may,) = _row(
        connection,
        "SELECT has_schema_privilege(%s, 'USAGE, CREATE') AND has_table_privilege(%s, 'INSERT')",
        schema,
        sql.Identifier(schema, "indexes").as_string(),
    )
    return bool(may)
