from __future__ import annotations

import functools
import json
import re
from datetime import UTC, date, datetime

import numpy as np
import pytest

from commonplace.errors import (
    EmbedderError,
    IndexBusyError,
    PathNotAllowedError,
    SettingsError,
    ToolInputError,
)
from commonplace.settings import Settings
from commonplace.tools import (
    APPEND_TOOL,
    FLUSH_APPEND_SCHEMA,
    FLUSH_APPEND_TOOL,
    GET_TOOL,
    MAX_GET_CHARS,
    MAX_GET_LINES,
    MEMORY_APPEND_SCHEMA,
    MEMORY_GET_SCHEMA,
    MEMORY_SEARCH_SCHEMA,
    SEARCH_TOOL,
    answer_json,
    append_answer,
    append_tool,
    citations_shown,
    excerpt_payload,
    get_answer,
    results_payload,
    search_answer,
    unavailable_answer,
)
from commonplace.types import Excerpt, SearchResult, SearchResults
from support.notes import Notes

HIT = SearchResult("MEMORY.md", "the VPN listens on 51820", 3, 9, 0.123456)


class NoNotes:
    """Workspace that has no notes yet."""

    long_term_path = "MEMORY.md"

    def read(self, path):
        raise FileNotFoundError(path)


class FakeMemory:
    """Answers from what it was given, and remembers how it was called."""

    workspace = NoNotes()

    def __init__(self, text="", *, hits=(HIT,), error=None, settings=None):
        self.settings = settings or Settings()
        self.lines = text.split("\n")
        self.hits = hits
        self.error = error
        self.calls = []

    def search(self, query, *, max_results=None, min_score=None, **options):
        self.calls.append((query, max_results, min_score))
        if self.error:
            raise self.error
        return SearchResults(self.hits, query=query, mode="hybrid", provider="p", model="m")

    def get(self, path, *, from_line=None, lines=None):
        self.calls.append((path, from_line, lines))
        if ".." in path:
            raise PathNotAllowedError("'..' is not a file of this memory. Allowed are ...")
        first = from_line or 1
        rest = self.lines[first - 1 :]
        shown = rest[:lines]
        following = first + len(shown) if len(rest) > len(shown) else None
        return Excerpt(path, "\n".join(shown), first, len(shown), bool(following), following)

    def now(self):
        return datetime(2026, 11, 20, tzinfo=UTC)

    def append(self, text, *, path=None, when=None, origin=None):
        assert origin.author == "agent"
        self.calls.append((text, path or when))
        return path or "memory/2026-11-20.md"


@pytest.mark.parametrize("tool", [SEARCH_TOOL, GET_TOOL, APPEND_TOOL, FLUSH_APPEND_TOOL])
def test_a_tool_is_described_briefly_and_takes_nothing_but_its_arguments(tool):
    assert 50 < len(tool.description) < 1000
    assert tool.schema["additionalProperties"] is False
    assert set(tool.schema["required"]) <= set(tool.schema["properties"])
    json.dumps(tool.schema)


def test_the_model_is_shown_exactly_the_names_of_the_contract():
    assert list(MEMORY_SEARCH_SCHEMA["properties"]) == ["query", "maxResults", "minScore"]
    assert list(MEMORY_GET_SCHEMA["properties"]) == ["path", "from", "lines"]
    assert list(MEMORY_APPEND_SCHEMA["properties"]) == ["text", "longTerm"]
    assert list(FLUSH_APPEND_SCHEMA["properties"]) == ["text"]
    assert SEARCH_TOOL.description.startswith("Mandatory recall step: ")


def test_a_search_answer_has_the_shape_of_the_contract():
    assert search_answer(FakeMemory(), {"query": "vpn"}) == {
        "results": [
            {
                "path": "MEMORY.md",
                "startLine": 3,
                "endLine": 9,
                "score": 0.1235,
                "snippet": "the VPN listens on 51820",
                "source": "memory",
                "citation": "MEMORY.md#L3-L9",
            }
        ],
        "provider": "p",
        "model": "m",
        "fallback": None,
        "citations": "auto",
        "mode": "hybrid",
    }


def test_results_of_a_named_memory_say_whose_they_are():
    memory = FakeMemory("- tea")
    [result] = search_answer(memory, {"query": "vpn"}, name="team")["results"]
    assert result["memory"] == "team"
    assert get_answer(memory, {"path": "MEMORY.md"}, name="team")["memory"] == "team"
    assert append_answer(memory, {"text": "- x"}, name="team")["memory"] == "team"
    with pytest.raises(ToolInputError, match=r"^team_memory_search: query is missing"):
        search_answer(memory, {}, name="team")


@pytest.mark.parametrize("tool", [SEARCH_TOOL, GET_TOOL, APPEND_TOOL, FLUSH_APPEND_TOOL])
def test_a_tool_of_a_named_memory_has_the_name_wherever_tools_are_named(tool):
    named = tool.of_memory("team")
    assert named.name == f"team_{tool.name}"
    assert named.schema == tool.schema
    assert "team" in named.description
    assert not re.search(r"(?<!team_)memory_(search|get|append)", named.description)
    assert tool.of_memory(None) is tool


@pytest.mark.parametrize("name", ["", "my team", "a/b", "équipe", "x" * 41, 7])
def test_a_name_that_no_tool_can_have_is_refused_in_one_line(name):
    with pytest.raises(ValueError, match=r"^name is .*letters, digits.*\.$"):
        SEARCH_TOOL.of_memory(name)


def test_secrets_in_what_a_model_writes_are_masked_unless_it_is_turned_off():
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
    memory = FakeMemory()
    answer = append_answer(memory, {"text": f"- The key is {secret}."})
    assert secret not in memory.calls[-1][0]
    assert memory.calls[-1][0].startswith("- The key is ")
    assert list(answer) == ["path", "masked"]
    assert "masked and is not kept; tell the user" in answer["masked"]
    for redact, text in [(False, f"- The key is {secret}."), (True, "- The key is in the safe.")]:
        assert list(append_answer(memory, {"text": text}, redact=redact)) == ["path"]
        assert memory.calls[-1][0] == text


def test_a_slip_in_what_is_masked_is_an_error_before_anything_is_written():
    memory = FakeMemory()
    with pytest.raises(ValueError, match=r"^redact is 'persnal'; it takes True, False or"):
        append_answer(memory, {"text": "- Bob pays 5500 0000 0000 0004"}, redact="persnal")
    assert not memory.calls


def test_where_others_read_along_nothing_is_appended_for_long():
    memory = FakeMemory()
    with pytest.raises(PathNotAllowedError, match="the user's alone"):
        append_answer(memory, {"text": "- x", "longTerm": True}, private=False)
    assert memory.calls == []
    assert append_answer(memory, {"text": "- x", "longTerm": False}, private=False)
    assert append_tool(private=False) is FLUSH_APPEND_TOOL
    assert append_tool() is APPEND_TOOL


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"maxResults": 5}, (5, None)),
        ({"maxResults": "5"}, (5, None)),
        ({"maxResults": 5.0}, (5, None)),
        ({"maxResults": " 5.0 "}, (5, None)),
        ({"maxResults": None, "minScore": None}, (None, None)),
        ({"minScore": "0.5"}, (None, 0.5)),
        ({"minScore": 0}, (None, 0.0)),
        ({"minScore": 1}, (None, 1.0)),
    ],
)
def test_numbers_are_taken_in_the_forms_that_models_send(given, expected):
    memory = FakeMemory()
    search_answer(memory, {"query": "q", **given})
    assert memory.calls == [("q", *expected)]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "query is missing"),
        ({"query": None}, "query is missing"),
        ({"query": 7}, "query is 7; it must be a text"),
        ({"query": ["a"]}, "must be a text"),
        ({"query": "a", "max_results": 3}, "did you mean maxResults?"),
        ({"query": "a", "zzz": 3}, "unknown argument 'zzz'"),
        ({"query": "a", "maxResults": 0}, "maxResults is 0; it must be between 1 and 200"),
        ({"query": "a", "maxResults": 201}, "between 1 and 200"),
        ({"query": "a", "maxResults": 10**400}, "between 1 and 200"),
        ({"query": "a", "maxResults": 2.5}, "a whole number"),
        ({"query": "a", "maxResults": "many"}, "maxResults is 'many'; it must be a whole number"),
        ({"query": "a", "maxResults": True}, "a whole number"),
        ({"query": "a", "minScore": 1.5}, "between 0 and 1"),
        ({"query": "a", "minScore": "nan"}, "a number"),
        ({"query": "a", "minScore": float("inf")}, "a number"),
        ({"query": "a", "minScore": "x" * 5000}, "..."),
        ("vpn", "the arguments are 'vpn'; they must be an object"),
        (None, "must be an object"),
    ],
)
def test_a_wrong_argument_is_told_in_a_short_line_that_names_what_the_tool_takes(arguments, told):
    with pytest.raises(ToolInputError) as caught:
        search_answer(FakeMemory(), arguments)
    message = str(caught.value)
    assert told in message
    assert message.startswith("memory_search: ")
    assert message.endswith("It takes query, maxResults?, minScore?.")
    assert "\n" not in message
    assert len(message) < 250


def test_a_tool_input_error_is_a_value_error():
    assert issubclass(ToolInputError, ValueError)


def test_an_empty_query_is_searched_like_any_other():
    assert search_answer(FakeMemory(hits=()), {"query": ""})["results"] == []


@pytest.mark.parametrize(
    ("mode", "private", "shown"),
    [
        ("auto", True, True),
        ("auto", False, False),
        ("on", True, True),
        ("on", False, True),
        ("off", True, False),
        ("off", False, False),
    ],
)
def test_citations_are_shown_as_the_mode_says(tmp_path, mode, private, shown):
    assert citations_shown(mode, private=private) is shown
    with Notes(tmp_path).open(settings=Settings()) as memory:
        answer = search_answer(memory, {"query": "printer"}, citations=mode, private=private)
    assert ("citation" in answer["results"][0]) is shown
    assert answer["citations"] == mode
    assert "Source" not in answer["results"][0]["snippet"]


def test_citations_follow_the_settings_unless_the_call_says_otherwise():
    memory = FakeMemory(settings=Settings(citations="off"))
    assert "citation" not in search_answer(memory, {"query": "q"})["results"][0]
    assert "citation" in search_answer(memory, {"query": "q"}, citations="on")["results"][0]


def test_an_unknown_citations_mode_is_a_settings_error():
    with pytest.raises(SettingsError, match="'maybe'"):
        citations_shown("maybe")


QUOTA = "Memory search is unavailable because the embedding provider quota is exhausted."
PROVIDER = "Memory search is unavailable due to an embedding/provider error."


@pytest.mark.parametrize(
    ("error", "warning", "action"),
    [
        ("openai embeddings failed: 429 insufficient_quota", QUOTA, "Top up or switch"),
        ("You exceeded your current quota", QUOTA, "Top up or switch"),
        ("fetch failed", PROVIDER, "Check embedding provider configuration"),
        ("missing node:sqlite", PROVIDER, "Check embedding provider configuration"),
    ],
)
def test_an_unavailable_answer_is_worded_as_the_references(error, warning, action):
    answer = unavailable_answer(RuntimeError(error))
    assert answer.pop("action").startswith(action)
    assert answer == {
        "results": [],
        "disabled": True,
        "unavailable": True,
        "error": error,
        "warning": warning,
    }
    assert unavailable_answer(error)["error"] == error


def test_an_index_that_cannot_be_read_is_not_blamed_on_the_embedder():
    answer = unavailable_answer(IndexBusyError("another process rebuilds it; try again"))
    assert "embedding" not in answer["warning"] + answer["action"]


@pytest.mark.parametrize("error", [EmbedderError("fetch failed"), IndexBusyError("busy")])
def test_search_that_cannot_run_is_answered_and_logged(error, caplog):
    answer = search_answer(FakeMemory(error=error), {"query": "q"})
    assert answer["unavailable"] is True
    assert answer["error"] == str(error)
    assert caplog.records[0].exc_info


def test_a_get_answer_has_the_shape_of_the_contract():
    memory = FakeMemory("a\nb\nc")
    assert get_answer(memory, {"path": "MEMORY.md", "from": "2", "lines": 1.0}) == {
        "status": "ok",
        "path": "MEMORY.md",
        "text": "b",
        "from": 2,
        "lines": 1,
        "truncated": True,
        "nextFrom": 3,
    }


def test_a_get_answer_is_of_the_lines_that_a_citation_names():
    memory = FakeMemory("a\nb\nc\nd")
    asked = get_answer(memory, {"path": "MEMORY.md", "from": 2, "lines": 2})
    assert get_answer(memory, {"path": "MEMORY.md#L2-L3"}) == asked
    assert asked["text"] == "b\nc"


def test_a_get_answer_has_at_most_120_lines_and_says_where_to_go_on():
    memory = FakeMemory("\n".join(map(str, range(300))))
    for asked in ({}, {"lines": 5000}):
        answer = get_answer(memory, {"path": "MEMORY.md", **asked})
        assert (answer["lines"], answer["truncated"], answer["nextFrom"]) == (120, True, 121)
    rest = get_answer(memory, {"path": "MEMORY.md", "from": 241})
    assert (rest["lines"], rest["truncated"], rest["nextFrom"]) == (60, False, None)


def test_a_get_answer_is_cut_between_lines_at_12000_characters():
    memory = FakeMemory("\n".join("x" * 999 for _ in range(30)))
    answer = get_answer(memory, {"path": "MEMORY.md"})
    assert (answer["lines"], answer["truncated"], answer["nextFrom"]) == (12, True, 13)
    assert len(answer["text"]) == 12 * 1000 - 1


@pytest.mark.parametrize(("lines", "following"), [(1, None), (2, 2)])
def test_an_overlong_line_is_cut_and_the_next_line_named(lines, following):
    memory = FakeMemory("\n".join("x" * 20_000 for _ in range(lines)))
    answer = get_answer(memory, {"path": "MEMORY.md"})
    assert answer["text"] == "x" * MAX_GET_CHARS
    assert (answer["lines"], answer["truncated"], answer["nextFrom"]) == (1, True, following)


def test_a_file_that_fits_but_for_its_last_newline_is_not_truncated():
    excerpt = Excerpt(
        "MEMORY.md", "x" * MAX_GET_CHARS + "\n", 1, 1, truncated=False, next_from=None
    )
    payload = excerpt_payload(excerpt)
    assert payload["text"] == "x" * MAX_GET_CHARS
    assert (payload["lines"], payload["truncated"], payload["nextFrom"]) == (1, False, None)


def test_following_next_from_reads_every_line_once():
    lines = ["y" * (37 * n % 900) for n in range(700)]
    memory = FakeMemory("\n".join(lines))
    read, place = [], 1
    while place is not None:
        answer = get_answer(memory, {"path": "MEMORY.md", "from": place})
        assert answer["lines"] <= MAX_GET_LINES
        assert len(answer["text"]) <= MAX_GET_CHARS
        read += answer["text"].split("\n")
        place = answer["nextFrom"]
    assert read == lines


@pytest.mark.parametrize("below", [0, -5, "0"])
def test_numbers_below_one_count_as_one_in_memory_get(below):
    memory = FakeMemory("a\nb")
    answer = get_answer(memory, {"path": "MEMORY.md", "from": below, "lines": below})
    assert (answer["text"], answer["from"]) == ("a", 1)


def test_a_line_number_beyond_all_files_gives_no_text():
    answer = get_answer(FakeMemory("a"), {"path": "MEMORY.md", "from": 10**30})
    assert (answer["text"], answer["lines"], answer["nextFrom"]) == ("", 0, None)


def test_a_refused_path_stays_an_error_for_the_adapter():
    with pytest.raises(PathNotAllowedError):
        get_answer(FakeMemory(), {"path": "../secret"})


def test_a_note_goes_to_the_log_of_the_day():
    memory = FakeMemory()
    assert append_answer(memory, {"text": "- a"}) == {"path": "memory/2026-11-20.md"}
    append_answer(memory, {"text": "- b", "longTerm": "false"}, when=date(2026, 11, 19))
    assert memory.calls == [("- a", None), ("- b", date(2026, 11, 19))]


@pytest.mark.parametrize("yes", [True, "true", " True "])
def test_a_long_term_note_goes_to_memory_md(yes):
    assert append_answer(FakeMemory(), {"text": "- a", "longTerm": yes}) == {"path": "MEMORY.md"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"text": " \n"}, "text is empty"),
        ({"text": 3}, "text is 3; it must be a text"),
        ({"text": "a", "longTerm": 1}, "must be true or false"),
        ({"text": "a", "path": "x.md"}, "unknown argument 'path'"),
    ],
)
def test_a_wrong_append_writes_nothing(arguments, told):
    memory = FakeMemory()
    with pytest.raises(ToolInputError, match=told):
        append_answer(memory, arguments)
    assert memory.calls == []


def test_the_silent_turns_append_has_no_long_term():
    with pytest.raises(ToolInputError, match="unknown argument 'longTerm'"):
        append_answer(FakeMemory(), {"text": "a", "longTerm": True}, long_term=False)


def test_lone_surrogates_never_reach_the_memory():
    memory = FakeMemory()
    search_answer(memory, {"query": "a\ud83d"})
    append_answer(memory, {"text": "b\udc00 \ud83d\ude00"})
    assert memory.calls == [("a\ufffd", None, None), ("b\ufffd \N{GRINNING FACE}", None)]


def test_answers_print_as_compact_json_that_any_encoder_takes():
    text = answer_json({"a": "é\ud83d", "b": [1, None], "c": "金\ud83d\ude00"})
    assert text == '{"a":"é\ufffd","b":[1,null],"c":"金\N{GRINNING FACE}"}'
    assert json.loads(text.encode())["b"] == [1, None]


def test_a_score_that_is_no_number_is_answered_as_zero():
    hit = SearchResult("MEMORY.md", "x", 1, 1, float("nan"))
    answer = search_answer(FakeMemory(hits=(hit,)), {"query": "q"})
    assert json.loads(answer_json(answer))["results"][0]["score"] == 0.0


def test_a_context_is_in_front_of_its_snippet():
    table = SearchResult(
        "MEMORY.md", "| vpn | 51820 |", 9, 9, 0.9, context="| name | port |\n|---|---|"
    )
    plain = SearchResult("MEMORY.md", "- tea", 2, 2, 0.8)
    first, second = results_payload(SearchResults([table, plain]))["results"]
    assert first["context"] == "| name | port |\n|---|---|"
    assert [*first].index("context") + 1 == [*first].index("snippet")
    assert "context" not in second


NESTED = functools.reduce(lambda value, _: [value], range(100_000), [])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("maxResults", -(10**5000)), ("maxResults", NESTED), ("maxResults", "9" * 5000),
        ("minScore", 10**5000), ("minScore", {"a": NESTED}), ("minScore", np.array([1, 2])),
        ("query", NESTED), ("query", {"a": NESTED}), ("query", 10**5000),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "",
)  # fmt: skip
def test_a_value_of_any_size_and_depth_is_one_clear_error(name, value):
    with pytest.raises(ToolInputError, match=f"{name} is") as error:
        search_answer(FakeMemory(), {"query": "VPN"} | {name: value})
    assert len(str(error.value)) < 300


def test_numbers_of_numpy_are_numbers():
    memory = FakeMemory()
    search_answer(memory, {"query": "VPN", "maxResults": np.int64(3), "minScore": np.float32(0.5)})
    search_answer(memory, {"query": "VPN", "maxResults": np.float64(2.0), "minScore": np.uint8(1)})
    assert memory.calls == [("VPN", 3, 0.5), ("VPN", 2, 1.0)]
    assert [type(value) for value in memory.calls[0][1:]] == [int, float]


def test_a_number_of_any_size_is_one_clear_error_of_the_memory_too(tmp_path):
    with Notes(tmp_path).open(settings=Settings()) as memory:
        with pytest.raises(ValueError, match="min_score is <integer of 16610 bits>"):
            memory.search("VPN", min_score=10**5000)
        assert memory.search("VPN", max_results=10**5000)
        assert memory.get("MEMORY.md", from_line=10**5000).text == ""
        assert "bits" in repr(memory.get("MEMORY.md", from_line=10**5000))
        assert memory.get("MEMORY.md", from_line=np.int64(4)).from_line == 4
