"""An OpenAI-compatible server on the loopback interface: chat with tool calls, and embeddings.

It plays a script, can be told to misbehave, and remembers what it was asked::

    with LoopbackOpenAI(answer=lambda body: "hello") as server:
        ChatOpenAI(base_url=server.base_url, api_key="x", model="m").invoke("hi")
        server.fail_next(429, 500, "broken", "slow")
"""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

DIMENSION = 32


def calling(name: str, /, call_id: str = "call_1", **arguments: Any) -> dict[str, Any]:
    """Return an answer of the assistant that calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": call_id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


class LoopbackOpenAI:
    """The server; a context manager.

    Attributes:
        requests: ``(path, body)`` of each request, in order.
        slow_s: How long a slow answer takes to begin.
    """

    def __init__(
        self,
        answer: Callable[[dict[str, Any]], str | dict[str, Any]] = lambda body: "ok",
        *,
        slow_s: float = 2.0,
        usage: dict[str, int] | None = None,
    ) -> None:
        self.answer = answer
        self.slow_s = slow_s
        self.usage = usage or {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self._faults: deque[int | str] = deque()
        self._stopping = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def chats(self) -> list[dict[str, Any]]:
        """Return the bodies of the chat requests."""
        return [body for path, body in self.requests if path.endswith("/chat/completions")]

    def fail_next(self, *faults: int | str) -> None:
        """Answer the next requests with a status, ``broken`` JSON, ``slow``ly, or by hanging up."""
        self._faults.extend(faults)

    def recover(self) -> None:
        """Answer as it should from now on."""
        self._faults.clear()

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

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append((self.path, body))
                outer._respond(self, body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def _respond(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        fault = self._faults.popleft() if self._faults else None
        if fault == "hangup":
            handler.close_connection = True
            return
        if fault == "slow":
            self._stopping.wait(self.slow_s)
        if isinstance(fault, int):
            error = {"message": f"scripted {fault}", "type": "scripted", "code": None}
            _send(handler, fault, {"error": error})
        elif fault == "broken":
            _send(handler, 200, '{"choices": [{"mess')
        elif handler.path.endswith("/embeddings"):
            _send(handler, 200, self._embeddings(body))
        elif handler.path.endswith("/chat/completions"):
            self._chat(handler, body)
        else:
            _send(handler, 404, {"error": {"message": f"no {handler.path}"}})

    def _chat(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        message = self.answer(body)
        if isinstance(message, str):
            message = {"role": "assistant", "content": message}
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        head = {"id": "chatcmpl-1", "created": int(time.time()), "model": body["model"]}
        if body.get("stream"):
            _send_stream(handler, head, message, finish, self.usage)
            return
        choice = {"index": 0, "message": message, "finish_reason": finish}
        whole = head | {"object": "chat.completion", "choices": [choice], "usage": self.usage}
        _send(handler, 200, whole)

    def _embeddings(self, body: dict[str, Any]) -> dict[str, Any]:
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        data = [
            {"object": "embedding", "index": n, "embedding": _bag_of_words(str(text))}
            for n, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return {"object": "list", "data": data, "model": body["model"], "usage": usage}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that hang up."""


def _bag_of_words(text: str) -> list[float]:
    vector = [0.0] * DIMENSION
    for word in text.lower().split() or ["nothing"]:
        vector[zlib.crc32(word.encode()) % DIMENSION] += 1.0
    return vector


def _send(handler: BaseHTTPRequestHandler, status: int, body: dict[str, Any] | str) -> None:
    data = (body if isinstance(body, str) else json.dumps(body)).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data)))
    if status == 429:
        handler.send_header("Retry-After", "0")
    handler.end_headers()
    handler.wfile.write(data)


def _send_stream(
    handler: BaseHTTPRequestHandler,
    head: dict[str, Any],
    message: dict[str, Any],
    finish: str,
    usage: dict[str, int],
) -> None:
    calls = [dict(call, index=n) for n, call in enumerate(message.get("tool_calls") or [])]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": f"{word} "} for word in (message.get("content") or "").split()]
    deltas += [{"tool_calls": [call]} for call in calls]
    events: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    events.append({"choices": [], "usage": usage})
    lines = [
        "data: " + json.dumps(head | {"object": "chat.completion.chunk"} | event) + "\n\n"
        for event in events
    ]
    data = ("".join(lines) + "data: [DONE]\n\n").encode()
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)
