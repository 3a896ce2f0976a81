"""Stand-ins that tests share: embedders of known behaviour, a clock that stands still."""

from __future__ import annotations

import re
import threading
import time
import zlib
from datetime import UTC, datetime
from pathlib import Path

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def clock(now: datetime = NOON):
    """Return a clock that always tells the same time."""
    return lambda: now


class HashedWords:
    """A deterministic bag of words: each word adds one to a place that its hash names.

    It counts what it is asked: `calls`, and each text in `texts`.
    """

    provider = "fake"
    model_id = "hashed-words"
    is_local = True

    def __init__(self, dimension: int = 64, *, model_id: str | None = None):
        self.length = dimension
        self.model_id = model_id or self.model_id
        self.calls = 0
        self.texts: list[str] = []
        self._lock = threading.Lock()

    def embed_documents(self, texts):
        with self._lock:
            self.calls += 1
            self.texts += texts
        return [self._vector(text) for text in texts]

    def embed_query(self, text):
        return self._vector(text)

    def _vector(self, text):
        vector = [0.0] * self.length
        for word in re.findall(r"\w+", text.lower()) or ["nothing"]:
            vector[zlib.crc32(word.encode()) % self.length] += 1.0
        return vector


class Logging(HashedWords):
    """Writes every text that it embeds to a file, one a line: what a killed process embedded."""

    def __init__(self, log: Path, *, delay_s: float = 0.0):
        super().__init__()
        self.log = Path(log)
        self.delay_s = delay_s

    def embed_documents(self, texts):
        time.sleep(self.delay_s)
        vectors = super().embed_documents(texts)
        with self.log.open("a", encoding="utf-8") as log:
            log.write("".join(text.replace("\n", " ") + "\n" for text in texts))
        return vectors


class Slow(HashedWords):
    """Waits before each answer."""

    def __init__(self, delay_s: float):
        super().__init__()
        self.delay_s = delay_s

    def embed_documents(self, texts):
        time.sleep(self.delay_s)
        return super().embed_documents(texts)


class Raising(HashedWords):
    """Fails while `broken`."""

    broken = True

    def embed_documents(self, texts):
        self._fail()
        return super().embed_documents(texts)

    def embed_query(self, text):
        self._fail()
        return super().embed_query(text)

    def _fail(self):
        if self.broken:
            self.calls += 1
            raise ConnectionError("the provider\nis down")


class StatusError(Exception):
    """What vendors' clients raise: a status, and the headers of the response."""

    def __init__(self, status, message="", **headers):
        super().__init__(message or f"status {status}")
        self.status_code = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class Nonsense(HashedWords):
    """Answers `answer(vectors)` instead of the vectors, while there is such a function."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def embed_documents(self, texts):
        vectors = super().embed_documents(texts)
        return self.answer(vectors) if self.answer else vectors

    def embed_query(self, text):
        return self.embed_documents([text])[0]


NONSENSE = {
    "too few": lambda vectors: vectors[:-1],
    "too many": lambda vectors: [*vectors, vectors[0]],
    "none": lambda vectors: None,
    "other dimensions": lambda vectors: [
        vector[: 3 + at % 2] for at, vector in enumerate([*vectors, vectors[0]])
    ],
    "no dimensions": lambda vectors: [[] for _ in vectors],
    "not a number": lambda vectors: [[float("nan")] * len(vector) for vector in vectors],
    "infinite": lambda vectors: [[1e300] * len(vector) for vector in vectors],
    "zeros": lambda vectors: [[0.0] * len(vector) for vector in vectors],
    "texts": lambda vectors: ["vector" for _ in vectors],
}
"""What embedders answer that is no answer."""
