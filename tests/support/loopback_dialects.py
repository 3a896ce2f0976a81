"""How each vendor's embedding protocol is spoken, for the servers of `loopback_vendors`."""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from email.parser import BytesParser
from typing import Any, ClassVar

Vectors = list[list[float]]


@dataclass(frozen=True)
class Answer:
    """What is sent back."""

    status: int
    body: str | bytes
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


def answer_of(value: Any, status: int = 200, **headers: str) -> Answer:
    return Answer(status, json.dumps(value), headers=headers)


class Dialect:
    """A protocol; `vectors(texts, dimension)` makes what it answers with."""

    prefix = ""
    """What a base URL has besides the host."""
    path = r"/embeddings$"
    """Of requests for vectors."""
    jobs: Any = None

    def __init__(self, vectors: Callable[[list[str], int | None], Vectors]) -> None:
        self.vectors = vectors

    def is_for_vectors(self, path: str) -> bool:
        return re.search(self.path, path.partition("?")[0]) is not None

    def answer(self, asked: Any, root: str, spoil: Callable[[Vectors], Vectors] = list) -> Answer:
        if asked.method == "POST" and self.is_for_vectors(asked.path):
            texts, dimension = self.texts_of(asked.body)
            return answer_of(self.told(asked.body, spoil(self.vectors(texts, dimension))))
        if self.jobs is not None:
            return self.jobs.answer(asked, root)
        return self.failure(404, f"there is no {asked.path}")

    def texts_of(self, body: dict[str, Any]) -> tuple[list[str], int | None]:
        raise NotImplementedError

    def told(self, body: dict[str, Any], vectors: Vectors) -> dict[str, Any]:
        raise NotImplementedError

    def failure(self, status: int, message: str) -> Answer:
        raise NotImplementedError

    def quota(self) -> Answer:
        return self.failure(429, "You exceeded your current quota, please check your plan.")


class OpenAI(Dialect):
    prefix = "/v1"
    dimension_name: ClassVar = "dimensions"

    def __init__(self, vectors: Callable[[list[str], int | None], Vectors]) -> None:
        super().__init__(vectors)
        self.jobs = FileJobs(self)

    def texts_of(self, body: dict[str, Any]) -> tuple[list[str], int | None]:
        texts = body["input"]
        return [texts] if isinstance(texts, str) else texts, body.get(self.dimension_name)

    def told(self, body: dict[str, Any], vectors: Vectors) -> dict[str, Any]:
        encode = _base64 if body.get("encoding_format") == "base64" else list
        data = [
            {"object": "embedding", "index": n, "embedding": encode(vector)}
            for n, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": len(vectors), "completion_tokens": 0, "total_tokens": 9}
        return {
            "id": "1",
            "object": "list",
            "data": data,
            "model": body.get("model"),
            "usage": usage,
        }

    def failure(self, status: int, message: str) -> Answer:
        error = {"message": message, "type": "scripted", "param": None, "code": None}
        return answer_of({"error": error}, status)

    def quota(self) -> Answer:
        error = {"message": "You exceeded your current quota.", "code": "insufficient_quota"}
        return answer_of({"error": error | {"type": "insufficient_quota"}}, 429)


class Voyage(OpenAI):
    dimension_name = "output_dimension"

    def failure(self, status: int, message: str) -> Answer:
        return answer_of({"detail": message}, status)

    def quota(self) -> Answer:
        return Dialect.quota(self)


class Mistral(OpenAI):
    dimension_name = "output_dimension"

    def __init__(self, vectors: Callable[[list[str], int | None], Vectors]) -> None:
        super().__init__(vectors)
        self.jobs = None

    def failure(self, status: int, message: str) -> Answer:
        error = {"object": "error", "message": message, "type": "scripted", "code": "0000"}
        return answer_of(error, status)

    def quota(self) -> Answer:
        return Dialect.quota(self)


class Gemini(Dialect):
    prefix = "/v1beta"
    path = r":(batchEmbedContents|embedContent)$"

    def __init__(self, vectors: Callable[[list[str], int | None], Vectors]) -> None:
        super().__init__(vectors)
        self.jobs = GeminiJobs(self)

    def texts_of(self, body: dict[str, Any]) -> tuple[list[str], int | None]:
        requests = body.get("requests") or [body]
        texts = ["".join(part["text"] for part in one["content"]["parts"]) for one in requests]
        return texts, requests[0].get("outputDimensionality")

    def told(self, body: dict[str, Any], vectors: Vectors) -> dict[str, Any]:
        told = [{"values": vector} for vector in vectors]
        return {"embeddings": told} if "requests" in body else {"embedding": told[0]}

    def failure(self, status: int, message: str) -> Answer:
        name = {429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}.get(status, "UNKNOWN")
        return answer_of({"error": {"code": status, "message": message, "status": name}}, status)


class Ollama(Dialect):
    path = r"^/api/embed$"

    def texts_of(self, body: dict[str, Any]) -> tuple[list[str], int | None]:
        texts = body["input"]
        return [texts] if isinstance(texts, str) else texts, body.get("dimensions")

    def told(self, body: dict[str, Any], vectors: Vectors) -> dict[str, Any]:
        return {"model": body["model"], "embeddings": vectors, "prompt_eval_count": 9}

    def failure(self, status: int, message: str) -> Answer:
        return answer_of({"error": message}, status)


DIALECTS: dict[str, type[Dialect]] = {
    "gemini": Gemini,
    "mistral": Mistral,
    "ollama": Ollama,
    "openai": OpenAI,
    "voyage": Voyage,
}


# -- batch interfaces ------------------------------------------------------------------------------


class Jobs:
    """Files and the jobs over them.

    Attributes:
        polls: How often a job is looked at before it is through.
        outcome: The vendor's word for how jobs end.
        unanswered: Places of texts for which no vector is given.
        submitted: The texts of each job, in order; `cancelled`: ids of jobs.
        broken: Whether a job cannot even be made.
    """

    running, outcome = "in_progress", "completed"

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.polls = 1
        self.unanswered: frozenset[int] = frozenset()
        self.broken = False
        self.submitted: list[list[str]] = []
        self.cancelled: list[str] = []
        self.files: dict[str, bytes] = {}
        self.jobs: dict[str, dict[str, Any]] = {}
        self.looks: dict[str, int] = {}

    def keep(self, content: bytes) -> str:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = content
        return name

    def lines(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.files[name].decode().splitlines()]

    def begin(self, job: dict[str, Any], texts: list[str]) -> str:
        name = f"job-{len(self.jobs) + 1}"
        self.jobs[name] = job
        self.looks[name] = 0
        self.submitted.append(texts)
        return name

    def state_of(self, name: str) -> str:
        """Count a look at a job and tell how it stands."""
        self.looks[name] += 1
        return self.running if self.looks[name] <= self.polls else self.outcome


class FileJobs(Jobs):
    """OpenAI's /files and /batches, which Voyage has too."""

    def answer(self, asked: Any, root: str) -> Answer:
        path = asked.path.partition("?")[0].removeprefix("/v1")
        if path == "/files":
            name = self.keep(_uploaded(asked))
            return answer_of(
                {
                    "id": name,
                    "object": "file",
                    "bytes": 1,
                    "created_at": 1,
                    "filename": "texts.jsonl",
                    "purpose": "batch",
                    "status": "processed",
                }
            )
        if found := re.fullmatch(r"/files/([\w-]+)/content", path):
            return Answer(200, self.files[found[1]], "application/octet-stream")
        if path == "/batches":
            return self._begin(asked.body)
        if found := re.fullmatch(r"/batches/([\w-]+)(/cancel)?", path):
            return self._told(found[1], cancel=bool(found[2]))
        return self.dialect.failure(404, f"there is no {path}")

    def _begin(self, body: dict[str, Any]) -> Answer:
        if self.broken:
            return self.dialect.failure(500, "no jobs today")
        lines = self.lines(body["input_file_id"])
        texts = [line["body"]["input"] for line in lines]
        name = self.begin({"request": body, "lines": lines}, texts)
        return answer_of(self._batch(name, self.running))

    def _told(self, name: str, *, cancel: bool) -> Answer:
        if name not in self.jobs:
            return self.dialect.failure(404, f"there is no {name}")
        if cancel:
            self.cancelled.append(name)
            return answer_of(self._batch(name, "cancelling"))
        state = self.state_of(name)
        if state == "completed" and "output" not in self.jobs[name]:
            self.jobs[name]["output"] = self.keep(self._results(self.jobs[name]))
        return answer_of(self._batch(name, state))

    def _results(self, job: dict[str, Any]) -> bytes:
        shared = job["request"].get("request_params") or {}
        told = []
        # In another order than they came in, as the vendors' are.
        for n, line in reversed(list(enumerate(job["lines"]))):
            body = {**shared, **line["body"]}
            answer = {"custom_id": line["custom_id"], "response": None, "error": None}
            if n in self.unanswered:
                answer["error"] = {"code": "server_error", "message": "not this one"}
            else:
                vectors = self.dialect.vectors(*self.dialect.texts_of(body))
                answer["response"] = {"status_code": 200, "body": self.dialect.told(body, vectors)}
            told.append(json.dumps(answer))
        return "\n".join(told).encode()

    def _batch(self, name: str, state: str) -> dict[str, Any]:
        request = self.jobs[name]["request"]
        errors = {"object": "list", "data": [{"code": "bad", "message": "the file is bad"}]}
        return {
            "id": name,
            "object": "batch",
            "endpoint": request["endpoint"],
            "completion_window": request["completion_window"],
            "input_file_id": request["input_file_id"],
            "created_at": 1,
            "status": state,
            "output_file_id": self.jobs[name].get("output"),
            "errors": errors if state == "failed" else None,
        }


class GeminiJobs(Jobs):
    """:asyncBatchEmbedContent over a file that is uploaded in two steps."""

    running, outcome = "BATCH_STATE_RUNNING", "BATCH_STATE_SUCCEEDED"

    def answer(self, asked: Any, root: str) -> Answer:
        path = asked.path.partition("?")[0]
        if path == "/upload/v1beta/files":
            return self._upload(asked, root)
        path = path.removeprefix("/v1beta").removeprefix("/download/v1beta")
        if found := re.fullmatch(r"/files/([\w-]+):download", path):
            return Answer(200, self.files[found[1]], "application/octet-stream")
        if path.endswith(":asyncBatchEmbedContent"):
            return self._begin(asked.body)
        if found := re.fullmatch(r"/batches/([\w-]+)(:cancel)?", path):
            return self._told(found[1], cancel=bool(found[2]))
        return self.dialect.failure(404, f"there is no {path}")

    def _upload(self, asked: Any, root: str) -> Answer:
        if asked.headers.get("x-goog-upload-command") == "start":
            where = {"X-Goog-Upload-URL": f"{root}/upload/v1beta/files?upload_id=1"}
            return answer_of({}, **where, **{"X-Goog-Upload-Status": "active"})
        name = self.keep(asked.body)
        told = {"file": {"name": f"files/{name}", "mimeType": "application/jsonl"}}
        return answer_of(told, **{"X-Goog-Upload-Status": "final"})

    def _begin(self, body: dict[str, Any]) -> Answer:
        if self.broken:
            return self.dialect.failure(404, "asyncBatchEmbedContent is not available")
        config = body["batch"]["inputConfig"]
        file = config.get("fileName") or config["file_name"]
        lines = self.lines(file.removeprefix("files/"))
        texts = [line["request"]["content"]["parts"][0]["text"] for line in lines]
        name = self.begin({"lines": lines}, texts)
        return answer_of(self._batch(name, "BATCH_STATE_PENDING"))

    def _told(self, name: str, *, cancel: bool) -> Answer:
        if name not in self.jobs:
            return self.dialect.failure(404, f"there is no {name}")
        if cancel:
            self.cancelled.append(name)
            return answer_of({})
        state = self.state_of(name)
        if state == "BATCH_STATE_SUCCEEDED" and "output" not in self.jobs[name]:
            self.jobs[name]["output"] = self.keep(self._results(self.jobs[name]))
        return answer_of(self._batch(name, state))

    def _results(self, job: dict[str, Any]) -> bytes:
        told = []
        for n, line in reversed(list(enumerate(job["lines"]))):
            answer = {"key": line["key"]}
            if n in self.unanswered:
                answer["error"] = {"code": 13, "message": "not this one"}
            else:
                vectors = self.dialect.vectors(*self.dialect.texts_of(line["request"]))
                answer["response"] = self.dialect.told(line["request"], vectors)
            told.append(json.dumps(answer))
        return "\n".join(told).encode()

    def _batch(self, name: str, state: str) -> dict[str, Any]:
        metadata: dict[str, Any] = {"state": state, "displayName": "commonplace"}
        if "output" in self.jobs[name]:
            metadata["output"] = {"responsesFile": f"files/{self.jobs[name]['output']}"}
        return {"name": f"batches/{name}", "metadata": metadata}


def _base64(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _uploaded(asked: Any) -> bytes:
    """Return the file of a form."""
    head = f"Content-Type: {asked.headers['content-type']}\r\n\r\n".encode()
    for part in BytesParser().parsebytes(head + asked.body).get_payload():
        if part.get_filename():
            return part.get_payload(decode=True)
    raise ValueError("a form without a file")
