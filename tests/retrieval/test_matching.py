import re
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.retrieval.candidates import reciprocal_ranks
from commonplace.retrieval.passages import passage_table
from commonplace.retrieval.redundancy import thin_ties
from commonplace.retrieval.term_matching import occurrences, terms_of_lines, weighted_terms
from commonplace.store.records import StoredChunk
from commonplace.text.analysis import VOWEL_SIGNS, Analyzer, folded
from commonplace.text.time_expressions import days_named
from commonplace.text.unspaced_scripts import UNSPACED

ANALYZER = Analyzer("porter")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("studies", "she studied there"),
        ("study", "her STUDIES"),
        ("naïve", "a naive one"),
        ("naive", "a naïve one"),
        ("がくせい", "私はがくせいです"),
        ("ポケット", "ポケットに"),
        ("東京", "東京タワー"),
        ("йогурт", "Йогурт дома"),
        ("Ёлка", "елка"),
        ("ὁδός", "ΟΔΟΣ"),
        ("x" * 200, "y " + "x" * 200),
        ("0451", "the code is 0451."),
        ("Java", "本番はJava 17"),
        ("Nginx", "서버는Nginx로"),
        ("15", "会议改到15时"),
        ("ที่อยู่", "ที่อยู่ของหมอ"),  # its vowel signs are no letters to Unicode
        ("รหัสผ่านคืออะไร", "รหัสผ่านคืออะไร 4711"),
        ("စကားဝှက်", "စကားဝှက် 4711"),
        ("ລະຫັດຜ່ານ", "ລະຫັດຜ່ານ 4711"),
        ("ពាក្យសម្ងាត់", "ពាក្យសម្ងាត់ 4711"),
        ("東京ประตู", "東京: ประตู 4711"),
    ],
)
def test_each_word_of_the_query_is_found(query: str, text: str) -> None:
    words = ANALYZER.words(query)
    found = occurrences(["nothing", text, ""], words, ANALYZER)
    np.testing.assert_array_equal(found, [[0] * len(words), [1] * len(words), [0] * len(words)])


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("cat", "the catalogue"),
        ("port", "she reported"),
        ("stud", "study"),
        ("use", "of us"),
        ("京", "東西"),
        ("Java", "JavaScriptで"),
        ("นอน", "อยู่ข้างนอก"),  # two letters in common, of three
        ("ຫນັງສື", "ຫນຶ່ງ"),
    ],
)
def test_other_words_are_not(query: str, text: str) -> None:
    assert not occurrences([text], ANALYZER.words(query), ANALYZER).any()


# Accents apart from their letters, a capital that becomes two signs, sigmas, halves of a Hangul
# syllable, signs behind the first plane, and a surrogate by itself.
SIGNS = "aBzZ09_-.\n\0 éÉßıİłŁžΣσςЙй—’“ªaa\u0301\u0327\u1112\u1161\u11ab"
SIGNS += "かが\u3099東京😀𝔸𠀀\ud800नि\u094d"


@pytest.mark.slow
@given(st.lists(st.text(SIGNS, max_size=12), min_size=1, max_size=5), st.text(SIGNS, min_size=1))
def test_a_word_is_found_in_the_parts_that_hold_it_however_it_is_written(parts, query):
    words = [word for word in ANALYZER.words(" ".join((query, *parts))) if not word.gram]
    found = occurrences(parts, words, ANALYZER)
    for row, part in enumerate(parts):
        apart = UNSPACED.sub(r" \g<0> ", folded(part))
        forms = re.findall(rf"(?:[^\W_]|[{VOWEL_SIGNS}])+", apart)
        terms = ANALYZER.term_of_each(forms)
        for column, word in enumerate(words):
            own = folded(word.text)
            same = any(form == own for form in forms)
            assert found[row, column] >= same, (part, word)
            assert found[row, column] <= any(same or terms[form] == word.term for form in forms)


@pytest.mark.parametrize("query", ["\u3099", "owl \u3099", "\u309a\u3099 \u3099"])
def test_a_sign_of_which_folding_leaves_nothing_is_nowhere(query: str) -> None:
    words = [word for word in ANALYZER.words(query) if word.gram]
    assert words
    assert not occurrences(["an owl", "か\u3099き", ""], words, ANALYZER).any()


@pytest.mark.parametrize("tokenizer", ["porter", "unicode61"])
def test_many_words_have_the_terms_that_they_have_alone(tokenizer: str) -> None:
    analyzer = Analyzer(tokenizer)
    odd = ["", " ", "a b", "x_y", "don't", "é", "ß", "東京", "\ud800", "\0", "k" * 3000]
    words = [*odd, "Running", "runs", "studies", "0", "a1b2"]
    terms = analyzer.term_of_each(words)
    for word in words:
        alone = analyzer.terms(word)
        assert terms[word] == (alone[0] if len(alone) == 1 else "")


class Written:
    """A snapshot of chunks with versions; it knows those alone."""

    def __init__(self, versions: dict[int, int]) -> None:
        self.known = versions

    def versions(self, seqs: list[int]) -> dict[int, int]:
        return {seq: self.known[seq] for seq in seqs}


def test_of_chunks_that_score_alike_the_newest_stay() -> None:
    hits = [(3, 2.0), (1, 1.0), (4, 1.0), (7, 1.0 - 1e-12), (2, 0.5)]
    snapshot = Written({3: 10, 1: 50, 4: 40, 7: 60, 2: 20})
    assert [seq for seq, _ in thin_ties(snapshot, hits, most=2)] == [3, 7, 1, 2]


def test_a_word_that_asks_what_was_said_counts_a_quarter_of_what_it_was_said_of() -> None:
    words = ANALYZER.words("which discussion of the tariff")
    terms = weighted_terms(dict.fromkeys(words, 3), chunk_count=500, days=None)
    weights = {term.text: weight for term, weight in zip(terms.known, terms.weights, strict=True)}
    assert weights["tariff"] == 4 * weights["discussion"] > 0
    assert terms.total == pytest.approx(sum(weights.values()))


def test_no_version_is_read_where_no_scores_are_equal() -> None:
    hits = [(3, 2.0), (1, 1.0)]
    assert thin_ties(Written({}), hits, most=1) == hits


def test_hits_that_differ_by_the_rounding_of_float32_share_their_rank() -> None:
    noise = 1.2e-7
    hits = [(5, 0.5), (2, 0.4 + noise), (7, 0.4), (1, 0.4 - noise), (3, 0.3)]
    swapped = [(5, 0.5), (1, 0.4 + noise), (2, 0.4), (7, 0.4 - noise), (3, 0.3)]
    ranks = reciprocal_ranks([(hits, 1e-6)])
    assert ranks == reciprocal_ranks([(swapped, 1e-6)])
    assert ranks == {5: 1, 2: 1 / 2, 7: 1 / 2, 1: 1 / 2, 3: 1 / 5}
    both = reciprocal_ranks([(hits, 1e-9), ([(3, 9.0)], 1e-9)])
    assert both == {5: 1, 2: 1 / 2, 7: 1 / 3, 1: 1 / 4, 3: 1 / 5 + 1}


HEADER = "| name | owner |\n|---|---|"
ROWS = [*(f"| host{number} | Ann |" for number in range(8)), "| host8 | no owner |"]


@pytest.mark.parametrize(
    ("text", "context"),
    [("\n".join((HEADER, *ROWS)), ""), ("\n".join(ROWS), HEADER)],
    ids=["its own", "the chunk's before"],
)
def test_above_the_row_that_holds_a_term_is_what_else_the_header_holds(text, context) -> None:
    place = ("MEMORY.md", "memory", 1, text.count("\n") + 1, "hash")
    chunk = StoredChunk(1, "id", *place, text, "", context, None, b"", None, 0)
    after = chunk._replace(seq=2, path="other.md", text="| host7 | Bo |", context="")
    table = passage_table([chunk, after], dimension=None)
    present, above = terms_of_lines(table, ANALYZER.words("owner host7"), ANALYZER)
    held = {table.text_of(unit): [*present[unit], *above[unit]] for unit in range(len(table))}
    assert held["| host7 | Ann |"] == [0, 1, 1, 0]
    assert held["| host6 | Ann |"] == [0, 0, 0, 0]
    assert held["| host8 | no owner |"] == [1, 0, 0, 0]
    assert held["| host7 | Bo |"] == [0, 1, 0, 0]


def test_of_three_chunks_an_identifier_is_weighted_as_of_a_hundred() -> None:
    words = ANALYZER.words("host7 51820 owner 3rd 2026")
    weights = weighted_terms(dict.fromkeys(words, 1), 3, None).weights
    assert weights[:2] == pytest.approx(np.log1p(99.5 / 1.5))
    assert weights[2:] == pytest.approx(np.log1p(2.5 / 1.5))


@pytest.mark.parametrize(("frequency", "count"), [(1, 16), (300, 6), (3_000, 3)])
def test_terms_bring_candidates_while_they_match_two_thousand_chunks(frequency, count):
    words = ANALYZER.words(" ".join(f"word{number}" for number in range(20)))
    frequencies = dict.fromkeys(words, frequency)
    assert len(weighted_terms(frequencies, 100_000, None).rarest) == count


def test_a_date_word_weighs_half_where_days_are_compared():
    frequencies = dict.fromkeys(ANALYZER.words("payments january"), 5)
    days = days_named("payments in January 2026", date(2026, 6, 1))
    payments, january = weighted_terms(frequencies, 200, days).weights
    assert january == payments / 2
    payments, january = weighted_terms(frequencies, 200, None).weights
    assert january == payments
