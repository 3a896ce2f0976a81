"""Word forms: whether two words are one but for an ending or a part of a compound.

A coarse comparison, without a stemmer, for all languages alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from commonplace.text.unspaced_scripts import grams_of, is_unspaced

__all__ = ["have_akin", "parts_of"]

_LEAST = 3
"""Letters that two forms of a word share, at least."""
_ENDING = 2
"""Letters in which the forms of a word differ at its end, at most."""


def have_akin(words: Collection[str], others: Collection[str], text: str) -> bool:
    """Return whether some of a text's words are some others, or forms or parts of these.

    So "pot" is in "flowerpot", and "Павла" is "Павел". Of the digits in a number half are enough:
    "5.40" and "5,4".

    Args:
        words: Words or grams to look for.
        others: Those of the text.
        text: The text.
    """
    numbers = [word for word in words if word.isdigit()]
    if numbers and 2 * sum(number in others for number in numbers) >= len(numbers):
        return True
    # Beside a number, short words are no value: "já não *é* 915 *mas* 912".
    least = _LEAST if numbers else 1
    left = [word for word in words if not word.isdigit() and len(word) >= least]
    return any(_are_akin(word, other) for word in left for other in others) or any(
        len(word) == 1 and is_unspaced(word) and word in text for word in left
    )


def parts_of(terms: Iterable[str]) -> frozenset[str]:
    """Return terms; of scripts without spaces, their grams."""
    found: set[str] = set()
    for term in terms:
        found.update(grams_of(term) if is_unspaced(term) else (term,))
    return frozenset(found)


def _are_akin(one: str, other: str) -> bool:
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    if len(short) < _LEAST or not (short.isalpha() and long.isalpha()):
        return False
    return long.endswith(short) or long.startswith(short[: max(_LEAST, len(short) - _ENDING)])
