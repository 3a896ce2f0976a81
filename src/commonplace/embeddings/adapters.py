"""Adapter for any object that embeds, sync or async: two blocking functions."""

from __future__ import annotations

import atexit
import inspect
import os
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from commonplace.embeddings.base import RequestLimits
from commonplace.errors import EmbedderError

if TYPE_CHECKING:
    import asyncio

__all__ = ["EmbedderAdapter"]

_STOP_TIMEOUT_S = 2.0

_LOCAL = RequestLimits(max_texts=512, max_bytes=1 << 30, concurrency=1)
"""Texts that stay in this process are packed for the sake of memory alone."""
_PLAIN = RequestLimits(max_texts=512, concurrency=1)
_ASYNC = RequestLimits(max_texts=512)
_LANGCHAIN = RequestLimits(max_texts=512, max_bytes=64_000, concurrency=1)
"""A LangChain `Embeddings` splits its requests itself, to what its service takes."""


class EmbedderAdapter:
    """Adapter with the two functions of an object; coroutines run on the private event loop.

    Args:
        embedder: The object.

    Raises:
        EmbedderError: The object has no such functions, or is a class.
    """

    def __init__(self, embedder: object) -> None:
        if isinstance(embedder, type):
            name = embedder.__name__
            raise EmbedderError(f"{name} is a class; give an object of it: embedder={name}(...).")
        self._documents = _method(embedder, "embed_documents", "aembed_documents")
        self._query = _method(embedder, "embed_query", "aembed_query")
        self.limits = self._limits(embedder)
        """Limits of its requests: its own, else those of its kind."""
        self._lock = threading.Lock()
        self._holds_loop = False

    def _limits(self, embedder: object) -> RequestLimits:
        own = getattr(embedder, "limits", None)
        if isinstance(own, RequestLimits):
            return own
        if getattr(embedder, "is_local", False):
            return _LOCAL
        kinds = type(embedder).__mro__
        if any(kind.__module__.startswith("langchain_core.embed") for kind in kinds):
            return _LANGCHAIN
        is_async = any(map(_is_coroutine_function, (self._documents, self._query)))
        return _ASYNC if is_async else _PLAIN

    def embed_documents(self, texts: list[str]) -> Any:
        """Return the object's vectors of texts."""
        return self._run(self._documents, texts)

    def embed_query(self, text: str) -> Any:
        """Return the object's vector of a query."""
        return self._run(self._query, text)

    def close(self) -> None:
        """Release the event loop."""
        with self._lock:
            if self._holds_loop:
                self._holds_loop = False
                _LOOP.release()

    def _run(self, method: Callable[[Any], Any], argument: Any) -> Any:
        if _is_coroutine_function(method):
            return self._await(lambda: method(argument))
        answer = method(argument)
        return self._await(lambda: answer) if inspect.isawaitable(answer) else answer

    def _await(self, call: Callable[[], Awaitable[Any]]) -> Any:
        with self._lock:
            if not self._holds_loop:
                self._holds_loop = True
                _LOOP.acquire()
        return _LOOP.run(call)


def _method(embedder: object, *names: str) -> Callable[[Any], Any]:
    for name in names:
        method = getattr(embedder, name, None)
        if callable(method):
            found: Callable[[Any], Any] = method
            return found
    if hasattr(embedder, "get_text_embedding_batch"):
        raise EmbedderError(
            f"{type(embedder).__name__} is an embedding model of LlamaIndex; give "
            "embedder=LlamaIndexEmbedder(model), from llama_index_commonplace."
        )
    raise EmbedderError(
        f"{type(embedder).__name__} has no {names[0]}(): an embedder needs "
        "embed_documents(list[str]) and embed_query(str), sync or async, as every LangChain "
        "Embeddings has."
    )


def _is_coroutine_function(method: Callable[[Any], Any]) -> bool:
    return inspect.iscoroutinefunction(method) or inspect.iscoroutinefunction(
        getattr(method, "__call__", None)  # noqa: B004 - an object whose __call__ is async
    )


class _PrivateLoop:
    """Event loop of all async embedders of this process, in a thread of its own.

    An async client keeps its connections, and fails on any other loop than the one that it was
    first used on ("Event loop is closed"). So there is one loop, and it outlives every `Memory`;
    its thread ends with its last user.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._users = 0
        self._process = os.getpid()

    def acquire(self) -> None:
        """Count a user, the first of which starts the thread."""
        import asyncio

        with self._lock:
            if self._process != os.getpid():  # a fork has no threads of its parent
                self._loop, self._thread, self._users = None, None, 0
                self._process = os.getpid()
            self._users += 1
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                atexit.register(self._end, self._loop)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="commonplace-embeddings", daemon=True
                )
                self._thread.start()

    def release(self) -> None:
        """Count a user less, the last of which stops the thread."""
        with self._lock:
            self._users -= 1
            if self._users <= 0:
                self._stop()

    def run(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Run a coroutine and return its result."""
        import asyncio

        async def awaited() -> Any:
            return await call()

        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result()

    def _stop(self) -> None:
        if self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STOP_TIMEOUT_S)
        if self._thread.is_alive():
            self._loop = None  # a coroutine blocks it; the next user gets another one
        self._thread = None

    def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        if loop is self._loop:
            with self._lock:
                self._stop()
        if not loop.is_running():
            loop.close()


_LOOP = _PrivateLoop()
