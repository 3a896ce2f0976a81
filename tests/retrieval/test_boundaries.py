"""Snippets are cut where Markdown can be cut: no half of a fence, no rows without their header."""

import re
import tempfile
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from commonplace.memory import Memory
from commonplace.retrieval.boundaries import cut
from commonplace.retrieval.snippet_region import Cut, Region
from commonplace.retrieval.snippets import within_budget
from commonplace.text.list_items import introduction_above
from commonplace.types import SearchResult
from support.fakes import HashedWords, clock
from support.sampling import sampled

PARSER = MarkdownIt("commonmark").enable("table")
NOTHING = re.compile(
    r"[ \t>]*(?:#{1,6}(?:[ \t].*)?|<!--.*-->|[-*_=:| \t]*|[`~]{3,}[^`]*|[-*+]|\d[.)])[ \t\r]*$"
)
"""A line that says nothing by itself: headings, comments, rules, delimiter rows, fences, blanks."""


def searched(text, *queries, embedder=None, **options):
    """Search a file of its own and return the hits of each query."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "MEMORY.md").write_bytes(text.encode())
        with Memory.open(folder, embedder=embedder, index="memory://", now=clock()) as memory:
            memory.index()
            return [memory.search(query, min_score=0, **options) for query in queries]


def check(text, hit):
    """Check a hit against the blocks that a CommonMark parser finds in the file."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    assert hit.snippet in text
    assert 0 < len(hit.snippet) <= 700
    shown = "\n".join(text.split("\n")[hit.start_line - 1 : hit.end_line])
    assert hit.snippet in shown
    first, last = hit.start_line - 1, hit.end_line - 1
    wanted, code = "", set()
    for token in PARSER.parse(text):
        if token.type not in ("fence", "table_open"):
            continue
        begin, end = token.map[0], token.map[1] - 1
        if begin < first <= end:
            lead = [lines[begin]] if token.type == "fence" else unpadded(lines[begin : begin + 2])
            wanted = "\n".join(lead[: first - begin])
        if token.type == "fence":
            code.update(range(begin + 1, end + (token.markup not in lines[end])))
            assert not first <= begin <= last or last >= end, "a fence is opened and cut"
        if token.type == "table_open" and first <= begin <= last and end >= begin + 2:
            assert last >= begin + 2, "a header without a row"
    assert hit.context == wanted
    numbered = enumerate(hit.snippet.split("\n"), start=first)
    assert any(number in code or not NOTHING.match(line) for number, line in numbered), "no text"


def unpadded(rows):
    """Return the header and delimiter rows of a table without what fills their cells up."""
    header, delimiter = (re.sub(r"(\S)\s{2,}", r"\1 ", row) for row in rows)
    return [header, re.sub("-{4,}", "---", delimiter)]


TABLE = ["| service | port | owner |", "|:---|---:|---|"]
TABLE += [f"| service{at} | {5000 + at} | Wren, who is in room {at} |" for at in range(60)]
WIDE = ["| " + " | ".join(f"column {at}" for at in range(30)) + " |", "|" + "---|" * 30]
WIDE += ["| " + " | ".join(f"port {at * row}" for at in range(30)) + " |" for row in range(5)]
PADDED = [f"| {'name':20} | {'what it does':400} |", f"| {'-' * 20} | {'-' * 400} |"]
PADDED += [f"| {f'task{at}':20} | {f'Opens port {at}.':400} |" for at in range(30)]
CODE = ["```python title=deploy.py", *(f"deploy('port {at}')  # step {at}" for at in range(60))]

HOSTILE = {
    "a long table": ["# Ports", "", "The ports.", "", *TABLE, "", "After the table."],
    "a wide table": ["Ports of all:", "", *WIDE, "", "And port 7."],
    "a padded table": ["# Tasks", "", *PADDED, "", "After the table."],
    "a table right below a heading": ["# Port", *TABLE[:4], "# Other", "port"],
    "a table that nothing follows": ["port", "", *TABLE],
    "a header row alone": ["| port | vpn |", "|---|---|"],
    "long code": ["# Deploy", "", "How we deploy.", "", *CODE, "```", "", "The port is open."],
    "long code, never closed": ["How we deploy to the port.", "", *CODE],
    "short code": ["## VPN port", "```sh", "wg-quick up wg0", "```", "It is up.", "", "## Other"],
    "code in a list": ["- deploy the port", "", "  ```sh", *["  port 1"] * 4, "  ```", "- done"],
    "a list item of code": ["- ```sh", *(f"  port {at}" for at in range(99)), "  ```", "- done"],
    "code in a quote": ["> ```sh", *(f"> port {at}" for at in range(99)), "> ```", "after, port"],
    "nested fences": ["````md", "the port", "```sh", "port 1", "```", "port 2", "````", "port 3"],
    "tildes": ["~~~~", "```", "the port is here", "~~~", "port", "~~~~", "after the port"],
    "indented code": ["Run:", "", "    ```", "    port 1", "    ```", "", "The port is open."],
    "quotes with lists": ["> - port one", ">   - port two", "> - three", "", "> # port", "> x"],
    "footnotes": ["The port[^1] is open.", "", "[^1]: Port 51820, not 1194.", "", "[x]: /port"],
    "HTML": ["<details>", "<summary>Ports</summary>", "", "port 51820", "</details>", "<br>"],
    "comments": ["<!-- the port -->", "", "<!--", "port 51820", "-->", "", "text"],
    "Setext": ["Port", "====", "", "Sub port", "--------", "", "It is 51820.", "", "port", "---"],
    "front of rules": ["---", "", "***", "", "# Port", "", "___", "", "## Port", "", "- a port"],
    "headings alone": ["# Memory", "", "## Port", "", "### VPN port", ""],
    "very long lines": ["port " * 900, "", "- " + "the port is open. " * 90, "", "端口" * 900],
    "CJK": ["# 端口", "", "虚拟专用网的端口是五一八二零。" * 60, "", "| 港 |", "|---|", "| 端口 |"],
    "right to left": ["# منفذ", "", "المنفذ port هو 51820.", "", "```", "שלום port", "```"],
    "nested lists": ["- vpn", "  - office", "    - port 51820", "    - key", "  - home", "- x"],
}  # fmt: skip
QUERIES = ["which port?", "deploy step 17", "service33 owner", "端口", "vpn", "memory", "column 7"]


@pytest.mark.slow
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("name", sampled(HOSTILE, every=2))
def test_hostile_markdown_is_cut_cleanly(name, newline):
    text = newline.join(HOSTILE[name]) + newline
    for limits in ({}, {"max_chars": 900}):
        answers = searched(text, *QUERIES, **limits)
        assert any(answers) == (name != "headings alone")
        for hit in (hit for hits in answers for hit in hits):
            check(text, hit)


def test_what_was_asked_is_shown_with_its_header_or_fence():
    text = "\n".join(HOSTILE["a long table"])
    [[hit, *_]] = searched(text, "owner of service33")
    assert "service33" in hit.snippet
    assert hit.context == "| service | port | owner |\n|:---|---:|---|"
    text = "\n".join(HOSTILE["long code"])
    [[hit, *_]] = searched(text, "deploy step 33")
    assert "step 33" in hit.snippet
    assert hit.context == "```python title=deploy.py"


def test_the_header_of_a_padded_table_stands_above_its_rows():
    [[hit, *_]] = searched("\n".join(HOSTILE["a padded table"]), "task17")
    assert "task17" in hit.snippet
    assert hit.context == "| name | what it does |\n| --- | --- |"


@pytest.mark.parametrize("number", [2, 10, 20, 33, 44])
def test_a_row_that_is_named_comes_first_with_what_its_header_names(number):
    text = "\n".join(HOSTILE["a long table"])
    [[owner, *_], [port, *_]] = searched(
        text, f"owner of service{number}", f"which port does service{number} use?"
    )
    assert f"service{number} " in owner.snippet
    assert f"service{number} " in port.snippet


@pytest.mark.parametrize("name", ["headings alone", "front of rules", "Setext", "comments"])
def test_a_heading_alone_is_no_result(name):
    text = "\n".join(HOSTILE[name])
    [hits] = searched(text, "the sub port")
    assert (hits == []) == (name == "headings alone")


@pytest.mark.parametrize("embedder", ["bundled", None])
def test_a_sentence_that_is_written_as_a_heading_is_found(embedder):
    text = "# Day\n\n## The okapi gate code is 4411\n\n## Dentist on Friday at nine\n\n- roses\n\n"
    text += "## Buy twelve eggs for Ann\n"
    queries = "okapi gate code", "eggs for Ann"
    okapi, eggs = searched(text, *queries, embedder=embedder)
    assert "4411" in okapi[0].snippet
    assert "twelve eggs" in eggs[0].snippet
    [[hit]] = searched("# Plan\n\n## Call Ann at five today\n", "when do I call Ann?")
    assert "at five" in hit.snippet


@pytest.mark.slow
@pytest.mark.parametrize("every", sampled([4, 1], every=2))
def test_no_table_is_shown_that_begins_where_a_chunk_ends(every):
    parts = [
        "\n".join([f"Part {at}. {'words ' * (at + 40)}", "", *TABLE[:12], ""]) for at in range(40)
    ]
    text = "\n".join(parts)
    queries = [f"part {at} words" for at in range(0, 40, every)]
    for hits in searched(text, *queries, max_chars=2_000):
        for hit in hits:
            check(text, hit)


def test_a_heading_is_shown_with_what_is_below_it():
    notes = "".join(f"\n## Topic {at}\n\nSome other words, number {at}.\n" for at in range(80))
    [hits] = searched("# Memory\n" + notes, "topic 33", max_chars=300)
    assert hits
    for hit in hits:
        assert "Some other words" in hit.snippet


def test_the_heading_of_what_is_not_shown_is_left_out():
    parts = [f"## Topic {at}\n\n{'Some words. ' * 40}port{at}.\n" for at in range(20)]
    [hits] = searched("\n".join(parts), "port7", max_chars=3_000)
    assert "port7." in hits[0].snippet
    assert all(not hit.snippet.split("\n")[-1].startswith("#") for hit in hits)


@pytest.mark.parametrize(
    ("below", "last"), [("Wren has it.", "Wren has it."), ("Wren. " * 120, "Some words.")]
)
def test_the_heading_with_the_most_evidence_is_shown_with_what_is_below_it_or_not_at_all(
    below, last
):
    lines = ["Some words.", "", "## The key", "", below]
    text = "\n".join(lines)
    heading = text.index("## The key")
    region = Region(lines, start=0, context="", after=0, until=len(text))
    found = cut(region, Cut(0, heading + len("## The key")), longest=700, middle=heading)
    assert text[found.start : found.end].split("\n")[-1] == last


@pytest.mark.parametrize(
    "sign",
    [
        *("::: note", ":::: warning", "> [!note]", "!!! tip", "??? question", "::: tip Of words"),
        *('!!! note inline end "Of words"', '=== "Of words"', ':::column span="":::'),
    ],
)
def test_the_first_line_of_an_admonition_that_is_not_shown_is_left_out(sign):
    parts = [f"Part {at}: port{at}, {'words ' * 30}\n\n{sign}\n" for at in range(80)]
    long = "Other things, many of them. " * 20
    [hits] = searched("\n".join(f"{part}{long}\n" for part in parts), "port7 words")
    assert "port7," in hits[0].snippet
    assert not any(hit.snippet.endswith(sign) for hit in hits)


@pytest.mark.parametrize("line", ["> [!todo] Ask Ann", "!!! Ann", "??? Ann", "::: Ann, who else"])
def test_a_line_that_only_looks_like_an_admonition_is_text(line):
    [[hit]] = searched(f"# Plans\n\n{line}\n", "Ann")
    assert line in hit.snippet
    [[hit]] = searched(f"Who knows the port?\n{line}\n", "which port?")
    assert line in hit.snippet


@pytest.mark.parametrize(
    ("text", "window", "snippet"),
    [
        ("::: tip\nPort 7.\n:::\nEnd.", "::: tip\nPort 7.", "::: tip\nPort 7.\n:::"),
        (":::tip\n\nPort 7.\n\n:::\n\nEnd.", ":::tip\n\nPort 7.", ":::tip\n\nPort 7.\n\n:::"),
        ("::: tip\nAll.\n:::\nPort 7.\n:::", "All.\n:::\nPort 7.", "All.\n:::\nPort 7."),
        ("::: tip\nPort 7.\nMore.\n:::", "::: tip\nPort 7.", "::: tip\nPort 7."),
        ("/// tip\nPort 7.\n///\nEnd.", "/// tip\nPort 7.", "/// tip\nPort 7.\n///"),
        (
            "<div class='a'>\nPort 7.\n</div>",
            "<div class='a'>\nPort 7.",
            "<div class='a'>\nPort 7.\n</div>",
        ),
        ("<p>\nPort 6.\n</p>\nPort 7.\n</div>", "</p>\nPort 7.", "Port 7."),
        ("<!--\n" + "All.\n" * 80 + "-->\nPort 7.", "All.\n-->\nPort 7.", "Port 7."),
        ("Port 7:\n\n$$\nport = 7\n$$", "Port 7:\n\n$$\nport = 7", "Port 7:\n\n$$\nport = 7\n$$"),
        ("Port 7.\n\n<!--\nTo do.\n-->", "Port 7.\n\n<!--\nTo do.", "Port 7."),
        ("Port 7.\n<!-- to do -->", "Port 7.\n<!-- to do -->", "Port 7.\n<!-- to do -->"),
        ("See below.\n\n| port | of |", "See below.\n\n| port | of |", "See below."),
        (
            "All.\n<img id='7'\n  src='port.png'>",
            "  src='port.png'>",
            "<img id='7'\n  src='port.png'>",
        ),
    ],
)
def test_what_belongs_together_is_not_cut(text, window, snippet):
    start = text.index(window)
    packed = Cut(start, start + len(window))
    region = Region(text.split("\n"), start=0, context="", after=0, until=len(text))
    found = cut(region, packed, longest=700, middle=packed.end - 1)
    assert text[found.start : found.end] == snippet


def test_a_short_window_of_an_admonition_is_shown_with_its_end():
    parts = [
        f"- Part {at}: {'words ' * 30}\n\n:::tip\n- The port of heron{at} is {5000 + at}.\n:::\n"
        for at in range(40)
    ]
    [hits] = searched("\n".join(parts), "which tip names the port of heron7?", max_chars=100)
    assert hits[0].snippet == ":::tip\n- The port of heron7 is 5007.\n:::"


def test_signs_without_letters_are_text():
    [hits] = searched("# Mood\n\n🎉\n", "mood")
    assert [hit.snippet for hit in hits] == ["# Mood\n\n🎉"]


def test_short_code_is_shown_whole():
    text = "\n".join(HOSTILE["short code"])
    [[hit, *_]] = searched(text, "wg-quick wg0")
    assert "```sh\nwg-quick up wg0\n```" in hit.snippet
    assert hit.context == ""


def test_a_nested_item_is_shown_with_its_parents():
    many = [f"- topic {at}\n  - words about {at}, and more of them" for at in range(60)]
    many[30] = "- heron\n  - office\n    - port 51820\n    - the key is in the vault"
    [[hit, *_]] = searched("\n".join(many), "51820", max_chars=100)
    assert "- heron\n  - office\n    - port 51820" in hit.snippet


@pytest.mark.parametrize("number", range(4, 70, 13))
@pytest.mark.parametrize("place", ["office", "garage", "harbour"])
def test_items_that_a_chunk_begins_within_are_the_context(place, number):
    outline = ["- heron"]
    for other in ("office", "garage", "harbour"):
        outline.append(f"  - {other}")
        outline += [f"    - {other} item{at} says something of word{at}x" for at in range(70)]
    [hits] = searched("\n".join(outline), f"word{number}x of the {place}", max_chars=400)
    assert hits[0].context == f"- heron\n  - {place}"
    shown = [outline[hit.start_line - 1 : hit.end_line] for hit in hits]
    assert [hit.snippet.split("\n") for hit in hits] == shown
    assert all(hit.context for hit in hits)


@pytest.mark.parametrize(
    ("holder", "shown"),
    [
        ("{}:", "Ann:"),
        ("**{}**", "**Ann**"),
        ("**{}**\n", "**Ann**"),
        ("**{}**\nLikes:", "**Ann**\nLikes:"),
        ("{} is here.", ""),
        ("**{}**\n\n## Another", ""),
        ("**{}**\n\n#tag", "**Ann**"),
    ],
    ids=["list", "bold", "bold and blank", "both", "a sentence", "a heading", "a tag"],
)
def test_what_introduces_a_list_is_the_context(holder, shown):
    notes = []
    for number, name in enumerate(("Bob", "Ann", "Carla")):
        lines = [f"- item{at}n{number} says it" for at in range(16)]
        notes += ["", holder.format(name), *lines]
    [[hit, *_]] = searched("\n".join(notes), "item12n1", max_chars=100)
    assert "item12n1" in hit.snippet
    assert hit.context == shown


def test_the_items_above_a_loose_list_are_the_context_of_its_later_chunks():
    outline = ["- heron", "  - office"]
    outline += [f"    - item{at} says something of word{at}x" for at in range(70)]
    [hits] = searched("\n\n".join(outline), "word50x", max_chars=400)
    assert hits[0].context == "- heron\n  - office"


def test_a_part_of_a_long_line_has_no_item_and_no_speaker_that_the_line_has_not():
    text = (
        "# Log\n\n- Carla: has a cat\n"
        + "字" * 399
        + " "
        + "字" * 320
        + "     heron字nest "
        + "字" * 300
    )
    [hits] = searched(text, "heron字nest")
    assert hits
    assert not any("Carla" in hit.context for hit in hits)
    said = " ".join(f"Sentence number{at}x says: that it is so, and so again." for at in range(400))
    [hits] = searched(f"Bob: {said}", "number150x number250x")
    assert {hit.context for hit in hits} <= {"", "Bob: …"}


def test_a_result_whose_context_does_not_fit_is_shown_without_it_unless_it_needs_it():
    def result(context):
        return SearchResult("MEMORY.md", "x" * 90, 9, 9, 0.9, context=context)

    [shown] = within_budget([result("Ann: a long word …")], 100)
    assert (shown.context, shown.snippet) == ("", "x" * 90)
    assert within_budget([result("| name | port |\n|---|---|")], 100) == []
    assert within_budget([result("```sh")], 100)[0].context == "```sh"


def test_what_introduces_a_list_is_above_no_other_text():
    lines = [
        "Bob:",
        "- b1",
        "",
        "Words that are of no list.",
        "- b2",
        "## Head",
        "**Ann**",
        "aa",
        "bb",
    ]
    found = [introduction_above(lines, number) for number in (1, 3, 4, 5, 6, 7, 8)]
    assert found == [0, None, None, None, None, 6, 6]


def test_blank_lines_that_no_chunk_holds_end_what_is_known_of_the_items_above():
    outline = ["- heron", *[""] * 3_000, "  - garage"]
    outline += [f"    - item{at} says something of word{at}x" for at in range(200)]
    [[hit, *_]] = searched("\n".join(outline), "word60x", max_chars=200)
    assert hit.context == "  - garage"


@pytest.mark.parametrize("end", ["", " ![roof](roof.png)"], ids=["text", "picture"])
@pytest.mark.parametrize(
    ("head", "shown"),
    [
        ("Ann: ", "Ann: …"),
        ("- **Ann Lee**: ", "- **Ann Lee**: …"),
        ("> Ann: ", "Ann: …"),
        ("The long story of: ", ""),
        ("See https://example.org ", ""),
        ("", ""),
    ],
)
def test_the_rest_of_a_long_line_says_who_speaks(head, shown, end):
    things = ("door", "roof", "garden", "cellar", "kitchen", "stair", "lamp", "attic", "porch")
    said = " ".join(
        f"And then the {thing} of house number{at}x was painted by somebody else once more."
        for at, thing in enumerate(things)
    )
    text = f"# Log\n\nBob: Well?\n{head}{said}{end}\nBob: Good."
    [[hit, *_]] = searched(text, "attic of number7x")
    assert hit.snippet.startswith("And then")
    assert hit.context == shown


def test_a_wrapped_item_is_shown_whole():
    item = "- The VPN of the office listens on the port 51820, which was chosen in the\n"
    item += "  spring of last year after the provider had closed the other one without\n"
    item += "  any word of warning"
    notes = [f"- Something else that was said on day {at}, at some length." for at in range(60)]
    [[hit, *_]] = searched("\n".join([*notes, item, *notes]), "51820", max_chars=300)
    assert item in hit.snippet


@pytest.mark.parametrize("below", ["  It is short.\n  Ask Ann.", "  - short\n  - Ann's"])
def test_an_item_is_shown_with_what_is_indented_below_it(below):
    # So long that a short window holds the first line of an item alone.
    words = [" ".join(f"word{at}{sign}" for sign in range(1, 30)) for at in range(6)]
    items = [f"- Port {at} of heron: {words[at]}.\n{below}" for at in range(6)]
    others = "\n".join(f"- Something else of day {at}, at some length." for at in range(30))
    [hits] = searched("\n".join(f"{others}\n{item}" for item in items), "port of heron")
    held = [item for item in items for hit in hits if item.split("\n")[0] in hit.snippet]
    assert len(held) == 6
    assert all(any(item in hit.snippet for hit in hits) for item in held)


def test_the_context_counts_in_the_budget():
    parts = [
        "\n".join([f"## Part {at}", "", *(row.replace("service", f"port{at}x") for row in TABLE)])
        for at in range(20)
    ]
    [hits] = searched("\n\n".join(parts), "port of Wren, who is in room 33")
    assert sum(len(hit.snippet) + len(hit.context) for hit in hits) <= 4_200
    assert any(hit.context for hit in hits)


words = st.lists(st.sampled_from(["port", "vpn", "Ann", "51820", "budget", "端口"]), min_size=1)
sentence = words.map(lambda some: " ".join(some) + ".")
line = st.one_of(
    sentence,
    sentence.map("- {}".format),
    sentence.map("  - {}".format),
    sentence.map("> {}".format),
    st.sampled_from(["# port", "## VPN", "---", "===", "", "", "<!-- port -->", "1. one", "text"]),
)
fenced = st.tuples(
    st.sampled_from(["```", "```sh", "~~~~", "````md"]), st.lists(line, max_size=60), st.booleans()
).map(lambda parts: [parts[0], *parts[1], *([parts[0][:4].rstrip("sh")] if parts[2] else [])])
table = st.lists(words, min_size=1, max_size=60).map(
    lambda rows: ["", *TABLE[:2], *(f"| {' '.join(row)} | 1 | 2 |" for row in rows), ""]
)
markdown = st.tuples(
    st.lists(st.one_of(line.map(lambda one: [one]), fenced, table), max_size=20),
    st.sampled_from(["\n", "\n", "\r\n"]),
).map(lambda parts: parts[1].join(chain.from_iterable(parts[0])))


@pytest.mark.slow
@pytest.mark.parametrize("embedder", [None, HashedWords()], ids=["words", "vectors"])
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(text=markdown, query=sentence, chars=st.sampled_from([4_200, 1_500, 800]))
def test_of_any_markdown_no_fence_is_left_half_open(embedder, text, query, chars):
    [hits] = searched(text, query, embedder=embedder, max_chars=chars)
    for hit in hits:
        check(text, hit)


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ('<div class="termy">', "</div>"),
        ("/// tip | Ports", "///"),
        (":::tip[Ports of all]", ":::"),
        ('<TabItem label="Ports of all">', "</TabItem>"),
    ],
)
def test_what_opens_and_closes_an_element_stands_beside_what_it_holds(opening, closing):
    code = ["```sh", *(f"deploy port {at} of many words and more" for at in range(40)), "```"]
    rest = " ".join(["Then feed the heron."] * 30)
    lines = ["Open the vpn so:", "", opening, "", *code, "", closing, "", rest]
    for hit in chain.from_iterable(searched("\n".join(lines), "open the vpn", "feed the heron")):
        assert not hit.snippet.endswith(opening)
        assert not hit.snippet.startswith(closing)


def test_no_snippet_begins_or_ends_with_a_comment_about_other_text():
    many = [f"Line {at} of it speaks of slow rivers and old bridges." for at in range(20)]
    apples, pears = "Apples were picked in September.", "Pears were picked in October."
    text = "\n".join([apples, "", "<!--", *many, "-->", "", pears])
    [hits] = searched(text, "when were apples picked", embedder=HashedWords())
    assert {apples, pears} <= {hit.snippet for hit in hits}
    text = "Port 7.\n\n## Next\n\n<!-- since 2.0 -->\n\nMore."
    region = Region(text.split("\n"), start=0, context="", after=0, until=len(text))
    found = cut(region, Cut(0, text.index("\n\nMore")), longest=700, middle=0)
    assert text[: found.end] == "Port 7."


def test_results_score_by_the_best_evidence_also_where_it_is_a_heading_alone(tmp_path):
    (tmp_path / "memory").mkdir()
    texts = ("# Volcano\n\n### Hazards of Stromboli\n", "The stove burns alcohol.\n", "Tea.\n")
    for number, text in enumerate(texts):
        (tmp_path / "memory" / f"{number}.md").write_text(text, encoding="utf-8")
    with Memory.open(tmp_path, embedder=HashedWords(), index="memory://", now=clock()) as memory:
        hits = memory.search("hazards of Stromboli", min_score=0)
    assert hits
    assert all(hit.score < 0.9 for hit in hits)


MATTER = [
    "title: The port of the VPN",
    "tags: [port, vpn, heron]",
    "aliases:",
    "  - a | b",
    "  - c",
]
TOML = ['title = "The port of the VPN"', 'tags = ["port", "vpn", "| a | b |"]']


@pytest.mark.parametrize(("mark", "matter"), [("---", MATTER), ("+++", TOML)])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("name", sampled([*HOSTILE, "one word"], every=3))
def test_no_line_of_front_matter_is_in_a_snippet(name, newline, mark, matter):
    above = [mark, *matter, mark]
    body = HOSTILE.get(name, ["port"])
    text = newline.join([*above, *body]) + newline
    for hits in searched(text, *QUERIES, "title of the heron", "a | b", "aliases", "tags: port"):
        for hit in hits:
            assert hit.start_line > len(above)
            shown = text.split("\n")[hit.start_line - 1 : hit.end_line]
            assert hit.snippet in "\n".join(shown)
            lines = {line.strip() for line in f"{hit.context}\n{hit.snippet}".split("\n")}
            assert not lines & {line.strip() for line in matter}
            assert "heron" not in f"{hit.context}{hit.snippet}"


STEPS = ["- unplug the heron kettle", "- wait for an hour", "- rinse it twice"]
REST = [
    f"Line {at} speaks of slow rivers and of old bridges that nobody crosses." for at in range(6)
]


@pytest.mark.parametrize(
    ("below", "shown"),
    [
        (STEPS, STEPS[0]),
        (["```sh", "descale --twice", "```"], "descale --twice\n```"),
        (["| step | what |", "| --- | --- |", "| 1 | unplug |"], "| 1 | unplug |"),
        (
            ["Unplug it first, for it may well be on, even", "when it looks off."],
            "when it looks off.",
        ),
        (["### By hand", "", *STEPS], STEPS[0]),
    ],
)
@pytest.mark.parametrize("colon", [":", ":**", "："])
def test_what_the_last_line_of_a_snippet_introduces_is_shown(below, shown, colon):
    opening = "**" if colon.endswith("**") else ""
    introduction = f"{opening}To descale the kettle of the office{colon}"
    text = "\n".join(["# Kitchen", "", introduction, "", *below, "", *REST])
    window = Cut(text.index(introduction), text.index(introduction) + len(introduction))
    region = Region(text.split("\n"), start=0, context="", after=0, until=len(text))
    found = cut(region, window, longest=700, middle=window.start)
    assert text[found.start : found.end].endswith(shown)


def test_a_sentence_that_introduces_what_is_not_shown_is_no_end_of_a_snippet():
    said = "The port of the gateway is 8443."
    introduction = "Whoever changes the port has to change these\nfiles of the gateway, too:"
    long = [
        "```ini",
        *(f"gateway-{at}.conf = a long value of many words" for at in range(30)),
        "```",
    ]
    text = "\n".join([said, "", introduction, "", *long])
    window = Cut(0, text.index(introduction) + len(introduction))
    region = Region(text.split("\n"), start=0, context="", after=0, until=len(text))
    found = cut(region, window, longest=700, middle=0)
    assert text[: found.end] == said
    # As the best line of all, it is shown without them.
    found = cut(region, window, longest=700, middle=text.index(introduction))
    assert text[: found.end] == f"{said}\n\n{introduction}"
    # The next snippet shows them.
    until = text.index("```")
    found = cut(region._replace(until=until), window, longest=700, middle=0)
    assert text[: found.end] == said


def test_a_list_is_shown_below_the_line_that_introduces_it():
    text = "\n".join(["# Kitchen", "", *REST, "", "To descale the kettle:", "", *STEPS, "", *REST])
    for hits in searched(text, "descale the kettle", "how to descale a kettle?"):
        [hit] = [hit for hit in hits if "descale" in hit.snippet]
        assert STEPS[0] in hit.snippet


def cut_between(text, first, last, middle):
    """Cut the window from one text to the end of another one."""
    window = Cut(text.index(first), text.index(last) + len(last))
    region = Region(text.split("\n"), start=0, context="", after=0, until=len(text))
    found = cut(region, window, longest=700, middle=text.index(middle))
    return text[found.start : found.end]


def test_an_introduction_does_not_stand_at_the_end_as_its_code_is_cut_off():
    """The window ends within the code, so that the code is left out and the line above it bare."""
    said = "The port of the gateway is 8443."
    code = ["```sh", *(f"migrate --step {at} --with a long option" for at in range(40)), "```"]
    text = "\n".join([said, "", "Run the migrations:", "", *code])
    assert cut_between(text, said, "--step 3", said) == said


SECTIONS = """\
## Variables

1. The variables:

    1. HOST, the name of the host, {long}
    2. SECRET_FILE, a path

## Behind a proxy

### Headers

The proxy must pass X-Forwarded-For."""


@pytest.mark.parametrize(
    ("above", "first"),
    [
        (SECTIONS.format(long="word " * 60), "    2. SECRET_FILE"),
        (
            "```json\n{{\n{}\n}}\n```\n\n".format("\n".join(f'"a{at}": {at},' for at in range(90))),
            "",
        ),
    ],
    ids=["item", "code"],
)
def test_the_rest_of_another_section_does_not_stand_before_the_heading(above, first):
    text = above if first else above + SECTIONS[SECTIONS.index("## Behind") :]
    shown = cut_between(text, first or '"a85"', "X-Forwarded-For.", "The proxy must")
    assert shown == SECTIONS[SECTIONS.index("## Behind") :]


def test_no_snippet_begins_with_a_heading_that_would_be_all_of_it():
    code = ["```", "  settings()", "```", "</details>", "", "See our guide below.", ""]
    text = "\n".join([*code, "### Color palette toggle", "", "Offering both is pleasant to read."])
    heading = text.index("### Color")
    region = Region(text.split("\n"), start=0, context="", after=5, until=heading + 25)
    packed = Cut(text.index("  settings"), heading + len("### Color palette toggle"))
    found = cut(region, packed, longest=700, middle=heading)
    assert text[found.start : found.end].endswith("See our guide below.")


@pytest.mark.parametrize(("mark", "context"), [("- ", "- On the first day, and each"), ("", "")])
def test_the_context_of_code_is_the_item_over_several_lines_that_it_lies_in(mark, context):
    text = f"{mark}On the first day, and each\n  day after it:\n\n    ```\n    :okapi:\n    ```\n"
    code = text.index("    ```")
    region = Region(text.split("\n"), start=0, context="", after=code, until=len(text))
    found = cut(region, Cut(code, len(text) - 1), longest=700, middle=text.index(":okapi"))
    assert found == Cut(code, len(text) - 1, context)


def test_the_last_row_of_a_table_without_a_delimiter_is_shown():
    rows = ["Values as agreed:", "| zone | night | humidity |", "| tomatoes | 15 C | 65 |"]
    [[hit, *_]] = searched("\n".join(rows), "night temperature of the tomatoes?")
    assert hit.snippet == "\n".join(rows)


def test_the_items_that_an_item_lies_in_are_its_context():
    filler = "Reconcile the account, the fees and the interest of the month. " * 5
    lines = ["- On the day of the statement:", f"  - First. {filler}", f"  - Then. {filler}"]
    lines += [f"  - Remove the rollover arrow. {filler}", "- On other days:", "  - Wait."]
    [[hit, *_]] = searched("\n".join(lines), "how do I remove the rollover arrow?")
    assert "rollover arrow" in hit.snippet
    assert hit.snippet.startswith("  - ")
    assert hit.context == lines[0]


@pytest.mark.parametrize(
    "opener", ['??? question "Are old ones made anew?"', '=== "From the list"']
)
def test_the_first_line_of_an_admonition_is_the_context_of_what_lies_in_it(opener):
    filler = "They are not made anew, for what they show is the same as it was before. " * 4
    lines = [opener, "", f"    {filler}", ""]
    lines += ["    We recommend that you delete the sidecar by hand, and look at the log.", ""]
    lines += ['??? question "Which folder?"', "", "    The one that you have set."]
    [[hit, *_]] = searched("\n".join(lines), "delete the sidecar by hand", max_chars=250)
    assert hit.snippet.lstrip().startswith("We recommend")
    assert hit.context == opener


def test_a_sentence_does_not_stand_before_a_fence_that_a_later_chunk_closes():
    lines = [
        "The script can be placed in `/etc/cron.daily`:",
        "",
        "```",
        "stat -c %s /srv",
        "ls /srv",
    ]
    text = "\n".join(lines)
    region = Region(lines, start=0, context="", after=0, until=len(text))
    found = cut(region, Cut(0, len(lines[0])), longest=700, middle=0)
    assert text[found.start : found.end] == lines[0]


@pytest.mark.parametrize(
    "opener", ['!!! tldr ""', "!!! Info", '??? faq "Of words?"', '!!! own "A"']
)
def test_no_snippet_ends_with_the_first_line_of_an_admonition_of_any_kind(opener):
    lines = ["Omit the flag to keep the index.", "", opener, "    If not, use the old one."]
    text = "\n".join(lines)
    window = Cut(0, text.index("    If"))
    region = Region(lines, start=0, context="", after=0, until=window.end)
    found = cut(region, window, longest=700, middle=0)
    assert text[found.start : found.end] == lines[0]


def cut_of(text, window, *, middle=None, after=0):
    """Return the snippet of a window and its context."""
    start = text.index(window)
    packed = Cut(start, start + len(window))
    region = Region(text.split("\n"), start=0, context="", after=after, until=len(text))
    at = packed.end - 1 if middle is None else text.index(middle)
    found = cut(region, packed, longest=700, middle=at)
    return text[found.start : found.end], found.context


def test_the_heading_right_above_is_shown():
    text = "## Larder\n\nFlour.\n\n### Upload limit ###\n\nPort 7 is open.\n\nAnd so on."
    assert cut_of(text, "Port 7 is open.")[0] == "### Upload limit ###\n\nPort 7 is open."
    assert cut_of(text, "And so on.")[0] == "And so on."
    shown = text.index("Port")
    assert cut_of(text, "Port 7 is open.", after=shown)[0] == "Port 7 is open."
    for above in ("# Ports", "# 2026-05-04 (Monday)", "## 19:31 session 1", "## 7"):
        assert cut_of(f"{above}\n\nPort 7 is open.", "Port 7 is open.")[0] == "Port 7 is open."
    long = f"## {'Limits ' * 20}\n\nPort 7 is open."
    assert cut_of(long, "Port 7 is open.")[0] == "Port 7 is open."


@pytest.mark.parametrize(
    "line", ["![The menu of the account](menu.png)", "[![](a.png)](a.png) ![](b.png)", "**Then?**"]
)
def test_no_snippet_ends_with_what_is_of_the_text_below_it(line):
    text = f"Port 7 is open.\n\n{line}\n\nPress it."
    assert cut_of(text, f"Port 7 is open.\n\n{line}", middle="Port 7")[0] == "Port 7 is open."
    # It may be what was asked for.
    assert cut_of(text, line, middle=line)[0] == line


def test_bold_words_with_nothing_below_them_are_text():
    text = "The port is\n\n**7 or 8**"
    assert cut_of(text, text, middle="The port")[0] == text
    assert cut_of(f"{text}\n\n## Hosts", text, middle="The port")[0] == text


def test_no_snippet_begins_with_an_image():
    text = "![The menu](menu.png)\n\nPort 7 is open."
    assert cut_of(text, text)[0] == "Port 7 is open."


def test_an_introduction_goes_with_the_image_behind_it_as_long_as_the_text():
    text = "Port 7 is open.\n\nClick here:\n\n![The menu](menu.png)\n\nThen press it."
    shown = cut_of(text, "Port 7 is open.\n\nClick here:", middle="Port 7")[0]
    assert shown == text


def test_imports_of_mdx_are_no_text():
    text = "# Shows\n\nimport Header from './_header.md';\n\n# Films"
    [hits] = searched(text, "import header of shows?")
    assert not hits
    [[hit, *_]] = searched(f"{text}\n\nWe import films from 8 mm.", "import films from 8 mm?")
    assert hit.snippet.endswith("We import films from 8 mm.")


def test_a_long_item_above_is_shortened_in_the_context():
    filler = "so that nothing is written while the folder is copied to the other machine, " * 4
    text = f"1. Stop the server, {filler}\n   - Quit it.\n   - Or kill it.\n   - Then wait."
    snippet, context = cut_of(text, "   - Then wait.", after=text.index("   - Then"))
    assert snippet == "   - Then wait."
    assert context.startswith("1. Stop the server, so that nothing")
    assert context.endswith(" …")
    assert len(context) < 160


CALLOUT = "> [!warning]- Chafe of the lines\n> The bow roller rubs.\n>\n"
CALLOUT += "> > [!tip] Leather\n> > Buy two."


@pytest.mark.parametrize(
    ("window", "wanted"),
    [
        ("> The bow roller rubs.", "> [!warning]- Chafe of the lines"),
        ("> > Buy two.", "> [!warning]- Chafe of the lines\n> > [!tip] Leather"),
    ],
)
def test_the_title_of_a_callout_is_the_context_of_what_lies_in_it(window, wanted):
    snippet, context = cut_of(CALLOUT, window, after=CALLOUT.index(window))
    assert snippet.startswith(window)
    assert context == wanted


def test_a_short_callout_is_shown_whole():
    text = f"Above.\n\n{CALLOUT}\n> [!note] Other\n> Tea."
    assert cut_of(text, "> > Buy two.")[0] == CALLOUT
    assert cut_of(text, "> [!warning]- Chafe of the lines")[0] == CALLOUT
    assert cut_of(text, "> Tea.")[0] == "> [!note] Other\n> Tea."
    assert cut_of("> Ann said it.\n> Ben, too.", "> Ben, too.")[0] == "> Ben, too."
    long = f"{CALLOUT}\n" + "> It is of the bow roller, and not of the stern.\n" * 20 + "> Tea."
    [[hit, *_]] = searched(long, "tea?")
    assert hit.snippet.endswith("> Tea.")
    assert hit.context == "> [!warning]- Chafe of the lines"


def test_a_definition_is_shown_with_its_term():
    text = "The boat.\n\nWindlass fuse\n: It is of 80 amps.\n: Under the berth.\n\nAnd so on."
    assert cut_of(text, ": Under the berth.")[0].startswith("Windlass fuse\n: It is of 80 amps.")
    assert cut_of(text, "The boat.\n\nWindlass fuse", middle="The boat")[0] == "The boat."


def test_a_summary_of_what_is_not_shown_is_left_out():
    text = "Grease it.\n\n<details>\n<summary>Spare parts</summary>\n\nBelt 10x900.\n\n</details>"
    assert cut_of(text, text[: text.index("\n\nBelt")], middle="Grease it.")[0] == "Grease it."
    assert cut_of(text, "Belt 10x900.")[0].endswith("Belt 10x900.")


def test_code_has_the_items_that_it_lies_in_as_its_context():
    lines = ["1. Close the sea cock.", "", f"   {'It is stiff. ' * 30}", ""]
    text = "\n".join([*lines, "   ```sh", "   seacock --close", "   ```", "2. Drain it."])
    snippet, context = cut_of(text, "   ```sh", after=text.index("   ```sh"))
    assert snippet.startswith("   ```sh")
    assert context == lines[0]
    within = "   seacock --close"
    assert cut_of(text, within, after=text.index(within))[1] == f"{lines[0]}\n   ```sh"


@pytest.mark.parametrize("chars", [80, 300, 500, 600, 700, 800])
def test_a_short_answer_is_never_empty(chars):
    text = "\n".join(HOSTILE["a long table"] + HOSTILE["long code"])
    for hits in searched(text, "owner of service33", "deploy step 17", max_chars=chars):
        assert 0 < sum(hit.chars for hit in hits) <= chars


@pytest.mark.parametrize("chars", [500, 600, 700])
def test_a_short_answer_has_its_context_and_fewer_lines(chars):
    text = "\n".join(HOSTILE["a long table"] + HOSTILE["long code"])
    (row,), (step,) = searched(text, "owner of service33", "deploy step 17", max_chars=chars)
    assert row.context.startswith("| service | port | owner |")
    assert step.context == "```python title=deploy.py"
    assert "service33" in row.snippet
    assert "step 17" in step.snippet
    assert min(row.chars, step.chars) > chars - 60


def test_what_is_shorter_than_a_result_that_does_not_fit_is_shown():
    results = [SearchResult("a.md", "x" * chars, 1, 1, 0.5, "memory") for chars in (500, 700, 90)]
    assert [len(result.snippet) for result in within_budget(results, 1_000)] == [500, 90]
