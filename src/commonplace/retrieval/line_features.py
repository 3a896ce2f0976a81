"""How likely a line holds the answer: by its words, its vector, its look and its day.

Every signal is in nats, on the scale of a log probability, so that signals add up; a softmax over
the candidates' lines then gives each its share of the evidence. The constants were fitted to
questions about conversations and rounded; none of them is delicate.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commonplace.vectors.products import row_products, row_squares

if TYPE_CHECKING:
    from commonplace.vectors import Matrix, Vector

    Floats = NDArray[np.float32]

__all__ = [
    "Nearness",
    "Rows",
    "form_scores",
    "idf",
    "nearness",
    "shares",
    "vector_scores",
    "word_scores",
]

_WORDS = 2.5
_WORDS_DAMPING = 1 / 3
"""How far each word of a long question counts less: 0 not at all, 1 to a constant sum."""
_WORD_NEAR = ((0.4, (-4, -3, 1, 2, 3, 4)), (0.7, (-2, -1)))
"""Credit for a word that stands so many lines on. An answer follows what it answers: the lines
before count more."""
_WORD_ABOVE = 0.5
"""Credit for a word in the headings and the path above a line."""

_VECTOR_NEAR = (3, np.array([0.5, 0.5, 3.0, 6.0, 1.5], dtype=np.float32))
"""How many lines before count, and the weights of the cosines from there on: the line itself, whose
weight is the greatest, and the one behind it."""
_ROOM = 4
"""Lines that are looked at before and behind a line, at most."""

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


class Rows:
    """Lines with room between their passages: each finds its neighbours by a plain shift.

    Args:
        passage: The passage of each line, ascending.
    """

    def __init__(self, passage: NDArray[np.int64]) -> None:
        self._places = np.arange(len(passage)) + _ROOM * (passage + 1)
        self._size = int(self._places[-1]) + _ROOM + 1 if len(passage) else 0

    def spread(self, values: Floats) -> Floats:
        """Lay out values of lines, zeros in between."""
        grid = np.zeros((self._size, *values.shape[1:]), dtype=np.float32)
        grid[self._places] = values
        return grid

    def gather(self, values: Floats) -> Floats:
        """Take the lines out again, from values without the room before the first one."""
        lines: Floats = values[self._places - _ROOM]
        return lines


def word_scores(present: Floats, weights: Floats, rows: Rows, *, above: Floats) -> Floats:
    """Score lines by the query's words in them, around them and above them.

    A word is credited once, for where it stands best.

    Args:
        present: ``(lines, words)`` of 0 and 1.
        weights: The words' idf.
        rows: The lines' neighbours.
        above: ``(lines, words)`` of 0 and 1: headings and path.
    """
    grid = rows.spread(present)
    size = len(grid) - 2 * _ROOM
    credit = np.zeros((max(size, 0), present.shape[1]), dtype=np.float32)
    for worth, distances in _WORD_NEAR:
        near = credit.copy()
        for distance in distances:
            np.maximum(near, grid[_ROOM + distance : _ROOM + distance + size], out=near)
        near *= worth
        np.maximum(credit, near, out=credit)
    found = np.maximum(rows.gather(credit), np.maximum(present, _WORD_ABOVE * above))
    total = max(float(weights.sum()), 1e-6)
    scores: Floats = _WORDS / total**_WORDS_DAMPING * (found @ weights)
    return scores


def vector_scores(cosines: Floats, rows: Rows) -> Floats:
    """Score lines by their centred cosines and those around them."""
    before, kernel = _VECTOR_NEAR
    grid = rows.spread(cosines)[_ROOM - before :]
    return rows.gather(np.correlate(grid, kernel, mode="valid"))


def form_scores(text: str, start: NDArray[np.int64], end: NDArray[np.int64], query: str) -> Floats:
    """Score lines by their look: length, who speaks, whether they ask or tell a time.

    Args:
        text: All lines.
        start: First character of each line.
        end: Character behind its last.
        query: The question.
    """
    scores = _LENGTH * np.log1p(np.minimum(end - start, _LONG_CHARS))
    signs = _signs(text)
    scores[signs[end - 1] == ord("?")] += _ASKS
    marked = (signs[start] == ord("#")).nonzero()[0]
    marks = zip(marked.tolist(), start[marked].tolist(), end[marked].tolist(), strict=True)
    scores[[row for row, *span in marks if _HEADING_MARK.match(text, *span)]] += _HEADING
    names = {name.lower() for name in _NAME.findall(query)}
    wants_time = _ASKS_WHEN.search(query) is not None
    spans = list(zip(start.tolist(), end.tolist(), strict=True)) if names or wants_time else []
    if names:
        said = [row for row, span in enumerate(spans) if _is_said_by(names, text, *span)]
        scores[said] += _SPEAKER
    if wants_time:
        timed = [row for row, span in enumerate(spans) if _TIME_WORD.search(text, *span)]
        scores[timed] += _TELLS_TIME
    rounded: Floats = scores.astype(np.float32)
    return rounded


def _signs(text: str) -> NDArray[Any]:
    """Return the characters of a text as numbers."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def _is_said_by(names: set[str], text: str, start: int, end: int) -> bool:
    match = _SPEAKER_NAME.match(text, start, end)
    return match is not None and not names.isdisjoint(match[1].lower().split())


class Nearness(NamedTuple):
    """How near lines are to a query; arrays have one row a line.

    Attributes:
        cosines: As they are; 0 for a line without a vector.
        centred: After what all texts have in common is taken away; 0 for a line without a vector.
        scales: What makes a centred vector one of length 1; 0 for a line without a vector.
    """

    cosines: Floats
    centred: Floats
    scales: Floats


def nearness(vectors: Matrix, query: Vector, mean: Vector) -> Nearness:
    """Compare the vectors of lines with a query's."""
    direction = query - mean
    to_mean, ahead = row_products(vectors, mean), row_products(vectors, direction)
    squares = row_squares(vectors)
    lengths = np.sqrt(np.maximum(squares - 2 * to_mean + mean @ mean, 1e-12))
    scales = np.where(squares > 0, 1 / lengths, 0).astype(np.float32)
    centred = (ahead - mean @ direction) * scales / max(float(np.linalg.norm(direction)), 1e-6)
    return Nearness(ahead + to_mean, centred.astype(np.float32), scales)


def shares(scores: Floats) -> NDArray[np.float64]:
    """Turn scores into each line's share of the evidence; they sum to 1."""
    # Rounded, so that lines that say the same share alike, in whatever order sums were added.
    likely = np.exp((scores - scores.max()).astype(np.float64).round(4))
    share: NDArray[np.float64] = likely / likely.sum()
    return share
