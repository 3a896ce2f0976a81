"""Notes to measure with: words as frequent as in a language, and embedders that cost nothing."""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np

DIMENSION = 384
CHUNKS_A_FILE = 20
LINES_A_CHUNK = 10
LINE_CHARS = 139
"""With its mark and the line break: ten of them and a heading are about 1,400 characters."""
_WORDS = 30_000
_FIRST_DAY = date(2010, 1, 1)


@dataclass(frozen=True)
class Question:
    """A text, its vector, and its three words that are the rarest in the corpus."""

    text: str
    vector: np.ndarray
    rarest: list[str]


class Corpus:
    """Sections of 1,400 characters under headings of their own: each is one chunk.

    Args:
        chunks: How many.
        seed: Of their words.
        like: A corpus whose vocabulary it shares, as a further part of it.
    """

    def __init__(self, chunks: int, *, seed: int = 1, like: Corpus | None = None) -> None:
        self._random = np.random.default_rng(seed)
        self._vocabulary = like._vocabulary if like else _vocabulary(self._random)
        lines = chunks * LINES_A_CHUNK
        # The word of rank r is as frequent as 1 / (r + 2.7) (Zipf and Mandelbrot).
        odds = np.cumsum(1 / (np.arange(_WORDS) + 2.7))
        drawn = self._random.random(lines * LINE_CHARS // 4)
        words = np.searchsorted(odds, drawn * odds[-1])
        lengths = np.array([len(word) + 1 for word in self._vocabulary])[words]
        ends = np.searchsorted(np.cumsum(lengths), np.arange(lines + 1) * (LINE_CHARS - 2))
        self._lines = [words[a:b] for a, b in pairwise(ends.tolist())]
        self._counts = np.bincount(words[: ends[-1]], minlength=_WORDS)
        self.texts = [self._section(number) for number in range(chunks)]

    def _line(self, number: int) -> str:
        return " ".join([self._vocabulary[word] for word in self._lines[number].tolist()])

    def _section(self, number: int) -> str:
        first = number * LINES_A_CHUNK
        lines = (f"- {self._line(at)}" for at in range(first, first + LINES_A_CHUNK))
        return "\n".join((f"## Section {number}", *lines))

    def write(self, folder: Path, *, files_before: int = 0) -> Path:
        """Write the sections into the logs of consecutive days; return the workspace."""
        (folder / "memory").mkdir(parents=True, exist_ok=True)
        for number, first in enumerate(range(0, len(self.texts), CHUNKS_A_FILE), files_before):
            day = _FIRST_DAY + timedelta(days=number)
            text = "\n".join(self.texts[first : first + CHUNKS_A_FILE])
            (folder / "memory" / f"{day}.md").write_text(f"{text}\n", encoding="utf-8")
        return folder

    def questions(self, count: int) -> list[Question]:
        """Ask for lines: with three rare words of each, more of its words, and a vector near it."""
        asked = []
        for number in self._random.choice(len(self._lines), size=count, replace=False).tolist():
            rare_first = np.unique(self._lines[number])
            rare_first = rare_first[np.argsort(self._counts[rare_first], kind="stable")]
            others = self._random.permutation(rare_first[3:])[: self._random.integers(3, 8)]
            words = self._random.permutation(np.concatenate((rare_first[:3], others)))
            vector = line_vectors([self._line(number)])[0]
            vector = vector + 0.04 * self._random.standard_normal(DIMENSION, dtype=np.float32)
            asked.append(
                Question(
                    " ".join(self._vocabulary[word] for word in words.tolist()),
                    vector / np.linalg.norm(vector),
                    [self._vocabulary[word] for word in rare_first[:3].tolist()],
                )
            )
        return asked


def _vocabulary(random: np.random.Generator) -> list[str]:
    """Make up words; the frequent ones are short."""
    syllables = np.array([a + b for a in "bdfghjklmnprstvw" for b in "aeiou"])
    endings = np.array(["", "", "n", "r", "s", "t", "l"])
    words: dict[str, None] = {}
    while len(words) < _WORDS:
        longest = 2 if len(words) < 300 else 5
        parts = random.choice(syllables, size=random.integers(1, longest))
        words["".join(parts) + str(random.choice(endings))] = None
    return list(words)


_TABLE = np.random.default_rng(0).standard_normal((1024, DIMENSION), dtype=np.float32)


def line_vectors(texts: list[str]) -> np.ndarray:
    """Return a vector for each text, one of a million, found by its hash."""
    hashes = np.array([zlib.crc32(text.encode()) for text in texts])
    vectors = _TABLE[hashes & 1023] + _TABLE[(hashes >> 10) & 1023]
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class CheapEmbedder:
    """An embedder that knows its answers, and how long it took to give them."""

    model_id = "benchmark"
    dimension = DIMENSION
    is_local = True  # as the bundled one: it is asked in place, not through threads and waits

    def __init__(self, questions: list[Question] | None = None) -> None:
        self._queries = {question.text: question.vector for question in questions or ()}
        self.seconds = 0.0

    def embed_documents(self, texts: list[str]) -> np.ndarray:
        started = time.perf_counter()
        vectors = line_vectors(texts)
        self.seconds += time.perf_counter() - started
        return vectors

    def embed_query(self, text: str) -> np.ndarray:
        return self._queries[text]
