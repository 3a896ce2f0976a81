"""Selection of the embedding client: the requested one, its fallback, or the index's own."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from commonplace.embeddings.base import ModelName
from commonplace.embeddings.client import EmbeddingClient
from commonplace.errors import EmbedderError
from commonplace.settings import Settings
from commonplace.store.records import IndexIdentity
from commonplace.system.forks import renewed_in_child

if TYPE_CHECKING:
    from commonplace.embeddings.base import Embedder
    from commonplace.embeddings.registry import Selection

__all__ = ["EmbedderSelector"]

logger = logging.getLogger(__name__)

_UNPAID = frozenset({"auto", "bundled", "local", "sentence-transformers"})
"""Embedders whose vectors cost nothing but time."""
_NO_VECTORS = "the index holds no vectors yet; index again when the embedder answers"


class EmbedderSelector:
    """Selects the embedding clients of one memory in this process.

    Args:
        settings: The fallback, the options of clients made by name, and the embedded unit.
        requested: The embedder as `Memory.open` takes it.

    Raises:
        EmbedderError: No embedder has that name, or it is an object that does not embed.
    """

    def __init__(self, settings: Settings, requested: str | Embedder | Any | None) -> None:
        if isinstance(requested, str):  # a slip is an error here, not at the first search
            from commonplace.embeddings.registry import check_name

            check_name(requested)
        elif requested is not None:
            from commonplace.embeddings.adapters import EmbedderAdapter

            EmbedderAdapter(requested)
        self._settings = settings.embedding
        # Measured for lines; a chunk that is embedded as a whole keeps the vector of its model.
        self._pairs = settings.search.unit == "line"
        self._requested = requested
        self.renew()
        renewed_in_child(self)

    def renew(self) -> None:
        """Begin without clients, as in a forked process: they have threads."""
        self._selection: Selection | None = None
        self._replaced: EmbeddingClient | None = None
        self._is_fallback = False
        self._own: dict[tuple[ModelName, int | None], EmbeddingClient | None] = {}
        self._lock = threading.RLock()

    @property
    def is_named(self) -> bool:
        """Whether the call or the settings name an embedder, so that ``auto`` has no say."""
        return self._requested != "auto" or self._settings.provider != "auto"

    def select(self, identity: IndexIdentity | None) -> Selection:
        """Return the embedding client for index runs, and the reason; the same at each call.

        Args:
            identity: Identity of the index at the first call: ``auto`` keeps its model.

        Raises:
            EmbedderError: The embedder that was named is not available.
        """
        if self._selection is None:
            with self._lock:
                if self._selection is None:
                    self._selection = self._selected(identity)
                    logger.info("embedder: %s", self._selection.reason)
        return self._selection

    def _selected(self, identity: IndexIdentity | None) -> Selection:
        from commonplace.embeddings.registry import Selection, select

        try:
            return select(
                self._requested,
                settings=self._settings,
                built_with=_name(identity),
                pairs=self._pairs,
            )
        except EmbedderError as error:
            fallback = self._fallback_for(identity)
            if fallback is None or fallback.client is None:
                raise
            reason = f"{fallback.client.label} is used as the fallback: {error}"
            logger.warning("%s", reason)
            self._is_fallback = True
            return Selection(fallback.client, reason)

    def _fallback_for(self, identity: IndexIdentity | None) -> Selection | None:
        """Return the fallback of an embedder that cannot be used; None where that is an error.

        It is an error of an embedder that the call names, and of a service of which the index has
        vectors: they were paid for.
        """
        from commonplace.embeddings.registry import fallback_of

        name = self._settings.provider.partition(":")[0]
        was_paid = name not in _UNPAID and identity is not None and identity.provider == name
        if self._requested != "auto" or was_paid:
            return None
        return fallback_of(self._settings, self._pairs)

    def use_fallback(self, failure: EmbedderError) -> str | None:
        """Select the fallback for as long as this process uses the memory.

        Returns:
            The reason, a sentence; None when there is no fallback, or it is in use already.
        """
        from commonplace.embeddings.registry import Selection, fallback_of

        with self._lock:
            if self._replaced is not None or self._selection is None:
                return None
            try:
                fallback = fallback_of(self._settings, self._pairs)
            except EmbedderError as error:
                logger.warning("the fallback cannot be used: %s", error)
                return None
            used = self._selection.client
            if fallback is None or fallback.client is None or used is None:
                return None
            if fallback.client.name == used.name:
                return None
            reason = f"{fallback.client.label} is used as the fallback: {failure}"
            logger.warning("%s", reason)
            self._replaced, self._selection = used, Selection(fallback.client, reason)
            self._is_fallback = True
            return reason

    @property
    def is_fallback(self) -> bool:
        """Whether the fallback is in use."""
        return self._is_fallback

    def query_client(
        self, identity: IndexIdentity | None
    ) -> tuple[EmbeddingClient | None, str | None]:
        """Return the client that embeds queries for an index, or None and the reason.

        That is the selected client. While a rebuild with it is under way, it is the client of the
        index's own model, where that can be made by name.
        """
        selection = self.select(identity)
        client = selection.client
        if client is None:
            return None, selection.reason
        if identity is None or identity.model is None or not identity.dimension:
            return None, _NO_VECTORS
        mismatch = self.mismatch(client, identity)
        if mismatch is None:
            return client, None
        own = self._own_client(identity)
        return (own, None) if own is not None else (None, mismatch)

    def _own_client(self, identity: IndexIdentity) -> EmbeddingClient | None:
        from commonplace.embeddings.registry import for_identity

        name = _name(identity)
        assert name is not None  # the caller has checked it
        key = name, identity.dimension
        with self._lock:
            if key not in self._own:
                dimension = identity.dimension
                self._own[key] = for_identity(name, dimension, self._settings, self._pairs)
            own = self._own[key]
        return own if own is not None and self.mismatch(own, identity) is None else None

    @staticmethod
    def mismatch(client: EmbeddingClient, identity: IndexIdentity | None) -> str | None:
        """Return why a client's vectors cannot be compared with an index's; None if they can."""
        if identity is None or identity.model is None or not identity.dimension:
            return _NO_VECTORS
        if _name(identity) != client.name:
            built_with = f"{identity.provider}:{identity.model}"
            if built_with == client.label:
                return (
                    f"the index was built with {built_with} at another endpoint or with other "
                    "options (embedding.base_url, embedding.dimensions); open it with those, or "
                    "index again to rebuild it"
                )
            return (
                f"the index was built with {built_with} and not with "
                f"{client.label}; index again to rebuild it"
            )
        if client.dimension not in (None, identity.dimension):
            return (
                f"the index holds vectors of {identity.dimension} dimensions and "
                f"{client.label} gives {client.dimension}; index again to rebuild it"
            )
        return None

    def close(self) -> None:
        """Release the clients' threads."""
        with self._lock:
            used = self._selection.client if self._selection else None
            made = [used, self._replaced, *self._own.values()]
        for client in made:
            if client is not None:
                client.close()


def _name(identity: IndexIdentity | None) -> ModelName | None:
    if identity is None or not identity.provider or not identity.model:
        return None
    return ModelName(identity.provider, identity.model, identity.endpoint)
