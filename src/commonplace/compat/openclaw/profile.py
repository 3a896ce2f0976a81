"""Profile of OpenClaw 2026.3.24; SPEC.md beside this file says what it follows."""

from __future__ import annotations

import importlib.resources
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.compat.openclaw.chunking import openclaw_chunks
from commonplace.compat.openclaw.log_dates import openclaw_log_date
from commonplace.errors import SettingsError
from commonplace.profiles import FlushRules
from commonplace.workspace.paths import DiscoveryRules

if TYPE_CHECKING:
    from commonplace.compat.openclaw.ranking import ChunkRanker
    from commonplace.retrieval.rerank import RerankClient
    from commonplace.settings import Settings
    from commonplace.text.appended_chunks import TextEnd
    from commonplace.transcripts.cursor import ReadCursor
    from commonplace.transcripts.incremental import SessionPart
    from commonplace.transcripts.rendering import TranscriptRules
    from commonplace.types import Chunk, ChunkPlace

__all__ = ["OpenClawProfile"]


class OpenClawProfile:
    """Rules of OpenClaw 2026.3.24."""

    requires = frozenset({"exact-fts5-bm25"})
    discovery = DiscoveryRules(
        date_of=openclaw_log_date,
        both_long_term_files=True,
        dated_sessions=False,
        knows_user_file=False,
    )
    note_zone: tzinfo | None = UTC
    reads_front_matter = False

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @property
    def transcripts(self) -> TranscriptRules:
        """Rules that keep every message of user and assistant."""
        from commonplace.transcripts.rendering import TranscriptRules

        return replace(TranscriptRules.from_settings(self._settings), filters_noise=False)

    @property
    def flush(self) -> FlushRules:
        """Prompts of this folder; a small context window is never flushed."""
        return FlushRules(_prompt("flush_system"), _prompt("flush_user"), fits_small_windows=False)

    def chunk(self, text: str) -> list[Chunk]:
        """Split a text into chunks by UTF-16 units."""
        chunking = self._settings.chunking
        chunks = openclaw_chunks(text, tokens=chunking.tokens, overlap=chunking.overlap)
        return [chunk for chunk in chunks if chunk.text.strip().strip("\ufeff")]

    def rechunk(
        self,
        text: str,
        known: Sequence[ChunkPlace],
        *,
        label: str,
        former: str | None,
    ) -> None:
        """Return None: a changed text is chunked as a whole."""

    def append_chunks(
        self, end: TextEnd, added: str, *, split: Callable[[list[Chunk]], list[Chunk]]
    ) -> None:
        """Return None, for the same reason."""

    def read_transcript(
        self,
        path: Path,
        before: ReadCursor | None,  # noqa: ARG002 - read as a whole in any case
        *,
        day: int | None,  # noqa: ARG002 - transcripts have no day
        completes: bool,  # noqa: ARG002
        max_bytes: int,
    ) -> Iterator[SessionPart]:
        """Yield a session file as one part."""
        from commonplace.compat.openclaw.transcripts import read_whole

        yield read_whole(path, self, settings=self._settings, max_bytes=max_bytes)

    def ranker(self, reranker: RerankClient | None = None) -> ChunkRanker:
        """Return the ranker of whole chunks.

        Raises:
            SettingsError: A reranker was given.
        """
        from commonplace.compat.openclaw.ranking import ChunkRanker

        if reranker is not None:
            raise SettingsError(
                "the profile 'openclaw' takes no reranker; open the memory without one, or with "
                "another profile."
            )
        return ChunkRanker(self._settings.search)


def _prompt(name: str) -> str:
    source = importlib.resources.files(__package__) / "prompts" / f"{name}.md"
    return source.read_text(encoding="utf-8").replace("\r\n", "\n")
