"""Names of files for keys and labels of any text."""

import os
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import NamespaceError
from commonplace.items.names import decode_name, encode_name, resolve_name
from commonplace.workspace.namespaces import check_namespace

HOSTILE = [
    "", ".", "..", "../x", "a/b", "a\\b", "/etc/passwd", "C:", "CON", "nul.txt", "a\0b", "a\nb",
    "%", "%41", "~", "a~b", "a~0123abcd", " a ", "a.", ".git", "*", "?", '"', "<>", "|", "[x]",
    "zoé", unicodedata.normalize("NFD", "zoé"), "\u202e", "\ud800", "ﬁ", "İ", "ß", "日本", "🙂",
    "VPN", "vpn", "Vpn", "a.md", "x" * 500, "X" * 500, "é" * 300,
]  # fmt: skip


def check(text, **options):
    name = encode_name(text, **options)
    assert name.isprintable()
    assert not set(name) & set('/\\:*?"<>|[]{}')
    assert name == unicodedata.normalize("NFC", name)
    assert len(name.encode()) <= 200
    assert not name.startswith((".", " "))
    assert not name.endswith((".", " "))
    try:
        check_namespace(name.replace("~", "-"))  # but for the tilde of a hash
    except NamespaceError:
        pytest.fail(name)
    assert decode_name(name) in (text, None)
    assert decode_name(name) == text or len(name.encode()) > 100
    return name


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
@pytest.mark.parametrize("dots", [True, False])
def test_a_hostile_text_has_a_safe_name(text, dots):
    check(text, dots=dots)


def test_no_two_texts_have_one_name_even_where_case_is_ignored():
    names = [encode_name(text).casefold() for text in HOSTILE]
    assert len(set(names)) == len(HOSTILE)


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_any_text_has_a_safe_name_and_comes_back(text):
    check(text)


@given(st.text(max_size=10), st.text(max_size=10))
def test_different_texts_have_different_names(one, other):
    assert (encode_name(one).casefold() == encode_name(other).casefold()) == (one == other)


def test_plain_texts_are_their_own_names():
    for text in ("vpn", "0b6f-42", "user_1", "ann@example.com", "日本", "a b", "notes.md"):
        assert encode_name(text) == text


def test_a_folder_has_no_name_of_a_file():
    assert encode_name("b.md", dots=False) != "b.md"


def test_a_name_that_a_person_gave_is_found(tmp_path):
    assert resolve_name(str(tmp_path), "Shopping", ending=".md") != "Shopping.md"
    (tmp_path / "Shopping.md").write_text("milk")
    assert resolve_name(str(tmp_path), "Shopping", ending=".md") == "Shopping.md"
    assert decode_name("Shopping") == "Shopping"
    own = encode_name("Shopping") + ".md"
    (tmp_path / own).write_text("bread")
    assert resolve_name(str(tmp_path), "Shopping", ending=".md") == own
    assert sorted(os.listdir(tmp_path)) == sorted(["Shopping.md", own])
