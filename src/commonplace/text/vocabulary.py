"""Vocabularies of OpenAI's tokenizers, loaded from files that are on the disk already."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
import sys
import tempfile
from binascii import a2b_base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tiktoken

__all__ = ["built_encoding", "load_encoding", "vocabulary_folders"]


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """A vocabulary that OpenAI published.

    Attributes:
        name: The encoding's name in tiktoken.
        file_name: SHA-1 of its address, the file's name in tiktoken's cache.
        sha256: Checksum of the file's content. It is checked here, and tiktoken's own loader is
            never used, because that deletes a file that differs and downloads it again.
        pattern: Regular expression that splits a text before pairs of bytes are merged.
    """

    name: str
    file_name: str
    sha256: str
    pattern: str


_WORD_TAIL = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"

_VOCABULARIES = (
    _Vocabulary(
        "o200k_base",
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        "|".join(
            (
                rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_WORD_TAIL}",
                rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_WORD_TAIL}",
                r"\p{N}{1,3}",
                r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                r"\s*[\r\n]+",
                r"\s+(?!\S)",
                r"\s+",
            )
        ),
    ),
    _Vocabulary(
        "cl100k_base",
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
)


def vocabulary_folders() -> list[Path]:
    """List the cache folders of tiktoken and LlamaIndex, without importing either."""
    named = (os.environ.get(name) for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"))
    return [*(Path(folder) for folder in named if folder), *_default_folder(), *_bundled_folders()]


def _default_folder() -> list[Path]:
    try:
        return [Path(tempfile.gettempdir(), "data-gym-cache")]
    except FileNotFoundError:  # no temporary folder is writable
        return []


def _bundled_folders() -> list[Path]:
    try:
        spec = importlib.util.find_spec("llama_index")
    except ValueError:  # a module of that name without a spec is loaded
        return []
    roots = (spec.submodule_search_locations or ()) if spec else ()
    return [Path(root, "core", "_static", "tiktoken_cache") for root in roots]


def built_encoding() -> tiktoken.Encoding | None:
    """Return an encoding that tiktoken has built in this process, such as for LlamaIndex."""
    built = getattr(sys.modules.get("tiktoken.registry"), "ENCODINGS", {})
    found = (built.get(vocabulary.name) for vocabulary in _VOCABULARIES)
    return next(filter(None, found), None)


def load_encoding(folders: Sequence[Path]) -> tiktoken.Encoding | None:
    """Build o200k_base, else cl100k_base, from the first folder with an undamaged file.

    It takes about 0.2 s, most of it in one call that holds the GIL.
    """
    for vocabulary in _VOCABULARIES:
        for folder in folders:
            data = _read_verified(folder / vocabulary.file_name, sha256=vocabulary.sha256)
            if data is not None:
                return _build_encoding(vocabulary, data)
    return None


def _read_verified(path: Path, *, sha256: str) -> bytes | None:
    try:
        # Only a regular file: reading a named pipe would block for ever.
        data = path.read_bytes() if path.is_file() else b""
    except OSError:
        return None
    return data if hashlib.sha256(data).hexdigest() == sha256 else None


def _build_encoding(vocabulary: _Vocabulary, data: bytes) -> tiktoken.Encoding:
    import tiktoken

    lines = map(bytes.split, io.BytesIO(data))
    return tiktoken.Encoding(
        vocabulary.name,
        pat_str=vocabulary.pattern,
        mergeable_ranks={a2b_base64(token): int(rank) for token, rank in lines},
        special_tokens={},
    )
