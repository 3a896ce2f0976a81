"""Voyage AI through Voyage's own client (extra ``voyage``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commonplace.embeddings.base import ModelName, ProviderOptions, RequestLimits
from commonplace.embeddings.providers.common import (
    NO_KEY,
    LazyClient,
    api_key,
    endpoint_key,
    vector_of,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["VoyageEmbedder"]

_MODEL = "voyage-4-large"

# Read on 2026-11-21 from vercel.com/ai-gateway/models and, for the older ones, from
# hivebook.wiki/wiki/voyage-ai-embeddings-rerankers-for-rag, which quote Voyage's price list. The
# 200 million tokens that an account has for nothing are not taken off.
_PRICES = {
    "voyage-4-large": 0.12,
    "voyage-4": 0.06,
    "voyage-4-lite": 0.02,
    "voyage-3-large": 0.18,
    "voyage-3.5": 0.06,
    "voyage-3.5-lite": 0.02,
    "voyage-code-3": 0.18,
}


class VoyageEmbedder:
    """Embedder of Voyage AI, with its input types for documents and queries."""

    is_local = False
    limits = RequestLimits(max_texts=1000)

    def __init__(self, options: ProviderOptions) -> None:
        """Name the model; the client is imported when it is first used."""
        self._options = options
        self._model = options.model or _MODEL
        self.name = ModelName(
            "voyage", self._model, endpoint_key(options.base_url, options.dimensions)
        )
        self.dimension = options.dimensions
        self.timeout_s = options.timeout_s
        self.price = None if options.base_url else _PRICES.get(self._model)
        self.client: LazyClient[Any] = LazyClient(self._connect)

    def embed_documents(self, texts: list[str]) -> list[NDArray[np.float32]]:
        """Return one vector for each text, from one request."""
        return self._embed(texts, "document")

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query."""
        return self._embed([text], "query")[0]

    def _embed(self, texts: list[str], kind: str) -> list[NDArray[np.float32]]:
        request = {"input": texts, "encoding_format": "base64", **self.request_parameters(kind)}
        answer = self.client().request(
            "post", "/embeddings", params=request, request_timeout=self.timeout_s
        )
        return [vector_of(item["embedding"]) for item in answer.data["data"]]

    def request_parameters(self, kind: str) -> dict[str, Any]:
        """Return what a request says besides its texts, which are ``document`` or ``query``."""
        request: dict[str, Any] = {"model": self._model, "input_type": kind}
        if self.dimension is not None:
            request["output_dimension"] = self.dimension
        return request

    def _connect(self) -> Any:
        from voyageai.api_resources.api_requestor import APIRequestor

        key, headers = api_key(self._options), dict(self._options.headers)

        class Requestor(APIRequestor):
            """Requests of the client, with the headers that it would drop."""

            def request_headers(self, *arguments: Any) -> dict[str, str]:
                return {**super().request_headers(*arguments), **headers}

            def _interpret_response_line(self, body: str, *rest: Any) -> Any:
                # A refusal may repeat the key, and the client writes refusals to its log.
                hidden = body if key == NO_KEY else body.replace(key, "***")
                return super()._interpret_response_line(hidden, *rest)

        connect: Any = Requestor  # its signature has no types
        # Without a base URL the key's form decides between Voyage's and MongoDB's.
        return connect(key, self._options.base_url)
