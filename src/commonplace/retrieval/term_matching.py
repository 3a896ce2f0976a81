"""Term matching: the terms of a query with their weights, and which of them each line holds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import accumulate, compress, takewhile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commonplace.retrieval.passages import holds, table_headers
from commonplace.text.analysis import VOWEL_SIGNS, Analyzer, Term, folded, stop_words
from commonplace.text.stopwords import ENGLISH, TALK_WORDS
from commonplace.text.strikethrough import with_links_blanked
from commonplace.text.time_expressions import is_date_word
from commonplace.text.unspaced_scripts import UNSPACED, unspaced_signs

if TYPE_CHECKING:
    from commonplace.retrieval.passages import PassageTable
    from commonplace.text.time_expressions import Days

    Floats = NDArray[np.float32]

__all__ = [
    "QueryTerms",
    "content_words",
    "occurrences",
    "occurrences_within",
    "rarest_terms",
    "terms_of_lines",
    "weighted_terms",
]

_MAX_WORDS = 64
"""Words of a query that count, at most: a question has fewer."""
_RARE_TERMS = (3, 16)
"""Terms that bring candidates, the rarest: so many in any case, and so many at most."""
_MATCHED_CHUNKS = 2_000
"""Sum of the document frequencies up to which further terms bring candidates, for the engine scores
each chunk that holds one. Commoner terms cost more, and only separate candidates."""
_IDENTIFIER = re.compile(r"[^\W\d]\w*\d\w*|\d{5,}")
"""A letter with digits behind it, or a long number: it names one thing, which "3rd" does not."""
_LEAST_CHUNKS = 100
"""Chunks among which an identifier is weighted, at least: one of three would tell too little."""


class QueryTerms(NamedTuple):
    """The terms of a query, weighted.

    Attributes:
        known: Terms that occur in the index.
        weights: Their idf, half of it where a date is compared with days, and a quarter of it where
            a word asks what was said.
        rarest: Those of them that bring candidates.
        unknown: The other terms, which may still occur in a path.
        unknown_weights: Their idf.
        total: The idf of all terms together.
    """

    known: list[Term]
    weights: Floats
    rarest: list[Term]
    unknown: list[Term]
    unknown_weights: Floats
    total: float


def content_words(query: str, analyzer: Analyzer) -> list[Term]:
    """Return the words of a query without stop words; all of them when nothing is left."""
    words, empty = analyzer.words(query), stop_words(query)
    content = [
        word
        for word in words
        if folded(word.text) not in empty
        and (len(word.text) > 1 or word.text.isdigit() or not word.text.isascii())
    ]
    return (content or words)[:_MAX_WORDS]


def weighted_terms(
    frequencies: Mapping[Term, int], chunk_count: int, days: Days | None
) -> QueryTerms:
    """Return the terms of a query, weighted by how few chunks hold each.

    Args:
        frequencies: Document frequency of each term.
        chunk_count: Number of chunks among which they were counted.
        days: Days that the query names.
    """
    words = list(frequencies)
    found = np.array([*frequencies.values()], dtype=np.float32)
    weights = _idf(found, chunk_count)
    if chunk_count < _LEAST_CHUNKS:
        names = [word.number or bool(_IDENTIFIER.fullmatch(word.text)) for word in words]
        weights[names] = _idf(found[names], _LEAST_CHUNKS)
    # A date is compared with the days of the logs: "up against last January" is of another one.
    counts = np.array([not (days and is_date_word(word.text)) for word in words], dtype=np.bool_)
    weights[~counts] /= 2
    weights[[word.text.lower() in TALK_WORDS for word in words]] /= 4
    known = found > 0
    return QueryTerms(
        [word for word in words if frequencies[word]],
        weights[known],
        rarest_terms(frequencies),
        [word for word in words if not frequencies[word]],
        weights[~known],
        max(float(weights[known | counts].sum()), 1e-6),
    )


def rarest_terms(frequencies: Mapping[Term, int], *, most: int = _RARE_TERMS[1]) -> list[Term]:
    """Return the rarest of the terms that occur, as many as an engine matches in good time."""
    ordered = sorted(filter(frequencies.__getitem__, frequencies), key=frequencies.__getitem__)
    sums = accumulate(map(frequencies.__getitem__, ordered))
    few = sum(1 for total in sums if total <= _MATCHED_CHUNKS)
    return ordered[: max(_RARE_TERMS[0], min(few, most))]


def _idf(frequencies: Floats, count: int) -> Floats:
    """Weight terms by inverse document frequency (Robertson & Sparck Jones 1976); always > 0."""
    weights: Floats = np.log1p((count - frequencies + 0.5) / (frequencies + 0.5))
    return weights


def terms_of_lines(
    table: PassageTable, terms: Sequence[Term], analyzer: Analyzer
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return which terms each line holds, and which of them stand above it.

    Both are ``(lines, terms)`` of 0 and 1. Above a line stand its path and its headings; above the
    row of a table that holds a term, the other terms of the header, too. The index names what is
    above the first line of a chunk; the rest is among the lines.
    """
    lines, chunks = len(table), table.chunks
    is_row = table.signs[table.start] == ord("|")
    contexts = [chunk.context for chunk in chunks] if is_row.any() else []
    labels = [*(f"{chunk.path} {chunk.heading}" for chunk in chunks), *contexts]
    lengths = (len(label) + 1 for label in labels)
    starts = np.array([*accumulate(lengths, initial=len(table.text) + 1)])
    text = with_links_blanked(table.text) if holds(table.text, "([correct") else table.text
    found = occurrences_within(
        "\n".join((text, *labels)),
        np.concatenate((table.start, starts[:-1])),
        np.concatenate((table.end, starts[1:] - 1)),
        terms,
        analyzer,
    )
    present, above, begun = np.split(found, (lines, lines + len(chunks)))
    above = above[table.chunk]
    np.maximum(above, present[table.headings], out=above, where=(table.headings >= 0)[:, None])
    answering = is_row & present.any(axis=1)
    if answering.any():
        headers = table_headers(table, is_row)
        header = np.where((headers >= 0)[:, None], present[headers], begun[table.chunk])
        np.maximum(above, header * (1 - present), out=above, where=answering[:, None])
    return present, above


def occurrences(
    texts: Sequence[str], words: Sequence[Term], analyzer: Analyzer
) -> NDArray[np.float32]:
    """Return which words occur in which texts: ``(texts, words)`` of 0 and 1."""
    ends = np.array([*accumulate(len(text) + 1 for text in texts)], dtype=np.int64)
    starts = np.concatenate(([0], ends[:-1]))
    return occurrences_within("\n".join(texts), starts, ends - 1, words, analyzer)


def occurrences_within(
    text: str,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    words: Sequence[Term],
    analyzer: Analyzer,
) -> NDArray[np.float32]:
    """Return which words occur in which parts of a text: ``(parts, words)`` of 0 and 1.

    The text is searched for the prefix that all forms of a word share, and only words with that
    prefix are stemmed.

    Args:
        text: The text of all parts.
        starts: Offset of each part, ascending.
        ends: Its end; parts do not overlap.
        words: The words to look for.
        analyzer: Maps forms to terms.
    """
    if text.isascii():
        text = text.lower()
    else:
        text, starts, ends = _folded_parts(text, starts, ends)
    haystack = _Haystack(text)
    own_forms = [folded(word.term if word.gram else word.text) for word in words]
    wanted = [folded(word.term) for word in words]  # the index keeps the signs above some letters
    is_part = [word.gram or word.number or analyzer.finds_parts for word in words]
    probes = [
        "" if part else _probe(own, term)
        for own, term, part in zip(own_forms, wanted, is_part, strict=True)
    ]
    columns, places, forms = haystack.likely_forms(probes)
    terms = analyzer.term_of_each(set(forms))
    pairs = list(zip(columns.tolist(), forms, strict=True))
    matching = {  # few forms are different
        (column, form)
        for column, form in set(pairs)
        if form == own_forms[column]
        or (terms[form] == wanted[column] and form not in ENGLISH)  # "use" is not "us"
        or (words[column].prefix and form.startswith(wanted[column]))
    }
    held = np.fromiter(map(matching.__contains__, pairs), np.bool_, len(pairs))
    columns, places = columns[held], places[held]
    for column, part in enumerate(is_part):
        if part:
            number = wanted[column] if words[column].number else None
            found = haystack.numbers(number) if number else haystack.places(own_forms[column])
            places = np.append(places, np.array(found, dtype=np.int64))
            columns = np.append(columns, np.full(len(found), column))
    present = np.zeros((len(starts), len(words)), dtype=np.float32)
    rows = starts.searchsorted(places, side="right") - 1
    inside = (rows >= 0) & (places < ends[rows])
    present[rows[inside], columns[inside]] = 1.0
    return present


def _folded_parts(
    text: str, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[str, NDArray[np.int64], NDArray[np.int64]]:
    """Fold the parts of a text, which then has no signs but spaces between its words."""
    if not unicodedata.is_normalized("NFC", text):
        spans = zip(starts.tolist(), ends.tolist(), strict=True)
        parts = [unicodedata.normalize("NFC", text[start:end]) for start, end in spans]
        behind = np.array([*accumulate(len(part) + 1 for part in parts)], dtype=np.int64)
        text, starts, ends = "\n".join(parts), np.concatenate(([0], behind[:-1])), behind - 1
    codes = _folded_codes(text)
    is_dropped = codes < 0
    if is_dropped.any():
        before = np.concatenate(([0], is_dropped.cumsum()))
        starts, ends, codes = starts - before[starts], ends - before[ends], codes[~is_dropped]
    if codes.max(initial=0) > _LATIN[-1]:
        return codes.tobytes().decode("utf-32-le"), starts, ends
    return codes.astype(np.uint8).tobytes().decode("latin-1"), starts, ends


def _folded_codes(text: str) -> NDArray[np.int32]:
    """Return the folded signs of a text as numbers; -1 for an accent, of which nothing is left."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    folded_codes: NDArray[np.int32] = _FOLDED.take(codes, mode="clip")
    if len(new := np.flatnonzero(folded_codes == 0)):
        found = {code: _folded_code(chr(code)) for code in set(codes[new].tolist())}
        folded_codes[new] = [found[code] for code in codes[new].tolist()]
        known = [code for code in found if code < _LAST]
        _FOLDED[known] = [found[code] for code in known]
    return folded_codes


def _folded_code(sign: str) -> int:
    bare = folded(sign)[:1]
    if not bare:
        return -1
    is_sign = bare.isalnum() or bare in VOWEL_SIGNS or UNSPACED.match(bare)
    return ord(bare) if is_sign else ord(" ")


_FOLDED = np.zeros(1 << 16, dtype=np.int32)
"""Folded signs of the first plane, as far as they were met; 0 for others."""
_LAST = len(_FOLDED) - 1
_LATIN = range(1 << 8)  # signs that one byte holds


class _Haystack:
    """Index of a folded text: where its words (runs of letters and digits) begin and end."""

    def __init__(self, text: str) -> None:
        self._text = text
        try:
            data, self._width = text.encode("latin-1"), 1
            kinds = np.frombuffer((data + b"\0").translate(_LATIN_IN_WORDS), dtype=np.uint8)
        except UnicodeEncodeError:
            codes = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
            data, self._width = np.minimum(codes, _LAST).astype("<u2").tobytes(), 2
            in_words = (codes > ord(" ")).astype(np.uint8)
            kinds = np.append(in_words + unspaced_signs(codes), np.uint8(0))
        numbers = np.ndarray((len(text),), "<u8", data + bytes(8), strides=(self._width,))
        borders = (kinds[1:] != kinds[:-1]).nonzero()[0] + 1
        if kinds[0]:
            borders = np.concatenate(([0], borders))
        self._starts, self._ends = borders[::2], borders[1::2]
        if self._width > 1:  # "Java" ends where an unspaced script begins: "Javaで"
            self._starts, self._ends = borders[kinds[borders] > 0], borders[kinds[borders - 1] > 0]
        self._heads = numbers[self._starts]  # first eight bytes: one number compares fast

    def places(self, part: str) -> list[int]:
        """Return the offsets of a part of words."""
        found: list[int] = []
        at = self._text.find(part) if part else -1  # of some signs, folding leaves nothing
        while at >= 0:
            found.append(at)
            at = self._text.find(part, at + len(part))
        return found

    def numbers(self, number: str) -> list[int]:
        """Return the offsets of a number of several parts, or of a longer one that it begins.

        So "1.5" is "v1.5.2" and "1,5" too, and not "2.1.5" or "1.50".
        """
        pattern = r"(?<!\d)(?<!\d[.,:])" + r"[.,: ]".join(re.split(r"\D", number)) + r"(?!\d)"
        return [found.start() for found in re.finditer(pattern, self._text)]

    def likely_forms(
        self, probes: Sequence[str]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
        """Return the words that begin with a probe, as far as their heads show it.

        Returns:
            The number of the probe, the offset and the text of each word. No word begins with an
            empty probe.
        """
        heads = np.array([self._head_of(probe) for probe in probes], dtype=np.uint64)
        heads, masks = heads.reshape(-1, 2).T
        begin = (self._heads & masks[:, None]) == heads[:, None]
        numbers, rows = np.divmod(begin.ravel().nonzero()[0], len(self._heads))
        places, text = self._starts[rows], self._text
        spans = zip(places.tolist(), self._ends[rows].tolist(), strict=True)
        forms = [text[start:end] for start, end in spans]
        if self._width > 1:  # so few letters begin many other words
            pairs = zip(numbers.tolist(), forms, strict=True)
            whole = [form.startswith(probes[number]) for number, form in pairs]
            return numbers[whole], places[whole], list(compress(forms, whole))
        return numbers, places, forms

    def _head_of(self, probe: str) -> tuple[int, int]:
        """Return the head of a probe, and the bits of it that count."""
        bits, last = 8 * self._width, _LATIN[-1] if self._width == 1 else _LAST
        codes = [ord(sign) for sign in probe[: 8 // self._width]]
        if not codes or (self._width == 1 and max(codes) > last):
            return 1, 0  # no word begins with it
        head = sum(min(code, last) << bits * at for at, code in enumerate(codes))
        return head, (1 << bits * len(codes)) - 1


_LATIN_IN_WORDS = bytes(chr(code).isalnum() for code in _LATIN)


def _probe(own: str, term: str) -> str:
    """Return the prefix that every word of one stem has: ``stud`` for studies and study."""
    letters = takewhile(lambda pair: pair[0] == pair[1], zip(own, term, strict=False))
    shared = term if own.startswith(term) else "".join(letter for letter, _ in letters)
    return shared.rstrip("eiy") or shared or term
