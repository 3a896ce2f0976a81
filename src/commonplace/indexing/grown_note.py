"""Grown note: what an append to a long note adds to its index, without a look at the rest of it.

The bytes of the last long note that this process appended to are kept, with their hash and their
last chunks. The next append finds the same bytes on the disk: it compares them, a millisecond for
10 MB, and goes on from there. What another program has changed is read and cut as usual.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from commonplace.store.records import FileRecord
from commonplace.text.appended_chunks import AppendedChunks, TextEnd
from commonplace.text.front_matter import FRONT_MATTER_MARKS
from commonplace.text.incremental_chunking import ChunkChanges
from commonplace.types import ChunkPlace
from commonplace.workspace.file_text import GrownBytes, NoteBytes

if TYPE_CHECKING:
    from commonplace.types import Chunk, MemoryFile
    from commonplace.workspace.file_text import FileText
    from commonplace.workspace.notes import Appended

__all__ = ["Grown", "GrownNote"]

_LONG_BYTES = 1 << 18
"""Size from which on a note is kept: a shorter one is read and compared as fast."""


class Grown(NamedTuple):
    """A note after an append.

    Attributes:
        record: Its record.
        data: Its bytes.
        changes: Its new chunks.
        replaced: The end that it had before, of which they replace some chunks.
    """

    record: FileRecord
    data: GrownBytes
    changes: ChunkChanges
    replaced: TextEnd


class _Kept(NamedTuple):
    path: str
    hash: str
    indexed_ns: int
    data: GrownBytes
    end: TextEnd


class GrownNote:
    """The last long note that was appended to, as the index has it; for all threads."""

    def __init__(self) -> None:
        self._kept: _Kept | None = None

    def after(
        self,
        file: MemoryFile,
        before: FileRecord,
        appended: Appended,
        append_chunks: Callable[[TextEnd, str], AppendedChunks | None],
    ) -> Grown | None:
        """Return the note after another append; None where it is to be read.

        Args:
            file: The file as it is now.
            before: Its record in the index.
            appended: What was added to what.
            append_chunks: Chunks what was added.
        """
        kept, indexed_ns = self._kept, time.time_ns()
        if kept is None or kept[:3] != (before.path, before.hash, before.indexed_ns):
            return None
        state = file.size, file.mtime_ns, file.stamp
        if state != appended.state or not kept.data.is_equal(appended.before):
            return None  # another program has changed it
        try:
            added = appended.added.decode()
        except UnicodeDecodeError:
            return None
        new = None if "\0" in added else append_chunks(kept.end, added)
        if new is None:
            return None
        data = GrownBytes(appended.before, kept.data.hasher, appended.added)
        record = FileRecord(
            path=file.path,
            source=file.source,
            hash=data.hasher.hexdigest(),
            size=file.size,
            mtime_ns=file.mtime_ns,
            indexed_ns=indexed_ns,
            day=file.date.toordinal() if file.date else None,
            pending=before.pending,  # of the chunks that stay
            stamp=file.stamp,
        )
        self._kept = _Kept(record.path, record.hash, indexed_ns, data, new.end)
        after = kept.end.chunks + len(kept.end.known)
        return Grown(record, data, ChunkChanges(new.first, after, 0, new.chunks), kept.end)

    def keep(
        self,
        record: FileRecord,
        read: FileText,
        places: Sequence[ChunkPlace],
        changes: ChunkChanges | None,
        chunks: Sequence[Chunk],
    ) -> None:
        """Keep a note that was read after an append.

        Args:
            record: Its record.
            read: Its text.
            places: Its chunks before.
            changes: Which of them were replaced.
            chunks: The new ones.
        """
        self._kept = None
        data = read.data
        if changes is None or read.note or not isinstance(data, NoteBytes):
            return
        if len(data) < _LONG_BYTES or read.text.startswith(FRONT_MATTER_MARKS):
            return
        if changes.after < len(places):
            return  # it was changed above its end, too
        new = (
            ChunkPlace(one.start_line, one.end_line, one.hash, one.heading, one.context, 0)
            for one in chunks
        )
        end = TextEnd.of(read.text, [*places[: changes.first], *dict.fromkeys(new)])
        if end is not None:
            grown = GrownBytes(data, data.hasher)
            self._kept = _Kept(record.path, record.hash, record.indexed_ns, grown, end)
