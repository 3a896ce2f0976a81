"""Forms of a word, and the tokenizer `trigram`: words are found within others."""

from __future__ import annotations

import pytest

from commonplace import Memory, Settings
from commonplace.text.analysis import Analyzer, language_of, respelled, without_request


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


@pytest.mark.parametrize("tokenizer", ["porter", "trigram"])
@pytest.mark.parametrize("text", ["दुकान में चायपत्ती", "বাংলা ভাষা", "தமிழ் மொழி", "తెలుగు భాష", "བོད་སྐད་ ཡིག"])
def test_vowel_signs_are_part_of_a_word(text, tokenizer):
    least = 3 if tokenizer == "trigram" else 1
    words = [word.text for word in Analyzer(tokenizer).words(text)]
    assert words == [word for word in text.replace("་", " ").split() if len(word) >= least]


@pytest.mark.parametrize("engine", ["sqlite", "memory"])
def test_a_word_with_vowel_signs_is_found_as_a_whole(tmp_path, engine):
    (tmp_path / "MEMORY.md").write_text("# Memory\n\n- चायपत्ती: गुप्ता ट्रेडर्स से\n- रोहन का स्कूल\n")
    index = tmp_path / "index.sqlite" if engine == "sqlite" else "memory://"
    with Memory.open(tmp_path, embedder=None, index=index) as memory:
        assert "गुप्ता" in memory.search("चायपत्ती कहाँ से आती है?")[0].snippet
        assert not memory.search("चाय कप")  # no letters, words


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
        found = Analyzer(tokenizer).other_form(term)
        assert (found and found.term) == prefix
    for part in Analyzer("trigram").words(word):
        assert Analyzer("trigram").other_form(part) is None


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("What changed in v1.5.0, and in 1.6?", {"v1.5.0": "1.5.0", "1.6": "1.6"}),
        ("10.0.0.7:8080", {"10.0.0.7:8080": "10.0.0.7:8080"}),
        ("Wer kommt am 24.12.2026 um 18:30?", {"18:30": "18:30"}),
        ("rooms 3, 5 and 7. 8 is free; abc1.5, 2026-10-14", {}),
    ],
)
def test_a_number_of_several_parts_is_one_word(query, numbers):
    words = Analyzer("porter").words(query)
    assert {word.text: word.term for word in words if word.number} == numbers


NUMBERS = """\
# Machines

- The printer has 192.168.1.20
- The scanner has 192.168.1.2
- Postgres on staging is v15.4
- Postgres in production is 14.9
- The jobs need Python 3.12.1
- The old jobs need Python 3.1
- Chorprobe ist um 19.30 Uhr, für alle
"""
HIVES = "- hive 3 has a blue queen\n- hive 5 has a white queen\n"


@pytest.mark.parametrize("embedder", ["bundled", None])
@pytest.mark.parametrize("engine", ["sqlite", "memory"])
def test_numbers_are_told_apart(tmp_path, engine, embedder):
    (tmp_path / "MEMORY.md").write_text(NUMBERS)
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "bees.md").write_text(HIVES)
    index = tmp_path / "index.sqlite" if engine == "sqlite" else "memory://"
    with Memory.open(tmp_path, embedder=embedder, index=index) as memory:
        for question, answer in {
            "what has 192.168.1.2?": "scanner",
            "which machine is 192.168.1.20": "printer",
            "where does 15.4 run?": "v15.4",
            "where does v14.9 run?": "14.9",
            "what needs Python 3.12?": "3.12.1",
            "what needs Python 3.1?": "old jobs",
            "was ist um 19:30?": "Chorprobe",
            "which colour has the queen of hive 3?": "blue",
            "which colour has the queen of hive 5?": "white",
        }.items():
            found = memory.search(question)[0]
            assert answer in found.snippet.split("\n")[found.best_line - found.start_line]


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Hvornår kommer der gæster?", "sv"),  # as all Nordic ones
        ("Wie heißt der Hund?", "de"),
        ("Wanneer kan de monteur nu komen?", "nl"),
        ("Mật khẩu của bộ định tuyến là gì?", "vi"),
        ("Apa kata sandi untuk router di kantor?", "id"),
        ("ما هي كلمة مرور الراوتر؟", "ar"),
        ("מה הסיסמה של הנתב?", "he"),
        ("राउटर का पासवर्ड क्या है?", "hi"),
        ("Can the man at the gate see under it?", "en"),
        # Names, and English words, that are words of other languages without their accents.
        ("Theo birthday", "en"),
        ("Ada birthday", "en"),
        ("Luc birthday", "en"),
        ("Bao address", "en"),
        ("Kami password", "en"),
        ("dentist 19 May 8:20, bring the retainer", "en"),
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


@pytest.mark.parametrize("engine", ["sqlite", "memory"])
def test_words_that_only_begin_alike_are_no_forms_where_words_have_no_endings(tmp_path, engine):
    lines = ("- Mái nhà đã được nghiêng lại", "- Nghiên cứu ở tầng hai", "- Số nhà: 12")
    (tmp_path / "MEMORY.md").write_text("# Memory\n\n" + "\n".join(lines) + "\n")
    index = tmp_path / "index.sqlite" if engine == "sqlite" else "memory://"
    with Memory.open(tmp_path, embedder=None, index=index) as memory:
        (found,) = memory.search("Nghiên cứu được làm ở đâu?", explain=True)
        assert found.explanation.terms == ("nghien", "cuu")


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Do you remember when Ann moved?", "when Ann moved?"),
        ("Can you please tell me what the code is?", "what the code is?"),
        ("hey, could you check when it was painted for me?", "when it was painted?"),
        ("Please help me remember: where is the key?", "where is the key?"),
        ("I want to know who came, thanks", "who came"),
        ("I was wondering if you could remind me of that cartoon", "cartoon"),
        ("Summarize the discussion about the new logo.", "the new logo."),
        ("Can you please summarise all our talks on Leo?", "Leo?"),
        ("Give me a quick summary of the debate over prices", "prices"),
        ("recap what we said about the budget", "what we said about the budget"),
        ("Résume notre conversation sur le jardin", "le jardin"),
        ("Riassumi la conversazione sull'orto", "'orto"),
        ("Search my notes for the code", "the code"),
        ("Quick question - when did Ann move?", "when did Ann move?"),
        ("I forgot: which bus goes there?", "which bus goes there?"),
        ("We talked about this before. Who came?", "Who came?"),
        ("Great. Can you tell me about the fee?", "Great. the fee?"),
        ("Kannst du mir bitte sagen, wann Anna umzog?", "wann Anna umzog?"),
        ("Tu te souviens de la clé ?", "la clé ?"),
        ("¿Puedes decirme dónde está la llave?", "dónde está la llave?"),
        ("Puoi dirmi dov'è la chiave?", "dov'è la chiave?"),
        ("Você se lembra de onde moramos?", "onde moramos?"),
        ("Weet je nog waar de sleutel ligt?", "waar de sleutel ligt?"),
        ("Minns du var nyckeln är?", "var nyckeln är?"),
    ],
)
def test_what_only_asks_to_be_answered_is_no_part_of_a_question(question, asked):
    assert without_request(question) == asked


@pytest.mark.parametrize(
    "question",
    [
        "Do you remember?",
        "What did you tell me of Ann?",
        "In which town does Ann live?",
        "Tell men of it",
        "The letter says when Ann comes",
        "Would a remedy for a cold help?",
        "Will show dogs win?",
        "Recap email: who got it?",
        "Where is my summary of the trial?",
        "",
    ],
)
def test_a_question_without_a_request_stays_as_it_is(question):
    assert without_request(question) == question


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["hey. ", "can you ", "tell me ", " ", ", for me", "please ", "a summary of our "]
)
def test_the_requests_of_a_long_text_are_read_in_a_moment(piece):
    """A pattern that is not linear would hold the tests up for minutes."""
    without_request(piece * (200_000 // len(piece)))


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("Carloine", "Caroline"),
        ("Carolne", "Caroline"),
        ("carroline", "caroline"),
        ("Carolime", "Caroline"),
        ("CAROLNIE", "Caroline"),
        ("recieved", "received"),
    ],
)
def test_a_slip_in_an_unknown_word_is_corrected(wrong, right):
    text = "- Caroline received a house, a garter and the corolla of Carolina. Caroline!"
    assert respelled(f"What has {wrong}?", [wrong], text) == f"What has {right}?"


@pytest.mark.parametrize(
    "word", ["horse", "garden", "harter", "huose1", "houses2", "use", "Barolo"]
)
def test_what_may_be_another_word_is_not_corrected(word):
    text = "- Caroline received a house, a garter and uses Carolina."
    assert respelled(f"What {word}?", [word], text) == f"What {word}?"
