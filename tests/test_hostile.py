"""Notes are written by models and pasted from anywhere: showing them must do nothing else."""

from __future__ import annotations

import io
import os
import re
import traceback
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner
from rich.cells import cell_len
from rich.console import Console

from commonplace import FlushReport, IndexReport, Memory, SearchResult, SearchResults, Status
from commonplace.cli.app import app
from commonplace.display import as_html, plain_result, plain_status
from commonplace.errors import CommonplaceError
from support.fakes import HashedWords, clock
from support.sampling import sampled

ATTACKS = {
    "html": """<script>alert(1)</script><img src=x onerror=alert(2)><b onclick="x()">bold</b>""",
    "breaking out": """</pre></div></style><iframe src="https://example.org"></iframe><pre>""",
    "attributes": """" onmouseover="alert(3)" x='y' &quot; &#60;b&#62; &lt;b&gt; ]]> <!-- -->""",
    "style": """<style>body{display:none}</style></mark><svg onload=alert(4)>""",
    "clipboard": "\x1b]52;c;cm0gLXJmIC8=\x07 and \x9d52;c;cm0=\x9c",
    "cursor": "\x1b[2J\x1b[H\x1b[1A\x1b[2K gone \x9b31m\x1b[?1049h\x08\x08\x7f",
    "title": "\x1b]0;owned\x07\x1b]2;owned\x1b\\ \x1bP+q544e\x1b\\ \x1b[6n\x1b[c",
    "hyperlink": "\x1b]8;;file:///etc/passwd\x1b\\here\x1b]8;;\x1b\\",
    "return": "the truth\rthe lie  \x0b\x0c\x85 \u2028 \u2029 next",
    "direction": "\u202egpj.exe\u202c \u2066isolated\u2069 \u2067\u202b\u202d",
    "hidden": "pass\u200bword \u2060\u2063\ufeff \U000e0049\U000e0067\U000e006e",
    "right to left": "שלום עולם, מספר 42 וגם السلام عليكم",
    "markup": "[red]red[/red] [link=https://example.org]x[/link] [/] [bold :smile: $x^2$ \\frac",
    "combining": "Z" + "\u0315\u0300\u0323" * 200,
    "long": "long " + "x" * 10_000 + " tail",
    "formulas": r"$\frac{1}{0}$ $ $$ \$ $\unknown{$ %%",
}
"""Each is a line of a note of its own, and names that note's heading."""

NAMES = (
    "<img src=x onerror=alert(5)>.md",
    "a\u202ecod.md",
    "[red]$x$ &amp; 'q'.md",
    "\x1b[31mred.md",
)
TAGS = {"div", "style", "p", "ol", "ul", "li", "strong", "code", "bdi", "span", "pre", "mark"}
TAGS |= {"table", "tbody", "tr", "th", "td", "details", "summary"}
ATTRIBUTES = {
    "class": re.compile(r"commonplace|cp-[a-z]+( cp-[a-z]+)*"),
    "style": re.compile(r"width:\d+\.\d%"),
    "dir": re.compile("auto"),
    "role": re.compile("img"),
    "scope": re.compile("row"),
    "aria-label": re.compile(r"score [\d.]+ of 1(: [a-z]+ -?[\d.]+(, [a-z]+ -?[\d.]+)*)?"),
    "title": re.compile(r"score [\d.]+ of 1(: [a-z]+ -?[\d.]+(, [a-z]+ -?[\d.]+)*)?"),
}
HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "notes"
    (folder / "memory").mkdir(parents=True)
    text = "".join(f"## {attack}\n\n- secret word {attack}\n\n" for attack in ATTACKS.values())
    write(folder / "MEMORY.md", text)
    for at, (name, attack) in enumerate(ATTACKS.items(), start=1):
        write(folder / f"memory/2026-11-{at:02}.md", f"# {name} {attack}\n\n{attack} secret word\n")
    for name in NAMES:
        if os.name != "nt":
            write(folder / "memory" / name, "# secret\n\nthe secret word of a strange file\n")
    return folder


@pytest.fixture(scope="module")
def memory(notes):
    index = notes.parent / "index.sqlite"
    with Memory.open(notes, embedder=HashedWords(), index=index, now=clock()) as memory:
        memory.index()
        yield memory


def write(path, text):
    path.write_bytes(text.encode())


def queries():
    return ["secret word", *ATTACKS.values()]


class Page(HTMLParser):
    """Reads HTML as a browser's parser does, and keeps elements and text apart."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts = [], []
        self._open = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, attributes))
        self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open[-1] != "style":
            self.texts.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    handle_decl = handle_pi = unknown_decl = handle_comment

    @property
    def text(self):
        return "".join(self.texts)


def assert_harmless(html):
    page = Page(html)
    assert page.elements.count(("style", [])) == 1
    for tag, attributes in page.elements:
        assert tag in TAGS
        for name, value in attributes:
            assert ATTRIBUTES[name].fullmatch(value), (name, value)
    assert not HARMFUL.search(html)
    return page


def in_terminal(value):
    stream = io.StringIO()
    Console(file=stream, force_terminal=True, width=80, color_system="truecolor").print(value)
    return stream.getvalue()


def assert_quiet(shown):
    """Nothing but rich's own colours and line ends reaches a terminal."""
    text = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert not HARMFUL.search(text)
    assert "\x1b" not in text


@pytest.mark.parametrize("query", sampled(queries(), every=3), ids=["all", *ATTACKS])
def test_no_element_and_no_attribute_of_a_notebook_comes_from_notes(memory, query):
    results = memory.search(query, max_results=50, min_score=0, explain=True)
    assert results
    assert_harmless(results._repr_html_())
    assert_harmless(memory.search(query)._repr_html_())
    for result in results:
        assert_harmless(result._repr_html_())
        assert_harmless(memory.get(result.path)._repr_html_())


@pytest.mark.parametrize("query", sampled(queries(), every=3), ids=["all", *ATTACKS])
def test_nothing_in_notes_commands_a_terminal(memory, query):
    results = memory.search(query, max_results=50, min_score=0, explain=True)
    assert_quiet(in_terminal(results))
    for result in results:
        assert_quiet(in_terminal(result))
        assert_quiet(in_terminal(memory.get(result.path)))
        assert_quiet(plain_result(result, explain=True))
        assert_quiet(repr(result))
    assert_quiet(repr(results))


def test_the_names_of_files_in_a_repr_are_escaped():
    paths = ("memory/\x1b[31mred.md", "memory/a\u202ecod.md", "memory/b\nc.md")
    results = SearchResults(SearchResult(path, "x", 1, 1, 0.5) for path in paths)
    for value in (results, results[1:], results[0]):
        assert_quiet(repr(value))
        assert "\n" not in repr(value)


def test_what_a_note_says_is_shown_as_it_is_written(memory):
    for name in ("html", "breaking out", "attributes", "style", "markup", "right to left"):
        query = f"{name} {ATTACKS[name]}"
        results = memory.search(query, max_results=50, min_score=0)
        page = assert_harmless(results._repr_html_())
        assert ATTACKS[name] in page.text
        shown = "".join(in_terminal(results).split())
        start = "".join(re.sub(r"\s", "", ATTACKS[name]))[:20]
        assert start in re.sub(r"\x1b\[[\d;]*m", "", shown)


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_reports_of_hostile_names_and_reasons_are_harmless(attack):
    values = [
        IndexReport(failed=((attack, attack),)),
        Status(
            1, 1, attack, attack, 3, attack, attack, stale=((attack, attack),), warnings=(attack,),
            workspace=attack, index_location=attack, details={attack: attack},
        ),
        FlushReport("tokens", attack, attack, notes=(attack,), failed=attack, transcript=attack),
    ]  # fmt: skip
    for value in values:
        assert_harmless(as_html(value))
        assert_quiet(in_terminal(value))
        assert_quiet(repr(value))
    assert_quiet(plain_status(values[1]))


@pytest.mark.parametrize("arguments", [["search", "secret word"], ["status"], ["index"]])
def test_commands_print_nothing_that_acts(notes, arguments):
    result = CliRunner().invoke(app, ["-w", str(notes), "--embedder", "none", *arguments])
    assert result.exit_code == 0
    assert_quiet(result.stdout)
    assert_quiet(result.stderr)


def test_a_line_of_ten_thousand_characters_takes_no_more_room_than_a_snippet(memory):
    results = memory.search("long tail xxxxx", min_score=0)
    assert all(len(result.snippet) <= 700 for result in results)
    assert len(as_html(results[:1])) < 9_000
    assert max(map(cell_len, in_terminal(results).splitlines())) < 200  # accents take no room


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_of_hostile_notes_are_drawn(memory, theme):
    pytest.importorskip("matplotlib")
    from commonplace import explorer

    for picture in (
        explorer.stages(memory, ATTACKS["formulas"], theme=theme),
        explorer.stages(memory, "secret word", theme=theme),
        explorer.decay_curves(memory, theme=theme),
        explorer.chunk_map(memory, query=ATTACKS["markup"], color="file", theme=theme),
        explorer.calendar(memory, theme=theme),
        explorer.repeats(memory, theme=theme),
    ):
        assert picture._repr_png_().startswith(b"\x89PNG")


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


ODD = [[[1]], {"a": 1}, b"1", -(10**5000), np.array([1, 2]), object(), nested(100_000), "\x1b[2J"]


@pytest.mark.parametrize("name", ["query", "max_results", "max_chars", "min_score", "sources"])
@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_an_argument_of_another_kind_is_named_and_shown_in_one_short_line(memory, name, value):
    if name == "query" and isinstance(value, str):
        return  # any text is a query
    with pytest.raises(
        (TypeError, ValueError), match=rf"^{name} is .+ (expected|must|takes)"
    ) as it:
        memory.search(**{"query": "heron", name: value})
    assert len(str(it.value)) < 200
    assert not HARMFUL.search(str(it.value))


@pytest.mark.parametrize("name", ["paths", "after", "before", "as_of"])
@pytest.mark.parametrize(
    "value", [object(), 10**5000, nested(100_000)], ids=["object", "huge", "deep"]
)
def test_a_filter_of_another_kind_is_named_and_shown_in_one_short_line(memory, name, value):
    with pytest.raises(ValueError, match=rf"^{name} is .+(such as|a day)") as caught:
        memory.search("heron", **{name: value})
    assert len(str(caught.value)) < 200


HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


def test_the_message_of_an_error_shows_what_its_caller_gave_and_does_nothing(memory):
    odd = "memory/\x1b[2J\u202egpj.md"
    for verb in (
        lambda: memory.edit(odd, "a", "b"),
        lambda: memory.write(odd, "text", if_version="\x1b]0;owned\x07"),
        lambda: Memory.open(f"/nowhere/{odd}"),
    ):
        with pytest.raises(CommonplaceError) as caught:
            verb()
        assert "gpj.md" in str(caught.value)
        assert not HARMFUL.search(str(caught.value))
        assert not HARMFUL.search("".join(traceback.format_exception_only(caught.value)))
