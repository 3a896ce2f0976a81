"""Read document: a file that an index run has read and cut, before it is embedded and written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from commonplace.store.records import ChunkWindow, FileRecord, IndexedChunk
from commonplace.text.chunking import chunk_id
from commonplace.text.front_matter import hide_label
from commonplace.types import Chunk, ChunkPlace, MemoryFile
from commonplace.vectors.arrays import ChunkVectors

if TYPE_CHECKING:
    from commonplace.text.incremental_chunking import ChunkChanges
    from commonplace.transcripts.incremental import SessionPart
    from commonplace.workspace.file_text import GrownBytes

__all__ = ["ReadDocument", "moved_place"]


@dataclass(slots=True)
class ReadDocument:
    """A file that was read and cut; without chunks where the index has its text already.

    Of a session file read in parts, `part` is this one, and `known` is whether the file was in the
    index before the first part. `data` has the bytes of a whole file. With `changes`, `chunks` are
    those of a window: they replace some of the `places` that the index has; `above` is the number
    of chunks that it has above these.
    """

    file: MemoryFile
    before: FileRecord | None
    record: FileRecord
    chunks: list[Chunk] | None
    embedded: list[ChunkVectors | None] = field(default_factory=list)
    part: SessionPart | None = None
    known: bool = False
    data: bytes | GrownBytes = b""
    changes: ChunkChanges | None = None
    places: Sequence[ChunkPlace] = ()
    above: int = 0

    @property
    def replaced_lines(self) -> tuple[int, int] | None:
        """First lines of the first and the last chunk that a window replaces; None without one."""
        if self.changes is None:
            return None
        first, after, *_ = self.changes
        replaced = self.places[first - self.above : after - self.above]
        return (replaced[0].start_line, replaced[-1].start_line) if replaced else (1, 0)

    def window(self, model: str) -> ChunkWindow | None:
        """Return the window that the chunks replace; None for those of a whole file."""
        if self.changes is None or self.chunks is None:
            return None
        first, after, lines, _ = self.changes
        moved = [moved_place(place, lines) for place in self.places[after:]] if lines else []
        record = self.record
        ids = [chunk_id(record.source, record.path, place, model) for place in moved]
        return ChunkWindow(first, after, lines, ids)

    def rows(self, model: str, units: Callable[[str], bytes]) -> list[IndexedChunk]:
        """Return the rows of the chunks; parts of one line with the same text are one row.

        Args:
            model: Name of the embedding model.
            units: Returns the packed units of a text.
        """
        record = self.record
        rows: dict[str, IndexedChunk] = {}
        embedded = self.embedded or [None] * len(self.chunks or ())
        for chunk, vectors, day in zip(self.chunks or (), embedded, self.days, strict=True):
            row_id = chunk_id(record.source, record.path, chunk, model)
            packed = units(chunk.text)
            if chunk.labelled:
                packed = hide_label(packed, chunk.text)
            rows.setdefault(row_id, IndexedChunk(row_id, chunk, vectors, day, packed))
        return list(rows.values())

    @property
    def more(self) -> bool:
        """Whether another part of the file follows."""
        return self.part is not None and self.part.more

    @property
    def days(self) -> list[int | None]:
        """Day of each chunk."""
        if self.part is not None:
            return [day for _, day in self.part.chunks]
        return [self.record.day] * len(self.chunks or ())


def moved_place(place: ChunkPlace, lines: int) -> ChunkPlace:
    """Return a place, some lines further down."""
    return place._replace(start_line=place.start_line + lines, end_line=place.end_line + lines)
