"""Protocols of embedders and providers, and their values."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from commonplace.vectors import Matrix, Vector

__all__ = [
    "Embedder",
    "ModelName",
    "Provider",
    "ProviderOptions",
    "RequestLimits",
]


@runtime_checkable
class Embedder(Protocol):
    """Object that turns texts into vectors of one length, as every LangChain `Embeddings` does.

    The texts themselves are embedded: never a path, a name or a date.
    """

    def embed_documents(self, texts: list[str]) -> Sequence[Sequence[float]] | Matrix:
        """Return one vector for each text, in order."""

    def embed_query(self, text: str) -> Sequence[float] | Vector:
        """Return the vector of a query."""


@dataclass(frozen=True, slots=True)
class ModelName:
    """Identity of vectors: provider, model and endpoint. Only vectors of one name are compared.

    Attributes:
        provider: ``bundled``, ``openai``, …, or the class of an object that was passed in.
        model: The model's name.
        endpoint: Key of anything else that shapes the vectors; "" for nothing.
    """

    provider: str
    model: str
    endpoint: str = ""

    @classmethod
    def of(cls, embedder: object) -> ModelName:
        """Name an object by its `model_id`, else `model`, `model_name`.

        Without any, by the embedder that it wraps, else by its class.
        """
        kind = type(embedder).__name__
        for attribute in ("model_id", "model", "model_name"):
            value = getattr(embedder, attribute, None)
            if isinstance(value, str) and value:
                return cls(_text(embedder, "provider") or kind, value, _endpoint(embedder))
        wrapped = _wrapped(embedder)
        if wrapped is not None:
            return cls.of(wrapped)
        return cls(_text(embedder, "provider") or kind, kind, _endpoint(embedder))


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """Options of a provider's constructor: `EmbeddingSettings`, resolved.

    Attributes:
        model: The vendor's model; "" is the provider's default.
        dimensions: Length of the vectors, where the vendor lets one choose; None is the model's.
        base_url: Another endpoint of the same protocol; None is the vendor's (or what the
            vendor's own environment variable says).
        headers: Headers sent with each request; their values may be secrets.
        api_key_env: The environment variable that holds the key; None is the vendor's usual one.
        timeout_s: Seconds that one request may take.
        threads: Threads of a local model; None is half of the processors.
    """

    model: str = ""
    dimensions: int | None = None
    base_url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    api_key_env: str | None = None
    timeout_s: float = 60.0
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of one request of a provider, and of how many are under way at once.

    Attributes:
        max_texts: Texts in a request, at most.
        max_bytes: Bytes of UTF-8 in a request, at most; a longer text travels alone.
        concurrency: Requests at once; 1 embeds in the calling thread.
    """

    max_texts: int = 2048
    max_bytes: int = 8000
    concurrency: int = 4


class Provider(Protocol):
    """Provider that is selected by name; its module is imported when it is first selected.

    It is constructed with a `ProviderOptions`. `embed_documents` is one request to the vendor:
    packing, rate limits and retries are `EmbeddingClient`'s. The vendor client's own retries are
    off, and its exceptions are raised unchanged. Optional attributes: ``dimension`` (int, when it
    is known before the first answer), ``knows_script(text)`` (whether it knows words of the script
    of a question, which is answered by its words alone where not), ``close()``, and ``jobs``
    (`batch_jobs.base.BatchJobs`).
    """

    name: ModelName
    is_local: bool
    """Whether texts are embedded in this process, without a network."""
    limits: RequestLimits
    price: float | None
    """US dollars for a million tokens; None where it is not known, 0 where there is none."""

    def embed_documents(self, texts: list[str]) -> Any:
        """Return one vector for each text, in order."""

    def embed_query(self, text: str) -> Any:
        """Return the vector of a query."""


def _text(embedder: object, attribute: str) -> str | None:
    value = getattr(embedder, attribute, None)
    return value if isinstance(value, str) and value else None


def _wrapped(embedder: object) -> object | None:
    """Return the embedder whose vectors an object of LangChain hands on, as its cache does."""
    held = getattr(embedder, "__dict__", {})  # a mock has any attribute
    return held.get("underlying_embeddings") or held.get("base_embeddings")


def _endpoint(embedder: object) -> str:
    """Return a digest of the object's base URL, for the URL itself may hold a key."""
    urls = ("base_url", "openai_api_base", "api_base", "endpoint")
    parts = [next(filter(None, (_text(embedder, name) for name in urls)), "")]
    if azure := _text(embedder, "azure_endpoint"):
        # Elsewhere, a deployment is a default that says nothing.
        names = ("azure_deployment", "deployment")
        parts += [azure, *filter(None, (_text(embedder, name) for name in names))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16] if any(parts) else ""
