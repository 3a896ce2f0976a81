"""Helpers of the vendors' providers: lazy clients, keys, endpoint names, vectors."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from commonplace.embeddings.base import ProviderOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "LazyClient",
    "api_key",
    "endpoint_key",
    "json_errors_with_text",
    "vector_of",
    "without_suffix",
]

NO_KEY = "none"
"""Key where none is set: a server of one's own takes any, and clients insist on one."""

_Made = TypeVar("_Made")


class LazyClient(Generic[_Made]):
    """Vendor's client that is made when it is first called, once for all threads.

    Clients take up to a second to import, which a search without vectors should not pay.

    Args:
        make: Makes the client.
        close: Closes its connections.
    """

    def __init__(
        self, make: Callable[[], _Made], close: Callable[[_Made], object] = lambda _: None
    ) -> None:
        self._make = make
        self._close = close
        self._made: _Made | None = None
        self._lock = threading.Lock()

    def __call__(self) -> _Made:
        """Return the client."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def close(self) -> None:
        """Close the connections; the next call makes another client."""
        with self._lock:
            made, self._made = self._made, None
        if made is not None:
            self._close(made)


def api_key(options: ProviderOptions) -> str:
    """Return the key, without the line break that files of keys end with."""
    return os.environ.get(options.api_key_env or "", "").strip() or NO_KEY


def endpoint_key(base_url: str | None, dimensions: int | None) -> str:
    """Return a digest of what shapes vectors besides the model; it does not show the URL."""
    if not base_url and dimensions is None:
        return ""
    shaping = json.dumps([base_url and base_url.rstrip("/"), dimensions])
    return hashlib.sha256(shaping.encode()).hexdigest()[:16]


def without_suffix(base_url: str, *suffixes: str) -> str:
    """Return a base URL without the version that the client adds itself."""
    url = base_url.rstrip("/")
    for suffix in suffixes:
        url = url.removesuffix(suffix)
    return url.rstrip("/")


def vector_of(embedding: Any) -> NDArray[np.float32]:
    """Return a vector from a list of numbers, or from base64 of little-endian float32."""
    import numpy as np

    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding), dtype="<f4")
    return np.asarray(embedding, dtype=np.float32)


@contextlib.contextmanager
def json_errors_with_text() -> Iterator[None]:
    """Add the beginning of an answer that is no JSON to its error: often a wrong URL's web page."""
    try:
        yield
    except json.JSONDecodeError as error:
        raise ValueError(f"it answered with no JSON: {error.doc[:200]}") from error
