"""Blocks of Markdown are those that a CommonMark parser finds, line for line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from commonplace.settings import ChunkingSettings
from commonplace.text.blocks import context_at, find_blocks
from commonplace.text.chunking import chunk_markdown

PARSER = MarkdownIt("commonmark").enable("table")


def found(text, kind, context=""):
    blocks = find_blocks(text.split("\n"), context)
    return [(block.first, block.last) for block in blocks if block.kind == kind]


def parsed(text, kind):
    """What markdown-it finds; an unclosed fence ends with the last line that has text."""
    tokens = [token for token in PARSER.parse(text) if token.type == kind]
    return [(token.map[0], token.map[1] - 1) for token in tokens]


@pytest.mark.parametrize(
    "text",
    [
        "```\ncode\n```",
        "````md\n```py\ncode\n```\n````\ntext",
        "~~~ sh\n```\n~~~\ntext\n```\ncode\n```",
        "~~~~\n~~~\n~~~~~",
        "- item\n\n  ```py\n  code\n  ```\n- other",
        "- ```py\n  code\n  ```\ntext",
        "1. step\n   ```\n   code\n   ```\r\n2. step",
        "- a\n  - b\n    ```\n    code\n    ```\ntext\n```\nx\n```",
        "- ```\n  code\ntext after the item\n\n```\nmore\n```",
        "> ```\n> code\n> ```\ntext",
        "> ```\n> code\ntext after the quote",
        "    ```\n    indented code, no fence\n\ntext\n```\ncode\n```",
        "```a`b\nno fence, for its name holds a tick\n",
        "```\n    ```\nstill code\n```",
        "```\n\n\ncode\n\n```",
        "```\r\ncode\r\n```\r\ntext",
    ],
)
def test_fences_are_commonmarks(text):
    assert found(text, "code") == parsed(text, "fence")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("!!! note\n\n    ```py\n    code\n    ```\n\n    text\ntext", (2, 4)),
        ('!!! tip\n    === "A"\n\n        ```sh\n        a\n\n        b\n        ```', (3, 7)),
        (":   term\n\n    ```\n    code\n    ```\n    ~~~\n    text", (2, 4)),
        ("??? info\n\t```\n\tcode\n\t```\n\ttext", (1, 3)),
        ("text\n\n    ```\n    code", (2, 3)),
    ],
)
def test_two_fences_that_are_indented_further_hold_code(text, code):
    assert found(text, "code")[0] == code
    for cut in range(code[0] + 1, code[1] + 1):  # as below the end of a chunk
        lines = text.split("\n")
        context = context_at(find_blocks(lines), cut)
        assert context == lines[code[0]]
        below = find_blocks(lines[cut:], context)[0]
        assert (below.last, below.closed) == (code[1] - cut, "```" in lines[code[1]])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("text\n$$\na = b\n$$\ntext", [(1, 3)]),
        ("$$ a = b\n+ c $$\ntext $$", [(0, 1)]),
        ("> $$\n> a\n> $$", [(0, 2)]),
        ("$$\n# a\n$$\n$$\nb\n$$", [(0, 2), (3, 5)]),
        ("$$ a = b $$\ntext\n$$", [(2, 2)]),
        ("$$\n\na\n$$", [(3, 3)]),
        ("text for $$\nmore $$ of it", []),
    ],
)
def test_two_dollar_signs_on_each_side_hold_a_formula(text, code):
    assert found(text, "code") == code


def test_the_fence_of_a_nested_item_is_closed_below_its_context():
    lines = ["code", "    ```", "text", "```", "other", "```"]
    blocks = find_blocks(lines, "    ```")
    assert [(block.last, block.closed) for block in blocks] == [(-1, False), (5, True)]
    blocks = find_blocks(["    code", *lines[1:]], "    ```")
    assert [(block.last, block.closed) for block in blocks] == [(1, True), (5, True)]


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |\n|---|---|\n| 1 | 2 |\n\ntext",
        "text\n\na | b\n:- | -:\n1 | 2\n3 | 4",
        "| a |\n|---|\n| 1 |",
        r"| a \| b | c |" + "\n|---|---|\n| 1 | 2 |",
        "| a | b |\n|---|\n| 1 | 2 |",
        "| a | b |\r\n|---|---|\r\n| 1 | 2 |\r\n\r\ntext",
        "> | a | b |\n> |---|---|\n> | 1 | 2 |\n\ntext | text",
        "a | b\n\n|---|---|\n| 1 | 2 |",
        "| a | b |\n|---|---|\n| 1 | 2 |\n# Heading | no row\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n- item | no row\n",
        "```\n| a | b |\n|---|---|\n```",
        "| 港口 | 说明 |\n|---|---|\n| 51820 | 虚拟专用网 |",
    ],
)
def test_tables_are_githubs(text):
    assert found(text, "table") == parsed(text, "table_open")


LINES = ["", "text", "```", "```py", "~~~", "~~~~", "````", "# x", "- item", "> quote", "a | b"]
LINES += ["|---|---|", "| 1 | 2 |", "  text", "    deep", "1. one", "`` ` ``", "---"]


@given(st.lists(st.sampled_from(LINES), max_size=14))
def test_of_any_lines_the_closed_fences_are_commonmarks(lines):
    text = "\n".join(lines)
    code = [block for block in find_blocks(lines) if block.kind == "code"]
    closed = [(block.first, block.last) for block in code if block.closed]
    assert set(closed) <= set(parsed(text, "fence"))
    assert len(code) == len(parsed(text, "fence"))


def test_a_line_needs_the_fence_or_the_header_above_it():
    lines = ["```py", "a", "```", "text", "", "| a | b |", "|---|---|", "| 1 | 2 |", "", "text"]
    blocks = find_blocks(lines)
    header = "| a | b |"
    assert [context_at(blocks, number) for number in range(10)] == [
        *("", "```py", "```py", "", ""),
        *("", header, f"{header}\n|---|---|", "", ""),
    ]


@given(st.lists(st.sampled_from(LINES), max_size=14), st.integers(0, 13))
def test_a_context_stands_for_all_that_is_above(lines, cut):
    blocks = find_blocks(lines)
    # Items are open above the cut, too: fences in them are not looked at.
    if cut >= len(lines) or any(line.startswith(("-", "1", " ")) for line in lines):
        return
    context = context_at(blocks, cut)
    below = [
        (max(block.first - cut, 0), block.last - cut, block.lead)
        for block in blocks
        if block.last >= cut
    ]
    if lines[cut - 1 : cut] and "|" in lines[cut - 1] and not context:
        return  # a header row by itself is no context
    assert below == [
        (max(block.first, 0), block.last, block.lead) for block in find_blocks(lines[cut:], context)
    ]


def test_a_chunk_holds_the_context_of_its_first_line():
    rows = [f"| service{number} | {5000 + number} |" for number in range(200)]
    table = ["# Ports", "", "| service | port |", "|---|---|", *rows]
    code = ["# Code", "", "```python", *(f"call_{number}()" for number in range(400)), "```", "end"]
    for lines, context in ((table, "| service | port |\n|---|---|"), (code, "```python")):
        chunks = chunk_markdown("\n".join(lines), ChunkingSettings())
        assert len(chunks) > 2
        assert chunks[0].context == ""
        assert {chunk.context for chunk in chunks[1:]} == {context}


def test_a_header_row_longer_than_a_snippet_is_left_out():
    header = "| " + " | ".join(f"column number {number}" for number in range(60)) + " |"
    lines = [header, "|" + "---|" * 60, "|" + "1|" * 60]
    blocks = find_blocks(lines)
    assert blocks[0].last == 2
    assert context_at(blocks, 2) == ""
