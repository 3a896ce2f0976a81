"""Conversation of another tool, and the note that it becomes: a line a message."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from commonplace.text.redaction import redact
from commonplace.transcripts.formats import messages_in

__all__ = ["Conversation"]

_TITLE_CHARS = 120
_SLUG_CHARS = 48
_UNFIT = re.compile(r"[\0-\x1f\x7f\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of an export.

    Attributes:
        key: Id by which the export names it.
        title: Title; empty for none.
        when: Time of its beginning, aware.
        messages: Messages as ``{"role", "content"}``.
    """

    key: str
    title: str
    when: datetime
    messages: Sequence[dict[str, Any]]

    @property
    def mark(self) -> str:
        """End of the note's name: it stays when the title changes, and no export can choose it."""
        return hashlib.sha256(self.key.encode("utf-8", "replace")).hexdigest()[:12]

    def file_name(self, day: str) -> str:
        """Return the name of the note: its day, its title, and its mark."""
        words = re.sub(r"[\W_]+", "-", self._heading().lower()).strip("-")
        slug = words.encode()[:_SLUG_CHARS].decode("utf-8", "ignore").strip("-")
        return "-".join(filter(None, (day, slug, self.mark))) + ".md"

    def text(self, label: str) -> str:
        """Return the text of the note, secrets masked; empty where nothing was said."""
        lines = [str(message) for message in messages_in(list(self.messages))]
        if not lines:
            return ""
        return "\n".join((f"# {self._heading() or label}", "", *lines)) + "\n"

    def _heading(self) -> str:
        return " ".join(redact(_UNFIT.sub(" ", self.title)).split())[:_TITLE_CHARS].strip()
