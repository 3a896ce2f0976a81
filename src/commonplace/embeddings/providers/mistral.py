"""Mistral AI through Mistral's own client (extra ``mistral``)."""

from __future__ import annotations

from operator import methodcaller
from typing import TYPE_CHECKING, Any

from commonplace.embeddings.base import ModelName, ProviderOptions, RequestLimits
from commonplace.embeddings.providers.common import (
    LazyClient,
    api_key,
    endpoint_key,
    vector_of,
    without_suffix,
)

if TYPE_CHECKING:
    import numpy as np
    from mistralai.client import Mistral
    from numpy.typing import NDArray

__all__ = ["MistralEmbedder"]

_MODEL = "mistral-embed"

# Read on 2026-11-21 from openrouter.ai/mistralai/mistral-embed-2312 and codestral-embed-2505.
_PRICES = {
    "mistral-embed": 0.10,
    "codestral-embed": 0.15,
}


class MistralEmbedder:
    """Embedder of Mistral AI. Of its models, codestral-embed has vectors of a chosen length."""

    is_local = False
    limits = RequestLimits(max_texts=128)

    def __init__(self, options: ProviderOptions) -> None:
        """Name the model; the client is imported when it is first used."""
        self._options = options
        self._model = options.model or _MODEL
        self.name = ModelName(
            "mistral", self._model, endpoint_key(options.base_url, options.dimensions)
        )
        self.dimension = options.dimensions
        self.price = None if options.base_url else _PRICES.get(self._model)
        self.client: LazyClient[Mistral] = LazyClient(
            self._connect, methodcaller("__exit__", None, None, None)
        )

    def embed_documents(self, texts: list[str]) -> list[NDArray[np.float32]]:
        """Return one vector for each text, from one request."""
        chosen: dict[str, Any] = (
            {} if self.dimension is None else {"output_dimension": self.dimension}
        )
        answer = self.client().embeddings.create(
            model=self._model, inputs=texts, http_headers=dict(self._options.headers), **chosen
        )
        return [vector_of(item.embedding) for item in answer.data]

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query, which Mistral embeds like a document."""
        return self.embed_documents([text])[0]

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def _connect(self) -> Mistral:
        from mistralai.client import Mistral

        url = self._options.base_url
        return Mistral(
            api_key=api_key(self._options),
            server_url=without_suffix(url, "/v1") if url else None,
            timeout_ms=int(self._options.timeout_s * 1000),
            retry_config=None,
        )
