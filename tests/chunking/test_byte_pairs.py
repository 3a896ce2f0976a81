"""Tokens are counted as tiktoken counts them."""

from __future__ import annotations

import itertools
import sys
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commonplace.chunking.byte_pairs import BytePairs
from commonplace.chunking.vocabulary import load_vocabulary, vocabulary_folders

tiktoken = pytest.importorskip("tiktoken")

WORDS = r"\s?\S+|\s"
BYTES = [bytes([code]) for code in range(256)]
JOINED = [
    "".join(letters).encode("utf-8")
    for size in (2, 3, 5)
    for letters in itertools.product("ab é", repeat=size)
    if sum(map(ord, letters)) % 3
]
RANKS = {token: rank for rank, token in enumerate(dict.fromkeys([*BYTES, *JOINED]))}


def theirs(pattern, ranks):
    encoding = tiktoken.Encoding(
        "test", pat_str=pattern, mergeable_ranks=dict(ranks), special_tokens={}
    )
    return lambda text: len(encoding.encode_ordinary(text))


busy = settings(suppress_health_check=[HealthCheck.too_slow])
"""A machine that does much else is slow to make texts up."""

SMALL = BytePairs(WORDS, RANKS), theirs(WORDS, RANKS)


@busy
@given(st.text(alphabet="ab é\n") | st.text())
def test_any_text_has_as_many_tokens_as_in_tiktoken(text):
    ours, reference = SMALL
    assert ours.count(text) == reference(text)


def test_of_pairs_of_one_rank_the_leftmost_is_joined():
    ours = BytePairs(r".+", {**{token: rank for rank, token in enumerate(BYTES)}, b"aa": 256})
    assert ours.count("aaa") == 2
    assert ours.count("aaaa") == 2


def test_the_token_of_rank_0_is_joined_too():
    ranks = {b"ab": 0, **{token: rank for rank, token in enumerate(BYTES, start=1)}}
    assert BytePairs(r".+", ranks).count("cab") == 2


def test_a_long_word_takes_no_time_to_speak_of():
    ours, reference = SMALL
    assert ours.count("ab" * 20_000) == reference("ab" * 20_000)


def test_a_lone_surrogate_is_counted():
    assert SMALL[0].count("a\ud800b") == SMALL[0].count("a\ufffdb")


@pytest.fixture(scope="module")
def published():
    found = load_vocabulary(vocabulary_folders())
    if found is None:
        pytest.skip("no vocabulary is on this disk")
    return found.count, theirs(found._pattern, found._ranks)


KINDS = {
    "English": "The VPN listens on port 51820, and it's theirs; we'll see.\n\n  Isn't it?\n",
    "German": "Straßenbahnhaltestelle: die Äpfel fürs Büro sind übermorgen fällig.\n",
    "Chinese": "我们今天去了公司开会，讨论新的项目计划，然后决定下周再看一次结果。\n",
    "Japanese": "ルーターは新しい部屋に移されました。カタカナとひらがな。\n",
    "Korean": "서버를 새 방으로 옮겼습니다.\n",
    "Russian": "Роутер перенесли в другую комнату, и мы решили так.\n",
    "Arabic": "تم نقل جهاز التوجيه إلى غرفة أخرى ١٢٣.\n",
    "Hindi": "राउटर को दूसरे कमरे में ले जाया गया।\n",
    "code": "def f(x: int) -> list[str]:\n\treturn [f'{x!r:>{10}}' for _ in range(3)]  # ok\r\n",
    "JSON": '{"a": [1, 2.345e-6, null], "path": "C:\\\\usr\\\\x"}\n',
    "base64": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9a",
    "emoji": "👍🏽 ok 👩‍👩‍👧 ✅ é é \u200d\u2028\x85\x1c end",
    "one letter": "a" * 3_000,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_published_vocabulary_counts_as_in_tiktoken(published, kind):
    ours, reference = published
    text = KINDS[kind] * 3
    assert ours(text) == reference(text)


@busy
@given(text=st.text(alphabet=" \n\r\t\x0b\x0c\u00a0'sStTrRvVmMlLdDſıİéA1²Ⅷ١中あ한😀\u0301./,!-_aB"))
def test_any_text_is_split_into_words_as_in_tiktoken(published, text):
    ours, reference = published
    assert ours(text) == reference(text)


def test_other_threads_run_while_a_vocabulary_is_loaded_and_counts():
    """A thread that is not let run for so long would be an event loop that stands still."""
    folders = vocabulary_folders()
    turns, over = [0], threading.Event()

    def take_turns():
        while not over.wait(0.0005):
            turns[0] += 1

    other = threading.Thread(target=take_turns, daemon=True)
    other.start()
    try:
        found = load_vocabulary(folders)
        if found is None:
            pytest.skip("no vocabulary is on this disk")
        loading, turns[0] = turns[0], 0
        found.count("我们今天去了公司开会，" * 5_000)
    finally:
        over.set()
        other.join()
    assert loading >= 0.05 / sys.getswitchinterval()
    assert turns[0] >= 0.02 / sys.getswitchinterval()
