"""Chunk embedder: vectors from the index, the cache, unchanged lines, or the embedder."""

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from commonplace.embeddings.client import EmbeddingClient, EmbeddingResult, EmbeddingRun
from commonplace.errors import EmbedderError
from commonplace.indexing.pending_chunks import PendingChunks
from commonplace.indexing.planner import IndexPlan
from commonplace.indexing.read_document import ReadDocument
from commonplace.store.base import Store
from commonplace.store.records import FileRecord, IndexIdentity
from commonplace.text.line_units import line_units, pack_units, unit_texts, whole_unit
from commonplace.transcripts.cursor import ReadCursor
from commonplace.types import Chunk
from commonplace.vectors.arrays import ChunkVectors, pack_all, unpack

if TYPE_CHECKING:
    from commonplace.vectors import Vector

__all__ = ["ChunkEmbedder", "DimensionChangedError", "EmbeddedBatch"]

logger = logging.getLogger(__name__)

_MAX_REUSED_LINES = 50_000
"""Lines whose vectors are reused from the chunks that a run replaces; about 1 KiB each."""
_LINES_BYTES = 32 * 2**20
"""Memory for the vectors of lines that were embedded in the run."""
_CACHED_UNITS = 6144
"""Chunks whose lines are cached from embedding to writing: three transactions."""


class DimensionChangedError(Exception):
    """The embedder returns vectors of another dimension than the index has: a rebuild is needed."""


@dataclass(slots=True)
class EmbeddedBatch:
    """Vectors of a batch of chunks.

    Attributes:
        vectors: Vectors of each chunk, by its hash.
        lacking: Hashes of chunks that lack all or some of their vectors.
        problem: Why they do.
        temporary: Whether the embedder has failed for a temporary reason.
        embedded: Number of texts that were embedded.
        cached: Number of texts that had vectors already.
    """

    vectors: dict[str, ChunkVectors]
    lacking: set[str] = field(default_factory=set)
    problem: str | None = None
    temporary: bool = False
    embedded: int = 0
    cached: int = 0


class ChunkEmbedder:
    """Embedder of the chunks of one run.

    Args:
        store: The index, and the cache of vectors that were paid for.
        client: Embeds texts; None leaves chunks without vectors.
        whole_chunks: Whether a chunk is embedded as a whole, and not line by line.
        sources: Other indexes whose vectors may be taken over, such as the one being replaced.
        check: Called between requests; what it raises ends them.
        absent: The reason, where there is no client.
    """

    def __init__(
        self,
        store: Store,
        *,
        client: EmbeddingClient | None,
        whole_chunks: bool,
        sources: Sequence[Store],
        check: Callable[[], object],
        absent: str,
    ) -> None:
        self._store = store
        self._client = client
        self._whole_chunks = whole_chunks
        self._sources = [store, *sources]
        self._check = check
        self._absent = absent
        self._identity = store.identity
        self._run = EmbeddingRun(client, check=check) if client else None
        self._kept: list[str] = []
        """Chunks whose vectors are in the cache until their files are written."""
        self._has_warned = False
        self._lines: dict[str, Vector] | None = None
        self._latest: list[dict[str, ChunkVectors]] = [{}, {}]
        """Vectors of the batch being written, and of the next: the store has neither yet."""
        # Needed when the lines of a chunk are embedded, and again when the chunk is written.
        self._units = functools.lru_cache(_CACHED_UNITS)(whole_unit if whole_chunks else line_units)

    @property
    def model(self) -> str | None:
        """Model of the index."""
        return self._identity.model if self._identity else None

    @property
    def failure(self) -> EmbedderError | None:
        """Failure that ended embedding during the run; None without one."""
        return self._run.failure if self._run else None

    def retry(self) -> bool:
        """Allow requests again after a temporary failure; False after a permanent one."""
        if self._run is None or self._run.is_hopeless:
            return False
        self._run.try_again()
        return True

    def packed_units(self, text: str) -> bytes:
        """Return where the units of a chunk begin and end in it, packed for the store."""
        return pack_units(self._units(text))

    # -- a batch ---------------------------------------------------------------------------------

    def embed(self, wanted: dict[str, str]) -> EmbeddedBatch:
        """Return the vectors of chunks, as far as the embedder answers.

        Args:
            wanted: The text of each chunk, by its hash.

        Raises:
            DimensionChangedError: The embedder's dimension is not the index's.
        """
        latest = self._latest[0] | self._latest[1]
        vectors = {key: latest[key] for key in wanted if key in latest}
        vectors |= self._known({key: wanted[key] for key in wanted if key not in vectors})
        at_hand = {text for key in vectors for text in self._texts(wanted[key])}
        given = EmbeddedBatch(vectors, cached=len(at_hand))
        self._make({key: text for key, text in wanted.items() if key not in vectors}, given)
        whole = {key: found for key, found in vectors.items() if key not in given.lacking}
        self._latest[1].update(whole)
        return given

    def begin_writing(self) -> None:
        """Note that the last batches are being written, and the ones before are in the store."""
        self._latest = [self._latest[1], {}]

    def drop_kept(self, written: Iterable[str]) -> None:
        """Drop chunks from the cache that are in the index now."""
        if self._kept:
            indexed = set(written)
            self._store.cache_vectors({}, drop=[key for key in self._kept if key in indexed])
            self._kept = [key for key in self._kept if key not in indexed]

    def _known(self, wanted: dict[str, str]) -> dict[str, ChunkVectors]:
        """Return the vectors of chunk texts that are in an index or its cache."""
        identity = self._identity
        known: dict[str, ChunkVectors] = {}
        if identity is None:
            return known
        if identity.dimension is None and self._client is not None:
            dimension = self._client.dimension or self._stored_dimension(identity)
            if dimension is not None:
                self._learn_dimension(dimension)
                identity = replace(identity, dimension=dimension)
        for source in self._sources:
            missing = [key for key in wanted if key not in known]
            if missing:
                with source.snapshot() as snapshot:
                    known |= snapshot.vectors_of(missing, identity)
        return {key: made for key, made in known.items() if self._is_whole(made, wanted[key])}

    def _stored_dimension(self, identity: IndexIdentity) -> int | None:
        """Return the dimension of the model's stored vectors, without asking the model."""
        for source in self._sources:
            with source.snapshot() as snapshot:
                if (dimension := snapshot.cached_dimension(identity)) is not None:
                    return dimension
        return None

    def _make(self, missing: dict[str, str], given: EmbeddedBatch) -> None:
        """Embed chunk texts that have no vectors yet."""
        parts = {key: self._texts(text) for key, text in missing.items()}
        texts = dict.fromkeys(text for lines in parts.values() for text in lines)
        reused = self._lines or {}
        vectors = {text: reused[text] for text in texts if text in reused}
        given.cached += len(vectors)
        self._request([text for text in texts if text not in vectors], vectors, parts, given)
        has = vectors.__contains__
        given.lacking = {key for key, lines in parts.items() if not all(map(has, lines))}
        some = {key: lines for key, lines in parts.items() if any(map(has, lines))}
        if some:
            given.vectors |= self._combined(some, vectors)

    def _request(
        self,
        texts: list[str],
        vectors: dict[str, Vector],
        parts: dict[str, list[str]],
        given: EmbeddedBatch,
    ) -> None:
        """Embed texts into `vectors`, as far as the embedder answers.

        Vectors of a service are cached at once: they were paid for.
        """
        if self._run is None:
            given.problem = self._absent
            return
        pending = None if self._run.client.is_local else PendingChunks(parts, vectors)
        problem: EmbedderError | None = None
        for answer in self._run.send(texts):
            self._check()
            if answer.error is not None:
                if problem is None or answer.error.temporary > problem.temporary:
                    problem = answer.error
                continue
            self._learn_dimension(answer.vectors.shape[1])
            vectors |= zip(answer.texts, answer.vectors, strict=True)
            given.embedded += len(answer.texts)
            if pending is not None:
                self._cache(pending.completed_by(answer.texts), vectors)
        self._remember(vectors)
        if problem is None:
            return
        given.problem, given.temporary = str(problem), problem.temporary
        if not self._has_warned:
            self._has_warned = True
            logger.warning("some texts have no vectors for now: %s", problem)

    def _learn_dimension(self, dimension: int) -> None:
        assert self._identity is not None
        if self._identity.dimension is None:
            self._identity = replace(self._identity, dimension=dimension)
            self._store.set_identity(self._identity)
        elif self._identity.dimension != dimension:
            raise DimensionChangedError

    def _cache(self, whole: dict[str, list[str]], vectors: dict[str, Vector]) -> None:
        """Cache the vectors of chunks until their files are written."""
        if whole:
            some = {text: vectors[text] for lines in whole.values() for text in lines}
            self._store.cache_vectors(self._combined(whole, some))
            self._kept += whole

    # -- chunks and their lines ------------------------------------------------------------------

    def _texts(self, text: str) -> list[str]:
        """Return the texts of a chunk that are embedded: its lines, or the whole of it."""
        return [text] if self._whole_chunks else unit_texts(text, self._units(text))

    def _is_whole(self, made: ChunkVectors, text: str) -> bool:
        """Return whether each line has a vector, see `_combined`, and is cut as it was before."""
        if made.lines is None:
            return True
        vectors = unpack(made.lines, len(made.vector))
        return len(vectors) == len(self._units(text)) and bool(vectors.any(axis=1).all())

    def _combined(
        self, parts: dict[str, list[str]], vectors: dict[str, Vector]
    ) -> dict[str, ChunkVectors]:
        """Return the vectors of chunks: the mean of its lines', or the one of the whole chunk."""
        import numpy as np

        if self._whole_chunks:
            whole = [vectors[text] for (text,) in parts.values()]
            packed = pack_all([vector[None] for vector in whole])
            return dict(zip(parts, map(ChunkVectors, whole, packed), strict=True))
        # All chunks at once; a line without a vector yet counts as zero.
        nothing = np.zeros_like(next(iter(vectors.values())))
        every = [line for lines in parts.values() for line in lines]
        rows = [vectors.get(line, nothing) for line in every]
        matrix = np.concatenate(rows).reshape(len(rows), -1)
        weights = np.array([len(line) for line in every], dtype=np.float32)
        ends = list(itertools.accumulate(len(lines) for lines in parts.values()))
        spans = list(zip([0, *ends], ends, strict=False))
        means = np.array([weights[start:end] @ matrix[start:end] for start, end in spans])
        norms = np.linalg.norm(means, axis=1, keepdims=True)
        means /= np.where(norms > 0, norms, 1.0)
        made = zip(parts, means, pack_all([matrix[a:b] for a, b in spans]), strict=True)
        return {key: ChunkVectors(mean, lines) for key, mean, lines in made}

    def _remember(self, vectors: dict[str, Vector]) -> None:
        """Remember the vectors of lines for the rest of the run: many lines are repeated."""
        if self._whole_chunks or self._lines is None or not vectors:
            return
        size = 4 * len(next(iter(vectors.values())))
        room = _LINES_BYTES // size - len(self._lines)
        if room > 0:
            self._lines.update(itertools.islice(vectors.items(), room))

    def reuse_lines(self, plan: IndexPlan, batch: Iterable[ReadDocument]) -> None:
        """Read, once, the vectors of the lines that the plan replaces: most lines are unchanged.

        This comes before the first file is written: a line may move from any file to any other.
        """
        if self._lines is not None:
            return
        self._lines = {}
        if self._whole_chunks or self._identity is None or not self._identity.dimension:
            return
        replaced: dict[str, tuple[Any, Any]] = {one.path: (None, None) for one in plan.removed}
        replaced |= {file.path: (_end_of(before), None) for file, before, _ in plan.read if before}
        replaced |= {one.file.path: lines for one in batch if (lines := one.replaced_lines)}
        with self._store.snapshot() as snapshot:
            for path, (first, last) in replaced.items():
                for chunk, embedded in snapshot.chunks_of(path, from_line=first, to_line=last):
                    self._reuse_lines_of(chunk, embedded)
                if len(self._lines) > _MAX_REUSED_LINES:
                    break

    def _reuse_lines_of(self, chunk: Chunk, embedded: ChunkVectors | None) -> None:
        if embedded is None or embedded.lines is None:
            return
        texts, vectors = self._texts(chunk.text), unpack(embedded.lines, len(embedded.vector))
        if len(texts) == len(vectors):
            assert self._lines is not None
            self._lines.update(one for one in zip(texts, vectors, strict=True) if one[1].any())

    # -- before a run ----------------------------------------------------------------------------

    def lacking(self, wanted: dict[str, str]) -> dict[str, list[str]]:
        """Return the texts of the chunks, by hash, that have no vectors in an index or cache."""
        known = self._known(wanted)
        return {key: self._texts(text) for key, text in wanted.items() if key not in known}

    def missing(self, parts: dict[str, list[str]]) -> list[str]:
        """Return the texts of chunks that have no vectors, each of them once."""
        reused = self._lines or {}
        texts = dict.fromkeys(text for lines in parts.values() for text in lines)
        return [text for text in texts if text not in reused]

    def take(self, parts: dict[str, list[str]], answers: Iterable[EmbeddingResult]) -> int:
        """Cache what was embedded before a run; return the number of texts."""
        known = self._lines or {}
        vectors = {text: known[text] for lines in parts.values() for text in lines if text in known}
        pending = PendingChunks(parts, vectors)
        count = 0
        for answer in answers:
            self._learn_dimension(answer.vectors.shape[1])
            vectors |= zip(answer.texts, answer.vectors, strict=True)
            count += len(answer.texts)
            self._cache(pending.completed_by(answer.texts), vectors)
        return count


def _end_of(record: FileRecord) -> int | None:
    """Return the line from which on a run replaces a file's chunks; None for all of them."""
    cursor = ReadCursor.from_record(record) if record.progress else None
    return cursor.resume_at.line if cursor else None
