"""Who makes the vectors of a memory: the one that is wanted, its fallback, the index's own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol

from commonplace.embeddings.base import ModelName
from commonplace.embeddings.client import EmbeddingClient
from commonplace.embeddings.registry import Selection, fallback_of, for_identity
from commonplace.errors import EmbedderError
from commonplace.settings import EmbeddingSettings
from commonplace.store.base import IndexIdentity

__all__ = ["EmbedderSelector"]

logger = logging.getLogger(__name__)


class _Identified(Protocol):
    @property
    def identity(self) -> IndexIdentity | None: ...


class EmbedderSelector:
    """The embedders of one memory in this process.

    Args:
        settings: Which fallback there is, and how the index's own embedder is made.
        choose: Chooses the embedder, given what the index was built with.
        index: Returns the index.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        choose: Callable[[ModelName | None], Selection],
        index: Callable[[], _Identified],
    ) -> None:
        self._settings = settings
        self._choose = choose
        self._index = index
        self._choice: Selection | None = None
        self._replaced: EmbeddingClient | None = None
        self._own: dict[tuple[ModelName, int | None], EmbeddingClient | None] = {}
        self._lock = threading.RLock()

    @property
    def choice(self) -> Selection:
        """The embedder that is used, and why; chosen when it is first needed.

        Raises:
            EmbedderError: The one that was named cannot be had.
        """
        if self._choice is None:
            with self._lock:
                if self._choice is None:
                    self._choice = self._choose(_name(self._index().identity))
                    logger.info("embedder: %s", self._choice.reason)
        return self._choice

    def use_fallback(self, failure: EmbedderError) -> bool:
        """Go on with the fallback as long as this process uses the memory.

        Returns:
            False when there is none, or it is in use already.
        """
        with self._lock:
            if self._replaced is not None or self._choice is None:
                return False
            try:
                fallback = fallback_of(self._settings)
            except EmbedderError as error:
                logger.warning("the fallback cannot be used: %s", error)
                return False
            used = self._choice.client
            if fallback is None or fallback.client is None or used is None:
                return False
            if fallback.client.name == used.name:
                return False
            reason = f"{fallback.client.label} is used as the fallback: {failure}"
            logger.warning("%s", reason)
            self._replaced, self._choice = used, Selection(fallback.client, reason)
            return True

    @property
    def is_fallback(self) -> bool:
        """Whether the fallback is in use."""
        return self._replaced is not None

    def of_index(self, held: IndexIdentity | None) -> tuple[EmbeddingClient | None, str | None]:
        """Return who can embed a query for an index, or why nobody can.

        That is the embedder in use, else, while the index is being built anew with it, the one
        that the index was built with, where it can be had by name.
        """
        if held is None or held.model is None or not held.dimension:
            return None, "the index holds no vectors yet; index again when the embedder answers"
        wanted = self.choice.client
        if wanted is None:
            return None, self.choice.reason
        if self.why_not(wanted, held) is None:
            return wanted, None
        own = self._own_of(held)
        return (own, None) if own is not None else (None, self.why_not(wanted, held))

    def _own_of(self, held: IndexIdentity) -> EmbeddingClient | None:
        name = _name(held)
        assert name is not None  # it was looked at before
        key = name, held.dimension
        with self._lock:
            if key not in self._own:
                self._own[key] = for_identity(name, held.dimension, self._settings)
            own = self._own[key]
        return own if own is not None and self.why_not(own, held) is None else None

    @staticmethod
    def why_not(encoder: EmbeddingClient, held: IndexIdentity | None) -> str | None:
        """Say why an encoder's vectors cannot be compared with an index's; None if they can."""
        if held is None or held.model is None or not held.dimension:
            return "the index holds no vectors yet; index again when the embedder answers"
        if _name(held) != encoder.name:
            return (
                f"the index was built with {held.provider}:{held.model} and not with "
                f"{encoder.label}; index again to rebuild it"
            )
        if encoder.dimension not in (None, held.dimension):
            return (
                f"the index holds vectors of {held.dimension} dimensions and "
                f"{encoder.label} gives {encoder.dimension}; index again to rebuild it"
            )
        return None

    def close(self) -> None:
        """Let go of threads."""
        with self._lock:
            used = self._choice.client if self._choice else None
            made = [used, self._replaced, *self._own.values()]
        for encoder in made:
            if encoder is not None:
                encoder.close()


def _name(held: IndexIdentity | None) -> ModelName | None:
    if held is None or not held.provider or not held.model:
        return None
    return ModelName(held.provider, held.model, held.endpoint)
