"""Labels: the tags and aliases of a note, which are found and never shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from commonplace.retrieval.line_features import LineScores

__all__ = ["with_labels_credited"]


def with_labels_credited(lines: LineScores) -> LineScores:
    """Return the lines with the evidence of a note's labels credited to its first line."""
    passage = lines.table.passage
    present, fused, share = lines.present.copy(), lines.fused.copy(), lines.share.copy()
    for label in lines.table.hidden.nonzero()[0].tolist():
        first = label + 1
        if first < len(passage) and passage[first] == passage[label]:
            np.maximum(present[first], present[label], out=present[first])
            fused[first] += fused[label]
            share[first] += share[label]
        fused[label] = share[label] = 0.0
    return replace(lines, present=present, fused=fused, share=share)
