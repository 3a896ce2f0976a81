"""Probes of ``status --deep``: each part of a memory is tried, and its remedy is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from commonplace.errors import CommonplaceError, EmbedderError, StateError
from commonplace.indexing.service import IndexService
from commonplace.store.records import RowFilter
from commonplace.system.state import StateFile

__all__ = ["probe"]

_QUESTION = "a first try"
_WAIT = "Look at the network and embedding.base_url, then run 'commonplace index'"
_MEND = (
    "Look at the key, the account and the model's name, or name another embedder (--embedder "
    "bundled needs no key), then run 'commonplace index'"
)


def probe(index: IndexService, *, state: Path) -> dict[str, str]:
    """Try each part; an outcome begins with ``ok``, ``not tried`` or ``failed``.

    Args:
        index: The index and its embedder.
        state: The state database.
    """
    return {name: _outcome(run) for name, run in _parts(index, state)}


def _parts(index: IndexService, state: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    yield "embedder", lambda: _probe_embedder(index)
    yield "vectors", lambda: _probe_vectors(index)
    for check in index.store.health_checks():
        yield check.name, check.run
    yield "state file", lambda: _probe_state(state)


def _outcome(run: Callable[[], str]) -> str:
    try:
        return run()
    except CommonplaceError as error:
        return f"failed: {error}"


def _probe_embedder(index: IndexService) -> str:
    selection = index.selector.select(index.store.identity)
    client = selection.client
    if client is None:
        return f"none ({selection.reason})"
    try:
        length = len(client.embed_query(_QUESTION))
    except EmbedderError as error:
        wanted = _WAIT if error.temporary else _MEND
        return f"failed: {str(error).rstrip('.')}. {wanted}; until then search is by keywords"
    return f"ok: {client.label} gives {length} dimensions"


def _probe_vectors(index: IndexService) -> str:
    identity = index.store.identity
    client = index.selector.select(identity).client
    if client is None:
        return "not tried: there is no embedder"
    if identity is None:
        return "not tried: nothing is indexed yet"
    if reason := index.selector.query_client(identity)[1]:
        return f"not tried: {reason}"
    with index.store.snapshot() as snapshot:
        found = snapshot.nearest(client.embed_query(_QUESTION), 1, RowFilter())
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
            "to rebuild the index"
        )
    return f"ok: {totals.vectors} vectors" if found else "ok: there are none yet"


def _probe_state(path: Path) -> str:
    if not path.exists():
        return "ok: there is none yet"
    (answer,), *_ = StateFile(path).rows("PRAGMA quick_check(1)")
    if answer != "ok":
        raise StateError(
            f"the state file {path} is damaged ({answer}). Copy it before anything else: it may "
            "hold what was said in conversations and is not written down yet."
        )
    return f"ok: {path.stat().st_size / 2**20:.1f} MiB"
