"""What kind of thing is asked for, and the words for what is of it."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

import pytest

from commonplace.text.hyponyms import asked_hyponyms

TABLE = tomllib.loads(files("commonplace.text").joinpath("hyponyms.toml").read_text("utf-8"))


def listed(text):
    return [entry.strip() for entry in text.split(",")]


@pytest.mark.parametrize(
    ("question", "word", "several"),
    [
        ("Which sports does Ada watch?", "tennis", True),
        ("what are Ada's hobbies", "pottery", True),
        ("What are my brother’s hobbies?", "pottery", True),
        ("what kinds of music do we like?", "jazz", False),
        ("which of the countries did I visit", "peru", True),
        ("How many pets does she have?", "hamsters", True),
        ("what is my sister's favorite color?", "teal", False),
        ("what's her favourite colour?", "teal", False),
        ("which board games do we own?", "chess", True),
        ("list all my allergies", "penicillin", True),
        ("do I have any allergies?", "peanut", True),
        ("what book genres does Ada read", "fantasy", True),
        ("What database do we use?", "postgresql", False),
        ("what am I allergic to?", "peanut", False),
        ("what does my brother do for a living?", "carpenter", False),
        ("What did we eat at the party?", "dumplings", False),
        ("what does my new boss drive", "toyota", False),
        ("where did we travel last year?", "peru", False),
        ("what's her favourite  sport", "judo", False),
        ("which vegetables do we grow?", "tomatoes", True),
        ("how many children has Ada?", "daughter", True),
        ("what are the sports that I like?", "judo", True),
    ],
)
def test_a_question_asks_for_things_of_a_kind(question, word, several):
    asked = asked_hyponyms(question)
    assert word in asked.forms
    assert asked.several is several


@pytest.mark.parametrize(
    "question",
    [
        "",
        "which port does the VPN use?",
        "what is the name of Ada's dog?",
        "who plays the drums?",
        "the sports bag is in the hall",
        "what was said about sports?",
        "which play did we see?",
        "what does Ada do?",
        "eat",
        "what is the state of the deploy?",
        "what was the job that failed last night?",
        "what's the cause of the outage?",
        "how does the cache grow?",
        "what does the scheduler drive?",
    ],
)
def test_other_questions_ask_for_no_kind(question):
    assert asked_hyponyms(question) is None


def test_words_of_the_question_are_no_answer():
    asked = asked_hyponyms("Which other fruits than apples and a melon does Ada like?")
    assert "pear" in asked.words
    assert asked.forms.isdisjoint({"apple", "apples", "melon", "melons"})
    assert asked.words < asked.forms


@pytest.mark.parametrize("kind", TABLE)
def test_the_lists_are_of_single_words_in_lower_case_each_once(kind):
    words = listed(TABLE[kind]["words"])
    assert words == sorted(set(words))
    assert not [
        word for word in words if re.fullmatch(r"\w+", word) is None or word.lower() != word
    ]
    for part in ("names", "verbs"):
        entries = listed(TABLE[kind].get(part, "x"))
        assert len(entries) == len(set(entries))
        assert all(entry and entry == entry.lower() for entry in entries)
