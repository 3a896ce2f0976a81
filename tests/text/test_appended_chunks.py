import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from commonplace.settings import ChunkingSettings
from commonplace.text.appended_chunks import TextEnd
from commonplace.text.chunking import chunk_markdown
from commonplace.types import ChunkPlace

SIZES = ChunkingSettings(tokens=24, overlap=6)
LINES = [
    *("- met Ann about the boat", "- paid 40", "", "", "   ", "# Harbour", "## Keys", "### Old"),
    *("words " * 40, "1. one", "   - two", "> said", "# py #", "#no heading", "é" * 200, "- a\r"),
]
BLOCKS = ["```py", "```", "    ```", "$$", "| a | b |", "|---|---|", "<!--", "~~~"]
TEXTS = st.lists(st.sampled_from(LINES), min_size=30, max_size=80)
ADDED = st.lists(
    st.lists(st.sampled_from(LINES), max_size=5)
    | st.lists(st.sampled_from(LINES + BLOCKS), max_size=4),
    max_size=4,
)


def place(chunk):
    return ChunkPlace(chunk.start_line, chunk.end_line, chunk.hash, chunk.heading, chunk.context, 0)


def places(text):
    """Places of a text's chunks as an index has them: equal parts of one line are one."""
    return list(dict.fromkeys(map(place, chunk_markdown(text, SIZES))))


@pytest.mark.slow
@settings(max_examples=300)
@given(TEXTS, ADDED, st.sampled_from(["", "\n"]))
@example(["# Harbour", "## Keys", *LINES[:2] * 40, "### Old", *LINES[:2] * 9], [["# Now"]], "\n")
def test_what_is_appended_changes_the_chunks_of_the_whole_text(lines, added, ending):
    text = "\n".join(lines) + ending
    known = places(text)
    end = TextEnd.of(text, known)
    for more in added:
        if end is None:
            return
        new = "\n".join(["", *more]) + ending
        text += new
        found = end.appended(new, SIZES, list)
        if found is None:
            return
        known = [*known[: found.first], *map(place, found.chunks)]
        assert known == places(text)
        end = found.end
        assert text.endswith(end.text)
        assert [*end.known] == known[end.chunks :]
        assert text.count("\n", 0, len(text) - len(end.text)) == end.lines


def test_a_long_plain_text_is_never_chunked_again():
    text = "# Log\n\n" + "".join(f"- item {number} of the boat\n" for number in range(400))
    end = TextEnd.of(text, places(text))
    for number in range(50):
        found = end.appended(f"- later {number}\n", SIZES, list)
        assert len(found.chunks) <= 3
        end = found.end
        assert len(end.text) < 2_000
        assert end.headings == ("# Log",)


def test_a_text_with_blocks_is_left_to_be_chunked_as_a_whole():
    text = "".join(f"- item {number} of the boat\n" for number in range(400))
    end = TextEnd.of(text, places(text))
    assert end.appended("\n```\ncode\n```\n", SIZES, list) is None
    fenced = "```\ncode\n```\n" + text
    assert TextEnd.of(fenced, places(fenced)) is None
