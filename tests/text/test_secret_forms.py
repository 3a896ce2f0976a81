"""Redaction of secrets as people and models write them, and of texts that have none."""

import pytest

from commonplace.text.redaction import redact
from support.sampling import sampled
from support.secret_forms import forms

SECRETS, HARMLESS = list(forms("secrets")), list(forms("harmless"))
MASKED = dict.fromkeys(range(1, 20), 0.95) | {12: 0.88, 13: 0.75, 14: 0.8}
"""Share that is masked of each later list, at least: those of people's own words stay lower."""


@pytest.mark.parametrize("seed", sampled([0, 1, 2], every=3))
@pytest.mark.parametrize("kept_aside", [False, True], ids=["tuned", "kept aside"])
def test_95_of_100_secrets_are_masked(kept_aside, seed):
    drawn = [form for form in forms("secrets", seed=seed) if form.kept_aside is kept_aside]
    missed = [form.line for form in drawn if form.leaks(redact(form.text))]
    assert len(drawn) > 100
    assert len(missed) <= 0.05 * len(drawn), missed


@pytest.mark.parametrize("kept_aside", [False, True], ids=["tuned", "kept aside"])
def test_2_of_100_harmless_texts_are_touched_at_most(kept_aside):
    drawn = [form for form in HARMLESS if form.kept_aside is kept_aside]
    touched = [form.line for form in drawn if redact(form.text) != form.text]
    assert len(drawn) > 100
    assert len(touched) <= 0.02 * len(drawn), touched


@pytest.mark.parametrize("number", sampled(MASKED, every=3))
def test_most_secrets_of_each_later_list_are_masked(number):
    drawn = list(forms(f"round_{number}_secrets"))
    missed = [form.line for form in drawn if form.leaks(redact(form.text))]
    assert len(drawn) > 100
    assert len(missed) <= (1 - MASKED[number]) * len(drawn), missed


@pytest.mark.parametrize("number", MASKED)
def test_2_of_100_harmless_texts_of_each_later_list_are_touched_at_most(number):
    drawn = list(forms(f"round_{number}_harmless"))
    touched = [form.line for form in drawn if redact(form.text) != form.text]
    assert len(drawn) > 100
    assert len(touched) <= 0.02 * len(drawn), touched


@pytest.mark.parametrize("around", ["{}", "Noted: {} was found in the logs.", "curl -d {} x"])
def test_tokens_of_services_are_masked_with_no_name_near_them(around):
    drawn = [form for seed in range(3) for form in forms("vendors", seed=seed)]
    missed = [form.line for form in drawn if form.leaks(redact(around.replace("{}", form.text)))]
    assert len(drawn) > 600
    assert len(missed) <= 0.01 * len(drawn), missed


@pytest.mark.slow
@pytest.mark.parametrize(
    "around",
    sampled(["{}", "> {}", "- {}", "User: {}\n\nAssistant: Noted.", "{}\n{}"], every=5),
)
def test_redaction_is_idempotent_wherever_a_secret_stands(around):
    for form in (*SECRETS, *HARMLESS):
        once = redact(around.replace("{}", form.text))
        assert redact(once) == once, form.line


@pytest.mark.slow
def test_a_text_that_arrives_in_parts_can_be_masked_at_any_time():
    """Masking a beginning, and then the whole with the rest, shows nothing of what was masked."""
    for form in SECRETS[::7]:
        for cut in range(0, len(form.text), max(1, len(form.text) // 8)):
            begun = redact(form.text[:cut])
            assert redact(begun) == begun
            whole = redact(begun + form.text[cut:])
            assert redact(whole) == whole


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("API key:\n```\nRwFJ8x2kQv9LmZ4t\n```\nend", "API key:\n```\n***\n```\nend"),
        ("API key:\n\n~~~sh\nRwFJ8x2kQv9LmZ4tab\n~~~", "API key:\n\n~~~sh\nRwFJ8x…4tab\n~~~"),
        ("password:\n\n- [ ] buy milk", None),
        ("Token:\n\n## Next steps", None),
        ("secret:\n```python\nprint(1)\n```", None),
        ("key:\n| a | b |\n|---|---|", None),
        ("password: \n> quoted words follow here", None),
        ("token=\n\nnext paragraph", None),
        ("**Password:** `tick3d` and **bold**", "**Password:** `***` and **bold**"),
        ("- password: tick3d\n- [ ] buy milk", "- password: ***\n- [ ] buy milk"),
        ("| password | tick3d |\n| user | bob |", "| password | *** |\n| user | bob |"),
        ("<password>tick3d</password>", "<password>***</password>"),
        ("[key](https://x.example/?token=a1b2c3d4e5f6)", "[key](https://x.example/?token=***)"),
    ],
)
def test_markup_is_never_masked(text, masked):
    assert redact(text) == (text if masked is None else masked)


def test_a_secret_that_is_split_by_invisible_characters_is_masked_whole():
    text = "use sk-proj-a1B2c3D4\u200be5F6g7H8\u200di9J0k1L2 now\u200b."
    assert redact(text) == "use sk-pro…k1L2 now\u200b."


def test_what_is_encoded_is_masked_where_it_stands():
    assert redact("a=1&amp;password=&quot;hunter22&quot; b") == (
        "a=1&amp;password=&quot;***&quot; b"
    )
    assert redact("body=password%3Dhunter22%26user%3Dann") == "body=password%3D***%26user%3Dann"
