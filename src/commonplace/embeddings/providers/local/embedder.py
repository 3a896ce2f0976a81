"""Embedder of a GGUF file: its checks, its identity, its prompts, and the runner that computes."""

from __future__ import annotations

import hashlib
import json
import os
import re
from importlib.util import find_spec
from operator import methodcaller
from typing import TYPE_CHECKING, Protocol

from commonplace.embeddings.base import ModelName, ProviderOptions, RequestLimits
from commonplace.embeddings.providers.common import LazyClient
from commonplace.embeddings.providers.local.gguf_header import GGUFHeader, read_header
from commonplace.embeddings.providers.local.hub import is_hub_name, local_copy
from commonplace.embeddings.providers.local.llama_server import LlamaServer, check_loopback
from commonplace.embeddings.providers.local.model_process import ModelProcess
from commonplace.embeddings.providers.local.prompts import prompts_of
from commonplace.errors import EmbedderError, MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LocalEmbedder"]

MAX_CONTEXT_TOKENS = 2048
"""Tokens of a text, at most, as in OpenClaw: the memory for attention grows with their square."""

_ENCODERS = re.compile(r".*bert(-moe|-v\d)?|gemma-embedding|llama-embed|t5encoder")
_RANK_POOLING = 4
_GGMBED_POOLING = {None: "mean", 1: "mean", 2: "cls"}


class _Runner(Protocol):
    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Return ``(len(texts), d)``, not scaled."""

    def close(self) -> None:
        """Release the model."""


class LocalEmbedder:
    """Embedder of a GGUF file, whose texts stay on this machine.

    Runners, in this order: a ``llama-server`` on the loopback interface, where the settings have
    its base URL; llama-cpp-python; ggmbed, for models of BERT's family. The latter two run in a
    process of their own. A text that is longer than the model's context is cut.

    The name has the file's path and, as endpoint, a digest of its content, of the prompts, and of
    the dimensions: another file in its place makes other vectors. The runner is no part of it.
    """

    limits = RequestLimits(max_texts=32, max_bytes=1 << 16, concurrency=1)
    """Small requests: a query waits for the one under way."""
    price = 0.0

    def __init__(self, options: ProviderOptions) -> None:
        """Check the file; the model is loaded when first used.

        Raises:
            EmbedderError: The file is missing, cut, of another format, or no embedding model.
            MissingExtraError: No runner for it is installed.
        """
        self._path = _path_of(options.model)
        self._header = read_header(self._path)
        _check_embeds(self._path, self._header)
        full = self._header.number("{arch}.embedding_length") or 0
        if options.dimensions and full and options.dimensions > full:
            raise EmbedderError(
                f"embedding.dimensions is {options.dimensions}, and the model {self._path} gives "
                f"{full}; it must be at most that."
            )
        self._options = options
        self.dimension = options.dimensions or full or None
        self._prompts = prompts_of(
            self._header.text("general.name"),
            self._header.text("general.basename"),
            os.path.basename(self._path),
            self._header.architecture,
        )
        shaping = [self._header.digest, self._prompts.query, self._prompts.document]
        key = json.dumps([*shaping, options.dimensions])
        self.name = ModelName("local", self._path, hashlib.sha256(key.encode()).hexdigest()[:32])
        self.is_local = options.base_url is None
        self._runner_class = self._runner()
        self.runner: LazyClient[_Runner] = LazyClient(self._start, methodcaller("close"))

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """Return ``(len(texts), d)``."""
        return self._embed([self._prompts.document + text for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return ``(d,)``."""
        vector: NDArray[np.float32] = self._embed([self._prompts.query + text])[0]
        return vector

    def close(self) -> None:
        """Release the model; the next call loads it again."""
        self.runner.close()

    def _embed(self, texts: list[str]) -> NDArray[np.float32]:
        try:
            rows = self.runner().embed(texts)
        except EmbedderError:
            self.close()  # a model whose process ended is loaded again by the next call
            raise
        return rows[:, : self._options.dimensions]

    def _runner(self) -> str:
        """Return the name of the runner that is there.

        Raises:
            MissingExtraError: There is none.
        """
        if self._options.base_url is not None:
            check_loopback(self._options.base_url)
            return "llama-server"
        if find_spec("llama_cpp") is not None:
            return "llama_cpp"
        is_bert = self._header.text("tokenizer.ggml.model") == "bert"
        pooling = self._header.number("{arch}.pooling_type")
        if find_spec("ggmbed") is not None and is_bert and pooling in _GGMBED_POOLING:
            return "ggmbed"
        raise MissingExtraError(
            f"the model {self._path} needs llama.cpp: pip install 'commonplace[local]' (it is "
            "built from source), or name a llama-server of this machine with embedding.base_url."
        )

    def _start(self) -> _Runner:
        header, options = self._header, self._options
        context = header.number("{arch}.context_length") or 512
        context = min(context, MAX_CONTEXT_TOKENS)
        if options.base_url is not None:
            return LlamaServer(options, self._path, context)
        pooling = header.number("{arch}.pooling_type")
        return ModelProcess(
            {
                "runner": self._runner_class,
                "path": self._path,
                "context": context,
                "threads": options.threads or max(1, _processors() // 2),
                "pooling": _GGMBED_POOLING.get(pooling, ""),
                "first": header.number("tokenizer.ggml.cls_token_id")
                or header.number("tokenizer.ggml.bos_token_id"),
                "last": header.number("tokenizer.ggml.seperator_token_id")
                or header.number("tokenizer.ggml.eos_token_id"),
            }
        )


def _path_of(model: str) -> str:
    if not model:
        raise EmbedderError(
            "the embedder local needs a model: local:PATH.gguf, for example "
            "local:~/models/embeddinggemma-300m-Q8_0.gguf"
        )
    if is_hub_name(model):
        return local_copy(model)
    return os.path.abspath(os.path.expanduser(model))


def _check_embeds(path: str, header: GGUFHeader) -> None:
    architecture, pooling = header.architecture, header.number("{arch}.pooling_type")
    if pooling == _RANK_POOLING:
        raise EmbedderError(
            f"{path} is a reranking model; expected is an embedding model, such as "
            "embeddinggemma, nomic-embed-text, bge or e5."
        )
    is_encoder = bool(_ENCODERS.fullmatch(architecture) or pooling)
    is_encoder |= header.metadata.get(f"{architecture}.attention.causal") is False
    name = f"{header.text('general.name')} {os.path.basename(path)}"
    if not is_encoder and not re.search(r"embed|\be5\b", name, re.IGNORECASE):
        raise EmbedderError(
            f"{path} is a chat model (architecture {architecture!r}, without pooling); expected "
            "is an embedding model, such as embeddinggemma, nomic-embed-text, bge or e5."
        )


def _processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
