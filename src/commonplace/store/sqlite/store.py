"""SQLite engine: the `Store` protocol over one index file."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import apsw

from commonplace.errors import (
    IndexBusyError,
    IndexDamagedError,
    IndexReadOnlyError,
    StoreError,
)
from commonplace.store.base import HealthCheck, LeaseName, Rebuild, Recovery
from commonplace.store.records import IndexedFile, IndexIdentity
from commonplace.store.sqlite import vector_cache
from commonplace.store.sqlite.connection import (
    CLOSED,
    IndexFile,
    has_tables,
    transaction,
    translated,
)
from commonplace.store.sqlite.schema import (
    create_tables,
    create_words,
    get_meta,
    merge_words,
    note_words,
    set_meta,
    unreadable_reason,
)
from commonplace.store.sqlite.snapshot import SqliteSnapshot
from commonplace.store.sqlite.vector_extension import vec0_in_step, vector_extension
from commonplace.store.sqlite.writer import Writer
from commonplace.system import forks
from commonplace.system.files import make_private_folder
from commonplace.system.locks import FileLease
from commonplace.vectors.arrays import ChunkVectors

__all__ = ["SqliteStore"]

_LEASE_FILES: dict[LeaseName, str] = {"run": ".lock", "swap": ".swap"}


class _NoIdentityError(StoreError):
    """The index that was written to is new: another process deleted it meanwhile."""


class SqliteStore:
    """Index engine: one SQLite file with FTS5 for terms and vectors as BLOBs.

    The file is opened, or created, at its first use, and opened again when it was deleted or
    replaced meanwhile. Any number of threads and processes may use it at once.

    Args:
        path: The index file.
        read_only: Open it for reading even where it could be written.
    """

    capabilities = frozenset({"exact-fts5-bm25", "windows"})

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._read_only_wanted = read_only
        self._file: IndexFile | None = None
        self._opening, self._closed = threading.RLock(), False

    @property
    def location(self) -> str:
        """Path of the index file."""
        return str(self.path)

    @property
    def access(self) -> Literal["read-write", "read-only"]:
        """Whether the index can be written."""
        return "read-write" if self._opened().writable else "read-only"

    @property
    def engines(self) -> Mapping[str, str]:
        """What compares ``vectors`` and what finds ``words``, for people."""
        library, version = vector_extension()
        vectors = f"numpy, sqlite-vec {version}" if library else f"numpy (without {version})"
        return {"vectors": vectors, "words": f"FTS5 in SQLite {apsw.sqlite_lib_version()}"}

    def exists(self) -> bool:
        """Return whether the index file is there."""
        return self.path.exists()

    @property
    def identity(self) -> IndexIdentity | None:
        """Identity of the index, as it is now; None for a new one."""
        file = self._opened()
        with translated(self.path), file.pool.borrowed() as connection:
            if has_tables(connection):
                file.identity = SqliteSnapshot(file, connection).identity
            return file.identity

    @property
    def cached_identity(self) -> IndexIdentity | None:
        """Identity when it was last read or set, without a query."""
        return self._opened().identity

    def note_identity(self, identity: IndexIdentity | None) -> None:
        """Note an identity that the file got otherwise, as by the commit of a rebuild."""
        self._opened().identity = identity

    def set_identity(self, identity: IndexIdentity) -> None:
        """Set the identity of a new index, or complete the one there is; see `Store`."""
        file = self._opened()
        with self.writing() as connection, transaction(connection):
            before = SqliteSnapshot(file, connection).identity
            if before is None:
                create_words(connection, identity.tokenizer)
                set_meta(connection, "generation", uuid.uuid4().hex)
            elif not before.fits(identity):
                raise StoreError(
                    f"the index {self.path} was built otherwise ({before}); "
                    "build another one and let it take this one's place."
                )
            vec0_in_step(connection, identity.dimension)
            set_meta(connection, "identity", json.dumps(dataclasses.asdict(identity)))
        file.identity = identity

    @property
    def complete(self) -> bool:
        """Whether an index run ever came to its end."""
        file = self._opened()
        if not file.complete:
            with translated(self.path), file.pool.borrowed() as connection:
                file.complete = has_tables(connection) and get_meta(connection, "complete") == "1"
        return file.complete

    def mark_complete(self) -> None:
        """Note that an index run came to its end; the first one merges the segments of FTS5."""
        if self.complete:
            return
        with self.writing() as connection, transaction(connection):
            if get_meta(connection, "identity") is not None:
                merge_words(connection)
            set_meta(connection, "complete", "1")
        self._opened().complete = True

    # -- reading and writing ---------------------------------------------------------------------

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[SqliteSnapshot]:
        """Open one consistent state of the index: a read transaction."""
        file = self._opened()
        with translated(self.path), file.pool.borrowed() as connection:
            if not file.writable and (wrong := unreadable_reason(connection)):
                raise self._read_only(f"{wrong} and")
            try:
                with forks.gate:  # the first statement that reads takes a lock of SQLite's
                    connection.execute("BEGIN")
                    snapshot = SqliteSnapshot(file, connection)
                yield snapshot
            finally:
                with contextlib.suppress(apsw.Error), forks.gate:
                    connection.execute("ROLLBACK")

    def write(self, files: Sequence[IndexedFile], removed: Sequence[str] = ()) -> tuple[str, ...]:
        """Replace and remove files in one transaction; see `Store`."""
        file = self._opened()
        with self.writing() as connection, transaction(connection):
            identity = SqliteSnapshot(file, connection).identity
            if identity is None:
                raise _NoIdentityError(
                    f"the index {self.path} has no identity; set_identity(...) first."
                )
            writer = Writer(connection, identity)
            # Another process may have switched the model: its vectors and ours are not mixed.
            known = file.identity is None or file.identity.fits(identity)
            mine = [item for item in files if known and writer.is_current(item)]
            replaced = [item for item in mine if item.chunks is not None]
            parts = [item for item in replaced if item.window or item.keep_before is not None]
            whole = [item.record.path for item in replaced if item not in parts]
            writer.remove([*removed, *whole])
            for item in parts:
                writer.remove_part(item)
            writer.insert(mine)
            note_words(connection)
        file.identity = identity
        written = {id(item) for item in mine}
        return tuple(item.record.path for item in files if id(item) not in written)

    def cache_vectors(
        self, vectors: Mapping[str, ChunkVectors], *, drop: Iterable[str] = ()
    ) -> None:
        """Put vectors of texts in the vector cache, and drop others; see `Store`."""
        with self.writing() as connection, transaction(connection):
            identity = SqliteSnapshot(self._opened(), connection).identity
            if identity is not None and identity.model and identity.dimension:
                vector_cache.put(connection, identity, vectors, drop)

    def trim_vector_cache(self, max_entries: int) -> None:
        """Drop the cached vectors written longest ago, beyond a number of texts."""
        with self.writing() as connection, forks.gate:
            if connection.execute("SELECT count(*) FROM embedding_cache").get > max_entries:
                with transaction(connection):
                    vector_cache.trim(connection, max_entries)

    @contextlib.contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """Hold the connection that writes, which one thread uses at a time."""
        file = self._opened()
        if not file.writable:
            raise self._read_only("")
        with translated(self.path), file.writing() as connection:
            yield connection

    # -- coordination, rebuild, recovery ---------------------------------------------------------

    @contextlib.contextmanager
    def lease(
        self,
        name: LeaseName,
        *,
        timeout_s: float,
        check: Callable[[], object] = lambda: None,
    ) -> Iterator[None]:
        """Hold a lease, the lock of a file beside the index; see `Store`."""
        self._make_folder()
        lease = self._file_lease(name)
        with contextlib.ExitStack() as stack:
            try:
                acquired = stack.enter_context(lease.held(timeout_s=timeout_s, check=check))
            except OSError as error:
                raise self._read_only(
                    f"cannot be locked ({error.strerror or error}) and so"
                ) from error
            if not acquired:
                raise IndexBusyError(
                    f"process {lease.owner()} has held the index {self.path} for {timeout_s:g} s. "
                    "Wait for it, or stop it."
                )
            yield

    def lease_holder(self) -> str | None:
        """Return the process that holds the ``run`` lease; None when it is free."""
        process = self._file_lease("run").holder()
        return None if process is None else f"process {process}"

    def begin_rebuild(self, identity: IndexIdentity, *, restart: bool, keep_cache: int) -> Rebuild:
        """Begin or resume a shadow index; see `Store`."""
        from commonplace.store.sqlite.rebuild import SqliteRebuild
        from commonplace.store.sqlite.recovery import shadow_path

        shadow = SqliteStore(shadow_path(self.path))
        return SqliteRebuild.begin(self, shadow, identity, restart=restart, keep_cache=keep_cache)

    def recover(self, error: StoreError, *, certain: bool) -> Recovery | None:
        """Reopen the file, and move it aside where it is damaged; see `Store`."""
        if isinstance(error, _NoIdentityError):
            return Recovery()
        if not isinstance(error, IndexDamagedError):
            return None
        from commonplace.store.sqlite.recovery import replace_damaged

        self.release()
        return replace_damaged(self, error, certain=certain)

    def purge(self) -> bool:
        """Overwrite what deleted texts left behind; see `Store`."""
        from commonplace.store.sqlite.recovery import purge

        return purge(self)

    def health_checks(self) -> Iterable[HealthCheck]:
        """Return the checks of the extension, the words, the file and its folder."""
        from commonplace.store.sqlite.recovery import health_checks

        return health_checks(self, self._opened())

    def release(self) -> None:
        """Open the file again at the next use; Windows moves no open file, so it is closed."""
        with self._opening:
            if sys.platform == "win32":
                self.suspend()
            self._file = None

    def suspend(self) -> None:
        """Close all connections and release the vectors, until the next use."""
        with self._opening:
            if self._file is not None:
                self._file.close()
                self._file = None

    def close(self) -> None:
        """Close all connections and release the vectors for good."""
        self._closed = True
        self.suspend()

    def _opened(self) -> IndexFile:
        """Return the open file: opened at the first use, and again when it was replaced."""
        file = self._file
        if file is not None and not self._closed and file.is_current():
            return file
        with self._opening:
            if self._closed:
                raise StoreError(CLOSED)
            if self._file is not None and not self._file.is_current():
                self.release()
            if self._file is None:
                self._file = self._open()
            return self._file

    def _open(self) -> IndexFile:
        self._make_folder()
        if self.path.is_dir():
            raise StoreError(f"the index path {self.path} is a folder; a file name was expected.")
        read_only = self._read_only_wanted
        file = IndexFile(self.path, writable=False) if read_only else IndexFile.open(self.path)
        try:
            with translated(self.path), file.pool.borrowed() as connection:
                if file.writable:
                    create_tables(connection)
                if has_tables(connection):
                    file.identity = SqliteSnapshot(file, connection).identity
        except BaseException:
            file.close()
            raise
        return file

    def _make_folder(self) -> None:
        try:
            make_private_folder(folder := self.path.parent)
        except OSError as error:
            raise StoreError(
                f"the index folder {folder} cannot be created ({error.strerror}). "
                "Set COMMONPLACE_STATE_DIR, or index=, to a folder of yours."
            ) from error

    def _file_lease(self, name: LeaseName) -> FileLease:
        return FileLease(self.path.with_name(self.path.name + _LEASE_FILES[name]))

    def _read_only(self, why: str) -> IndexReadOnlyError:
        return IndexReadOnlyError(
            f"the index {self.path} {why} cannot be written. Give yourself write access to the "
            "file and its folder, or set COMMONPLACE_STATE_DIR to a folder of yours."
        )
