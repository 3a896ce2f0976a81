"""sqlite-vec: the extension that compares vectors in SQLite, and its table of an index's vectors.

The table holds the vectors once more, for a process's first search to scan. It has no checksums of
its own: the note ``vec0`` of the index holds one of the whole table, to which each vector adds its
part, so that a change costs what it changes; the scan compares it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import zlib
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from commonplace.errors import SettingsError
from commonplace.store.sqlite.connection import damaged
from commonplace.store.sqlite.schema import get_meta, set_meta

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from commonplace.vectors import Vector

__all__ = [
    "change_vec0_checksum",
    "check_vec0",
    "load_vector_extension",
    "nearest_by_vec0",
    "use_vector_extension",
    "vec0_in_step",
    "vec0_usable",
    "vector_extension",
]

_TABLES = ("chunks_vec", "chunks_vec_chunks", "chunks_vec_vector_chunks00")
"""The table, and those that sqlite-vec 0.1 keeps it in."""
_BITS = 64
_ROWS = 1024
"""Vectors that are read together."""

_chosen: tuple[str, str] | None = None
"""Library and version that this process was given; None for the package's."""


def vector_extension() -> tuple[str | None, str]:
    """Find sqlite-vec: its library's path and version, or None and why it is not there."""
    return _chosen or _of_package()


@functools.cache
def _of_package() -> tuple[str | None, str]:
    # The Python module is not imported: that loads numpy through a submodule, which fails while
    # another thread begins to import numpy.
    spec = find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        return None, "sqlite-vec is not installed"
    module = Path(spec.origin)
    version = re.search(r'__version__ = "(.+?)"', module.read_text(encoding="utf-8"))
    return str(module.with_name("vec0")), version[1] if version else ""


def use_vector_extension(path: str) -> None:
    """Use the library of a path, for all indexes that this process opens from now on.

    Raises:
        SettingsError: It cannot be loaded, or is not sqlite-vec.
    """
    global _chosen
    library = os.path.abspath(os.path.expanduser(path))
    with contextlib.closing(apsw.Connection(":memory:")) as connection:
        try:
            _load(connection, library)
            version = str(connection.execute("SELECT vec_version()").get)
        except (apsw.Error, AttributeError) as error:
            raise SettingsError(
                f"search.vector_extension is {path!r}, which SQLite cannot load as sqlite-vec "
                f"({error}); name the library, such as /usr/lib/sqlite-vec/vec0.so, or leave the "
                "setting out for the one that is installed."
            ) from error
    _chosen = library, version.removeprefix("v")


def load_vector_extension(connection: apsw.Connection) -> bool:
    """Load sqlite-vec into a connection; False where this platform cannot."""
    library, _ = vector_extension()
    if library is None:
        return False
    try:
        _load(connection, library)
    except (apsw.Error, AttributeError):
        return False
    return True


def _load(connection: apsw.Connection, library: str) -> None:
    connection.enable_load_extension(True)
    connection.load_extension(library)
    connection.enable_load_extension(False)


def _has_vec0(connection: apsw.Connection) -> bool:
    """Return whether sqlite-vec is loaded into a connection."""
    found = connection.execute("SELECT count(*) FROM pragma_module_list WHERE name = 'vec0'").get
    return bool(found)


def vec0_in_step(connection: apsw.Connection, dimension: int | None) -> bool:
    """Return whether sqlite-vec's table is there and can be kept in step with the vectors.

    A process that cannot load sqlite-vec drops the table's checksum; the next one that can builds
    the table again.
    """
    if not dimension:
        return False
    if not _has_vec0(connection):
        connection.execute("DELETE FROM meta WHERE key = 'vec0'")
        return False
    if not vec0_usable(connection):
        _create(connection, dimension)
    return True


def vec0_usable(connection: apsw.Connection) -> bool:
    """Return whether sqlite-vec's table is there, in step with the vectors, and can be read."""
    marks = ", ".join("?" * len(_TABLES))
    found = connection.execute(
        f"SELECT count(*) FROM sqlite_schema WHERE name IN ({marks})", _TABLES
    ).get
    return found == len(_TABLES) and _noted(connection) is not None and _has_vec0(connection)


def _noted(connection: apsw.Connection) -> int | None:
    value = get_meta(connection, "vec0")
    return int(value) if value and value.isdigit() else None


def _create(connection: apsw.Connection, dimension: int) -> None:
    """Create the table from the vectors that are there; inside a transaction."""
    connection.execute("DROP TABLE IF EXISTS chunks_vec")
    connection.execute(
        "CREATE VIRTUAL TABLE chunks_vec USING vec0("
        f"seq INTEGER PRIMARY KEY, embedding FLOAT[{dimension}] distance_metric=cosine)"
    )
    connection.execute("INSERT INTO chunks_vec (seq, embedding) SELECT seq, embedding FROM vectors")
    set_meta(connection, "vec0", "0")
    found = connection.execute("SELECT seq, embedding, checksum FROM vectors")
    while some := list(islice(found, _ROWS)):
        if any(zlib.crc32(vector) != checksum for _, vector, checksum in some):
            raise damaged(connection.filename, "a vector is not as it was written")
        change_vec0_checksum(connection, added=[(seq, vector) for seq, vector, _ in some])


def change_vec0_checksum(
    connection: apsw.Connection,
    *,
    added: Sequence[tuple[int, bytes]] = (),
    removed: Sequence[tuple[int, bytes]] = (),
) -> None:
    """Change the checksum of the table by the ``(seq, vector)`` that it gets and loses."""
    import numpy as np

    checksum = _noted(connection) or 0
    for rows, sign in ((added, 1), (removed, -1)):
        if rows:
            seqs, vectors = zip(*rows, strict=True)
            checksum += sign * _checksum(np.array(seqs, dtype=np.uint64), b"".join(vectors))
    set_meta(connection, "vec0", str(checksum % 2**_BITS))


def _checksum(seqs: NDArray[np.uint64], vectors: bytes) -> int:
    """Return the sum of the seqs, and of the vectors' words, each times twice its seq and one.

    Modulo 2**64, so that no flip of one bit, be it of a seq, leaves it as it was.
    """
    import numpy as np

    size = "<u8" if len(vectors) % (8 * len(seqs)) == 0 else "<u4"
    words = np.frombuffer(vectors, dtype=size).reshape(len(seqs), -1)
    parts = (2 * seqs + 1) * words.sum(axis=1, dtype=np.uint64) + seqs
    return int(parts.sum(dtype=np.uint64))


def check_vec0(connection: apsw.Connection) -> None:
    """Compare the table with its checksum.

    Raises:
        IndexDamagedError: It is not as it was written.
    """
    import numpy as np

    checksum = 0
    found = connection.execute(
        "SELECT validity, rowids, vectors FROM chunks_vec_chunks "
        "JOIN chunks_vec_vector_chunks00 AS block ON block.rowid = chunk_id"
    )
    try:
        for validity, rowids, vectors in found:
            is_valid = np.unpackbits(np.frombuffer(validity, dtype=np.uint8), bitorder="little")
            seqs = np.frombuffer(rowids, dtype="<u8")
            rows = np.frombuffer(vectors, dtype=np.uint8).reshape(len(seqs), -1)
            held = is_valid.astype(np.bool_)
            if held.any():
                checksum += _checksum(seqs[held], rows[held].tobytes())
    except (LookupError, TypeError, ValueError) as error:
        raise damaged(connection.filename, f"sqlite-vec's table cannot be read: {error}") from error
    if checksum % 2**_BITS != _noted(connection):
        raise damaged(connection.filename, "sqlite-vec's table is not as it was written")


def nearest_by_vec0(
    connection: apsw.Connection, query: Vector, limit: int
) -> list[tuple[int, float]]:
    """Return the ``(seq, dot product)`` of the nearest chunks, by a scan of sqlite-vec's table.

    Raises:
        IndexDamagedError: The table is not as it was written.
    """
    check_vec0(connection)
    length = float(query @ query) ** 0.5
    found = connection.execute(
        "SELECT seq, coalesce(1.0 - distance, 0.0) FROM chunks_vec "
        "WHERE embedding MATCH ? AND k = ?",
        (query.tobytes(), limit),
    )
    hits = [(seq, cosine * length) for seq, cosine in found]
    return sorted(hits, key=lambda hit: (-hit[1], hit[0]))
