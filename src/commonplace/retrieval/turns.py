"""Turns of a conversation with a model: which lines the user says, and which the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commonplace.retrieval.passages import rows_said_by

if TYPE_CHECKING:
    from commonplace.retrieval.passages import PassageTable

__all__ = ["turns_of"]

_USER = frozenset(("user", "human", "me"))
"""What the one who asks is called in a conversation with a model."""
_MODEL = frozenset(("assistant", "ai", "chatbot", "chatgpt"))
"""What the model is called there."""


def turns_of(table: PassageTable) -> NDArray[np.int8]:
    """Return 1 for each line that a user says to a model, -1 for what the model says, else 0.

    In a conversation, a turn goes on up to the next one; "User: Ann" alone is none.
    """
    turns = np.zeros(len(table), dtype=np.int8)
    user = rows_said_by(table, _USER)
    turns[user] = 1
    model = rows_said_by(table, _MODEL) if len(user) else user
    if not len(model):
        return turns
    turns[model] = -1
    begins = turns != 0
    begins[0] = True
    begins[1:] |= table.passage[1:] != table.passage[:-1]
    goes_on: NDArray[np.int8] = turns[np.maximum.accumulate(begins * np.arange(len(table)))]
    return goes_on
