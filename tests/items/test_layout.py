"""Layout of items: any JSON value, as Markdown that a person can edit."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.items.layout import ItemText, parse_item, render_item

TEXTS = st.text(st.characters(exclude_categories=()), max_size=30)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["text", "content", "expires", "commonplace", "_expires", "tags", "$", "a.b", "## x", "`", ""]
)


def same(value, **options):
    text = render_item(ItemText(value, {"created": "2026-11-20"}), **options)
    again = parse_item(text.encode("utf-8").decode("utf-8"))
    assert json.dumps(again.value, sort_keys=True) == json.dumps(value, sort_keys=True)
    assert again.notes["created"] == "2026-11-20"
    return text


@pytest.mark.slow
@given(st.dictionaries(KEYS | TEXTS, VALUES | st.floats(allow_infinity=False, allow_nan=False)))
@example({"text": "one\n## `x`\n\ntwo\n\\## `y`", "x": "y z"})
@example({"text": "\n\n", "x": " \n"})
@example({"text": "---\na: b\n---\n", "b": "...\n"})
@example({"n": 2**70, "f": 1e300, "t": True, "one": 1, "float": 1.0})
@example({"a": {"b": {"c": "some text", "d": {}}}, "e": []})
@example({"date": "2026-11-20", "yes": "yes", "null": "null", "num": "1_000", "time": "1:30"})
@example({"text": "a\r\nb", "nul": "a\0b", "bom": "\ufeffx", "half": "\ud800"})
@example({"deep": [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]})
@example({"long": "word " * 30_000, "list": ["x y"] * 5_000})
@example({"$": "x", "a.b": "some text"})
@example({"a": {"b": "some text"}, "a.b": "other text"})
def test_any_value_comes_back(value):
    if "Infinity" not in json.dumps(value):
        same(value)


@pytest.mark.parametrize("value", [{"x": object()}, {"x": float("nan")}, {"x": {1, 2}}, {1: "a"}])
def test_what_is_no_json_is_refused(value):
    with pytest.raises(TypeError, match="JSON"):
        render_item(ItemText(value))


def test_the_text_is_the_body_and_the_rest_front_matter():
    text = same({"text": "The VPN listens on 51820.", "port": 51820, "tags": ["a", "b"]})
    assert text == (
        "---\nport: 51820\ntags:\n- a\n- b\ncommonplace:\n  created: '2026-11-20'\n"
        "  text: text\n---\nThe VPN listens on 51820.\n"
    )


def test_further_texts_stand_under_the_names_of_their_fields():
    text = same({"content": {"content": "Likes tea."}, "kind": "Memory", "at": "2026-11-20"})
    assert text.endswith("---\nLikes tea.\n\n## `kind`\n\nMemory\n")
    assert "at: '2026-11-20'\n" in text


def test_markdown_stays_as_it_is():
    body = "# Title\n\n## Part\n\n- one\n\n```\ncode\n```\n"
    assert same({"content": body}).endswith(f"---\n{body}\n")


def test_a_list_with_prose_is_a_block_of_json():
    text = same({"facts": ["Ann likes tea", "Ben likes nuts"]})
    assert '## `facts` (json)\n\n```json\n[\n  "Ann likes tea",\n' in text


def test_fields_that_search_does_not_look_at_are_front_matter():
    text = same({"a": "one text", "b": "two texts"}, selects=lambda path: path == ("a",))
    assert text.endswith("---\none text\n")
    assert "b: two texts\n" in text


def test_what_a_person_edits_is_the_value():
    text = same({"text": "Tea at four.", "place": "Lyon", "n": 1})
    edited = text.replace("four", "five").replace("Lyon", "Paris\nor Rome").replace("n: 1", "n: 2")
    assert parse_item(edited).value == {"text": "Tea at five.", "place": "Paris\nor Rome", "n": 2}
    assert parse_item(edited + "\n## `new`\n\nfield\n").value["new"] == "field"
    assert parse_item(edited.replace("n: 2", "n: 2\nexpires: 2027-01-01")).value["n"] == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Just a note.\n", {"text": "Just a note."}),
        ("", {}),
        ("---\na: 1\n---\n", {"a": 1}),
        ("---\na: 1\n---\nWords.", {"a": 1, "text": "Words."}),
        ("---\na: [\n---\nWords.\n", {"text": "---\na: [\n---\nWords."}),
        ("## `x` (json)\n\n```json\n{broken\n```\n", {"x": "```json\n{broken\n```"}),
        ("## `x`\ntight\n## `y`\nthere\n", {"x": "tight", "y": "there"}),
    ],
)
def test_what_a_person_wrote_is_read_leniently(text, value):
    assert parse_item(text).value == value
