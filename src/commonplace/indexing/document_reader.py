"""Document reader: files are read and cut into chunks, session files part by part."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from commonplace.indexing.read_document import ReadDocument, moved_place
from commonplace.store.records import FileRecord
from commonplace.text.chunking import make_chunk, split_oversized
from commonplace.text.front_matter import (
    FRONT_MATTER_MARKS,
    FrontMatter,
    expiry_ms,
    label_line,
    read_front_matter,
)
from commonplace.transcripts.cursor import ReadCursor
from commonplace.transcripts.incremental import SessionPart
from commonplace.types import Chunk, ChunkPlace, MemoryFile
from commonplace.workspace.file_text import (
    FileText,
    UnreadableFileError,
    decode_text,
    digest_of,
)

if TYPE_CHECKING:
    from commonplace.indexing.grown_note import GrownNote
    from commonplace.profiles import Profile
    from commonplace.store.base import Store
    from commonplace.text.appended_chunks import AppendedChunks, TextEnd
    from commonplace.text.incremental_chunking import ChunkChanges
    from commonplace.workspace.discovery import Scan
    from commonplace.workspace.notes import Appended

__all__ = ["DocumentReader", "TextRecorder", "text_hash"]

_MAX_CHUNK_BYTES = 8000
"""Larger texts are cut: no provider takes more than 8,192 tokens."""
_LONG_BYTES = 8 * 1024
"""Size from which on a changed file is compared with its chunks: few of them are written."""


class TextRecorder(Protocol):
    """Keeps the texts of files as index runs meet them."""

    @property
    def grown(self) -> GrownNote:
        """The last long note that was appended to."""

    def appended_to(self, path: str) -> Appended | None:
        """Return what this process appended to a note, and has not recorded yet; None for none."""

    def take_former(self, path: str) -> bytes | None:
        """Return, once, the bytes that a note had before this process changed it, or None."""

    def record(self, documents: Sequence[ReadDocument]) -> None:
        """Record texts that are about to be indexed; by the thread that writes them."""

    def exported_origins(self, paths: Sequence[str]) -> dict[str, str]:
        """Return the origins of the lines of notes, for hosts without the folder."""

    def reconcile(self, scan: Scan) -> None:
        """Record, at the end of a run, files that are gone, and files that were never met."""


class DocumentReader:
    """Reader of files: cuts them into chunks.

    Args:
        profile: Rules by which files are read and cut.
        completes: Whether texts that lack vectors are read again, to be embedded.
        report: Called with the path of a file that could not be read as it is, and the reason.
        read: Reads a whole file.
        store: The index, with whose chunks a changed file is compared.
        recorder: Has the bytes that a note had before this process changed it.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        completes: bool,
        report: Callable[[str, str], object],
        read: Callable[[MemoryFile], FileText],
        store: Store,
        recorder: TextRecorder | None = None,
    ) -> None:
        self._read_text = read
        self._recorder = recorder
        self._store = store
        self._profile = profile
        self._completes = completes
        self._report = report

    def read(self, file: MemoryFile, before: FileRecord | None) -> Iterator[ReadDocument]:
        """Yield the new content of a file; nothing where it cannot be read, which is reported.

        Args:
            file: The file.
            before: Its record in the index.
        """
        if file.source == "sessions":
            yield from self._parts(file, before)
        elif (item := self._whole(file, before)) is not None:
            yield item

    def _parts(self, file: MemoryFile, before: FileRecord | None) -> Iterator[ReadDocument]:
        """Read the new content of a session file, part by part."""
        known = before is not None
        parts = self._profile.read_transcript(
            file.absolute,
            ReadCursor.from_record(before),
            day=file.date.toordinal() if file.date else None,
            completes=self._completes,
            max_bytes=_MAX_CHUNK_BYTES,
        )
        try:
            for part in parts:
                item = self._part(file, before, part, known=known)
                yield item
                before = item.record
        except FileNotFoundError:
            return  # it vanished between the walk and now; the next run removes its rows
        except UnreadableFileError as error:
            self._report(file.path, str(error))

    def _part(
        self, file: MemoryFile, before: FileRecord | None, part: SessionPart, *, known: bool
    ) -> ReadDocument:
        if part.note and not part.more:
            self._report(file.path, part.note)
        cursor, pending = part.cursor, None
        left_day = before.day if before and part.keep_before is not None else None
        left = ReadCursor.from_record(before)
        later = left and left.first_unembedded and part.start.line > left.first_unembedded.line
        if before and left and (cursor.first_unembedded or later):
            # An earlier run, or an earlier part of this one, left chunks without vectors.
            cursor = replace(cursor, first_unembedded=left.first_unembedded)
            pending = before.pending
        record = FileRecord(
            path=file.path,
            source=file.source,
            hash=part.hash,
            size=part.size,
            mtime_ns=part.mtime_ns,
            indexed_ns=time.time_ns(),
            day=next((day for _, day in reversed(part.chunks) if day), left_day),
            pending=pending,
            note=part.note,
            progress=cursor.to_json(),
            stamp=file.stamp,
        )
        same = before is not None and before.hash == record.hash and not (known and before.pending)
        chunks = None if same else [chunk for chunk, _ in part.chunks]
        return ReadDocument(file, before, record, chunks, part=part, known=known)

    def _whole(self, file: MemoryFile, before: FileRecord | None) -> ReadDocument | None:
        """Read and cut a file; None where that is not possible."""
        if before is not None and (item := self._appended(file, before)) is not None:
            return item
        indexed_ns = time.time_ns()
        try:
            read = self._read_text(file)
        except FileNotFoundError:
            return None  # it vanished between the walk and now; the next run removes its rows
        except UnreadableFileError as error:
            self._report(file.path, str(error))
            return None
        matter, note, expires_ms = FrontMatter(), read.note, None
        if self._profile.reads_front_matter and read.text.startswith(FRONT_MATTER_MARKS):
            matter, note, expires_ms = self._front_matter(read)
        if note:
            self._report(file.path, note)
        record = FileRecord(
            path=file.path,
            source=file.source,
            hash=_hash_of(read),
            size=read.size,
            mtime_ns=read.mtime_ns,
            indexed_ns=indexed_ns,
            day=file.date.toordinal() if file.date else None,
            note=note,
            metadata=json.dumps(matter.metadata) if matter.metadata else None,
            expires_ms=expires_ms,
            stamp=read.stamp,
        )
        known = before is not None
        if before and before.hash == record.hash and not before.pending:
            return ReadDocument(file, before, record, None, known=known)
        places = self._known_places(before)
        if before is not None and places:
            record = replace(record, pending=before.pending)  # of the chunks that stay
        chunks, changes = self._cut(
            read.text[matter.body :],
            matter,
            places,
            former=self._former(before, read.text[: matter.body]) if places else None,
        )
        if self._recorder is not None and self._recorder.appended_to(file.path):
            self._recorder.grown.keep(record, read, places, changes, chunks)
        return ReadDocument(
            *(file, before, record, chunks),
            known=known,
            data=read.data,
            changes=changes,
            places=places,
        )

    def _appended(self, file: MemoryFile, before: FileRecord) -> ReadDocument | None:
        """Cut what this process appended to the note that it appended to last; None for others."""
        recorder = self._recorder
        if recorder is None or (before.pending and self._completes):
            return None
        appended = recorder.appended_to(file.path)
        grown = appended and recorder.grown.after(file, before, appended, self._append_chunks)
        if grown is None:
            return None
        return ReadDocument(
            *(file, before, grown.record, grown.changes.chunks),
            known=True,
            data=grown.data,
            changes=grown.changes,
            places=grown.replaced.known,
            above=grown.replaced.chunks,
        )

    def _append_chunks(self, end: TextEnd, added: str) -> AppendedChunks | None:
        return self._profile.append_chunks(
            end, added, split=lambda chunks: split_oversized(chunks, _MAX_CHUNK_BYTES)
        )

    def _known_places(self, before: FileRecord | None) -> Sequence[ChunkPlace]:
        """Return the chunks in the index, where some of them may stay."""
        if before is None or before.size < _LONG_BYTES or (before.pending and self._completes):
            return ()
        if "windows" not in self._store.capabilities:
            return ()
        with self._store.snapshot() as snapshot:
            return snapshot.places(before.path)

    def _former(self, before: FileRecord | None, matter: str) -> str | None:
        """Return the text that the index has, behind the same front matter, if it is at hand."""
        if before is None or self._recorder is None:
            return None
        data = self._recorder.take_former(before.path)
        if data is None or digest_of(data).hex() != before.hash:
            return None
        text, note = decode_text(data)
        return text[len(matter) :] if note is None and text.startswith(matter) else None

    def _front_matter(self, read: FileText) -> tuple[FrontMatter, str | None, int | None]:
        """Return the front matter of a file, what is odd about the file, and when it expires."""
        matter = read_front_matter(read.text)
        problems, expires_ms = [read.note, matter.problem], None
        try:
            expires_ms = expiry_ms(matter.metadata or {}, self._profile.note_zone)
        except ValueError as error:
            problems.append(str(error))
        return matter, "; ".join(filter(None, problems)) or None, expires_ms

    def _cut(
        self,
        text: str,
        matter: FrontMatter,
        places: Sequence[ChunkPlace],
        *,
        former: str | None = None,
    ) -> tuple[list[Chunk], ChunkChanges | None]:
        """Cut the text behind the front matter; of a text with known places, what changed."""
        label = label_line(matter.metadata) if matter.metadata else ""
        changes = None
        if places:
            known = places
            if matter.lines:
                known = [moved_place(place, -matter.lines) for place in places]
            if label:
                known = [known[0]._replace(start_line=known[0].start_line + 1), *known[1:]]
            changes = self._profile.rechunk(text, known, label=label, former=former)
        chunks = self._profile.chunk(text) if changes is None else changes.chunks
        chunks = split_oversized([c for c in chunks if c.text.strip()], _MAX_CHUNK_BYTES)
        if matter.lines:
            is_first = changes is None or changes.first == 0
            chunks = _behind(matter, chunks, label if is_first else "")
        if places and changes is None:
            from commonplace.text.incremental_chunking import changed_chunks

            changes = changed_chunks(places, chunks)
            chunks = changes.chunks
        return chunks, changes


def _behind(matter: FrontMatter, chunks: Sequence[Chunk], label: str) -> list[Chunk]:
    """Return chunks with their lines behind the front matter, the first one with its labels."""
    moved = [
        replace(
            chunk,
            start_line=chunk.start_line + matter.lines,
            end_line=chunk.end_line + matter.lines,
        )
        for chunk in chunks
    ]
    if label and moved:
        first = moved[0]
        text = f"{label}\n{first.text}"
        labelled = make_chunk(first.start_line - 1, first.end_line, text, first.heading)
        moved[0] = replace(labelled, labelled=True)
    return moved


def _hash_of(read: FileText) -> str:
    """Return `text_hash` of a file: of plain UTF-8, it is that of the bytes."""
    return digest_of(read.data).hex() if read.data and not read.note else text_hash(read.text)


def text_hash(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
