"""Fuzzing: whatever the text, what reads it keeps its promises; what fell is in data/fuzz.jsonl.

With more examples: ``FUZZ_EXAMPLES=100000 python -m pytest tests/test_fuzz.py
--hypothesis-profile=thorough``.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from commonplace import Settings
from commonplace.errors import CommonplaceError
from commonplace.text.chunking import chunk_markdown
from commonplace.text.front_matter import expiry_ms, is_expired, label_line, read_front_matter
from commonplace.text.line_units import line_units, pack_units
from commonplace.text.redaction import redact
from commonplace.text.time_expressions.parser import days_named
from commonplace.tools.arguments import ToolArguments
from commonplace.tools.schemas import SEARCH_TOOL
from commonplace.transcripts.incremental import read_parts
from support.fakes import HashedWords
from support.notes import LINES, Notes, find

SLOW_EXAMPLES = settings(
    max_examples=max(50, int(os.environ.get("FUZZ_EXAMPLES", "0")) // 10),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
"""A tenth of the others' examples, where these are set: each opens a memory and searches it."""
FOUND = Path(__file__).parent / "data" / "fuzz.jsonl"

_MARKDOWN = ["# ", "- ", "```", "~~~", "| a | b |", "|---|", "---", "+++", "> ", "\t", "    ", "~~"]
_YAML = ["a: ", "tags: [", "]", "&a ", "*a", "!!", "expires: ", "2026-02-30", "9" * 400, "{", "? "]
_TIME = ["last ", "3 ", "weeks", "ago", "May", "in 2026", "yesterday", "31 June", "0 days", "Q4"]
_SECRET = ["password: ", "api_key=", "sk-", "AKIA", "Bearer ", "://u:p@h", "eyJ", "A1b2" * 9]
_MATCH = ['"', "*", "^", "NEAR(", "AND", "NOT ", ":", "(", ")", "{", "'", "\0", "\ud800", "\u202e"]
_JSON = [
    '{"type":"message"',
    '"message":{"role":"user","content":',
    '"x"',
    "}",
    "null",
    "[",
    "1e999",
]
pieces = st.one_of(
    st.sampled_from([*_MARKDOWN, *_YAML, *_TIME, *_SECRET, *_MATCH, *_JSON, "\n", "\r\n", " "]),
    st.text(max_size=12),
)
texts = st.lists(pieces, max_size=40).map("".join)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
)


def chunking(text, folder):
    lines = text.split("\n")
    for chunk in chunk_markdown(text, Settings().chunking):
        assert 1 <= chunk.start_line <= chunk.end_line <= len(lines)
        assert len(pack_units(line_units(chunk.text))) % 12 == 0


def front_matter(text, folder):
    for block in (text, f"---\n{text}\n---\nbody"):
        matter = read_front_matter(block)
        assert 0 <= matter.body <= len(block)
        json.dumps(matter.metadata)
        label_line(matter.metadata or {})
        is_expired(matter.metadata or {}, datetime(2026, 11, 20, tzinfo=UTC))
        with contextlib.suppress(ValueError):
            expiry_ms(matter.metadata or {}, UTC)


def redaction(text, folder):
    redact(redact(text))


def time_words(text, folder):
    days_named(text, date(2026, 11, 20))
    days_named(text, date.min)
    days_named(text, date.max)


def transcript(text, folder):
    file = folder / "session.jsonl"
    said = {"type": "message", "message": {"role": "user", "content": text}}
    lines = json.dumps(said) + "\n" + text
    file.write_bytes(lines.encode("utf-8", "surrogatepass"))
    for part in read_parts(file, None, settings=Settings(), max_bytes=8000):
        assert part.size >= 0


TARGETS = {
    target.__name__: target
    for target in (chunking, front_matter, redaction, time_words, transcript)
}


@pytest.mark.parametrize("name", TARGETS)
def test_texts_of_any_kind_are_read(name, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")

    @given(texts)
    def check(text):
        TARGETS[name](text, folder)

    check()


@pytest.mark.parametrize("line", FOUND.read_text("utf-8").splitlines())
def test_what_was_found_stays_mended(line, tmp_path):
    case = json.loads(line)
    TARGETS[case["target"]](case["text"], tmp_path)


@pytest.mark.slow
@given(values)
def test_arguments_of_any_kind_are_values_or_errors_of_ours(given_values):
    for value in (given_values, {"query": given_values, "maxResults": given_values}):
        with contextlib.suppress(CommonplaceError, ValueError):
            arguments = ToolArguments(value, tool=SEARCH_TOOL)
            arguments.text("query")
            arguments.integer("maxResults")
            arguments.number("minScore")


def answers(memory):
    queries = ("heron 7", "owl 49", "heron on owl 14")
    return [
        [(hit.path, hit.start_line, hit.snippet) for hit in find(memory, query)]
        for query in queries
    ]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    notes = Notes(tmp_path_factory.mktemp("fuzz"))
    notes.write("memory/birds.md", "".join(f"- heron {n} on owl {n * 7}\n" for n in range(60)))
    with notes.open(HashedWords(), LINES) as memory:
        memory.index()
        notes.answers = answers(memory)
        assert all(notes.answers)
    with contextlib.closing(sqlite3.connect(notes.index)) as db:
        db.execute("PRAGMA journal_mode = delete")
    return notes


@pytest.mark.slow
@SLOW_EXAMPLES
@given(queries=st.lists(texts, min_size=1, max_size=20))
@example(queries=["heron \u3099", "\u3099", "か\u3099くせい"])
def test_queries_of_any_kind_are_answered(queries, indexed):
    with indexed.open(HashedWords(), LINES) as memory:
        for query in queries:
            assert len(memory.search(query, min_score=0)) < 100


@pytest.mark.slow
@pytest.mark.full
@SLOW_EXAMPLES
@given(seed=st.integers(0, 10**9), size=st.sampled_from([1, 40]))
def test_flipped_bytes_of_the_index_change_no_answer(seed, size, indexed, tmp_path):
    """The answer is right, or the error ours."""
    notes = Notes(tmp_path / str(seed), create=False)
    shutil.copytree(indexed.root, notes.root, dirs_exist_ok=True)
    chance = random.Random(seed)
    data = bytearray(indexed.index.read_bytes())
    at = chance.randrange(len(data) - 40)
    for place in range(at, at + size):
        data[place] ^= chance.randrange(1, 256)
    notes.index.write_bytes(data)
    with contextlib.suppress(CommonplaceError), notes.open(HashedWords(), LINES) as memory:
        assert answers(memory) == indexed.answers
    shutil.rmtree(tmp_path / str(seed))


@pytest.mark.parametrize("table", ["chunk_places", "chunk_texts"])
@pytest.mark.parametrize("embedder", [HashedWords(), None], ids=["vectors", "keywords"])
def test_an_index_that_has_lost_a_chunk_is_built_again(table, embedder, tmp_path):
    notes = Notes(tmp_path)
    notes.write("memory/birds.md", "".join(f"- heron {n} on owl {n * 7}\n" for n in range(60)))
    with notes.open(embedder, LINES) as memory:
        memory.index()
        wanted = answers(memory)
    assert all(wanted)
    with contextlib.closing(sqlite3.connect(notes.index)) as db, db:
        db.execute(f"DELETE FROM {table} WHERE seq = (SELECT max(seq) FROM chunk_texts)")
    with notes.open(embedder, LINES) as memory:
        assert answers(memory) == wanted
