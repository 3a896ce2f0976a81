"""`LlamaIndexEmbedder`: a LlamaIndex embedding model as the core's embedder."""

from __future__ import annotations

from llama_index.core.base.embeddings.base import BaseEmbedding

from commonplace.errors import EmbedderError

__all__ = ["LlamaIndexEmbedder"]

_UNNAMED = "unknown"
"""Default of `BaseEmbedding.model_name`."""


class LlamaIndexEmbedder:
    """Embedder of a LlamaIndex model: ``Memory.open("notes", embedder=LlamaIndexEmbedder(model))``.

    Notes are embedded as documents and questions as queries, which many models distinguish. Texts
    are sent to the model in batches of its `embed_batch_size`. Only sync methods of the model are
    called, in the thread of the memory's call.

    Attributes:
        embed_model: The model.
        provider: Class name of the model.
        model_id: Name of the model; vectors of different names are never compared.
        base_url: Address of the server, None for the default; part of the identity.
        azure_endpoint: Address of an Azure resource, None elsewhere; part of the identity.
        azure_deployment: Name of the deployment there; part of the identity.
    """

    def __init__(self, embed_model: BaseEmbedding, *, model_id: str | None = None) -> None:
        """Wrap a model.

        Args:
            embed_model: The model.
            model_id: Name of the model, if `model_name` does not identify its vectors, for
                instance because the model takes an instruction.

        Raises:
            EmbedderError: It is not a LlamaIndex embedding model.
        """
        if not isinstance(embed_model, BaseEmbedding):
            raise EmbedderError(
                f"LlamaIndexEmbedder takes a LlamaIndex BaseEmbedding, such as OpenAIEmbedding(); "
                f"it was given {type(embed_model).__name__}."
            )
        self.embed_model = embed_model
        self.provider = type(embed_model).__name__
        named = embed_model.model_name != _UNNAMED and embed_model.model_name
        self.model_id: str = model_id or named or self.provider
        url = getattr(embed_model, "base_url", None) or getattr(embed_model, "api_base", None)
        self.base_url: str | None = url if isinstance(url, str) else None
        self.azure_endpoint: str | None = getattr(embed_model, "azure_endpoint", None)
        self.azure_deployment: str | None = getattr(embed_model, "azure_deployment", None)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text, in order."""
        return self.embed_model.get_text_embedding_batch(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        return self.embed_model.get_query_embedding(text)

    def __repr__(self) -> str:
        return f"LlamaIndexEmbedder({self.provider}, model_id={self.model_id!r})"
