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
    told_of_pages,
    without_suffix,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ollama import Client

__all__ = ["OllamaEmbedder"]

_MODEL = "nomic-embed-text"


class OllamaEmbedder:
    """Vectors of a model in Ollama: at ``OLLAMA_HOST``, else on this machine.

    Which host it is does not shape the vectors; only a base URL from the settings is part of the
    name, for behind it may be anything.
    """

    is_local = False
    limits = RequestLimits(max_texts=512, concurrency=1)
    """One request at a time: it computes on one machine, and more of them only wait there."""
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
            with told_of_pages():
                answer = self.client().embed(self._model, texts, dimensions=self.dimension)
        except ResponseError as error:
            # The client drops the response, and with it Retry-After.
            error.response = getattr(error.__context__, "response", None)  # type: ignore[attr-defined]
            raise
        return answer.embeddings

    def embed_query(self, text: str) -> Sequence[float]:
        """Return the vector of a query; Ollama makes no difference between the two."""
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
            # A base URL of the OpenAI protocol, which Ollama has too, is taken for its server.
            host=without_suffix(url, "/v1", "/api") if url else None,
            headers={**headers, **self._options.headers},
            timeout=self._options.timeout_s,
        )
