import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.settings import ChunkingSettings
from commonplace.text.chunking import chunk_markdown
from commonplace.text.incremental_chunking import changed_chunks, rechunk_markdown
from commonplace.types import ChunkPlace

SIZES = ChunkingSettings(tokens=24, overlap=6)
LINES = [
    *(
        "- met Ann about the boat",
        "- paid 40",
        "",
        "",
        "   ",
        "# Harbour",
        "## Keys",
        "### Old keys",
    ),
    *(
        "```py",
        "```",
        "    deep",
        "$$",
        "a = b $$",
        "    ```",
        "~~~",
        "| a | b |",
        "|---|---|",
        "| 1 | 2 |",
        "x" * 130,
        "words " * 40,
    ),
    *("<!--", "-->", "- a\r", "\ufeff", "1. one", "   - two", "> said", "# py", "é" * 9),
]
PLAIN = [line for line in LINES if not any(mark in line for mark in "`~|<!$")] + ["é" * 200]
PLAIN.remove("-->")
TEXTS = st.lists(st.sampled_from(LINES), max_size=60)
EDITS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 6), st.lists(st.sampled_from(LINES), max_size=6)),
    max_size=2,
)


def place(chunk):
    return ChunkPlace(chunk.start_line, chunk.end_line, chunk.hash, chunk.heading, chunk.context, 0)


def places(text, sizes=SIZES):
    """Places of a text's chunks as an index has them: equal parts of one line are one."""
    return list(dict.fromkeys(map(place, chunk_markdown(text, sizes))))


def changed(known, changes):
    """Places of the chunks after a change."""
    moved = [
        one._replace(
            start_line=one.start_line + changes.lines, end_line=one.end_line + changes.lines
        )
        for one in known[changes.after :]
    ]
    return [*known[: changes.first], *dict.fromkeys(map(place, changes.chunks)), *moved]


@pytest.mark.slow
@settings(max_examples=300)
@given(TEXTS | st.lists(st.sampled_from(PLAIN), max_size=60), EDITS, st.sampled_from(["", "\n"]))
def test_changed_chunks_are_those_of_the_whole_text(lines, edits, ending):
    before = "\n".join(lines)
    for at, count, new in edits:
        lines = [*lines[:at], *new, *lines[at + count :]]
    after = "\n".join(lines) + ending
    known = places(before)
    for former in (None, before):
        changes = rechunk_markdown(after, known, SIZES, former=former)
        if changes is not None:
            assert changed(known, changes) == places(after)
    whole = changed_chunks(known, chunk_markdown(after, SIZES))
    assert changed(known, whole) == places(after)
