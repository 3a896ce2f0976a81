"""Servers on the loopback interface that speak the embedding protocols of vendors.

They answer with vectors that the text alone decides, can be told to misbehave, and remember what
they were asked::

    with LoopbackVendor("voyage") as server:
        server.fail_next(429, "hang")
        Memory.open(..., embedder="voyage", settings=...base_url=server.base_url)
        server.texts  # each text that it made a vector of
"""

from __future__ import annotations

import json
import threading
import zlib
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

from support.loopback_dialects import DIALECTS, Answer

DIMENSION = 32
PAGE = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Welcome!</body></html>"

FAULTS = ("hang", "cut", "drop", "short", "dimension", "nan", "html", "html-502", "quota", "echo")
"""What `fail_next` takes besides a status, and besides a status with its Retry-After.

``cut`` ends in the middle of an answer and ``drop`` before it; ``html`` is a web page with status
200; ``echo`` refuses the key and repeats it, as vendors do.
"""

Failure = int | str | tuple[int, str]


class Asked(NamedTuple):
    """A request: its method, its path, its headers in lower case, its body."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class LoopbackVendor:
    """The server of a vendor; a context manager.

    Attributes:
        requests: Each request, in order.
        texts: Each text of which a vector was given, in the order of the answers.
        jobs: The vendor's batch interface, where it has one.
    """

    def __init__(self, vendor: str, *, dimension: int = DIMENSION) -> None:
        self.dialect = DIALECTS[vendor](self.vectors)
        self.jobs = self.dialect.jobs
        self.dimension = dimension
        self.requests: list[Asked] = []
        self.texts: list[str] = []
        self._next: deque[Failure | None] = deque()
        self._always: Failure | None = None
        self._every = 0
        self._embedded = 0
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def base_url(self) -> str:
        """The base URL as one would write it for this vendor."""
        return self.root + self.dialect.prefix

    def embeddings(self) -> list[Asked]:
        """Return the requests for vectors, those that were not answered well included."""
        return [asked for asked in self.requests if self.dialect.is_for_vectors(asked.path)]

    def fail_next(self, *faults: Failure | None) -> None:
        """Misbehave in answer to the next requests for vectors, in this order; None is none."""
        self._next.extend(faults)

    def fail_always(self, fault: Failure | None) -> None:
        """Misbehave in answer to all requests for vectors; None makes an end of it."""
        self._always = fault

    def fail_every(self, nth: int, fault: Failure) -> None:
        """Misbehave in answer to every nth request for vectors."""
        self._every, self._always = nth, fault

    def vectors(self, texts: list[str], dimension: int | None) -> list[list[float]]:
        """Return a bag of words of each text: the same text gives the same vector anywhere."""
        with self._lock:
            self.texts += texts
        return [bag_of_words(text, dimension or self.dimension) for text in texts]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                outer._respond(self)

            do_GET = do_DELETE = do_POST  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def _respond(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        data = handler.rfile.read(length)
        if len(data) < length:  # the client was killed in the middle of a request
            handler.close_connection = True
            return
        headers = {name.lower(): value for name, value in handler.headers.items()}
        asked = Asked(handler.command, handler.path, headers, _decoded(data, headers))
        with self._lock:
            self.requests.append(asked)
            fault = self._fault() if self.dialect.is_for_vectors(asked.path) else None
        if fault is None:
            _send(handler, self.dialect.answer(asked, self.root))
        else:
            self._misbehave(handler, asked, fault)

    def _fault(self) -> Failure | None:
        self._embedded += 1
        if self._next:
            return self._next.popleft()
        if self._every and self._embedded % self._every:
            return None
        return self._always

    def _misbehave(self, handler: BaseHTTPRequestHandler, asked: Asked, fault: Failure) -> None:
        if fault == "hang":
            self._stopping.wait(60)
            handler.close_connection = True
        elif fault == "drop":
            handler.close_connection = True
        elif fault == "cut":
            _send(handler, self.dialect.answer(asked, self.root), cut=True)
        elif fault == "html":
            _send(handler, Answer(200, PAGE, "text/html; charset=utf-8"))
        elif fault == "html-502":
            _send(handler, Answer(502, PAGE.replace("Sign in", "Bad gateway"), "text/html"))
        elif fault == "echo":
            key = asked.headers.get("authorization") or asked.headers.get("x-goog-api-key", "")
            _send(handler, self.dialect.failure(401, f"Incorrect API key provided: {key}"))
        elif fault == "quota":
            _send(handler, self.dialect.quota())
        elif isinstance(fault, str):
            _send(handler, self.dialect.answer(asked, self.root, spoil=_SPOILED[fault]))
        else:
            status, wait = fault if isinstance(fault, tuple) else (fault, None)
            answer = self.dialect.failure(status, f"scripted {status}")
            _send(handler, answer, **({} if wait is None else {"Retry-After": wait}))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that hang up."""


def _short(vectors: list[list[float]]) -> list[list[float]]:
    return vectors[:-1]


def _narrow(vectors: list[list[float]]) -> list[list[float]]:
    return [vector[: len(vector) // 2] for vector in vectors]


def _nan(vectors: list[list[float]]) -> list[list[float]]:
    return [[float("nan"), *vector[1:]] for vector in vectors]


_SPOILED = {"short": _short, "dimension": _narrow, "nan": _nan}


def bag_of_words(text: str, dimension: int) -> list[float]:
    vector = [0.0] * dimension
    for word in text.lower().split() or ["nothing"]:
        vector[zlib.crc32(word.encode()) % dimension] += 1.0
    return vector


def _decoded(data: bytes, headers: dict[str, str]) -> Any:
    """Return a JSON body as values, any other one as bytes."""
    is_file = "upload" in headers.get("x-goog-upload-command", "")
    if headers.get("content-type", "").startswith("application/json") and not is_file:
        return json.loads(data or b"null")
    return data


def _send(
    handler: BaseHTTPRequestHandler, answer: Answer, *, cut: bool = False, **headers: str
) -> None:
    body = answer.body
    data = body if isinstance(body, bytes) else body.encode()
    handler.send_response(answer.status)
    handler.send_header("Content-Type", answer.content_type)
    handler.send_header("Content-Length", str(len(data)))
    for name, value in {**answer.headers, **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data[: len(data) // 2] if cut else data)
    if cut:
        handler.close_connection = True
