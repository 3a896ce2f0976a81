from __future__ import annotations

import copy
import io
import pickle
import re
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from rich.console import Console

from commonplace.display import (
    as_html,
    install,
    matched_spans,
    matched_words,
    one_line,
    plain_report,
    plain_results,
    plain_status,
    printable,
    report_panel,
    results_table,
    status_panel,
)
from commonplace.display.facts import MOST_LISTED, score_label, score_parts
from commonplace.display.marks import query_terms
from commonplace.display.style import COLOURS
from commonplace.renderers import Renderers, register
from commonplace.types import (
    BlameLine,
    Excerpt,
    Explanation,
    FlushReport,
    ForgetReceipt,
    IndexReport,
    Origin,
    SearchResult,
    SearchResults,
    Status,
    Version,
)

EXPLAINED = Explanation(
    vector=0.61, keyword=0.4, fused=0.55, age_days=4.2, decay=0.9, mmr=None, terms=("port", "vpn")
)
HIT = SearchResult(
    "MEMORY.md", "the VPN listens\non port 51820", 3, 4, 0.7249, explanation=EXPLAINED
)
EVIL = "\x1b[31mred\x1b]0;title\x07 \x9b2J back\rover \u202etxt.exe \ud800 [bold]x[/bold] tab\tend"


def rendered(value, *, width=80):
    stream = io.StringIO()
    Console(file=stream, force_terminal=True, width=width, color_system="standard").print(value)
    return stream.getvalue()


def harmless(text, *, styled=False):
    signs = set(text) & {chr(n) for n in [*range(0x20), *range(0x7F, 0xA0), 0x202E, 0xD800]}
    return signs <= {"\n", "\t", *(["\x1b"] if styled else [])}


def test_control_characters_are_shown_and_not_obeyed():
    assert printable("\x1b[31mred\x07\x7f") == "␛[31mred␇␡"
    assert printable("\x9b2J") == "<U+009B>2J"


def test_overrides_of_direction_are_shown_and_words_of_other_scripts_left():
    assert printable("a\u202etxt.exe") == "a<U+202E>txt.exe"
    assert printable("שלום \u200fעולם, 金 👩‍👩‍👧") == "שלום \u200fעולם, 金 👩‍👩‍👧"


def test_lines_and_tabs_stay_and_a_lone_carriage_return_does_not():
    assert printable("a\tb\r\nc\rd\n") == "a\tb\r\nc␍d\n"


def test_lone_surrogates_become_the_replacement_sign():
    assert printable("a\ud800b").encode() == "a\ufffdb".encode()


def test_one_line_is_one_line():
    assert one_line("a\n\tb\u2028c \x1b") == "a b<U+2028>c ␛"


def test_a_plain_result_is_a_line_with_score_and_place_and_the_snippet_below():
    assert plain_results(SearchResults([HIT])) == (
        "0.72  MEMORY.md#L3-L4\n    the VPN listens\n    on port 51820\n"
    )


TABLE_ROW = SearchResult(
    "MEMORY.md", "| vpn | 51820 |", 9, 9, 0.9, context="| <name> | port |\n|---|---|"
)


def test_a_context_is_shown_above_its_snippet():
    plain = "    | <name> | port |\n    |---|---|\n    | vpn | 51820 |\n"
    assert plain_results(SearchResults([TABLE_ROW])).endswith(plain)
    shown = rendered(TABLE_ROW.__rich__())
    assert shown.index("| <name> | port |") < shown.index("|---|---|") < shown.index("| vpn |")
    page = as_html(TABLE_ROW)
    assert "| &lt;name&gt; | port |\n|---|---|</span>\n| vpn | 51820 |" in page


def test_plain_results_are_separated_by_an_empty_line_and_explained_on_request():
    text = plain_results(SearchResults([HIT, HIT]), explain=True)
    assert text.count("\n\n0.72  MEMORY.md#L3-L4\n") == 1
    expected = "vector 0.61 · keyword 0.40 · fused 0.55 · decay 0.90 (4 days) · words: VPN, port"
    assert expected in text
    assert "mmr" not in text


def test_a_stage_that_did_not_see_or_change_a_result_is_left_out_of_its_explanation():
    explanation = Explanation(
        vector=None, keyword=0.4, fused=0.4, age_days=4, decay=0.999, mmr=0.2, terms=()
    )
    hit = SearchResult("a.md", "x", 1, 1, 0.4, explanation=explanation)
    for shown in (plain_results(SearchResults([hit]), explain=True), rendered(hit), as_html(hit)):
        assert "keyword 0.40" in shown
        assert "mmr 0.20" in shown
        assert not re.search("vector|fused|1.00|days", shown.split("</style>")[-1])


ANSWERED = SearchResult("a.md", "\n\n# Ports\n- one\r\n- the port is <2>\n", 3, 7, 0.9, best_line=7)


def test_the_line_that_answers_stands_out_from_its_snippet():
    html = as_html(ANSWERED)
    best = '- one\n<strong class="cp-best">- the port is &lt;2&gt;\n</strong></pre>'
    assert best in html
    lines = rendered(ANSWERED, width=40).splitlines()
    barred = [line for line in lines if "▌" in line]
    assert len(barred) == 1
    assert "\x1b[1m- the port is" in barred[0]


def test_a_line_that_wraps_has_its_bar_beside_each_part():
    long = SearchResult("a.md", "- one\n- " + "word " * 30, 1, 2, 0.9, best_line=2)
    lines = rendered(long, width=60).splitlines()
    assert [("▌" in line) for line in lines if "word" in line] == [True] * 4


@pytest.mark.parametrize(
    ("snippet", "best"), [("- alone", 3), ("\n- alone\n", 4), ("- one\n- two", None)]
)
def test_a_line_that_is_alone_or_not_known_is_not_marked(snippet, best):
    hit = SearchResult("a.md", snippet, 3, 4, 0.9, best_line=best)
    assert "cp-best" not in as_html(hit).split("</style>")[-1]
    assert "▌" not in rendered(hit)


def test_a_long_text_is_folded_at_the_end_of_a_line_and_none_is_lost():
    text = "".join(f"line {at}\n" for at in range(100))
    html = as_html(Excerpt("a.md", text, 1, 100, truncated=False, next_from=None))
    pieces = re.findall(r"<pre[^>]*>\n(.*?)</pre>", html, flags=re.DOTALL)
    assert "\n".join(pieces) + "\n" == text
    assert "<summary>70 more lines</summary>" in html
    assert not re.search(r"max-height: *[0-9]|overflow: *auto", html)


@pytest.mark.parametrize("explain", [False, True])
def test_nothing_in_a_note_reaches_the_terminal_as_a_command(explain):
    terms = ("\x1b[5m", "red")
    explanation = Explanation(vector=1, keyword=1, fused=1, age_days=1, decay=1, mmr=1, terms=terms)
    hit = SearchResult(
        f"{EVIL}.md", EVIL, 1, 1, 1.0, heading=EVIL, explanation=explanation, context=EVIL
    )
    results = SearchResults([hit])
    assert harmless(plain_results(results, explain=explain))
    shown = rendered(results_table(results, explain=explain))
    assert harmless(shown, styled=True)
    assert "\x1b]" not in shown
    assert "\x1b[5m" not in shown
    assert "[bold]" in shown


def test_a_table_marks_the_words_that_matched():
    assert "\x1b[1;30;43mport\x1b[0m" in rendered(results_table(SearchResults([HIT])))


def test_an_explained_table_shows_a_bar_for_each_part_of_the_score():
    shown = rendered(results_table(SearchResults([HIT]), explain=True))
    for part in ("vector", "keyword", "fused", "decay", "█", "4 days"):
        assert part in shown
    plain = rendered(results_table(SearchResults([HIT])))
    assert "█" in plain
    assert "vector" not in plain


@pytest.mark.parametrize(
    ("text", "terms", "found"),
    [
        ("Running runs ran", ["run"], ["Running", "runs"]),
        ("the port, a portrait", ["port"], ["port"]),
        ("Happy happiness", ["happi"], ["Happy", "happiness"]),
        ("Décidé à Zürich", ["decid", "zurich"], ["Décidé", "Zürich"]),
        ("金银价格上涨", ["金银", "银价", "价格"], ["金银价格"]),
        ("nothing here", ["", "x"], []),
        ("Staging, staged, stags, storage", ["stage"], ["Staging", "staged"]),
    ],
)
def test_matched_words_are_found_in_their_forms(text, terms, found):
    assert [text[start:end] for start, end in matched_spans(text, terms=terms)] == found


def test_words_that_matched_are_named_as_the_note_writes_them():
    text = "Clubs pay for hosting; a Club paid"
    assert matched_words(text, terms=["club", "pai", "host"]) == ["Clubs", "pay", "hosting", "Club"]


STATUS = Status(
    files=3,
    chunks=9,
    provider="bundled",
    model="wordllama",
    dimension=256,
    vector_engine="numpy",
    keyword_engine="FTS5",
    stale=(("memory/a.md", "changed on disk"),),
    warnings=("the index\nis read-only; free it",),
    workspace="/notes",
    index_location="/state/x.sqlite",
    details={"probe": "ok"},
)


def test_a_plain_status_says_what_is_stale_and_what_to_do():
    text = plain_status(STATUS)
    assert "embeddings  bundled, wordllama, 256 dimensions\n" in text
    assert "stale: memory/a.md: changed on disk\n" in text
    assert "warning: the index is read-only; free it\n" in text
    assert "commonplace index" in text
    assert "probe       ok\n" in text


def test_a_status_without_embedder_says_that_search_is_by_keywords():
    status = Status(0, 0, None, None, None, "none", "FTS5")
    assert "keywords only" in plain_status(status)
    assert "to do" not in plain_status(status)


def test_a_report_shows_files_and_texts():
    report = IndexReport(added=2, chunks=5, embedded=4, cached=1, failed=(("a.md", "why"),))
    assert "2 added, 0 updated, 0 removed, 0 unchanged" in plain_report(report)
    assert "failed  1" in plain_report(report)
    assert "2 added" in rendered(report_panel(report))


def test_a_status_panel_shows_what_is_stale_and_what_to_do():
    shown = rendered(status_panel(STATUS))
    for part in ("memory/a.md", "changed on disk", "commonplace index", "read-only"):
        assert part in shown


def test_plain_output_has_no_boxes_and_no_colours():
    text = plain_status(STATUS) + plain_results(SearchResults([HIT]), explain=True)
    assert "\x1b" not in text
    assert not any("\u2500" <= sign <= "\u259f" for sign in text)


@pytest.mark.processes
def test_importing_the_display_does_not_load_rich():
    code = "import sys, commonplace.display; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---------------------------------------------------------------- values that show themselves

PLAIN = SearchResult("memory/a.md", "- the <b>VPN</b> & its port", 3, 3, 0.31)
RESULTS = SearchResults([HIT, PLAIN], query="which port does the VPN use?", mode="hybrid")
REPORT = IndexReport(added=2, chunks=5, embedded=4, failed=(("a.md", "not UTF-8"),), seconds=0.5)
FLUSH = FlushReport("tokens", path="memory/2026-11-20.md", notes=("- one\n- two",), messages=9)
EXCERPT = Excerpt("MEMORY.md", "one\ntwo\n", 3, 2, truncated=True, next_from=5)
VERSION = Version(
    *(7, "memory/b.md", datetime(2026, 11, 20, tzinfo=UTC), "move", Origin("agent", None, "mcp")),
    size=1_234,
    hash="ab" * 32,
    moved_from="memory/a.md",
)
BLAMED = BlameLine(3, VERSION, Origin("untrusted", None, "web"), "- The port is 1194.")
RECEIPT = ForgetReceipt({"lines": 2, "versions": 1_200}, ("a.swp holds some of it.",))
DRY = ForgetReceipt({}, dry_run=True, places=("MEMORY.md#L3",))
VALUES = [RESULTS, HIT, PLAIN, REPORT, STATUS, FLUSH, EXCERPT, SearchResults(query="x")]
VALUES += [VERSION, BLAMED, RECEIPT, DRY, BlameLine(1, None)]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_shows_itself_in_a_notebook_and_in_a_terminal(value):
    html = value._repr_html_()
    assert html.startswith('<div class="commonplace">')
    assert html.endswith("</div>")
    assert rendered(value).strip()


@pytest.mark.parametrize("shown", [rendered, as_html], ids=["terminal", "notebook"])
def test_both_show_changes_their_origins_and_what_was_forgotten(shown):
    told = "".join(map(shown, (VERSION, BLAMED, RECEIPT, DRY)))
    for fact in (
        *("memory/b.md (was memory/a.md)", "move, version 7", "agent (mcp)", "1,234 bytes"),
        *("line 3", "untrusted (web)", "The port is 1194", "1,200", "a.swp holds some of it"),
        *("would be forgotten", "MEMORY.md#L3", "nothing of it"),
    ):
        assert fact in told


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_nothing_is_run_in_a_notebook_and_nothing_is_loaded(value):
    html = value._repr_html_()
    for word in ("<script", "javascript:", "http:", "https:", "url(", "@import", "<img", "onload"):
        assert word not in html


@pytest.mark.parametrize("shown", [rendered, as_html], ids=["terminal", "notebook"])
def test_both_show_the_same_facts(shown):
    told = shown(RESULTS) + shown(STATUS) + shown(REPORT) + shown(FLUSH) + shown(EXCERPT)
    for fact in (
        *("0.72", "0.31", "MEMORY.md#L3-L4", "memory/a.md#L3", "vector 0.61", "keyword 0.40"),
        *("4 days", "changed on disk", "read-only", "commonplace index", "not UTF-8", "2 added"),
        *("1 note to memory/2026-11-20.md", "goes on at line 5", "hybrid search"),
    ):
        assert fact in told


def test_matched_words_are_marked_in_a_notebook():
    html = RESULTS._repr_html_()
    assert "the <mark>VPN</mark> listens\non <mark>port</mark> 51820" in html
    # Of a result that is not explained, the words of the query are.
    assert "- the &lt;b&gt;<mark>VPN</mark>&lt;/b&gt; &amp; its <mark>port</mark>" in html


def test_words_that_every_sentence_has_are_not_marked():
    assert query_terms("Which port does the VPN use?") == ("port", "vpn", "use")


def test_a_score_is_cut_into_vector_keyword_and_what_was_lost():
    explanation = Explanation(0.6, 0.2, fused=0.5, age_days=9, decay=0.8, mmr=None, terms=())
    parts = score_parts(SearchResult("a.md", "x", 1, 1, 0.4, explanation=explanation))
    assert [part.name for part in parts] == ["vector", "keyword", "decay"]
    assert [part.share for part in parts] == pytest.approx([0.3, 0.1, 0.1])


@pytest.mark.parametrize(
    ("vector", "keyword", "names"),
    [(None, 0.5, ["keyword"]), (0.5, None, ["vector"]), (-0.2, None, ["score"])],
)
def test_what_had_no_part_in_a_score_has_no_piece_of_its_bar(vector, keyword, names):
    explanation = Explanation(
        vector, keyword, fused=0.4, age_days=None, decay=1, mmr=None, terms=()
    )
    result = SearchResult("a.md", "x", 1, 1, 0.4, explanation=explanation)
    assert [part.name for part in score_parts(result)] == names
    assert sum(part.share for part in score_parts(result)) == pytest.approx(0.4)


def test_a_bar_says_in_words_what_it_shows():
    assert score_label(HIT) == "score 0.72 of 1: vector 0.61, keyword 0.40, decay 0.90"
    assert 'role="img" aria-label="score 0.72 of 1: vector 0.61' in HIT._repr_html_()


@pytest.mark.parametrize("page", [1.0, 0.0056], ids=["white", "black"])
@pytest.mark.parametrize("name", sorted(COLOURS))
def test_accents_stand_out_from_light_and_dark_pages(name, page):
    accent = luminance(COLOURS[name])
    lighter, darker = max(accent, page), min(accent, page)
    assert (lighter + 0.05) / (darker + 0.05) >= 3


def luminance(colour):
    """Return the relative luminance of ``#rrggbb`` (WCAG 2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("shown", [rendered, as_html], ids=["terminal", "notebook"])
def test_of_thousands_of_rows_the_first_are_shown_and_the_rest_counted(shown):
    stale = tuple((f"memory/{at:05}.md", "changed") for at in range(5_000))
    told = shown(Status(0, 0, None, None, None, "none", "FTS5", stale=stale))
    assert told.count("memory/0") == MOST_LISTED
    assert f"and {5_000 - MOST_LISTED} more" in told


def test_a_repr_stays_short():
    long = SearchResult("a.md", "x" * 700, 1, 9, 0.5, heading="y" * 900, explanation=EXPLAINED)
    results = SearchResults([long] * 50, query="z" * 4_000)
    stale = tuple((f"{at}.md", "why") for at in range(999))
    status = Status(0, 0, None, None, None, "none", "FTS5", stale=stale)
    for value in (long, results, status, FLUSH, EXCERPT, REPORT):
        assert len(repr(value)) < 400
        assert "\n" not in repr(value)


def test_a_repr_names_what_is_not_as_by_default():
    assert repr(REPORT) == (
        "IndexReport(added=2, chunks=5, embedded=4, failed=(('a.md', 'not UTF-8'),), seconds=0.5)"
    )
    assert repr(RESULTS) == (
        "<SearchResults 'which port does the VPN use?', hybrid, 2: MEMORY.md#L3-L4, memory/a.md#L3>"
    )


def test_a_part_of_the_results_shows_itself_as_they_do():
    part = RESULTS[:1]
    assert part == [HIT]
    assert (part.query, part.mode) == (RESULTS.query, "hybrid")
    assert RESULTS[0] is HIT


def test_values_survive_pickling_and_copying():
    for value in VALUES:
        assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(RESULTS).query == RESULTS.query


@pytest.mark.processes
def test_importing_the_types_loads_no_renderer():
    code = "import sys, commonplace.types; sys.exit('commonplace.display' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.processes
@pytest.mark.parametrize(
    ("show", "shown"),
    [
        ("value._repr_html_()", "cp-title"),
        ("rich_text(value)", "nothing new"),
        ("str(value)", "flush (tokens): skipped: nothing new; 0 messages"),
    ],
    ids=["notebook", "rich", "line"],
)
def test_a_value_is_shown_by_a_process_that_never_imported_the_display(show, shown):
    code = (
        "import sys\n"
        "from commonplace import FlushReport\n"
        "def rich_text(value):\n"
        "    from rich.console import Console\n"
        "    console = Console(width=80)\n"
        "    with console.capture() as printed: console.print(value)\n"
        "    return printed.get()\n"
        "value = FlushReport('tokens', skipped='nothing new')\n"
        "assert 'commonplace.display' not in sys.modules\n"
        f"print({show})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown in done.stdout


def test_renderers_can_be_replaced_and_installed_again():
    try:
        register(Renderers(html=repr, rich=repr, line=lambda value: "a flush"))
        assert EXCERPT._repr_html_() == repr(EXCERPT)
        assert str(FLUSH) == "a flush"
    finally:
        install()
    assert "cp-title" in FLUSH._repr_html_()
