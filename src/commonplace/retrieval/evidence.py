"""How likely a line holds the answer: by its words, its vector, its look and its day.

Every signal is in nats, on the scale of a log probability, so that signals add up; a softmax over
the candidates' lines then gives each its share of the evidence. The constants were fitted to
questions about conversations and rounded; none of them is delicate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commonplace.store.products import row_products

if TYPE_CHECKING:
    from commonplace.store.base import Matrix, Vector

    Floats = NDArray[np.float32]

__all__ = [
    "centred_cosines",
    "form_scores",
    "idf",
    "shares",
    "vector_scores",
    "word_scores",
]

_WORDS = 2.5
_WORDS_DAMPING = 1 / 3
"""How far each word of a long question counts less: 0 not at all, 1 to a constant sum."""
_WORD_NEAR = (
    (-4, 0.4), (-3, 0.4), (-2, 0.7), (-1, 0.7), (1, 0.4), (2, 0.4), (3, 0.4), (4, 0.4)
)  # fmt: skip
"""Credit for a word that stands so many lines on. An answer follows what it answers: the lines
before count more."""
_WORD_ABOVE = 0.5
"""Credit for a word in the headings and the path above a line."""

_VECTOR_NEAR = ((-3, 0.5), (-2, 0.5), (-1, 3.0), (0, 6.0), (1, 1.5))
"""Weight of the cosine of the line so many lines on."""

_LENGTH = 0.5
"""For each factor e of length: a line that says more holds more."""
_LONG_CHARS = 700
_ASKS = -0.5
"""For a line that ends with a question mark: it wants the answer itself."""
_HEADING = -4.0
"""For a heading: it says where the answer stands, rarely what it is."""
_SPEAKER = 1.4
"""For a line that begins with a name, as in ``- Ann: …``, when the question holds it."""
_TELLS_TIME = 1.0
"""For a line with a word of time, when the question asks for one."""

_SPEAKER_NAME = re.compile(r"[\W_]*([^\W\d_][\w'.-]*(?: [^\W\d_][\w'.-]*)?)[*_]*:")
_HEADING_MARK = re.compile(r"#{1,6}(?:\s|$)")
_NAME = re.compile(r"\b[A-Z][\w-]+")
_ASKS_WHEN = re.compile(
    r"\b(?:when|(?:what|which) (?:date|day|month|year|time)|how long"
    r"|how many (?:days|weeks|months|years))\b",
    re.IGNORECASE,
)
_TIME_WORD = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|ago|last|next|since|recently|weeks?|weekends?|months?"
    r"|years?|days?|morning|afternoon|evening|night|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|spring|summer|autumn|fall|winter|\d{4})\b",
    re.IGNORECASE,
)


def idf(frequencies: Floats, count: int) -> Floats:
    """Weigh words by how few of `count` chunks hold them (Robertson & Sparck Jones 1976); > 0."""
    weights: Floats = np.log1p((count - frequencies + 0.5) / (frequencies + 0.5))
    return weights


def word_scores(
    present: Floats, weights: Floats, passage: NDArray[np.int64], *, above: Floats
) -> Floats:
    """Score lines by the query's words in them, around them and above them.

    A word is credited once, for where it stands best.

    Args:
        present: ``(lines, words)`` of 0 and 1.
        weights: The words' idf.
        passage: The passage of each line.
        above: ``(lines, words)`` of 0 and 1: headings and path.
    """
    credit = np.maximum(present, _WORD_ABOVE * above)
    for distance, worth in _WORD_NEAR:
        np.maximum(credit, worth * _shifted(present, distance, passage), out=credit)
    total = max(float(weights.sum()), 1e-6)
    scores: Floats = _WORDS / total**_WORDS_DAMPING * (credit @ weights)
    return scores


def vector_scores(cosines: Floats, passage: NDArray[np.int64]) -> Floats:
    """Score lines by their centred cosines and those around them."""
    scores = np.zeros_like(cosines)
    for distance, weight in _VECTOR_NEAR:
        scores += weight * _shifted(cosines, distance, passage)
    return scores


def form_scores(texts: Sequence[str], query: str) -> Floats:
    """Score lines by their look: length, who speaks, whether they ask or tell a time."""
    names = {name.lower() for name in _NAME.findall(query)}
    wants_time = bool(_ASKS_WHEN.search(query))
    scores = _LENGTH * np.log1p(np.minimum([len(text) for text in texts], _LONG_CHARS))
    scores += _ASKS * np.array([text.endswith("?") for text in texts])
    scores += _HEADING * np.array([_is_heading(text) for text in texts])
    if names:
        scores += _SPEAKER * np.array([_is_said_by(names, text) for text in texts])
    if wants_time:
        scores += _TELLS_TIME * np.array([_TIME_WORD.search(text) is not None for text in texts])
    return scores.astype(np.float32)


def _is_heading(text: str) -> bool:
    return text.startswith("#") and _HEADING_MARK.match(text) is not None


def _is_said_by(names: set[str], text: str) -> bool:
    match = _SPEAKER_NAME.match(text)
    return match is not None and not names.isdisjoint(match[1].lower().split())


def centred_cosines(vectors: Matrix, query: Vector, mean: Vector) -> Floats:
    """Return the cosines after what all texts have in common is taken away; 0 for a zero row."""
    direction = query - mean
    squares = np.einsum("ij,ij->i", vectors, vectors)
    lengths = np.sqrt(np.maximum(squares - 2 * row_products(vectors, mean) + mean @ mean, 1e-12))
    lengths *= max(float(np.linalg.norm(direction)), 1e-6)
    cosines = (row_products(vectors, direction) - mean @ direction) / lengths
    return np.where(squares > 0, cosines, 0.0).astype(np.float32)


def shares(scores: Floats) -> NDArray[np.float64]:
    """Turn scores into each line's share of the evidence; they sum to 1."""
    # Rounded, so that lines that say the same share alike, in whatever order sums were added.
    likely = np.exp((scores - scores.max()).astype(np.float64).round(4))
    share: NDArray[np.float64] = likely / likely.sum()
    return share


def _shifted(values: Floats, distance: int, passage: NDArray[np.int64]) -> Floats:
    """Give each row the values of the row `distance` on, 0 where another passage begins."""
    if distance == 0:
        return values
    shifted = np.zeros_like(values)
    if abs(distance) < len(values):
        here = slice(-distance, None) if distance < 0 else slice(None, -distance)
        there = slice(None, distance) if distance < 0 else slice(distance, None)
        same = passage[here] == passage[there]
        shifted[here] = values[there] * (same if values.ndim == 1 else same[:, None])
    return shifted
