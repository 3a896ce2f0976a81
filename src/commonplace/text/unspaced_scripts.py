"""Scripts without spaces between words: n-grams of their characters, and words that touch them.

"本番はJava 17" is one word to a tokenizer that cuts at spaces, though "Java" is a word of its own.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "ALPHABETS",
    "UNSPACED",
    "glued_words",
    "grams_of",
    "grams_text",
    "indexed_grams",
    "is_unspaced",
    "unspaced_signs",
]

# Han, kana, Hangul, bopomofo, Thai, Lao, Myanmar, Khmer, and the ideographs beyond the first plane.
_SIGNS = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u318f"
    "\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff"
)
UNSPACED = re.compile(f"[{_SIGNS}]+")
"""A run of such signs."""
ALPHABETS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Myanmar, Khmer, with their vowel signs, as a character class: two of their letters are
in most texts, three are a part of a word."""
_OF_ALPHABET = re.compile(f"[{ALPHABETS}]")
_STRETCH = re.compile(f"[{ALPHABETS}]+|[^{ALPHABETS}]+")
_OTHER = rf"[^\W{_SIGNS}]++(?:(?<=\d)[.,:](?=\d)[^\W{_SIGNS}]++)*+"
_GLUED = re.compile(rf"(?<=[{_SIGNS}]){_OTHER}|(?<!\w)(?<!\d[.,:]){_OTHER}(?=[{_SIGNS}])")
"""A word or a number with such a sign right before or behind it."""
_GAP = " \ue000 "
"""A sign for private use between two such words, which are no neighbours: of "1元5" is no "1.5"."""
_IDEOGRAPHS = 0x20000
"""First code point of the planes of ideographs."""


def is_unspaced(text: str) -> bool:
    """Return whether a text has signs of an unspaced script."""
    return not text.isascii() and UNSPACED.search(text) is not None


def grams_text(text: str, tokenizer: str) -> str:
    """Return the bigrams of unspaced scripts, separated by spaces.

    The last character of a run is a gram by itself, so that every character begins a gram. With
    the tokenizers ``unicode61`` and ``trigram`` there are no grams.
    """
    if text.isascii() or tokenizer != "porter":
        return ""
    return " ".join(gram for run in UNSPACED.findall(text) for gram in _index_grams(run))


def grams_of(run: str) -> list[str]:
    """Return the grams by which a run is searched and compared, repeats included.

    They are its bigrams, of alphabets its trigrams; an accent belongs to the letter before it. A
    shorter stretch is one gram.
    """
    return [gram for stretch in _STRETCH.findall(run) for gram in _grams_of_stretch(stretch)]


def _grams_of_stretch(stretch: str) -> list[str]:
    signs: list[str] = []
    for sign in stretch:
        if signs and unicodedata.combining(sign):
            signs[-1] += sign
        else:
            signs.append(sign)
    size = 3 if _OF_ALPHABET.match(stretch) else 2
    return ["".join(signs[at : at + size]) for at in range(max(1, len(signs) - size + 1))]


def indexed_grams(gram: str) -> str:
    """Return the bigrams of a gram, one behind the other in `grams_text`, separated by spaces."""
    return " ".join(gram[at : at + 2] for at in range(max(1, len(gram) - 1)))


def glued_words(text: str, tokenizer: str) -> str:
    """Return the words that touch an unspaced script, separated by spaces: "*Java*で書く".

    With the tokenizers ``unicode61`` and ``trigram`` there are none.
    """
    if text.isascii() or tokenizer != "porter":
        return ""
    return _GAP.join(_GLUED.findall(text))


def _index_grams(run: str) -> Iterator[str]:
    for at in range(len(run)):
        yield run[at : at + 2]


def unspaced_signs(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Return which code points are of an unspaced script: ``(n,)``."""
    table = _first_plane()
    return table.take(codes, mode="clip") | (codes >= _IDEOGRAPHS)


@functools.cache
def _first_plane() -> NDArray[np.bool_]:
    import numpy as np

    table = np.zeros(1 << 16, dtype=np.bool_)
    for run in UNSPACED.finditer("".join(map(chr, range(len(table))))):
        table[run.start() : run.end()] = True
    return table
