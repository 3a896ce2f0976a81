"""Profiles: the rules of chunking, ranking, dating, discovery and prompts, chosen once.

`Memory.open` chooses the profile that `Settings.profile` names and hands it down. `DefaultProfile`
has Commonplace's own rules. The rules of another program are a package of `commonplace.compat` and
one line of `PROFILES`.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from zoneinfo import ZoneInfo

from commonplace.errors import SettingsError
from commonplace.renderers import brief
from commonplace.settings import Settings
from commonplace.text.chunking import chunk_markdown
from commonplace.workspace.paths import DiscoveryRules

if TYPE_CHECKING:
    from commonplace.retrieval.query import Ranker
    from commonplace.retrieval.rerank import RerankClient
    from commonplace.text.appended_chunks import AppendedChunks, TextEnd
    from commonplace.text.incremental_chunking import ChunkChanges
    from commonplace.transcripts.cursor import ReadCursor
    from commonplace.transcripts.incremental import SessionPart
    from commonplace.transcripts.rendering import TranscriptRules
    from commonplace.types import Chunk, ChunkPlace

__all__ = ["PROFILES", "DefaultProfile", "FlushRules", "Profile", "from_settings"]

PROFILES = {
    "default": "commonplace.profiles:DefaultProfile",
    "openclaw": "commonplace.compat.openclaw.profile:OpenClawProfile",
}
"""Module and class of each profile, which is loaded when it is chosen."""


@dataclass(frozen=True, slots=True)
class FlushRules:
    """Prompts and threshold of a flush.

    Attributes:
        system_prompt: System prompt of the silent turn.
        user_prompt: Prompt behind the conversation, unless `FlushSettings.prompt` replaces it.
        fits_small_windows: Whether reserve and soft threshold shrink with a small context window,
            so that it is flushed, too.
    """

    system_prompt: str
    user_prompt: str
    fits_small_windows: bool = True


class Profile(Protocol):
    """Rules of a memory, for its settings."""

    @property
    def requires(self) -> frozenset[str]:
        """Capabilities that the index engine needs; see `Store.capabilities`."""

    @property
    def discovery(self) -> DiscoveryRules:
        """Rules by which files belong to the memory, and to a day."""

    @property
    def transcripts(self) -> TranscriptRules:
        """Rules by which the messages of session files are rendered."""

    @property
    def flush(self) -> FlushRules:
        """Prompts and threshold of a flush."""

    @property
    def note_zone(self) -> tzinfo | None:
        """Time zone of session notes; None is the machine's."""

    @property
    def reads_front_matter(self) -> bool:
        """Whether the front matter of a note is metadata, and not text."""

    def chunk(self, text: str) -> list[Chunk]:
        """Split a file's text into chunks, in order; blank ones are left out."""

    def rechunk(
        self, text: str, known: Sequence[ChunkPlace], *, label: str, former: str | None
    ) -> ChunkChanges | None:
        """Chunk what changed in a text; None where all of it is to be chunked.

        Args:
            text: The new text.
            known: The chunks of the old one, in order.
            label: Line that the first chunk has in front.
            former: The old text, where it is at hand.
        """

    def append_chunks(
        self, end: TextEnd, added: str, *, split: Callable[[list[Chunk]], list[Chunk]]
    ) -> AppendedChunks | None:
        """Chunk what was appended to a text; see `TextEnd.appended`."""

    def read_transcript(
        self,
        path: Path,
        before: ReadCursor | None,
        *,
        day: int | None,
        completes: bool,
        max_bytes: int,
    ) -> Iterator[SessionPart]:
        """Yield what is new in a session file; see `commonplace.transcripts.incremental`."""

    def ranker(self, reranker: RerankClient | None = None) -> Ranker:
        """Return the ranker.

        Raises:
            SettingsError: The profile takes no reranker.
        """


class DefaultProfile:
    """Commonplace's own rules."""

    requires: frozenset[str] = frozenset()
    discovery = DiscoveryRules()
    reads_front_matter = True

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.chunk = functools.partial(chunk_markdown, settings=settings.chunking)
        """Splits Markdown into chunks of a number of tokens."""

    def rechunk(
        self, text: str, known: Sequence[ChunkPlace], *, label: str, former: str | None
    ) -> ChunkChanges | None:
        """Chunk what changed in a text; None where all of it is to be chunked."""
        from commonplace.text.incremental_chunking import rechunk_markdown

        return rechunk_markdown(text, known, self._settings.chunking, label=label, former=former)

    def append_chunks(
        self, end: TextEnd, added: str, *, split: Callable[[list[Chunk]], list[Chunk]]
    ) -> AppendedChunks | None:
        """Chunk what was appended to a text; None where all of it is to be chunked."""
        return end.appended(added, self._settings.chunking, split)

    @property
    def transcripts(self) -> TranscriptRules:
        """Rules that leave out the messages of programs, and find the days of the others."""
        from commonplace.transcripts.rendering import TranscriptRules

        return TranscriptRules.from_settings(self._settings)

    @property
    def flush(self) -> FlushRules:
        """Prompts of this package."""
        from commonplace.prompts.templates import load_prompt

        return FlushRules(load_prompt("flush_system"), load_prompt("flush_user"))

    @property
    def note_zone(self) -> tzinfo | None:
        """Time zone of the logs' days."""
        zone = self._settings.timezone
        return ZoneInfo(zone) if zone else None

    def read_transcript(
        self,
        path: Path,
        before: ReadCursor | None,
        *,
        day: int | None,
        completes: bool,
        max_bytes: int,
    ) -> Iterator[SessionPart]:
        """Yield what is new in a session file, in parts."""
        from commonplace.transcripts.incremental import read_parts

        return read_parts(
            path,
            before,
            settings=self._settings,
            day=day,
            completes=completes,
            max_bytes=max_bytes,
        )

    def ranker(self, reranker: RerankClient | None = None) -> Ranker:
        """Return the ranker of lines."""
        from commonplace.retrieval.pipeline import LineRanker

        return LineRanker(self._settings.search, reranker)


def from_settings(settings: Settings) -> Profile:
    """Return the profile that the settings name.

    Raises:
        SettingsError: This installation does not have it.
    """
    if not isinstance(settings, Settings):
        raise TypeError(f"settings is {brief.repr(settings)}; a Settings was expected.")
    if settings.profile not in PROFILES:
        raise SettingsError(
            f"profile is {settings.profile!r}, which this installation does not have; "
            f"known: {', '.join(PROFILES)}."
        )
    module, _, name = PROFILES[settings.profile].partition(":")
    profile: Profile = getattr(importlib.import_module(module), name)(settings)
    return profile
