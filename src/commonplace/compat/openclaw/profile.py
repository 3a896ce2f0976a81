"""The profile of OpenClaw 2026.3.24; see SPEC.md beside this file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.compat.openclaw.ranking import ChunkRanker
    from commonplace.settings import SearchSettings

__all__ = ["OpenClawProfile"]


class OpenClawProfile:
    """Rules of OpenClaw 2026.3.24."""

    def ranker(self, settings: SearchSettings) -> ChunkRanker:
        """Return the ranker of whole chunks."""
        from commonplace.compat.openclaw.ranking import ChunkRanker

        return ChunkRanker(settings)
