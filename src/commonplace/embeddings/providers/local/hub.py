"""Model files of the Hugging Face hub, ``hf:OWNER/REPOSITORY/FILE.gguf``.

A name is looked up on this machine. Nothing is fetched but by `fetch`, which ``commonplace
fetch-model`` calls after it has said how large the file is and has been allowed to.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec

from commonplace.errors import EmbedderError, MissingExtraError

__all__ = ["fetch", "is_hub_name", "local_copy", "size_of"]

_PREFIX = "hf:"


def is_hub_name(model: str) -> bool:
    """Return whether a model's name is one of the hub."""
    return model.startswith(_PREFIX)


def local_copy(name: str) -> str:
    """Return the path of a model that is on this machine already.

    Raises:
        EmbedderError: It is not, or the name is none of a file.
    """
    for path in _copies(*_parts(name)):
        if os.path.isfile(path):
            return path
    raise EmbedderError(
        f"the model {name} is not on this machine, and nothing is fetched unasked; "
        f"'commonplace fetch-model {name}' says its size and fetches it."
    )


def size_of(name: str) -> int:
    """Ask the hub for the size of a model in bytes.

    Raises:
        EmbedderError: The hub does not answer, or does not have it.
        MissingExtraError: huggingface-hub is not installed.
    """
    _check_installed()
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    repository, file = _parts(name)
    try:
        size = get_hf_file_metadata(hf_hub_url(repository, file), timeout=10).size
    except Exception as error:  # the client's own, and those of its HTTP client
        raise _unreachable(name, error) from error
    if size is None:
        raise EmbedderError(f"the hub does not say how large {name} is; nothing was fetched.")
    return size


def fetch(name: str) -> str:
    """Fetch a model into the hub's cache on this machine, and return its path.

    Raises:
        EmbedderError: The hub does not answer, or does not have it.
    """
    _check_installed()
    from huggingface_hub import hf_hub_download

    repository, file = _parts(name)
    try:
        return str(hf_hub_download(repository, file))
    except Exception as error:  # the client's own, and those of its HTTP client
        raise _unreachable(name, error) from error


def _copies(repository: str, file: str) -> Iterator[str]:
    """Yield the paths where the hub's client and node-llama-cpp, OpenClaw's runner, keep it."""
    if find_spec("huggingface_hub") is not None:
        from huggingface_hub import try_to_load_from_cache

        cached = try_to_load_from_cache(repository, file)
        if isinstance(cached, str):
            yield cached
    owner, base = repository.partition("/")[0], file.rpartition("/")[2]
    yield os.path.expanduser(f"~/.node-llama-cpp/models/hf_{owner}_{base}")


def _parts(name: str) -> tuple[str, str]:
    parts = name.removeprefix(_PREFIX).split("/")
    is_safe = all(part and part not in (".", "..") and "\\" not in part for part in parts)
    if len(parts) < 3 or not is_safe or not name.endswith(".gguf"):
        raise EmbedderError(
            f"{name!r} names no file of the hub; expected is hf:OWNER/REPOSITORY/FILE.gguf, for "
            "example hf:ggml-org/embeddinggemma-300m-qat-q8_0-GGUF/"
            "embeddinggemma-300m-qat-Q8_0.gguf"
        )
    return "/".join(parts[:2]), "/".join(parts[2:])


def _check_installed() -> None:
    if find_spec("huggingface_hub") is None:
        raise MissingExtraError(
            "fetching a model needs the package huggingface-hub: pip install huggingface-hub"
        )


def _unreachable(name: str, error: Exception) -> EmbedderError:
    reason = " ".join(str(error).split())[:200]
    return EmbedderError(
        f"{name} was not fetched ({type(error).__name__}: {reason}); check the name and the "
        "network, or name a file that is here: local:PATH.gguf"
    )
