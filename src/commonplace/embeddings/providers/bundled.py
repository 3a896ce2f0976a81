"""The default that works at once: static word vectors that the WordLlama package carries.

The package's data is read directly, its code is not imported: that would configure the user's
logging and load an HTTP client, and its loader looks for the data where it is not.
"""

from __future__ import annotations

import json
import threading
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

__all__ = ["BundledEmbedder", "is_available"]

_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_BATCH = 64


def _folder() -> Path | None:
    spec = find_spec("wordllama")
    locations = spec.submodule_search_locations if spec else None
    return Path(next(iter(locations))) if locations else None


def is_available() -> bool:
    """Tell whether the vectors are installed; WordLlama has wheels for some platforms only."""
    folder = _folder()
    return bool(folder and (folder / _WEIGHTS).is_file() and (folder / _TOKENIZER).is_file())


class BundledEmbedder:
    """Averages of WordLlama's 256-dimension token vectors; loaded when first used.

    A text costs about a millisecond and a half for 1,400 characters; no network, no key.
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
        self._lock = threading.Lock()
        self._loaded: tuple[Tokenizer, NDArray[np.float32]] | None = None

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """Return ``(len(texts), 256)``, unit rows."""
        import numpy as np

        tokenizer, table = self._load()
        vectors = np.zeros((len(texts), table.shape[1]), dtype=np.float32)
        for at in range(0, len(texts), _BATCH):
            batch = tokenizer.encode_batch_fast(texts[at : at + _BATCH], add_special_tokens=False)
            for row, encoding in enumerate(batch, start=at):
                if encoding.ids:
                    vectors[row] = table[encoding.ids].sum(axis=0)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.where(norms > 0, norms, 1.0)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return ``(256,)``, of length 1."""
        vector: NDArray[np.float32] = self.embed_documents([text])[0]
        return vector

    def _load(self) -> tuple[Tokenizer, NDArray[np.float32]]:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._read()
            return self._loaded

    @staticmethod
    def _read() -> tuple[Tokenizer, NDArray[np.float32]]:
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
        return tokenizer, np.ascontiguousarray(table, dtype=np.float32)


class _Pairs(Sequence[tuple[str, str]]):
    """The pairs that a tokenizer joins, made of texts one by one while they are taken over.

    All at once, they are so many objects that Python would look for garbage in the whole process.
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
    """Read a tokenizer in steps: while the package reads a whole file, no other thread can run."""
    from tokenizers import Tokenizer, models

    config = json.loads(path.read_bytes())
    model = config["model"]
    empty = config | {"model": model | {"vocab": {}, "merges": []}}
    options = {name: model[name] for name in ("unk_token", "fuse_unk", "byte_fallback")}
    tokenizer = Tokenizer.from_str(json.dumps(empty))
    # Its cache keeps whole texts, for it does not cut them into words: 15 KB for each of 10,000.
    tokenizer.model = models.BPE(
        model["vocab"], _Pairs(model["merges"]), cache_capacity=0, **options
    )
    return tokenizer
