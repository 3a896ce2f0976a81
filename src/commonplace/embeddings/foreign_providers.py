"""Providers of other packages: they are checked when they are constructed."""

from __future__ import annotations

from collections.abc import Callable

from commonplace.embeddings.base import ModelName, Provider, RequestLimits
from commonplace.errors import EmbedderError

__all__ = ["construct_foreign"]


def construct_foreign(name: str, path: str, make: Callable[[], Provider]) -> Provider:
    """Construct a provider of another package.

    Args:
        name: The name of its entry point.
        path: Its class, for messages.
        make: Imports and constructs it.

    Raises:
        EmbedderError: It cannot be loaded, or is no `Provider`.
    """
    try:
        provider = make()
    except EmbedderError:
        raise
    except Exception as error:  # code of another package
        raise EmbedderError(
            f"the embedder {name}, which the entry point {path} provides, cannot be loaded: "
            f"{type(error).__name__}: {error}"
        ) from error
    for attribute, kind in (("name", ModelName), ("limits", RequestLimits)):
        if not isinstance(getattr(provider, attribute, None), kind):
            raise EmbedderError(
                f"the embedder {name}, which the entry point {path} provides, has no "
                f"`{attribute}` of type commonplace.embeddings.base.{kind.__name__}; see Provider "
                "there."
            )
    for method in ("embed_documents", "embed_query"):
        if not callable(getattr(provider, method, None)):
            raise EmbedderError(
                f"the embedder {name}, which the entry point {path} provides, has no method "
                f"`{method}`; see commonplace.embeddings.base.Provider."
            )
    return provider
