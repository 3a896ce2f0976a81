"""Words and keywords of a query, as OpenClaw 2026.3.24 extracts them (SPEC.md, 5 and 9)."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from commonplace.compat.openclaw.stopwords import ALL_LANGUAGES, KOREAN_PARTICLES

__all__ = ["bm25_rank_to_score", "extract_keywords", "query_words"]

_WORD = re.compile(r"\w+")  # letters, numbers and _; combining marks are none of these


def query_words(text: str) -> list[str]:
    """Return the words of a text in order, repeats included."""
    return _WORD.findall(text)


def bm25_rank_to_score(rank: float) -> float:
    """Return a score of 0..1 for SQLite's bm25, which is negative and lower for better.

    A rank of 0 or more, which no match has, is taken as a distance; one that is not finite scores
    0.001.
    """
    if not math.isfinite(rank):
        return 0.001
    if rank < 0:
        return -rank / (1 - rank)
    return 1 / (1 + rank)


def extract_keywords(query: str) -> list[str]:
    """Return the keywords of a question, in order, each once.

    Chinese and Japanese runs give their parts as well, Korean words their stems. Stop words, short
    Latin words, numbers and signs are left out.
    """
    words = (word for segment in _segments(query.lower()) for word in _expand(segment))
    return [word for word in dict.fromkeys(words) if _is_keyword(word)]


def _segments(text: str) -> list[str]:
    """Split at white space and punctuation, which ``_`` is and ``+`` is not."""
    return "".join(" " if _kind(character) == "P" else character for character in text).split()


def _kind(character: str) -> str:
    return unicodedata.category(character)[0]


_KANA = re.compile(r"[\u3040-\u30ff]")
_JAPANESE_RUN = re.compile(r"[a-z0-9_]+|[\u30a0-\u30ff]+|[\u4e00-\u9fff]+|[\u3040-\u309f]{2,}")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_HANGUL = re.compile(r"[\u3131-\u3163\uac00-\ud7af]")


def _expand(segment: str) -> Iterator[str]:
    """Yield the words of a segment, by its script."""
    if segment.isascii():
        yield segment
    elif _KANA.search(segment):
        yield from _japanese(segment)
    elif characters := _HAN.findall(segment):
        yield from characters
        yield from _pairs(characters)
    else:
        yield segment
        if _HANGUL.search(segment):
            yield from _korean_stem(segment)


def _japanese(segment: str) -> Iterator[str]:
    for run in _JAPANESE_RUN.findall(segment):
        yield run
        if _HAN.match(run):
            yield from _pairs(run)


def _pairs(characters: list[str] | str) -> Iterator[str]:
    return (first + second for first, second in pairwise(characters))


def _korean_stem(word: str) -> Iterator[str]:
    """Yield a word without its last particle, if the rest can be a word."""
    particle = next(filter(word.endswith, KOREAN_PARTICLES), "")
    stem = word.removesuffix(particle)
    if particle and stem and (len(stem) >= 2 or stem.isascii()):
        yield stem


def _is_keyword(word: str) -> bool:
    if word in ALL_LANGUAGES or all(_kind(character) in "PS" for character in word):
        return False
    if not word.isascii():
        return True
    return not word.isdigit() and (len(word) >= 3 or not word.isalpha())
