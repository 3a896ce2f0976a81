"""Trying each part of a memory, as ``status --deep`` does: how it did, and what to do about it."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw

from commonplace.errors import CommonplaceError, EmbedderError, StateError
from commonplace.indexing.handle import IndexHandle
from commonplace.indexing.service import IndexService
from commonplace.store.base import RowFilter
from commonplace.store.sqlite.connection import load_vector_extension, vector_extension
from commonplace.system.state import StateFile
from commonplace.text.analysis import Term

__all__ = ["probe"]

_QUESTION = "a first try"
_WAIT = "Look at the network and embedding.base_url, then run 'commonplace index'"
_MEND = (
    "Look at the key, the account and the model's name, or name another embedder (--embedder "
    "bundled needs no key), then run 'commonplace index'"
)
_LEAST_FREE = 3
"""Room for this many indexes: one is built beside the other, and logs grow meanwhile."""


def probe(keeper: IndexService) -> dict[str, str]:
    """Try each part. An outcome begins with ``ok``, ``not tried`` or ``failed``."""
    return {
        name: _outcome(part, keeper)
        for name, part in {
            "embedder": _try_embedder,
            "vectors": _try_vectors,
            "sqlite-vec": _try_extension,
            "words": _try_words,
            "index file": _try_file,
            "index folder": _try_folder,
            "state file": _try_state,
        }.items()
    }


def _outcome(part: Callable[[IndexService], str], keeper: IndexService) -> str:
    try:
        return part(keeper)
    except CommonplaceError as error:
        return f"failed: {error}"


def _try_embedder(keeper: IndexService) -> str:
    encoder = keeper.encoder
    if encoder is None:
        return f"none ({keeper.choice.reason})"
    try:
        length = len(encoder.embed_query(_QUESTION))
    except EmbedderError as error:
        wanted = _WAIT if error.temporary else _MEND
        return f"failed: {str(error).rstrip('.')}. {wanted}; until then search is by keywords"
    return f"ok: {encoder.label} gives {length} dimensions"


def _try_vectors(keeper: IndexService) -> str:
    encoder = keeper.encoder
    if encoder is None:
        return "not tried: there is no embedder"
    if keeper.store.cached_identity is None:
        return "not tried: nothing is indexed yet"
    if reason := keeper.why_no_vectors(keeper.store.identity):
        return f"not tried: {reason}"
    with keeper.store.snapshot() as snapshot:
        found = snapshot.nearest(encoder.embed_query(_QUESTION), 1, RowFilter())
        totals = snapshot.totals()
        pending = sum(1 for record in snapshot.files().values() if record.pending)
    if pending:
        return (
            f"failed: {pending} files wait for their vectors, and are found by their words until "
            "then; run 'commonplace index', which says why"
        )
    if totals.vectors and not found:
        return (
            f"failed: none of {totals.vectors} vectors was found; run 'commonplace index --force' "
            "to build the index anew"
        )
    return f"ok: {totals.vectors} vectors" if found else "ok: there are none yet"


def _try_extension(_keeper: IndexService) -> str:
    library, told = vector_extension()
    if library is None:
        return f"failed: {told}; numpy compares the vectors instead, as fast once they are read"
    with contextlib.closing(apsw.Connection(":memory:")) as connection:
        if not load_vector_extension(connection):
            return (
                f"failed: {library} cannot be loaded; numpy compares the vectors instead, as fast "
                "once they are read. 'pip install --force-reinstall sqlite-vec' brings it back"
            )
    return f"ok: {told}"


def _try_words(keeper: IndexService) -> str:
    if keeper.store.cached_identity is None:
        return "not tried: nothing is indexed yet"
    keeper.store.check_words()
    with keeper.store.snapshot() as snapshot:
        snapshot.match([Term("word", "word")], every=False, limit=1, rows=RowFilter())
        return f"ok: {snapshot.totals().chunks} chunks"


def _try_file(keeper: IndexService) -> str:
    keeper.store.check()
    return f"ok: {keeper.path.stat().st_size / 2**20:.1f} MiB"


def _try_folder(keeper: IndexService) -> str:
    """See that the index can be written, and built anew."""
    folder = keeper.path.parent
    if not os.access(folder, os.W_OK) or not keeper.store.writable:
        return (
            f"failed: {folder} or the index in it cannot be written: what is new is not found. "
            "Give yourself write access, or set COMMONPLACE_STATE_DIR to a folder of yours"
        )
    free, wanted = shutil.disk_usage(folder).free, _LEAST_FREE * keeper.path.stat().st_size
    if free < wanted:
        return (
            f"failed: {free / 2**20:.0f} MiB are free, and a rebuild may need "
            f"{wanted / 2**20:.0f} MiB; make room on the disk of {folder}"
        )
    return f"ok: writable, {_locked(keeper.handle)}"


def _locked(handle: IndexHandle) -> str:
    runner = handle.runner()
    return f"process {runner} is indexing" if runner else "nobody is indexing"


def _try_state(keeper: IndexService) -> str:
    path = Path(keeper.path.with_name("state.sqlite"))
    if not path.exists():
        return "ok: there is none yet"
    (answer,), *_ = StateFile(path).rows("PRAGMA quick_check(1)")
    if answer != "ok":
        raise StateError(
            f"the state file {path} is damaged ({answer}). Copy it before anything else: it may "
            "hold what was said in conversations and is not written down yet."
        )
    return f"ok: {path.stat().st_size / 2**20:.1f} MiB"
