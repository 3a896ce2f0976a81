"""Lines as corrections compare them: words, terms, key, speaker, and what they say of change."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, compress, pairwise
from typing import TYPE_CHECKING, Any

from commonplace.retrieval.value_slots import ValueSlot, amounts, key_values, value_slots
from commonplace.text.analysis import words_of
from commonplace.text.correction_cues import (
    WordKind,
    arrow_starts,
    has_word,
    is_doubtful,
    is_question,
    is_revision,
    is_word,
    left_parts,
    left_words,
    parts_in,
    places_of,
    replaced_words,
)
from commonplace.text.stopwords import ENGLISH
from commonplace.text.strikethrough import struck_parts, without_strikethrough
from commonplace.text.word_forms import have_akin, parts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from commonplace.retrieval.compared_question import Question
    from commonplace.text.analysis import Analyzer

__all__ = ["ComparedLine"]

_OF_ONE_KEY = 2
"""Lines of one key, at most: a value, and its correction."""
_NO_SUBJECTS: tuple[WordKind, ...] = ("article", "negation", "new")
_SHORT_CHARS = 140
"""Length up to which a line says one thing. In longer ones less is taken for a correction."""
_SPEAKER = re.compile(
    r"\s*(?:[-*+]\s+)?[*_]*"
    r"([^\W\d_][\w'.-]*(?: [^\W\d_a-zß-ÿ][\w'.-]*)?|[a-zß-ÿ][\w'.-]* [^\W\d_][\w'.-]*)[*_]{0,3}:\s"
)
"""A name of two words has two capitals or none: "Decision reversed:" begins a note."""
_VALUE = re.compile(
    r"(?:(?<=[^\s.!?*+-]\s)|(?<=\b[A-Z]\.\s)|(?<=\b[DFHMSdfhms][rst]\.\s)|(?<=\b[DMSdms]r[as]\.\s)"
    r"|(?<=\b(?:[Rr]ag|[Aa]vv|[Ii]ng|[Aa]rq|[Ll]ic)\.\s)|(?<=\b(?:[Gg]eom|[Dd]ott|[Aa]rch|[Pp]rof)\.\s))"
    r"[^\W_][\w-]*|(?<=\b[DLNdln]['’])[A-ZÀ-ÖØ-Þ][\w-]*|\b\d[\w.:/-]*\d"
)
"""A word behind another one, an initial, a title as "Dr.", a French article; and a number."""
_TITLE = re.compile(r"(?<!\w)[^\W\d_]{1,40}(?= [A-ZÀ-ÖØ-Þ])")
_TOPIC = re.compile("[-*+ ]*([\u3400-\u9fff\uac00-\ud7ff\u30a0-\u30ff]{1,12}?)[のはがをで的是在]")
_QUOTED = re.compile(
    r"(?<!\w)(?:\"([^\"]{4,200})\"|'([^']{4,200})')(?!\w)|“([^”]{4,200})”|„([^“”]{4,200})[“”]"
    r"|«([^»]{4,200})»|「([^」]{4,200})」|『([^』]{4,200})』|(?<!\w)‘([^’]{4,200})’(?!\w)"
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？])")
_OWNER = re.compile(r"(?<!\w)(\w{1,40})['’]s\b")
_NEAR = 2
"""Words between a negation and what it denies, at most."""
_PHRASE_END = re.compile(r"[^\w\s'’*_-]+(?!\d)\s*|(?<!\d)[^\w\s'’*_-]+\s*")
"""What is between two digits, as in 7:30, is no end."""


class ComparedLine:
    """Line with its words, prepared once for all comparisons.

    Args:
        row: Its place in the table.
        text: Its text.
        held: Which terms of the question it holds, 0 and 1.
        question: The question.
        analyzer: Maps words to terms.
        place: How many lines have more evidence.
    """

    def __init__(
        self, row: int, text: str, held: NDArray[Any], question: Question, analyzer: Analyzer, *,
        place: int,
    ) -> None:  # fmt: skip
        self.row, self.text, self.held, self.place = row, text, held, place
        self._question, self._analyzer = question, analyzer

    @cached_property
    def share(self) -> float:
        """Share of the question that it holds."""
        return self._question.share(self.held)

    @cached_property
    def words(self) -> list[str]:
        """Words in order."""
        return words_of(without_strikethrough(self.text))

    @cached_property
    def terms(self) -> list[str]:
        """Terms of the words, in the same order."""
        terms = self._analyzer.term_of_each(self.words)
        return [self._question.prefix_of(word) or terms[word] or word for word in self.words]

    def term_of(self, word: str) -> str:
        """Return the term of a word."""
        return self._question.prefix_of(word) or self._analyzer.term_of_each((word,))[word] or word

    @cached_property
    def phrases(self) -> list[list[str]]:
        """Words, apart where the text has punctuation."""
        return [words_of(phrase) for phrase in _PHRASE_END.split(self.text)]

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Neighbouring words with no punctuation between them."""
        return [pair for phrase in self.phrases for pair in pairwise(phrase)]

    @cached_property
    def replaced(self) -> list[set[str]]:
        """Terms of what it says was before, a set for each place that says so."""
        found = self._content(replaced_words(self.phrases)) + self.left_behind
        return found + [{term} for term in self._denied_values()]

    def _denied_values(self) -> Iterator[str]:
        """Yield the numbers and names right behind a negation, or behind one word more.

        "Weight *was* 80 kg" denies nothing, unless the line says that the weight has changed.
        """
        asked, language = self._question, self._question.language
        for words in self.phrases:
            for at in places_of("negation", words):
                if words[at] == "no" and language not in ("es", "en"):
                    continue  # Portuguese "no Porto"
                if (
                    at
                    and is_word("was", words[at])
                    and not (self.has_cue and asked.term_set.intersection(map(self.term_of, words)))
                ):
                    continue
                for word in words[at + 1 : at + 1 + _NEAR]:
                    is_value = word.isdigit() or word in self.values
                    if is_value and (word.isalpha() or words[at] != "no" or language == "es"):
                        yield self.term_of(word)

    @cached_property
    def left_behind(self) -> list[set[str]]:
        """Terms of what it goes from to something else: "from *A* to B", "~~A~~ B"."""
        parts = (set(parts_of(words_of(part))) for part in left_parts(self.text))
        struck = map(words_of, struck_parts(self.text))
        left = (*left_words(self.phrases), *arrow_starts(self.text), *struck)
        return [*self._content(left), *parts]

    @cached_property
    def denied(self) -> list[set[str]]:
        """Terms of the phrases that it denies: "lamb, not *salmon*"."""
        behind = (words for words in self.phrases[1:] if words and is_word("negation", words[0]))
        return self._content(words[1:] for words in behind)

    def _content(self, found: Iterable[Sequence[str]]) -> list[set[str]]:
        sets = (set(map(self.term_of, set(words) - self._question.stop_words)) for words in found)
        return [terms for terms in sets if terms]

    @cached_property
    def term_set(self) -> frozenset[str]:
        """Terms; of scripts without spaces, their grams."""
        return parts_of(self.terms)

    def common(self, other: ComparedLine) -> float:
        """Return the share of the shorter line's terms that both hold."""
        shorter = min(len(self.term_set), len(other.term_set))
        return len(self.term_set & other.term_set) / max(1, shorter)

    def may_say(self, terms: Collection[str]) -> bool:
        """Return whether it has some of what another line names, in whatever form."""
        return have_akin(terms, self.term_set, self.text)

    @cached_property
    def content(self) -> frozenset[str]:
        """Terms that the question does not have, less stop words."""
        return self.term_set - ENGLISH - self._question.term_set

    @cached_property
    def values(self) -> frozenset[str]:
        """Names and numbers, but for a first word, which is capital in any case; folded."""
        found = (name for name in _VALUE.findall(self.text) if not name[0].islower())
        return frozenset(word for name in found for word in words_of(name) if len(word) > 1)

    @cached_property
    def titles(self) -> frozenset[str]:
        """Words right before a name: "*Aunt* Leila"."""
        return frozenset(word for title in _TITLE.findall(self.text) for word in words_of(title))

    @cached_property
    def topic(self) -> str:
        """What a line begins with in a script without spaces, up to its first particle."""
        match = _TOPIC.match(self.text)
        return match[1] if match else ""

    @cached_property
    def quotations(self) -> list[str]:
        """What stands between marks of quotation."""
        return ["".join(groups) for groups in _QUOTED.findall(self.text)]

    @cached_property
    def has_cue(self) -> bool:
        """Whether it has a cue; in a long line, in a sentence with a word of the question."""
        is_turn = self.is_turn
        if not is_revision(self.words, self.text, is_turn=is_turn):
            return self._has_new() or bool(struck_parts(self.text))
        if len(self.text) <= _SHORT_CHARS:
            return True
        asked = self._question.term_set
        wanted = {word for word, term in zip(self.words, self.terms, strict=True) if term in asked}
        sentences = ((words_of(part), part) for part in _SENTENCE.split(self.text))
        return any(
            not wanted.isdisjoint(words) and is_revision(words, part, is_turn=is_turn)
            for words, part in sentences
        )

    @cached_property
    def slots(self) -> list[ValueSlot]:
        """Numbers and names, each with what is around it."""
        return list(value_slots(self.words, self.terms, self.values))

    @cached_property
    def bare_slots(self) -> list[ValueSlot]:
        """The same, less the terms of what the question asks of its subject."""
        bare = [term not in self._question.attributes for term in self.terms]
        words, terms = (list(compress(all_, bare)) for all_ in (self.words, self.terms))
        return list(value_slots(words, terms, self.values))

    @cached_property
    def amounts(self) -> dict[str, set[str]]:
        """Numbers by their units."""
        return amounts(without_strikethrough(self.text))

    @cached_property
    def negated(self) -> frozenset[str]:
        """Terms right behind a negation: "port 9444, not *8081*"; "was" is a log's "is", too."""
        found = ((words, at) for words in self.phrases for at in places_of("negation", words))
        behind = (it[at + 1 : at + 1 + _NEAR] for it, at in found if not is_word("was", it[at]))
        return frozenset(map(self.term_of, chain.from_iterable(behind)))

    def _has_new(self) -> bool:
        """Return whether it has a new one of what is asked for: "the *new code* is 5218"."""
        terms = self.terms
        new = (term for at in places_of("new", self.words) for term in terms[at + 1 : at + 2])
        return self.is_short and not self._question.term_set.isdisjoint(new)

    @cached_property
    def relatives(self) -> list[str]:
        """Terms of the relatives, friends and neighbours that it speaks of."""
        words = self.words
        return [
            self.terms[at]
            for at in places_of("relative", words)
            if (self._is_owned(at) or words[at] not in self.titles)
            and not has_word("companion", words[max(0, at - 2) : at])
        ]

    def _is_owned(self, at: int) -> bool:
        """Return whether a word has an owner: "Ann's", "Jonas'"; "siostra *Marty*" of "Marta"."""
        words, asked = self.words, self._question
        behind = words[at + 1 : at + 2]
        if any(asked.prefix_of(word) and word not in asked.words for word in behind):
            return True
        return at > 0 and (words[at - 1] == "s" or f"{words[at - 1]}' " in self.text.lower())

    @cached_property
    def relative_parts(self) -> frozenset[str]:
        """The same in a script without spaces, as parts of the text."""
        return parts_in("relative", self.text)

    @cached_property
    def owners(self) -> frozenset[str]:
        """Owners of something: "the *theme's* licence"."""
        return frozenset(owner.lower() for owner in _OWNER.findall(self.text))

    @cached_property
    def possessions(self) -> list[tuple[str | None, set[str]]]:
        """Terms behind an owner, and behind "other", for which the owner is None."""
        return [
            (None if is_other else words[at - 1], set(map(self.term_of, words[at + 1 : at + 3])))
            for words in self.phrases
            if "s" in words or has_word("other", words)
            for at, word in enumerate(words)
            if (is_other := is_word("other", word)) or (at and word == "s")
        ]

    @cached_property
    def is_short(self) -> bool:
        """Whether it says one thing, or is prose of some sentences and no turn of speech."""
        sentences = [self.text] if self.is_turn else _SENTENCE.split(self.text)
        return max(map(len, sentences)) <= _SHORT_CHARS and len(self.text) <= 2 * _SHORT_CHARS

    @cached_property
    def is_doubtful(self) -> bool:
        """Whether it asks, plans or quotes."""
        return is_doubtful(self.words, self.text, of_day=self._question.names_day)

    def is_as_doubtful_as(self, newer: ComparedLine) -> bool:
        """Return whether it states no more than a newer line that is doubtful."""
        if newer.is_turn:  # many turns ask
            return self.is_doubtful
        if is_question(newer.text):
            return is_question(self.text)
        return is_doubtful(self.words, self.text, is_newer=False)

    @cached_property
    def keys(self) -> list[tuple[tuple[str, ...], str]]:
        """Keys and values of a ``key: value`` line or of a table's row; of others, none."""
        if self.speaker and self.text.rstrip().endswith((".", "!", "?", "…")):
            return []  # a turn of a conversation
        return list(key_values(self.text))

    @cached_property
    def speaker(self) -> str | None:
        """Name at the beginning of a turn of a conversation, ``Ann: …``."""
        match = _SPEAKER.match(self.text)
        return match[1].lower() if match else None

    @cached_property
    def is_turn(self) -> bool:
        """Whether it is a turn of a conversation: its speaker has others, a key has none."""
        match = _SPEAKER.match(self.text)
        return match is not None and self._question.around.count(f"{match[1]}:") > _OF_ONE_KEY

    def nouns(self, *, before_verbs: bool) -> Iterator[str]:
        """Yield the words that name a subject: behind "the", and before "is"."""
        for before, word in self.pairs:
            if is_word("article", before) and not is_word("indefinite", before):
                yield word
            if before_verbs and is_word("copula", word):
                yield before

    def objects(self) -> Iterator[tuple[str, str]]:
        """Yield the verbs that follow a pronoun, each with the next word: "we *buy flour*"."""
        for (subject, verb), (same, noun) in pairwise(self.pairs):
            if same == verb and is_word("pronoun", subject):
                yield verb, noun

    def lacks_subject(self, word: str) -> bool:
        """Return whether a word may name a subject, and none that the line speaks of."""
        return (
            len(word) > 1
            and word not in ENGLISH
            and not any(is_word(kind, word) for kind in _NO_SUBJECTS)
            and self.term_of(word) not in self.term_set
            and not is_revision([word])
        )
