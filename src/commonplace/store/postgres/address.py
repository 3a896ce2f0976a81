"""Address of an index in PostgreSQL: libpq's connection settings, and the memory's schema."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

from commonplace.errors import StoreError

__all__ = ["Address"]

_SCHEMA = "commonplace"
_MAX_IDENTIFIER = 63
"""Bytes of an identifier; PostgreSQL cuts longer ones silently."""
_RESIDENT_MB = 512
_OWN = {"name", "resident_mb"}
"""Parameters of a URL that are not libpq's."""
_FORM = "postgresql://USER@HOST:PORT/DATABASE?name=NAME"


@dataclass(frozen=True, slots=True)
class Address:
    """Address of one memory's index.

    Attributes:
        settings: Connection settings as libpq names them; without what libpq reads from its
            environment, service file and password file.
        schema: Schema of the memory: ``commonplace``, or ``commonplace_NAME``.
        name: Name of the memory; empty for the only one of a database.
        resident_bytes: Bytes of vectors that a reader may hold in memory.
    """

    settings: dict[str, Any] = field(repr=False)  # may hold a password
    schema: str
    name: str = ""
    resident_bytes: int = _RESIDENT_MB * 2**20

    @classmethod
    def from_url(cls, url: str) -> Address:
        """Return the address of a URL: libpq's own, with ``name`` and ``resident_mb`` besides.

        Raises:
            StoreError: libpq cannot read the URL, the name is too long for a schema, or
                ``resident_mb`` is no number.
        """
        place, _, query = url.partition("?")
        # A plus is itself, as libpq has it, and not a space, as forms of the web have it.
        parameters = parse_qsl(query.replace("+", "%2B"), keep_blank_values=True)
        own = {key: value for key, value in parameters if key in _OWN}
        rest = urlencode([pair for pair in parameters if pair[0] not in _OWN], quote_via=quote)
        authority, _, path = place.partition("://")[2].partition("/")
        try:
            if authority.count("@") > 1 or "@" in path:
                raise psycopg.ProgrammingError  # libpq would take a password's end for the host
            settings = conninfo_to_dict(f"{place}?{rest}")
        except psycopg.ProgrammingError:
            # libpq's text repeats parts of the URL, the password among them.
            raise StoreError(
                f"the index URL of PostgreSQL cannot be read; {_FORM} was expected, with "
                "characters such as @ and / in a password as %40 and %2F."
            ) from None
        name, resident_mb = own.get("name", ""), own.get("resident_mb", str(_RESIDENT_MB))
        if not (resident_mb.isascii() and resident_mb.isdigit()):
            raise StoreError(
                f"resident_mb of the index URL is {resident_mb!r}; a number of MiB was expected, "
                f"such as resident_mb={_RESIDENT_MB}: vectors of more stay on the server."
            )
        schema = f"{_SCHEMA}_{name}" if name else _SCHEMA
        if len(schema.encode("utf-8", "replace")) > _MAX_IDENTIFIER or "\0" in schema:
            raise StoreError(
                f"the name {name!r} of the memory is too long for a schema of PostgreSQL; "
                f"{_MAX_IDENTIFIER - len(_SCHEMA) - 1} bytes at most were expected."
            )
        return cls(settings, schema, name, int(resident_mb) * 2**20)

    @property
    def location(self) -> str:
        """The address as a URL, without credentials."""
        of = {key: str(value) for key, value in self.settings.items() if value}
        shown = {key: of[key] for key in ("service",) if key in of}
        host, user = of.get("host", ""), of.get("user", "")
        if "/" in host or "," in host:
            shown, host = {"host": host, **shown}, ""
        place = (f"{quote(user)}@" if user else "") + host
        place += f":{of['port']}" if "port" in of else ""
        if self.name:
            shown["name"] = self.name
        query = f"?{urlencode(shown, quote_via=quote, safe='/')}" if shown else ""
        return f"postgresql://{place}/{quote(of.get('dbname', ''))}{query}"

    @property
    def channel(self) -> str:
        """Channel of NOTIFY, the schema's name: ``current_schema()`` in a transaction."""
        return self.schema

    def lock_key(self, name: str) -> int:
        """Return the key of an advisory lock, the same in every process."""
        digest = hashlib.sha256(f"{self.schema}\0{name}".encode("utf-8", "replace")).digest()
        return int.from_bytes(digest[:8], "big", signed=True)
