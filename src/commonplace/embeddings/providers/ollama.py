"""Models that an Ollama server holds, through Ollama's own client (extra ``ollama``)."""

from __future__ import annotations

from operator import methodcaller
from typing import TYPE_CHECKING

from commonplace.embeddings.base import ModelName, ProviderOptions, RequestLimits
from commonplace.embeddings.providers.common import (
    NO_KEY,
    LazyClient,
    api_key,
    endpoint_key,
    json_errors_with_text,
    without_suffix,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ollama import Client

__all__ = ["OllamaEmbedder"]

_MODEL = "nomic-embed-text"


class OllamaEmbedder:
    """Embedder of a model in Ollama: at ``OLLAMA_HOST``, else on this machine.

    The host does not shape the vectors. A base URL from the settings is part of the name, for any
    server may answer there.
    """

    is_local = False
    limits = RequestLimits(max_texts=512, concurrency=1)
    """One request at a time: it computes on one machine, where more of them only queue."""
    price = 0.0

    def __init__(self, options: ProviderOptions) -> None:
        """Name the model; the client is imported when it is first used."""
        self._options = options
        self._model = options.model or _MODEL
        self.name = ModelName(
            "ollama", self._model, endpoint_key(options.base_url, options.dimensions)
        )
        self.dimension = options.dimensions
        self.client: LazyClient[Client] = LazyClient(self._connect, methodcaller("close"))

    def embed_documents(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """Return one vector for each text, from one request."""
        from ollama import ResponseError

        try:
            with json_errors_with_text():
                answer = self.client().embed(self._model, texts, dimensions=self.dimension)
        except ResponseError as error:
            # The client drops the response, and with it the header Retry-After.
            error.response = getattr(error.__context__, "response", None)  # type: ignore[attr-defined]
            raise
        return answer.embeddings

    def embed_query(self, text: str) -> Sequence[float]:
        """Return the vector of a query, which Ollama embeds like a document."""
        return self.embed_documents([text])[0]

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def _connect(self) -> Client:
        from ollama import Client

        url = self._options.base_url
        key = api_key(self._options)
        headers = {} if key == NO_KEY else {"authorization": f"Bearer {key}"}
        return Client(
            # A base URL of the OpenAI protocol, which Ollama speaks too, names its server.
            host=without_suffix(url, "/v1", "/api") if url else None,
            headers={**headers, **self._options.headers},
            timeout=self._options.timeout_s,
        )
