"""Forms of a word, and the tokenizer `trigram`: words are found within others."""

from __future__ import annotations

import pytest

from commonplace import Memory, Settings
from commonplace.text.analysis import Analyzer, language_of


@pytest.mark.parametrize("engine", ["sqlite", "memory"])
def test_with_trigrams_parts_of_words_are_found_in_any_script(tmp_path, engine):
    (tmp_path / "MEMORY.md").write_text(
        "# Memory\n\n- The gate asks OpenIDConnect.\n- 金曜日の会議は十時に。\n- Café crème.\n"
    )
    settings = Settings.from_mapping({"search": {"tokenizer": "trigram"}})
    index = tmp_path / "index.sqlite" if engine == "sqlite" else "memory://"
    with Memory.open(tmp_path, settings=settings, embedder=None, index=index) as memory:
        for part in ("connect", "OPENID", "who asks nidcon?", "会議は", "金曜日の予定", "creme"):
            assert memory.search(part), part
        for absent in ("会見は", "connection", "db"):
            assert not memory.search(absent), absent
    with Memory.open(tmp_path, embedder=None) as memory:  # the default has stems and pairs instead
        assert not memory.search("connect")
        assert memory.search("会議")


def test_a_query_for_trigrams_is_cut_into_words_and_runs_into_threes():
    words = Analyzer("trigram").words("Is OpenID at 金曜日の?")
    assert [word.text for word in words] == ["OpenID", "金曜日", "曜日の"]
    assert Analyzer("trigram").terms("Vpns") == ["vpn", "pns"]


@pytest.mark.parametrize(
    ("word", "prefix"),
    [
        ("bredbandet", "bredban"),
        ("Größeren", "großer"),
        ("серверов", "сервер"),
        ("hasła", "hasł"),
        ("zeit", None),
        ("host7777", None),
        ("会議", None),
    ],
)
def test_the_forms_of_a_word_share_its_beginning(word, prefix):
    for tokenizer in ("porter", "unicode61"):
        (term,) = Analyzer(tokenizer).words(word)
        found = Analyzer(tokenizer).prefix_of(term)
        assert (found and found.term) == prefix
    for part in Analyzer("trigram").words(word):
        assert Analyzer("trigram").prefix_of(part) is None


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Hvornår kommer der gæster?", "sv"),  # as all Nordic ones
        ("Wie heißt der Hund?", "de"),
        ("Wanneer kan de monteur nu komen?", "nl"),
        ("Can the man at the gate see under it?", "en"),
    ],
)
def test_a_question_is_of_the_language_of_its_function_words(question, language):
    assert language_of(question) == language


@pytest.mark.parametrize("engine", ["sqlite", "memory"])
def test_a_word_that_no_note_holds_finds_its_other_forms(tmp_path, engine):
    (tmp_path / "MEMORY.md").write_text(
        "# Memory\n\n- bredband: 399 kr/mån via Fjordnet\n- Hausverwaltung: Frau Yilmaz\n"
    )
    index = tmp_path / "index.sqlite" if engine == "sqlite" else "memory://"
    with Memory.open(tmp_path, embedder=None, index=index) as memory:
        (found,) = memory.search("Vad kostar bredbandet?", explain=True)
        assert "Fjordnet" in found.snippet
        assert found.explanation.terms == ("bredban",)
        assert not memory.search("Vad kostar bredden?")
        memory.append("Skruva fast bredbandet i hallen.")
        (found,) = memory.search("bredbandet")
        assert "hallen" in found.snippet  # the form itself is known now
