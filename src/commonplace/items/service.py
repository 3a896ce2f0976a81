"""Item store: JSON values under namespaces and keys, each a Markdown file of one workspace."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from commonplace.errors import ConflictError
from commonplace.items.files import ItemFiles, Namespace, StoredItem
from commonplace.items.filters import matches_filter
from commonplace.items.layout import ItemText, render_item
from commonplace.items.lifetimes import Lifetimes
from commonplace.items.names import decode_name, encode_name
from commonplace.types import Origin, SearchResult

if TYPE_CHECKING:
    from commonplace.memory import Memory

__all__ = ["ItemStore"]

_LEAST_HITS = 50
_MAX_HITS = 2_000
"""Places of an answer, at most, among which items are looked for."""
_HIT_CHARS = 700
_SWEEP_EVERY_S = 60.0
_ORIGIN = Origin("agent", tool="store")


class ItemStore:
    """Store of items in a workspace: ``memory/<label>/<label>/<key>.md``.

    The files are the truth: what a person edits in one is what `get` returns. It may be shared by
    threads and processes; of two that put one item, the last one counts.

    Args:
        memory: The workspace; it is not closed by the store.
        fields: Fields of values that search looks at, ``a.b`` for one within another; None for all.
    """

    def __init__(self, memory: Memory, *, fields: Sequence[str] | None = None) -> None:
        memory.workspace.require("a store of items")
        self._memory = memory
        # Items are no log: one that says the same as another does not stand back.
        self._searched = memory.with_search_settings(mmr=False, decay=False)
        self._fields = fields
        self._files = ItemFiles(memory.workspace)
        self._lifetimes = Lifetimes(memory.state.database.with_name("items.sqlite"))
        self._next_sweep = 0.0

    # -- verbs -----------------------------------------------------------------------------------

    def get(self, namespace: Namespace, key: str) -> StoredItem | None:
        """Return an item; None when there is none, or it has expired."""
        path = self._files.path(namespace, key)
        return next(self._living([self._files.read(path, namespace=namespace, key=key)]), None)

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        *,
        index: Literal[False] | Sequence[str] | None = None,
        ttl: float | None = None,
    ) -> None:
        """Create or replace an item.

        Args:
            namespace: Labels, any texts.
            key: Any text.
            value: A JSON value.
            index: Fields that search looks at; False for none, None for the store's.
            ttl: Minutes that the item lives after its last use; None for ever.

        Raises:
            TypeError: The value is no JSON.
            WorkspaceReadOnlyError: The file cannot be written.
        """
        path = self._files.path(namespace, key)
        before = self._files.read(path, namespace=namespace, key=key)
        now = self._memory.now()
        notes: dict[str, Any] = {"created": (before.created if before else now).isoformat()}
        notes |= {} if ttl is None else {"ttl": ttl}
        notes |= {"index": index if index is False else list(index)} if index is not None else {}
        if decode_name(encode_name(key)) is None:
            notes["key"] = key
        if any(decode_name(encode_name(label, dots=False)) is None for label in namespace):
            notes["namespace"] = list(namespace)
        selected = self._fields if index is None or index is False else index
        text = render_item(
            ItemText(dict(value), notes), selects=lambda field: _is_selected(field, selected)
        )
        self._memory.write(path, text, origin=_ORIGIN)
        if ttl is not None:
            self._lifetimes.renew([path], now.timestamp())
        elif before is not None and before.ttl is not None:
            self._lifetimes.forget([path])
        self._sweep_now_and_then()

    def delete(self, namespace: Namespace, key: str) -> None:
        """Delete an item, if it is there; its text stays in the history of the workspace."""
        path = self._files.path(namespace, key)
        item = self._files.read(path, namespace=namespace, key=key)
        if item is not None:
            self._delete([item])

    def search(
        self,
        prefix: Namespace,
        *,
        query: str | None = None,
        wanted: Mapping[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
    ) -> list[tuple[StoredItem, float | None]]:
        """Return items below a namespace, and the score of each where there is a query.

        Those that the query finds come first, the best one at the front, with the similarity of
        their nearest line, at most that of the item before; then those that it does
        not find, with a score of 0; and at last those that search does not look at, without one.
        Equal ones are in the order of their last change, newest first.

        Args:
            prefix: Labels; none for all items.
            query: A question or keywords.
            wanted: Filter of values, see `matches_filter`.
            limit: How many items at most.
            offset: How many to skip.
        """
        enough = offset + limit
        question = (query or "").strip()
        found: list[tuple[StoredItem, float | None]] = []
        unsearched: list[tuple[StoredItem, float | None]] = []
        if question:
            found += self._hits(prefix, question, wanted, enough)
        hit = {item.path for item, _ in found}
        others = (path for path in self._files.newest(prefix) if path not in hit)
        for item in self._living(map(self._files.read, others)):
            if len(found) >= enough:
                break
            if not matches_filter(item.value, wanted):
                continue
            if question and not item.is_searched:
                unsearched.append((item, None))
            else:
                found.append((item, 0.0 if question else None))
        return (found + unsearched)[offset:enough]

    def namespaces(self) -> Iterator[Namespace]:
        """Yield each namespace that has an item."""
        for paths in self._files.by_folder():
            item = next(self._living(map(self._files.read, paths)), None)
            if item is not None:
                yield item.namespace

    def renew(self, items: Iterable[StoredItem]) -> None:
        """Let items that expire live on, as after each use."""
        paths = [item.path for item in items if item.ttl is not None]
        if paths:
            self._lifetimes.renew(paths, self._memory.now().timestamp())

    def sweep(self) -> int:
        """Delete the items that have expired; return how many."""
        self._next_sweep = self._memory.now().timestamp() + _SWEEP_EVERY_S
        paths = self._lifetimes.paths()
        items = [item for path in paths if (item := self._files.read(path)) is not None]
        self._lifetimes.forget(set(paths) - {item.path for item in items})
        living = {item.path for item in self._living(items)}
        expired = [item for item in items if item.path not in living]
        self._delete(expired)
        return len(expired)

    # -- how -------------------------------------------------------------------------------------

    def _living(self, items: Iterable[StoredItem | None]) -> Iterator[StoredItem]:
        """Yield the items that have not expired."""
        now = self._memory.now().timestamp()
        for item in items:
            if item is None:
                continue
            if item.ttl is not None:
                since = self._lifetimes.renewed([item.path]).get(item.path)
                if now >= (item.updated.timestamp() if since is None else since) + 60 * item.ttl:
                    continue
            yield item

    def _hits(
        self, prefix: Namespace, query: str, wanted: Mapping[str, Any] | None, enough: int
    ) -> Iterator[tuple[StoredItem, float]]:
        """Yield the items whose lines answer a query, best first, until there are enough."""
        below = self._files.prefix(prefix)
        seen: set[str] = set()
        least = 1.0
        kept, limit = 0, max(_LEAST_HITS, 4 * enough)
        while True:
            hits = self._searched.search(
                query,
                max_results=limit,
                max_chars=limit * _HIT_CHARS,
                min_score=0.0,
                sources=["memory"],
                paths=[below],
                explain=True,
            )
            scores: dict[str, float] = {}
            for hit in hits:
                scores[hit.path] = max(scores.get(hit.path, 0.0), _score(hit))
            new = [path for path in scores if path not in seen]
            seen.update(new)
            for item in self._living(map(self._files.read, new)):
                if item.is_searched and matches_filter(item.value, wanted):
                    least = min(least, scores[item.path])
                    yield item, least
                    kept += 1
                    if kept == enough:
                        return
            if len(hits) < limit or limit >= _MAX_HITS:
                return
            limit = min(_MAX_HITS, 4 * limit)

    def _delete(self, items: Sequence[StoredItem]) -> None:
        for item in items:
            with contextlib.suppress(ConflictError):  # another process was first
                self._memory.delete(item.path, origin=_ORIGIN)
        ended = [item.path for item in items if item.ttl is not None]
        if ended:
            self._lifetimes.forget(ended)

    def _sweep_now_and_then(self) -> None:
        if self._memory.now().timestamp() >= self._next_sweep:
            self.sweep()


def _score(hit: SearchResult) -> float:
    """Return the cosine similarity of the nearest line; the hit's score where there is none.

    It is rounded to what vectors of bytes are exact to: equal lines have equal scores.
    """
    vector = hit.explanation.vector if hit.explanation else None
    return hit.score if vector is None else round(min(1.0, max(0.0, vector)), 3)


def _is_selected(path: tuple[str, ...], fields: Sequence[str] | None) -> bool:
    """Return whether search looks at a field, by paths such as ``a.b``, ``a[*].b`` and ``$``."""
    if fields is None or "$" in fields:
        return True
    wanted = [tuple(part.split("[")[0] for part in field.split(".")) for field in fields]
    return any(
        all(one in ("*", other) for one, other in zip(field, path, strict=False))
        for field in wanted
    )
