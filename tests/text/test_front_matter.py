"""Front matter: what is read as metadata, what stays text, and which bombs do not go off."""

from __future__ import annotations

import json
import time
from datetime import UTC
from zoneinfo import ZoneInfo

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.front_matter import expiry_ms, hide_label, label_line, read_front_matter
from commonplace.text.line_units import line_units, pack_units

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture(params=["libyaml", "python"])
def loader(request, monkeypatch):
    """Parse YAML with the library in C, and as where it is missing."""
    if request.param == "python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)


def yaml_note(block: str, body: str = "Body.\n") -> str:
    return f"---\n{block}\n---\n{body}"


def refused(text: str) -> str:
    found = read_front_matter(text)
    assert (found.lines, found.body, found.metadata) == (0, 0, None)
    assert found.problem is not None
    assert "\n" not in found.problem
    assert found.problem.endswith(": it is indexed as text")
    return found.problem


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("---\na: 1\n---\nBody.", 3),
        ("\ufeff---\na: 1\n---\nBody.", 3),
        ("---\r\na: 1\r\n---\r\nBody.", 3),
        ("--- \na: 1\n---  \nBody.", 3),
        ("---\na: 1\n...\nBody.", 3),
        ("+++\na = 1\n+++\nBody.", 3),
        ("---\n# a remark\n\na: 1\n\n---\nBody.", 6),
    ],
)
def test_front_matter_ends_with_its_second_mark(text: str, lines: int) -> None:
    found = read_front_matter(text)
    assert found.metadata == {"a": 1}
    assert found.lines == lines
    assert text[found.body :] == "Body."


def test_a_note_may_have_nothing_but_front_matter() -> None:
    found = read_front_matter("---\na: 1\n---")
    assert (found.metadata, found.lines, found.body) == ({"a": 1}, 3, 12)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---",
        "---\n",
        "Text.\n---\na: 1\n---\n",
        "\n---\na: 1\n---\n",
        "----\na: 1\n----\n",
        "---\n\nA paragraph between rules.\n\n---\n",
        "---\nA paragraph between rules.\n---\n",
        "---\n- an item\n---\n",
        "---\nNo second rule follows.\n",
        "--- # a heading of YAML\na: 1\n---\n",
    ],
)
def test_rules_around_text_are_no_front_matter(text: str) -> None:
    found = read_front_matter(text)
    assert (found.lines, found.metadata, found.problem) == (0, None, None)


@pytest.mark.usefixtures("loader")
def test_values_are_those_of_json() -> None:
    block = """
title: Café
day: 2026-11-20
at: 2026-11-20T10:00:00+01:00
local: 2026-11-20 10:00:00
on: true
2026-11-20: a day
7: seven
none:
list: [1, 2.5, x]
deep: {a: {b: [c]}}
far: .inf
text: |
  one
  two
""".strip()
    found = read_front_matter(yaml_note(block)).metadata
    assert found == {
        "title": "Café",
        "day": "2026-11-20",
        "at": "2026-11-20T10:00:00+01:00",
        "local": "2026-11-20T10:00:00",
        "true": True,
        "2026-11-20": "a day",
        "7": "seven",
        "none": None,
        "list": [1, 2.5, "x"],
        "deep": {"a": {"b": ["c"]}},
        "far": "inf",
        "text": "one\ntwo\n",
    }
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_toml_is_read_as_well() -> None:
    text = '+++\ntags = ["vpn"]\nday = 2026-11-20\nat = 10:00:00\n[a]\nb = 1\n+++\nBody.\n'
    assert read_front_matter(text).metadata == {
        "tags": ["vpn"],
        "day": "2026-11-20",
        "at": "10:00:00",
        "a": {"b": 1},
    }


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ("a: [1", "is no YAML (line 3: "),
        ("a: b: c", "is no YAML (line 2: mapping values are not allowed"),
        ("a: 'x", "is no YAML (line 3"),
        ("a: \x01", "is no YAML ("),
        ("a: 2026-02-30", "is no YAML (day is out of range"),
        ("a: !!python/object:os.system x", "is no YAML (line 2: could not determine a constr"),
        ("a: !mine x", "is no YAML (line 2: could not determine a constructor"),
        ("a: !!binary aGk=", "has a value of no kind that JSON has (bytes)"),
        ("? [a, b]\n: c", "is no YAML (line 2: found unhashable key)"),
        ("a: " + "9" * 5000, "is no YAML (Exceeds the limit"),
        ("a: 0x" + "f" * 5000, "has a value of no kind that JSON has (int)"),
        ("a: &x 1\nb: *x", "uses the alias *x; write the value out"),
        ("a: &x [*x]", "uses the alias *x"),
        ("a: &x {b: 1}\nc:\n  <<: *x", "uses the alias *x"),
        ("a: " + "[" * 200 + "]" * 200, "is nested more than 16 levels deep"),
        ("a: " + "[" * 1000 + "]" * 1000, "nest"),  # libyaml 0.2.6 has a limit of its own
        ("a: " + "{b: " * 1000 + "}" * 1000, "is nested more than 16 levels deep"),
        ("a:\n " + "- " * 1000 + "b", "is nested more than 16 levels deep"),
        ("\n".join(f"{' ' * n}a:" for n in range(300)), "is nested more than 16 levels deep"),
        ("a: " + "x" * 70_000, "has 68 KiB; it may have 64"),
    ],
)
@pytest.mark.usefixtures("loader")
def test_yaml_that_cannot_be_read_is_text_and_says_why(block: str, reason: str) -> None:
    assert reason in refused(yaml_note(block))


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ("a = ", "is no TOML ("),
        ("a = " + "[" * 5000 + "]" * 5000, "is nested more than 16 levels deep"),
        (".".join("a" * 1000) + " = 1", "is nested more than 16 levels deep"),
    ],
)
def test_toml_that_cannot_be_read_is_text_and_says_why(block: str, reason: str) -> None:
    assert reason in refused(f"+++\n{block}\n+++\n")


def test_a_key_below_a_mark_without_an_end_was_meant_as_front_matter() -> None:
    assert "has no line --- that ends it" in refused("---\ntags: [vpn]\n\n# Notes\n")
    assert "has no line +++ that ends it" in refused('+++\ntags = ["vpn"]\n\n# Notes\n')


def test_a_bomb_of_aliases_is_refused_before_it_expands() -> None:
    lines = ["a0: &a0 [lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    assert "uses the alias *a0" in refused(yaml_note("\n".join(lines)))


def test_ten_megabytes_are_refused_within_a_moment() -> None:
    text = yaml_note("a: [\n" + "x,\n" * 3_400_000 + "]")
    started = time.monotonic()
    assert "it may have 64" in refused(text)
    assert time.monotonic() - started < 1.0


@given(st.text(max_size=200), st.sampled_from(["---", "+++"]))
def test_no_text_is_an_error(block: str, mark: str) -> None:
    found = read_front_matter(f"{mark}\n{block}\n{mark}\nBody.")
    json.dumps(found.metadata, allow_nan=False)
    assert (found.metadata is None) == (found.lines == 0)


# -- expires, tags, aliases ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "zone", "expected"),
    [
        ("2026-11-20", UTC, 1795219200_000),  # the end of that day
        ("2026-11-20", BERLIN, 1795215600_000),
        ("2026-11-20T10:00:00", UTC, 1795168800_000),
        ("2026-11-20T10:00:00", BERLIN, 1795165200_000),
        ("2026-11-20T10:00:00+05:00", BERLIN, 1795150800_000),
        ("9999-12-31", UTC, None),
        (None, UTC, None),
    ],
)
def test_a_note_expires_after_a_day_or_at_a_time(value, zone, expected) -> None:
    assert expiry_ms({"expires": value}, zone) == expected


def test_a_note_without_expires_never_does() -> None:
    assert expiry_ms({"tags": ["vpn"]}, UTC) is None


@pytest.mark.parametrize("value", ["soon", 2026, ["2026-11-20"], True, "2026-13-01", {}])
def test_an_expiry_that_is_no_time_says_so(value: object) -> None:
    with pytest.raises(ValueError, match=r"expires is .*the note does not expire"):
        expiry_ms({"expires": value}, UTC)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, ""),
        ({"title": "VPN"}, ""),
        ({"tags": []}, ""),
        ({"tags": None}, ""),
        ({"tags": "vpn"}, "vpn."),
        ({"tags": ["vpn", "work/net"], "aliases": ["Tunnel"]}, "vpn, work/net, Tunnel."),
        ({"Alias": "The  long\nway"}, "The long way."),
        ({"tags": [2026, {"a": "b"}, None, "x"]}, "2026, x."),
        ({"tags": ["a" * 200, "b" * 200]}, "a" * 200 + "."),
    ],
)
def test_labels_are_one_line(metadata: dict[str, object], expected: str) -> None:
    assert label_line(metadata) == expected


def test_the_unit_of_the_labels_is_marked_and_the_others_stay() -> None:
    text = "vpn, network.\n# Tunnel\nIt listens on 51820."
    units = line_units(text)
    hidden = hide_label(pack_units(units), text)
    assert hidden == pack_units([(-1, *units[0][1:]), *units[1:]])


def test_a_chunk_that_is_one_unit_shows_what_is_behind_the_labels() -> None:
    text = "vpn.\nIt listens on 51820."
    assert hide_label(pack_units([(0, 0, len(text))]), text) == pack_units([(1, 5, len(text))])


def test_labels_of_one_letter_are_no_unit() -> None:
    text = "x.\nIt listens on 51820."
    units = pack_units(line_units(text))
    assert hide_label(units, text) == units
