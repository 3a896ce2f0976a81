"""OpenAI, and servers that speak its protocol, through OpenAI's own client (extra ``openai``)."""

from __future__ import annotations

import os
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from commonplace.embeddings.base import ModelName, ProviderOptions, RequestLimits
from commonplace.embeddings.providers.common import (
    LazyClient,
    api_key,
    endpoint_key,
    vector_of,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from openai import OpenAI

__all__ = ["OpenAIEmbedder"]

_MODEL = "text-embedding-3-small"

# Read on 2026-11-21 from developers.openai.com/api/docs/models/text-embedding-3-large, and the last
# one from openrouter.ai/openai/text-embedding-ada-002.
_PRICES = {
    "text-embedding-3-small": 0.02,
    "text-embedding-3-large": 0.13,
    "text-embedding-ada-002": 0.10,
}


class OpenAIEmbedder:
    """Embedder of OpenAI, or of another server with its protocol at `ProviderOptions.base_url`."""

    is_local = False
    limits = RequestLimits(max_texts=2048)

    def __init__(self, options: ProviderOptions) -> None:
        """Name the model; the client is imported when it is first used."""
        self._options = options
        self._model = options.model or _MODEL
        # The client reads this variable too, and the vectors are those of another endpoint.
        self._base_url = options.base_url or os.environ.get("OPENAI_BASE_URL") or None
        self.name = ModelName(
            "openai", self._model, endpoint_key(self._base_url, options.dimensions)
        )
        self.dimension = options.dimensions
        self.price = None if self._base_url else _PRICES.get(self._model)
        self.client: LazyClient[OpenAI] = LazyClient(self._connect, methodcaller("close"))

    def embed_documents(self, texts: list[str]) -> list[NDArray[np.float32]]:
        """Return one vector for each text, from one request."""
        answer: Any = self.client().embeddings.create(input=texts, **self.request_parameters())
        if isinstance(answer, str):  # the client returns an answer that is no JSON as text
            raise ValueError(f"it answered with no JSON: {answer[:200]}")
        return [vector_of(item.embedding) for item in answer.data]

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query, which OpenAI embeds like a document."""
        return self.embed_documents([text])[0]

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def request_parameters(self) -> dict[str, Any]:
        """Return what a request says besides its texts."""
        # A quarter of the bytes; servers of others do not all know base64.
        encoding = "float" if self._base_url else "base64"
        chosen = {} if self.dimension is None else {"dimensions": self.dimension}
        return {"model": self._model, "encoding_format": encoding, **chosen}

    def _connect(self) -> OpenAI:
        from openai import OpenAI

        return OpenAI(
            api_key=api_key(self._options),
            base_url=self._base_url,
            timeout=self._options.timeout_s,
            max_retries=0,
            default_headers=dict(self._options.headers),
        )
