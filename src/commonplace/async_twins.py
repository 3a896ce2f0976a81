"""Async twins: each verb of a memory that touches a disk, in a thread; the event loop goes on."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from commonplace.indexing.slots import IndexSlot
    from commonplace.memory import Memory
    from commonplace.types import (
        BlameLine,
        Excerpt,
        ForgetReceipt,
        IndexReport,
        SearchResults,
        Status,
        VerifyReport,
        Version,
    )

__all__ = ["AsyncTwins"]

_T = TypeVar("_T")


class AsyncTwins:
    """Mixin of `Memory`: ``asearch`` is `search` in a thread, with the same arguments."""

    if TYPE_CHECKING:
        append: Callable[..., str]
        apply_inbox: Callable[[], int]
        blame: Callable[..., list[BlameLine]]
        close: Callable[[], None]
        connect: Callable[..., Memory]
        correct: Callable[..., Version]
        delete: Callable[..., Version]
        edit: Callable[..., Version]
        forget: Callable[..., ForgetReceipt]
        get: Callable[..., Excerpt]
        history: Callable[..., list[Version]]
        index: Callable[..., IndexReport]
        move: Callable[..., Version]
        open: Callable[..., Self]
        paths: Callable[..., list[str]]
        record_exposure: Callable[[str | None], None]
        search: Callable[..., SearchResults]
        slot: IndexSlot | None
        startup_context: Callable[..., str]
        status: Callable[..., Status]
        undo: Callable[..., Version]
        verify: Callable[..., VerifyReport]
        write: Callable[..., Version]
        write_session_note: Callable[..., str]

    @classmethod
    async def aopen(cls, workspace: str | os.PathLike[str], **options: Any) -> Self:
        """`open` in a thread."""
        return await _in_thread(cls.open, workspace, **options)

    async def aclose(self) -> None:
        """`close` in a thread."""
        await _in_thread(self.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @classmethod
    async def aconnect(cls, url: str, **options: Any) -> Memory:
        """`connect` in a thread."""
        return await _in_thread(cls.connect, url, **options)

    async def asearch(self, query: str, **options: Any) -> SearchResults:
        """`search` in a thread."""
        return await self._with_index(self.search, query, **options)

    async def aget(self, path: str, **options: Any) -> Excerpt:
        """`get` in a thread."""
        return await _in_thread(self.get, path, **options)

    async def aappend(self, text: str, **options: Any) -> str:
        """`append` in a thread."""
        return await self._with_index(self.append, text, **options)

    async def apaths(self, prefix: str = "", **options: Any) -> list[str]:
        """`paths` in a thread."""
        return await _in_thread(self.paths, prefix, **options)

    async def awrite(self, path: str, text: str, **options: Any) -> Version:
        """`write` in a thread."""
        return await self._with_index(self.write, path, text, **options)

    async def aedit(self, path: str, old: str, new: str, **options: Any) -> Version:
        """`edit` in a thread."""
        return await self._with_index(self.edit, path, old, new, **options)

    async def adelete(self, path: str, **options: Any) -> Version:
        """`delete` in a thread."""
        return await self._with_index(self.delete, path, **options)

    async def amove(self, path: str, to: str, **options: Any) -> Version:
        """`move` in a thread."""
        return await self._with_index(self.move, path, to, **options)

    async def acorrect(self, citation: str, text: str, **options: Any) -> Version:
        """`correct` in a thread."""
        return await self._with_index(self.correct, citation, text, **options)

    async def ablame(self, path: str, **options: Any) -> list[BlameLine]:
        """`blame` in a thread."""
        return await _in_thread(self.blame, path, **options)

    async def aforget(self, **options: Any) -> ForgetReceipt:
        """`forget` in a thread."""
        return await self._with_index(self.forget, **options)

    async def ahistory(self, path: str | None = None, **options: Any) -> list[Version]:
        """`history` in a thread."""
        return await _in_thread(self.history, path, **options)

    async def aundo(self, version_id: int, **options: Any) -> Version:
        """`undo` in a thread."""
        return await self._with_index(self.undo, version_id, **options)

    async def awrite_session_note(self, messages: Iterable[Any], **options: Any) -> str:
        """`write_session_note` in a thread."""
        return await self._with_index(self.write_session_note, messages, **options)

    async def astartup_context(self, **options: Any) -> str:
        """`startup_context` in a thread."""
        return await _in_thread(self.startup_context, **options)

    async def aapply_inbox(self) -> int:
        """`apply_inbox` in a thread."""
        return await self._with_index(self.apply_inbox)

    async def arecord_exposure(self, session: str | None) -> None:
        """`record_exposure` in a thread."""
        await _in_thread(self.record_exposure, session)

    async def aindex(self, **options: Any) -> IndexReport:
        """`index` in a thread."""
        return await self._with_index(self.index, **options)

    async def astatus(self, **options: Any) -> Status:
        """`status` in a thread."""
        return await self._with_index(self.status, **options)

    async def averify(self, **options: Any) -> VerifyReport:
        """`verify` in a thread."""
        return await self._with_index(self.verify, **options)

    async def _with_index(self, call: Callable[..., _T], *arguments: Any, **options: Any) -> _T:
        """Run a verb that uses the index in a thread; in a pool, with a lease.

        Verbs that waited for a place in threads would leave none for the verbs of those who have
        one. In a closed or a full pool, the verb itself tells what it can still do.
        """
        if self.slot is None:
            return await _in_thread(call, *arguments, **options)
        return await self.slot.call_async(functools.partial(call, *arguments, **options))


async def _in_thread(call: Callable[..., _T], *arguments: Any, **options: Any) -> _T:
    import asyncio  # a caller that awaits has loaded it; others do not pay for it

    return await asyncio.to_thread(call, *arguments, **options)
