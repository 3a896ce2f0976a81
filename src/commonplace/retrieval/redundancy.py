"""Redundancy: temporal decay and diversity (MMR) among lines that say the same.

A line loses evidence to age only where a newer line restates it, and to repetition only where a
better line says the same. So a line that says something of its own keeps all of its evidence,
whatever its age.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commonplace.retrieval.mmr import tokenize_all_scripts
from commonplace.vectors.arrays import products_of_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.retrieval.line_features import LineScores
    from commonplace.retrieval.passages import PassageTable
    from commonplace.settings import SearchSettings
    from commonplace.store.base import Snapshot
    from commonplace.store.records import Hits
    from commonplace.vectors import Matrix, Vector

    Floats = NDArray[np.float32]

__all__ = [
    "TERM_ROUNDING",
    "decay_factors",
    "losses_of_similar",
    "merits",
    "redundancy_losses",
    "similarity_of_texts",
    "similarity_of_vectors",
    "surplus_copies",
    "thin_ties",
]

TERM_ROUNDING = 1e-9
"""Difference up to which scores of terms are equal."""

_COMPARED = 64
"""Best lines that are compared with each other, at most."""
_COMPARED_ALWAYS = 4
"""Lines that are compared in any case, as a multiple of the answer's places."""
_NEGLIGIBLE = 10.0
"""Nats behind the best line from which on a line has no evidence left to lose."""

_SUPERSEDED = 4.0
"""Nats that a very old line loses to the same line of today."""
_REPEATED = 7.0
"""Nats that a repeat loses at an `mmr_lambda` of 0."""
_COPIES = 3
"""Copies of a line that an answer shows, at most: their days tell something, too."""
_COPY_CHARS = 20
"""Length of such a line, at least."""
_SIMILAR_COSINES = (0.7, 0.9)
"""Centred cosines between which similarity rises from 0 to 1."""
_SIMILAR_WORDS = (0.4, 0.8)
"""The same for the share of common words (Jaccard)."""


def thin_ties(snapshot: Snapshot, hits: Hits, *, most: int) -> Hits:
    """Keep so many hits of one score, the newest first: chunks of equal text score alike."""
    scores = [round(score / TERM_ROUNDING) for _, score in hits]
    if len(set(scores)) == len(hits):
        return hits
    versions = snapshot.versions([seq for seq, _ in hits])
    kept: Hits = []
    start = 0
    for count in Counter(scores).values():  # hits of one score stand behind each other
        if count == 1:
            kept.append(hits[start])
        else:
            group = hits[start : start + count]
            kept += sorted(group, key=lambda hit: versions[hit[0]], reverse=True)[:most]
        start += count
    return kept


def redundancy_losses(
    table: PassageTable,
    scores: Floats,
    settings: SearchSettings,
    *,
    mean: Vector | None,
    scales: Floats | None,
    places: int,
    fades: bool,
) -> tuple[Floats, Floats]:
    """Return the nats that each line loses to age and to repetition; the greater one counts.

    Args:
        table: The lines.
        scores: Their scores in nats.
        settings: Decay, half-life, MMR and its lambda.
        mean: Mean of all lines' vectors; None without vectors.
        scales: Factors that make the centred vectors unit vectors; None compares words instead.
        places: Snippets of full length that fit into the answer.
        fades: Whether age counts. Not for a query that names a time: the time itself decides.
    """
    faded, repeated = np.zeros_like(scores), np.zeros_like(scores)
    if settings.decay or settings.mmr:
        relevant = np.count_nonzero(scores > scores.max() - _NEGLIGIBLE)
        count = min(_COMPARED, max(int(relevant), _COMPARED_ALWAYS * places))
        best = (-scores).argsort(kind="stable")[:count]
        if table.vectors is not None and mean is not None and scales is not None:
            similarity = similarity_of_vectors(table.vectors[best], mean, scales[best])
        else:
            similarity = similarity_of_texts([table.text_of(at) for at in best.tolist()])
        if similarity.any():
            losses = losses_of_similar(similarity, table.days[best], settings, fades=fades)
            faded[best], repeated[best] = losses
    return faded, repeated


def similarity_of_vectors(vectors: Matrix, mean: Vector, scales: Floats) -> Floats:
    """Return the similarity of each two lines, 0..1, by their vectors: ``(n, n)``.

    Args:
        vectors: ``(n, d)``.
        mean: Mean of all lines' vectors.
        scales: Factors that make the centred vectors unit vectors; 0 for a line without a vector,
            which is similar to none.
    """
    centred = vectors - mean
    centred *= scales[:, None]
    return _ramp(products_of_pairs(centred), _SIMILAR_COSINES)


def similarity_of_texts(texts: Sequence[str]) -> Floats:
    """Return the similarity of each two lines, 0..1, by their words: ``(n, n)``."""
    tokens = [tokenize_all_scripts(text) for text in texts]
    known: dict[str, int] = {}
    found = [known.setdefault(token, len(known)) for some in tokens for token in some]
    numbers, counts = np.array(found, dtype=np.int64), [len(some) for some in tokens]
    in_several = np.bincount(numbers) > 1  # the others are not in common
    rows, columns = np.repeat(np.arange(len(texts)), counts), in_several.cumsum() - 1
    shared = in_several[numbers]
    held = np.zeros((len(texts), np.count_nonzero(in_several)), dtype=np.float32)
    held[rows[shared], columns[numbers[shared]]] = 1.0
    common = products_of_pairs(held)  # whole numbers, so that each is exact
    sizes = np.array(counts, dtype=np.float32)
    union = sizes[:, None] + sizes[None, :] - common
    return _ramp(common / np.maximum(union, 1.0), _SIMILAR_WORDS)


def losses_of_similar(
    similarity: Floats, days: NDArray[np.int64], settings: SearchSettings, *, fades: bool
) -> tuple[Floats, Floats]:
    """Return the nats that similar lines lose to age and to repetition.

    Args:
        similarity: ``(n, n)``, lines in the order of their scores, best first.
        days: Proleptic ordinals; 0 for an evergreen file, which neither ages nor supersedes.
        settings: Decay, half-life, MMR and its lambda.
        fades: Whether age counts.
    """
    dated = (days[:, None] > 0) & (days[None, :] > 0)
    older_by = np.where(dated, days[None, :] - days[:, None], 0)  # days by which a row is older
    decays = settings.decay and fades
    faded = np.zeros(len(days), dtype=np.float32)
    if decays:
        worn = 1.0 - np.exp2(-np.maximum(older_by, 0) / settings.half_life_days)
        faded = (_SUPERSEDED * (similarity * worn).max(axis=1, initial=0.0)).astype(np.float32)
    repeated = np.zeros(len(days), dtype=np.float32)
    if settings.mmr:
        # The newer of two lines is preferred; of one day, the line with more evidence.
        better = np.tri(len(days), k=-1, dtype=np.bool_)
        preferred = np.where(older_by == 0, better, older_by > 0) if decays else better
        loss = _REPEATED * (1.0 - settings.mmr_lambda)
        repeated = (loss * (similarity * preferred).max(axis=1, initial=0.0)).astype(np.float32)
    return faded, repeated


def merits(lines: LineScores) -> NDArray[np.float64]:
    """Return numbers of which the best line of a window has the greatest.

    They are the shares without what lines lost to age and repetition; headings come last.
    """
    repeated = 0.0 if lines.repeated is None else lines.repeated
    shares = lines.share * np.exp(np.maximum(lines.faded, repeated))
    is_heading = lines.table.headings == np.arange(len(shares))
    return np.where(is_heading, -1 / (1 + shares), shares)


def surplus_copies(lines: LineScores) -> NDArray[np.bool_]:
    """Return the lines that better ones say word for word, as often as an answer shows them."""
    table = lines.table
    extra = np.zeros(len(table), dtype=np.bool_)
    if lines.repeated is None or np.count_nonzero(lines.repeated) < _COPIES:
        return extra
    counts: Counter[str] = Counter()
    says = lines.present.any(axis=1) & (table.headings != np.arange(len(table)))
    for row in (-np.where(says, lines.share, 0.0)).argsort(kind="stable")[: says.sum()].tolist():
        text = table.text_of(row).strip()
        counts[text] += 1
        extra[row] = counts[text] > _COPIES and len(text) >= _COPY_CHARS
    return extra


def decay_factors(ages: Sequence[float], settings: SearchSettings) -> list[float]:
    """Return the factor on the evidence of a line, for its age in days, that today's restates."""
    alike = np.array([[0, 1], [1, 0]], dtype=np.float32)
    today = 1 + max((round(age) for age in ages), default=0)
    factors: dict[int, float] = {}
    for age in {round(age) for age in ages}:
        days = np.array([today, today - age], dtype=np.int64)
        faded, _ = losses_of_similar(alike, days, settings, fades=True)
        factors[age] = math.exp(-float(faded[1]))
    return [factors[round(age)] for age in ages]


def _ramp(values: Floats, between: tuple[float, float]) -> Floats:
    low, high = between
    values.ravel()[:: len(values) + 1] = 0.0  # the diagonal
    if values.max(initial=0.0) <= low:
        return np.zeros_like(values)
    ramp: Floats = np.clip((values - low) / (high - low), 0.0, 1.0).astype(np.float32)
    return ramp
