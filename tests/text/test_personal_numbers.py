"""Numbers of persons are masked by choice, where their check digits are right."""

import pytest

from commonplace import Settings
from commonplace.text.redaction import redact
from commonplace.tools import EDIT_TOOL, append_answer, write_answer
from support.notes import Notes


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("card 4111 1111 1111 1111, 12/27", "card 4111 1…1111, 12/27"),
        ("4012-8888-8888-1881", "4012-8…1881"),
        ("5555555555554444", "***"),
        ("IBAN DE89 3704 0044 0532 0130 00 TODAY", "IBAN DE89 3…0 00 TODAY"),
        ("to GB29NWBK60161331926819.", "to GB29NW…6819."),
        ("SSN 078-05-1120", "SSN ***"),
    ],
)
def test_numbers_of_persons_are_masked_by_choice(text, masked):
    assert redact(text, personal=True) == masked
    assert redact(masked, personal=True) == masked
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "order 4111111111111112",
        "DE89 3704 0044 0532 0130 01",
        "000-12-3456",
        "078-05-11201",
        "2026-11-20T18:30:00 1732127400000",
        "0000000000000000",
    ],
)
def test_numbers_with_wrong_check_digits_stay(text):
    assert redact(text, personal=True) == text


@pytest.mark.parametrize(
    ("redact", "kept"),
    [(True, "4111 1111 1111 1111"), ("personal", "4111 1…1111"), (False, "4111 1111 1111 1111")],
)
def test_tools_mask_them_by_choice(tmp_path, redact, kept):
    with Notes(tmp_path).open() as memory:
        path = append_answer(memory, {"text": "- card 4111 1111 1111 1111"}, redact=redact)["path"]
        assert kept in memory.get(path).text


def test_a_setting_makes_the_choice_for_every_tool(tmp_path):
    with Notes(tmp_path).open(settings=Settings(mask_personal=True)) as memory:
        path = append_answer(memory, {"text": "- card 4111 1111 1111 1111"})["path"]
        assert "- card 4111 1…1111" in memory.get(path).text
        edited = {"path": path, "old": "card", "new": "IBAN GB29NWBK60161331926819, card"}
        write_answer(memory, edited, tool=EDIT_TOOL)
        assert "IBAN GB29NW…6819, card" in memory.get(path).text
