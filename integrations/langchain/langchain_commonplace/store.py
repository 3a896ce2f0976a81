"""`CommonplaceStore`: LangGraph's long-term store, whose items are Markdown files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from typing import Any, Self
from weakref import WeakKeyDictionary

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from commonplace import Memory, Settings
from commonplace.items import ItemStore, StoredItem

__all__ = ["CommonplaceStore"]


class CommonplaceStore(BaseStore):
    """Store of LangGraph: namespaces are folders, and items Markdown files with front matter.

    ::

        store = CommonplaceStore("store")
        store.put(("users", "ann"), "vpn", {"text": "The VPN listens on 51820.", "port": 51820})

    is ``store/memory/users/ann/vpn.md``. What a person edits there is what `get` returns. A search
    with a query finds items by their lines; it needs no configuration. Items can expire (time to
    live), and what was deleted stays in the history of the workspace.

    Close it, or use it as a context manager. Threads may share it, and processes the folder.
    """

    supports_ttl = True

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        settings: Settings | None = None,
        embedder: Any = "auto",
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        """Open a store.

        Args:
            root: Its folder; it is made if it is missing.
            settings: How to index and search; the default settings file, else the defaults.
            embedder: As `Memory.open` takes it.
            fields: Fields of the values that a query looks at, unless `put` names others; all by
                default.
            ttl: Lifetime of items in minutes, where `put` gives none, and whether a read renews it.
        """
        super().__init__()
        folder = os.path.abspath(os.path.expanduser(root))
        os.makedirs(folder, exist_ok=True)
        self.memory = Memory.open(folder, settings=settings, embedder=embedder)
        self.ttl_config = ttl
        self._items = ItemStore(self.memory, fields=fields)
        self._writing: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]
        self._writing = WeakKeyDictionary()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the workspace; the store cannot be used afterwards."""
        self.memory.close()

    def sweep_ttl(self) -> int:
        """Delete the items that have expired; return how many.

        Expired items are never returned; a `put` now and then deletes them, too.
        """
        return self._items.sweep()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations: reads first, then writes, of which the last for each item counts."""
        listed = list(ops)
        for op in listed:
            validate_op_namespace(op)
        results = [self._read(op) for op in listed]
        puts = {(op.namespace, op.key): op for op in listed if isinstance(op, PutOp)}
        for op in puts.values():
            self._write(op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations without blocking the event loop, in the order of the calls.

        Writes of one event loop come one after another, and a read after the writes before it.
        """
        listed = list(ops)
        # The threads of an executor begin in order, but end in any.
        writing = self._writing.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        async with writing:
            if any(isinstance(op, PutOp) for op in listed):
                return await asyncio.to_thread(self.batch, listed)
        return await asyncio.to_thread(self.batch, listed)

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._list(op)
        if isinstance(op, PutOp):
            return None
        raise ValueError(f"{op!r} is of {type(op).__name__}; an operation of a store was expected.")

    def _get(self, op: GetOp) -> Item | None:
        item = self._items.get(op.namespace, op.key)
        if item is None:
            return None
        if op.refresh_ttl:
            self._items.renew([item])
        return Item(**_fields(item))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        found = self._items.search(
            op.namespace_prefix,
            query=op.query,
            wanted=op.filter,
            limit=op.limit,
            offset=op.offset,
        )
        if op.refresh_ttl:
            self._items.renew(item for item, _ in found)
        return [SearchItem(**_fields(item), score=score) for item, score in found]

    def _list(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found = {
            namespace[: op.max_depth]
            for namespace in self._items.namespaces()
            if all(_matches(namespace, condition) for condition in op.match_conditions or ())
        }
        return sorted(found)[op.offset : op.offset + op.limit]

    def _write(self, op: PutOp) -> None:
        if op.value is None:
            self._items.delete(op.namespace, op.key)
        else:
            self._items.put(op.namespace, op.key, op.value, index=op.index, ttl=op.ttl)


def _fields(item: StoredItem) -> dict[str, Any]:
    return {
        "namespace": item.namespace,
        "key": item.key,
        "value": item.value,
        "created_at": item.created,
        "updated_at": item.updated,
    }


def _matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(
            f"a namespace matches by {condition.match_type!r}; there are 'prefix' and 'suffix'."
        )
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
