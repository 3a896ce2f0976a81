"""llama-server on the loopback interface, through its protocol of OpenAI's embeddings."""

from __future__ import annotations

import ipaddress
import json
import os
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from commonplace.embeddings.base import ProviderOptions
from commonplace.embeddings.providers.common import api_key, vector_of, without_suffix
from commonplace.errors import EmbedderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LlamaServer", "check_loopback"]

_SHOWN_CHARS = 200


def check_loopback(base_url: str) -> None:
    """Check that a URL names this machine.

    Raises:
        EmbedderError: It names another one, or is no URL; the message does not show it.
    """
    host = urlsplit(base_url).hostname or ""
    try:
        is_here = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_here = False
    if not is_here or urlsplit(base_url).scheme not in ("http", "https"):
        raise EmbedderError(
            "embedding.base_url is not on this machine; expected for the embedder local is a "
            "llama-server such as http://127.0.0.1:8080. For another machine's, name the embedder "
            "openai."
        )


class LlamaServer:
    """Client of a server that was started as ``llama-server --embedding -m PATH``.

    Args:
        options: Base URL, headers, key, timeout.
        path: Model file that it is expected to serve.
        context: Tokens of a text, at most.

    Raises:
        EmbedderError: It serves another model.
    """

    def __init__(self, options: ProviderOptions, path: str, context: int) -> None:
        self._options = options
        self._url = without_suffix(options.base_url or "", "/v1")
        self._context = context
        # No proxy: the variables of the environment are for other machines.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        served = self._served()
        if served and os.path.basename(served) != os.path.basename(path):
            raise EmbedderError(
                f"the llama-server serves {os.path.basename(served)}, expected is "
                f"{os.path.basename(path)}; start it with -m {path}"
            )

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Return ``(len(texts), d)``, from one request."""
        import numpy as np

        body = {"model": "local", "input": [self._fitting(text) for text in texts]}
        answer = self._post("/v1/embeddings", {**body, "encoding_format": "float"})
        items = sorted(answer["data"], key=lambda item: item["index"])
        return np.stack([vector_of(item["embedding"]) for item in items])

    def close(self) -> None:
        """Keep nothing open: each request has a connection of its own."""

    def _served(self) -> str:
        """Return the path that the server gives as its model's; empty where it gives none."""
        try:
            path = self._request("/props").get("model_path")
        except urllib.error.HTTPError:
            return ""  # another server of this protocol
        return path if isinstance(path, str) else ""

    def _fitting(self, text: str) -> str | list[int]:
        """Return a text, or its first tokens where it may be longer than the context."""
        if len(text.encode()) <= self._context - 2:
            return text
        tokens = self._post("/tokenize", {"content": text, "add_special": True})["tokens"]
        return text if len(tokens) <= self._context else [*tokens[: self._context - 1], tokens[-1]]

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        return self._request(path, json.dumps(body).encode())

    def _request(self, path: str, data: bytes | None = None) -> Any:
        headers = {"content-type": "application/json", **self._options.headers}
        if self._options.api_key_env:
            headers["authorization"] = f"Bearer {api_key(self._options)}"
        request = urllib.request.Request(self._url + path, data, headers)
        with self._opener.open(request, timeout=self._options.timeout_s) as answer:
            text = answer.read().decode("utf-8", "replace")
        try:
            return json.loads(text)
        except ValueError as error:
            raise ValueError(f"it answered with no JSON: {text[:_SHOWN_CHARS]}") from error
