"""Profiles: the rules that an index, its search and its prompts follow, chosen once.

`DefaultProfile` is Commonplace's own. Another program's rules are a module of `commonplace.compat`
and one line of `PROFILES`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from commonplace.retrieval.query import Ranker
    from commonplace.settings import SearchSettings, Settings

__all__ = ["DefaultProfile", "Profile", "from_settings"]

PROFILES = {
    "default": "commonplace.profiles:DefaultProfile",
    "openclaw": "commonplace.compat.openclaw.profile:OpenClawProfile",
}
"""Module and class of each profile."""


class Profile(Protocol):
    """Rules of a memory."""

    def ranker(self, settings: SearchSettings) -> Ranker:
        """Return the ranker for search settings."""


class DefaultProfile:
    """Commonplace's own rules."""

    def ranker(self, settings: SearchSettings) -> Ranker:
        """Return the ranker of lines."""
        from commonplace.retrieval.pipeline import LineRanker

        return LineRanker(settings)


def from_settings(settings: Settings) -> Profile:
    """Return the profile that settings name."""
    name = "openclaw" if settings.search.grain == "chunks" else "default"
    module, _, kind = PROFILES[name].partition(":")
    profile: Profile = getattr(importlib.import_module(module), kind)()
    return profile
