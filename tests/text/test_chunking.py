import hashlib
import unicodedata
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.settings import ChunkingSettings
from commonplace.text.blocks import find_blocks
from commonplace.text.chunking import chunk_id, chunk_markdown, read_outline, split_oversized
from commonplace.text.tokens import token_weight
from commonplace.types import Chunk


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def chunk(text: str, start_line: int = 1, end_line: int = 1) -> Chunk:
    return Chunk(start_line, end_line, text, sha256(text), heading="A")


# Chunks of lines.

LINES = st.lists(
    st.one_of(
        st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\n"), max_size=30),
        st.text("ab 路é😀\u0301\u200d\r\t1-", max_size=200),
        st.sampled_from(["", "# One", "## Two ##", "```", "~~~", "- item: a fact", " " * 300]),
    ),
    max_size=30,
)
SIZES = st.integers(8, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1)))


@given(LINES, SIZES)
def test_chunks_cover_every_line_that_is_not_blank(lines: list[str], size: Any) -> None:
    tokens, overlap = size
    text = "\n".join(lines)
    chunks = chunk_markdown(text, ChunkingSettings(tokens=tokens, overlap=overlap))
    covered = {n for chunk in chunks for n in range(chunk.start_line, chunk.end_line + 1)}
    blank = {n for n, line in enumerate(lines, start=1) if not line.strip().strip("\ufeff")}
    assert set(range(1, len(lines) + 1)) - blank <= covered


@given(LINES, SIZES)
@example(["a" * 500, "# b"], (8, 7))
def test_no_chunk_exceeds_the_size(lines: list[str], size: Any) -> None:
    tokens, overlap = size
    settings = ChunkingSettings(tokens=tokens, overlap=overlap)
    for chunk in chunk_markdown("\n".join(lines), settings):
        assert token_weight(chunk.text) <= tokens


@pytest.mark.slow
@given(LINES, SIZES)
def test_a_chunk_is_a_verbatim_piece_of_its_lines(lines: list[str], size: Any) -> None:
    tokens, overlap = size
    settings = ChunkingSettings(tokens=tokens, overlap=overlap)
    for chunk in chunk_markdown("\n".join(lines), settings):
        source = lines[chunk.start_line - 1 : chunk.end_line]
        shown = chunk.text.split("\n")
        assert len(shown) == len(source)
        assert source[0].endswith(shown[0]) or len(shown) == 1
        assert source[-1].startswith(shown[-1]) or len(shown) == 1
        assert shown[1:-1] == source[1:-1]
        assert chunk.text in "\n".join(source)
        assert chunk.hash == sha256(chunk.text)


@given(LINES)
def test_without_overlap_and_long_lines_the_chunks_are_the_file(lines: list[str]) -> None:
    text = "\n".join(lines)
    chunks = chunk_markdown(text, ChunkingSettings(tokens=500, overlap=0))
    assert all(a.end_line < b.start_line for a, b in pairwise(chunks))
    for chunk in chunks:
        assert chunk.text == "\n".join(lines[chunk.start_line - 1 : chunk.end_line])


@given(st.text("abc 路é😀", min_size=1, max_size=400), SIZES)
@example("a aaaa路😀😀😀  aé路😀😀😀", (8, 0))  # a part of white space alone makes no chunk
def test_the_parts_of_a_long_line_join_to_the_line(line: str, size: Any) -> None:
    tokens, overlap = size
    chunks = chunk_markdown(line, ChunkingSettings(tokens=tokens, overlap=overlap))
    end = 0
    for chunk in chunks:
        start = line.index(chunk.text, end)
        assert not line[end:start].strip()
        end = start + len(chunk.text)
    assert not line[end:].strip()
    assert all((chunk.start_line, chunk.end_line) == (1, 1) for chunk in chunks)


def test_the_line_break_at_the_end_of_a_file_is_not_a_line() -> None:
    (only,) = chunk_markdown("a\nb\n", ChunkingSettings())
    assert (only.start_line, only.end_line, only.text) == (1, 2, "a\nb")


def test_a_carriage_return_stays_in_its_line() -> None:
    (only,) = chunk_markdown("a\r\nb\r\n", ChunkingSettings())
    assert (only.text, only.end_line) == ("a\r\nb\r", 2)


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n\r\n", "\ufeff", "\u3000\n"])
def test_white_space_makes_no_chunk(text: str) -> None:
    assert chunk_markdown(text, ChunkingSettings()) == []


def test_the_overlap_is_whole_lines_that_fit() -> None:
    lines = [f"- fact number {n} of many" for n in range(1, 10)]
    first, second, *_ = chunk_markdown("\n".join(lines), ChunkingSettings(tokens=30, overlap=8))
    assert (first.start_line, first.end_line) == (1, 4)
    assert (second.start_line, second.end_line) == (4, 7)


def test_no_overlap_carries_nothing() -> None:
    lines = [f"- fact number {n} of many" for n in range(1, 10)]
    first, second, *_ = chunk_markdown("\n".join(lines), ChunkingSettings(tokens=30, overlap=0))
    assert second.start_line == first.end_line + 1


def test_a_long_line_stays_with_its_heading() -> None:
    text = "# Router\n" + "the port is open " * 60
    first, second, *_ = chunk_markdown(text, ChunkingSettings(tokens=100, overlap=20))
    assert first.text.startswith("# Router\nthe port")
    assert (first.start_line, first.end_line, second.start_line) == (1, 2, 2)
    assert second.heading == "Router"


def test_a_long_line_carries_the_lines_above_it() -> None:
    text = "\n".join([*(f"- fact number {n} of many" for n in range(15)), "word " * 200])
    chunks = chunk_markdown(text, ChunkingSettings(tokens=100, overlap=20))
    assert chunks[1].text.startswith("- fact number 12 of many\n- fact number 13 of many\n")
    assert (chunks[1].start_line, chunks[1].end_line) == (13, 16)


def test_a_long_line_is_cut_after_spaces() -> None:
    line = "many words that go on " * 100
    chunks = chunk_markdown(line, ChunkingSettings(tokens=50, overlap=10))
    assert all(chunk.text.endswith(" ") for chunk in chunks)


@pytest.mark.parametrize("cluster", ["e\u0301", "👍🏽", "👨\u200d👩\u200d👧", "✅\ufe0f", "क्षि"])
def test_a_long_line_is_not_cut_inside_a_character(cluster: str) -> None:
    chunks = chunk_markdown(cluster * 100, ChunkingSettings(tokens=20, overlap=3))
    assert len(chunks) > 1
    for chunk in chunks:
        assert not unicodedata.category(chunk.text[0]).startswith("M")
        assert chunk.text[0] not in "\u200d🏽"
        assert chunk.text[-1] != "\u200d"


def test_a_character_heavier_than_a_chunk_stands_alone() -> None:
    chunks = chunk_markdown("😀😀", ChunkingSettings(tokens=1, overlap=0))
    assert [chunk.text for chunk in chunks] == ["😀", "😀"]


# Our measure: sections.


def section(title: str, facts: int) -> str:
    return "\n".join([f"## {title}", *(f"- fact number {n} of many" for n in range(facts))])


def test_a_heading_begins_a_chunk_once_the_current_one_is_half_full() -> None:
    text = "\n".join((section("One", 10), section("Two", 10)))
    first, second = chunk_markdown(text, ChunkingSettings(tokens=100, overlap=20))
    assert (first.start_line, first.end_line) == (1, 11)
    assert (second.start_line, second.end_line) == (12, 22)
    assert second.text.startswith("## Two")


def test_short_sections_share_a_chunk() -> None:
    text = "\n".join(section(title, 1) for title in ("One", "Two", "Three"))
    (only,) = chunk_markdown(text, ChunkingSettings(tokens=100, overlap=20))
    assert only.heading == "One"


def test_the_heading_path_is_that_of_the_first_line() -> None:
    text = "\n".join(("# A", section("B", 15), "# C", section("D", 3)))
    chunks = chunk_markdown(text, ChunkingSettings(tokens=60, overlap=10))
    assert [chunk.heading for chunk in chunks] == ["A", "A > B", "C"]


def test_blank_lines_before_a_heading_do_not_hide_it() -> None:
    (only,) = chunk_markdown("\n\n# A\ntext", ChunkingSettings())
    assert only.heading == "A"


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("# A", "A"),
        ("#\tA", "A"),
        ("   ### A", "A"),
        ("## A ##", "A"),
        ("## A ##  \r", "A"),
        ("## C#", "C#"),
        ("# A # B", "A # B"),
        ("\ufeff# A", "A"),
        ("# ", ""),
        ("## ##", ""),
        ("###### A", "A"),
        ("####### A", None),
        ("    # A", None),
        ("#tag", None),
        ("A #", None),
    ],
)
def test_a_heading_is_what_commonmark_says(line: str, path: str | None) -> None:
    outline = read_outline([line])
    assert outline.paths == (() if path is None else (path,))


def test_a_deeper_heading_ends_with_the_section_above_it() -> None:
    outline = read_outline(["# A", "### B", "## C", "# D", "text"])
    assert outline.paths == ("A", "A > B", "A > C", "D")
    assert outline.path_at(4) == "D"


@pytest.mark.parametrize(
    "fenced",
    [
        ["```", "# no", "```"],
        ["~~~~ python", "# no", "~~~", "# no", "~~~~~"],
        ["```sh", "~~~", "# no", "```  "],
        ["- ```", "  # no", "  ```"],
        ["1. step", "   ```", "   # no", "   ```\r"],
        ["> ```", "> # no", "> ```"],
    ],
)
def test_a_fence_holds_no_headings(fenced: list[str]) -> None:
    lines = ["# A", *fenced, "## B"]
    assert read_outline(lines, find_blocks(lines)).paths == ("A", "A > B")


def test_code_in_a_line_is_not_a_fence() -> None:
    assert read_outline(["```code``` in a line", "# A"]).paths == ("A",)


# Chunks for an embedder, and their names.


def test_a_chunk_within_the_limit_is_left_alone() -> None:
    chunks = [chunk("a" * 8000), chunk("é" * 4000)]
    assert split_oversized(chunks, 8000) == chunks


def test_an_oversized_chunk_is_cut_between_characters_and_keeps_its_lines() -> None:
    parts = split_oversized([chunk("é😀" * 10, 3, 5)], 8)
    assert "".join(part.text for part in parts) == "é😀" * 10
    assert all(len(part.text.encode()) <= 8 for part in parts)
    assert {(part.start_line, part.end_line, part.heading) for part in parts} == {(3, 5, "A")}
    assert all(part.hash == sha256(part.text) for part in parts)


@given(st.text(st.characters(blacklist_categories=["Cs"])), st.integers(1, 20))
def test_the_parts_of_an_oversized_chunk_join_to_its_text(text: str, limit: int) -> None:
    parts = split_oversized([chunk(text)], limit)
    assert "".join(part.text for part in parts) == text
    assert all(len(part.text.encode()) <= max(limit, 4) for part in parts)


def test_a_chunk_is_named_by_place_text_and_model() -> None:
    named = chunk("hello", 2, 3)
    expected = sha256(f"memory:MEMORY.md:2:3:{sha256('hello')}:fts-only")
    assert chunk_id("memory", "MEMORY.md", named, "fts-only") == expected
