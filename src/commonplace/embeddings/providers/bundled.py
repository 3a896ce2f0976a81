"""Bundled provider, the default: static word vectors that the WordLlama package carries.

The package's data is read directly. Its code is not imported, for it configures the user's logging,
loads an HTTP client, and searches for the data in the wrong folder.
"""

from __future__ import annotations

import json
import os
import re
import threading
import weakref
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.embeddings.base import ModelName, ProviderOptions, RequestLimits
from commonplace.errors import EmbedderError, MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

__all__ = ["BundledEmbedder", "TokenVectors", "is_available"]

_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_BATCH = 64
_LETTER = re.compile(r"[^\W\d_]")
_SPELLED = re.compile(
    "[\u0370-\u03ff\u0530-\u10ff\u1200-\u18ff\u1f00-\u1fff\ufb1d-\ufdff\ufe70-\ufeff]"
)
"""Letters of Greek, Hebrew, Arabic, Indic scripts, Thai, and others, of which the
model has no words: it adds up the vectors of their letters."""


def _folder() -> Path | None:
    spec = find_spec("wordllama")
    locations = spec.submodule_search_locations if spec else None
    return Path(next(iter(locations))) if locations else None


def is_available() -> bool:
    """Return whether the vectors are installed; WordLlama has wheels for some platforms only."""
    folder = _folder()
    return bool(folder and (folder / _WEIGHTS).is_file() and (folder / _TOKENIZER).is_file())


class BundledEmbedder:
    """Embedder that averages WordLlama's 256-dimension token vectors; no network, no key.

    A text of 1,400 characters takes about a millisecond and a half. All embedders of a process
    share one `TokenVectors`, which is loaded when it is first used.
    """

    name = ModelName("bundled", "wordllama-l2-supercat-256")
    dimension = 256
    is_local = True
    limits = RequestLimits(max_texts=512, max_bytes=1 << 20, concurrency=1)
    price = 0.0

    def __init__(self, options: ProviderOptions | None = None) -> None:
        if options and options.model not in ("", self.name.model):
            raise EmbedderError(
                f"there is no bundled model {options.model!r}; use 'bundled', which is "
                f"{self.name.model}."
            )
        if not is_available():
            raise MissingExtraError(
                "the bundled vectors need the package wordllama, which is not installed (it has "
                "wheels for some platforms only): pip install wordllama, or search by keywords "
                "with embedder=None."
            )
        self._model: TokenVectors | None = None

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """Return ``(len(texts), 256)``, unit rows."""
        import numpy as np

        model = self._model = self._model or TokenVectors.shared()
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for at in range(0, len(texts), _BATCH):
            for row, ids in enumerate(model.token_ids(texts[at : at + _BATCH]), start=at):
                if ids:
                    vectors[row] = model.table[ids].sum(axis=0)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.where(norms > 0, norms, 1.0)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a text as a question: ``(256,)``, of length 1.

        The model tells "what" from "What", and a question by its mark: words that are typed fast
        would be far from the sentences that answer them.
        """
        asked = text[:1].upper() + text[1:] + ("?" if text[-1:].isalnum() else "")
        vector: NDArray[np.float32] = self.embed_documents([asked])[0]
        return vector

    def knows_script(self, text: str) -> bool:
        """Return whether the model knows words of the script that most of a text is in."""
        if text.isascii():
            return True
        letters = _LETTER.findall(text)
        return 2 * sum(map(bool, map(_SPELLED.match, letters))) <= len(letters)

    def close(self) -> None:
        """Release the token vectors; they are freed when no other embedder uses them."""
        self._model = None


class TokenVectors:
    """Tokenizer and token vectors of WordLlama: 44 MB, loaded once a process, thread-safe."""

    _lock = threading.Lock()
    _loaded: weakref.ref[TokenVectors] | None = None

    @classmethod
    def renew(cls) -> None:
        """Load them again in a forked process: a thread may have been in the middle of it."""
        cls._lock, cls._loaded = threading.Lock(), None

    def __init__(self, tokenizer: Tokenizer, table: NDArray[np.float32]) -> None:
        self.table = table
        self._tokenizer = tokenizer

    @classmethod
    def shared(cls) -> TokenVectors:
        """Return the ones that are in use, else load them.

        Raises:
            EmbedderError: The package's files cannot be read.
        """
        with cls._lock:
            model = cls._loaded() if cls._loaded else None
            if model is None:
                model = cls._read()
                cls._loaded = weakref.ref(model)
            return model

    def token_ids(self, texts: list[str]) -> Iterator[list[int]]:
        """Yield the ids of each text's tokens."""
        for encoding in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False):
            yield encoding.ids

    @classmethod
    def _read(cls) -> TokenVectors:
        import numpy as np
        from safetensors import safe_open

        folder = _folder()
        assert folder is not None  # checked when the embedder was made
        try:
            tokenizer = _tokenizer(folder / _TOKENIZER)
            tokenizer.no_padding()
            tokenizer.no_truncation()
            with safe_open(str(folder / _WEIGHTS), framework="np") as weights:
                table = weights.get_tensor("embedding.weight")
        except Exception as error:  # the tokenizers package raises bare Exception
            raise EmbedderError(
                f"the vectors in {folder} cannot be read ({error}); reinstall them: "
                "pip install --force-reinstall wordllama"
            ) from error
        return cls(tokenizer, np.ascontiguousarray(table, dtype=np.float32))


class _Pairs(Sequence[tuple[str, str]]):
    """Pairs that a tokenizer merges, split one by one as the tokenizer reads them.

    All at once they are enough objects to start a garbage collection of the whole process.
    """

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, at: Any) -> Any:
        return _pair(self._texts[at])

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return map(_pair, self._texts)


def _pair(text: str) -> tuple[str, str]:
    first, second = text.split(" ")
    return first, second


def _tokenizer(path: Path) -> Tokenizer:
    """Read a tokenizer in steps: the package blocks all other threads while it reads a file."""
    from tokenizers import Tokenizer, models

    config = json.loads(path.read_bytes())
    model = config["model"]
    empty = config | {"model": model | {"vocab": {}, "merges": []}}
    options = {name: model[name] for name in ("unk_token", "fuse_unk", "byte_fallback")}
    tokenizer = Tokenizer.from_str(json.dumps(empty))
    # Without the cache of whole texts, which would take 15 KB for each of 10,000.
    tokenizer.model = models.BPE(
        model["vocab"], _Pairs(model["merges"]), cache_capacity=0, **options
    )
    return tokenizer


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=TokenVectors.renew)
