"""Google's Gemini API through Google's own client (extra ``gemini``)."""

from __future__ import annotations

import os
from operator import methodcaller
from typing import TYPE_CHECKING

from commonplace.embeddings.base import ModelName, ProviderOptions, RequestLimits
from commonplace.embeddings.providers.common import (
    LazyClient,
    api_key,
    endpoint_key,
    json_errors_with_text,
    vector_of,
    without_suffix,
)

if TYPE_CHECKING:
    import numpy as np
    from google.genai import Client
    from numpy.typing import NDArray

__all__ = ["DOCUMENT_TASK", "GeminiEmbedder"]

_MODEL = "gemini-embedding-001"
_API_VERSION = "v1beta"
DOCUMENT_TASK, _QUERY_TASK = "RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"

# Read on 2026-11-21 from opencode.ai/data/google/gemini-embedding-001 and
# tokencost.app/blog/gemini-embedding-2-pricing, which quote Google's price list.
_PRICES = {
    "gemini-embedding-001": 0.15,
    "gemini-embedding-2-preview": 0.20,
}


class GeminiEmbedder:
    """Embedder of the Gemini API, with its task types for retrieval."""

    is_local = False
    limits = RequestLimits(max_texts=100)  # batchEmbedContents takes no more

    def __init__(self, options: ProviderOptions) -> None:
        """Name the model; the client is imported when it is first used."""
        self._options = options
        self._model = (options.model or _MODEL).removeprefix("models/")
        self._base_url = options.base_url or os.environ.get("GOOGLE_GEMINI_BASE_URL") or None
        self.name = ModelName(
            "gemini", self._model, endpoint_key(self._base_url, options.dimensions)
        )
        self.dimension = options.dimensions
        self.price = None if self._base_url else _PRICES.get(self._model)
        self.client: LazyClient[Client] = LazyClient(self._connect, methodcaller("close"))

    def embed_documents(self, texts: list[str]) -> list[NDArray[np.float32]]:
        """Return one vector for each text, from one request."""
        return self._embed(texts, DOCUMENT_TASK)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query."""
        return self._embed([text], _QUERY_TASK)[0]

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def _embed(self, texts: list[str], task: str) -> list[NDArray[np.float32]]:
        with json_errors_with_text():
            answer = self.client().models.embed_content(
                model=self._model,
                # Each in a content of its own: plain texts count as parts of one.
                contents=[{"parts": [{"text": text}]} for text in texts],  # type: ignore[arg-type]
                config={"task_type": task, "output_dimensionality": self.dimension},
            )
        return [vector_of(item.values or ()) for item in answer.embeddings or ()]

    def _connect(self) -> Client:
        from google.genai import Client
        from google.genai.types import HttpOptions, HttpRetryOptions

        url = self._base_url and without_suffix(self._base_url, f"/{_API_VERSION}")
        return Client(
            api_key=api_key(self._options),
            vertexai=False,  # an environment variable could set it
            http_options=HttpOptions(
                base_url=url,
                api_version=_API_VERSION,
                headers=dict(self._options.headers),
                timeout=int(self._options.timeout_s * 1000),
                retry_options=HttpRetryOptions(attempts=1),
            ),
        )
