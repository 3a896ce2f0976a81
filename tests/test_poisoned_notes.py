"""Poisoned notes on every surface that a model or a person reads: quoted, escaped, said.

The notes are data, `data/poisoned_notes.jsonl`. Each stands in a note of the user, in one from
outside, and in a transcript, behind a word of its own by which it is searched.
"""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner

from commonplace import Memory, Origin, Settings, SettingsError
from commonplace.agent.recall import recall_notes
from commonplace.cli.app import app
from commonplace.display import plain_result
from commonplace.errors import PathNotAllowedError
from commonplace.settings import SessionsSettings
from commonplace.text.printable import printable
from commonplace.text.quotation import UNTRUSTED_MARK
from commonplace.tools import answer_json, get_answer, search_answer
from support.fakes import clock
from test_hostile import HARMFUL, assert_harmless, assert_quiet, in_terminal

DATA = Path(__file__).parent / "data" / "poisoned_notes.jsonl"
NOTES = [json.loads(line)["note"] for line in DATA.read_text("utf-8").splitlines()]
LOG = "memory/2026-11-20.md"
KEYS = {"path", "startLine", "endLine", "score", "snippet", "source", "citation", "context"}
STRANGE_NAMES = ["\u041cEMORY.md", "2026\u201011\u201020.md", "a\u202edm.md", "x\u200by.md"]
LOOK_ALIKES = [
    "\u0430dmin.md",
    "ad\u00admin.md",
    "p\u0430\u0443pal.md",
    "\u0441\u043e\u0441\u043e.md",
]
"""Names that pass for others: Cyrillic letters, and one that is not seen."""


def word(number):
    return f"zebra{number:03}"


def body(number, where):
    return f"- {word(number)} {where} {NOTES[number]}"


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    folder = tmp_path_factory.mktemp("poisoned")
    notes, sessions = folder / "notes", folder / "sessions"
    (notes / "memory").mkdir(parents=True)
    sessions.mkdir()
    texts = "\n\n".join(body(number, "long") for number in range(len(NOTES)))
    (notes / "MEMORY.md").write_bytes(f"# Long\n\n{texts}\n".encode())
    for name in STRANGE_NAMES:
        (notes / "memory" / name).write_text(f"# {name[:1]}\n\nokapi of a strange file\n", "utf-8")
    for name in LOOK_ALIKES:
        (notes / "memory" / name).write_text("# Look\n\nnarwhal of a look-alike\n", "utf-8")
    said = [
        {"type": "message", "message": {"role": "user", "content": body(number, "said")}}
        for number in range(len(NOTES))
    ]
    (sessions / "a.jsonl").write_text("\n".join(map(json.dumps, said)) + "\n", "utf-8")
    chosen = Settings(sessions=SessionsSettings(enabled=True, path=str(sessions)))
    index = folder / "index.sqlite"
    with Memory.open(notes, settings=chosen, embedder=None, index=index, now=clock()) as memory:
        for number in range(len(NOTES)):
            memory.append(body(number, "mail"), origin=Origin("untrusted"), when=date(2026, 11, 20))
        memory.index()
        yield memory


@pytest.fixture(scope="module")
def found(memory):
    """Search results of each poisoned note, by its number."""
    results = [
        memory.search(word(number), max_results=6, min_score=0) for number in range(len(NOTES))
    ]
    assert all(results)
    return results


def test_there_are_a_hundred():
    assert len(NOTES) == 100
    assert len(set(NOTES)) == 100


@pytest.mark.slow
def test_answers_of_tools_are_json_whose_values_are_the_notes(memory):
    for number in range(len(NOTES)):
        answer = search_answer(memory, {"query": word(number), "minScore": 0})
        text = answer_json(answer)
        assert not HARMFUL.search(text)
        read = json.loads(text)
        assert read == answer
        assert read["provider"] is None
        assert "disabled" not in read
        for hit in read["results"]:
            assert set(hit) <= KEYS
            excerpt = memory.get(hit["path"], from_line=hit["startLine"], lines=1)
            assert excerpt.status == "ok"
            assert hit["citation"].startswith(f"{hit['path']}#L{hit['startLine']}")
            if hit["path"] == LOG:
                assert_marked(hit["snippet"])
        for path in ("MEMORY.md", LOG):
            got = get_answer(memory, {"path": path, "from": 1 + 2 * number})
            assert not HARMFUL.search(answer_json(got))
            assert json.loads(answer_json(got)) == got


def assert_marked(text):
    """Every line that says something, and all that a reader may take for one, is marked."""
    lines = [line for line in text.splitlines() if any(map(str.isalnum, line))]
    assert lines
    assert all(line.startswith(UNTRUSTED_MARK) or line == "# 2026-11-20" for line in lines), text


def test_no_line_of_the_startup_context_is_a_notes_own(memory):
    text = memory.startup_context()
    assert not HARMFUL.search(text)
    ours = [line for line in text.splitlines() if not line.startswith(">")]
    assert ours[0] == "# Memory"
    allowed = re.compile(
        r"|# Memory|Notes from earlier sessions, .*|## (?:MEMORY\.md|memory/2026-11-20\.md)"
        r"|… \d+ (?:untrusted )?lines? of \S+ not shown.*"
    )
    assert [line for line in ours if not allowed.fullmatch(line)] == []
    assert "mail" not in "".join(line for line in text.splitlines() if line.startswith(">"))


@pytest.mark.slow
def test_recalled_notes_are_quoted_and_cited_by_us_alone(memory):
    paths = {*memory.paths(), "sessions/a.jsonl"}
    for number in range(len(NOTES)):
        text = recall_notes(memory, word(number), limit=4, cited=True)
        assert not HARMFUL.search(text)
        heading, *lines = text.splitlines()
        assert heading.startswith("[Recalled from memory for this message: ")
        for line in lines:
            if line and not line.startswith(">"):
                path, _, place = line.partition("#")
                assert path in paths, line
                assert re.fullmatch(r"L\d+(-L\d+)?", place)
            elif " mail " in line:
                assert line.startswith(f"> {UNTRUSTED_MARK}")


@pytest.mark.slow
def test_documents_of_langchain_are_marked_and_escaped(memory):
    pytest.importorskip("langchain_core")
    from langchain_commonplace import CommonplaceRetriever

    retriever = CommonplaceRetriever(memory=memory, k=6, min_score=0)
    for number in range(len(NOTES)):
        documents = retriever.invoke(word(number))
        assert documents
        for document in documents:
            assert not HARMFUL.search(document.page_content + document.metadata["context"])
            if document.metadata["path"] == LOG:
                assert_marked(document.page_content)


@pytest.mark.slow
def test_nodes_and_blocks_of_llama_index_are_marked_and_escaped(memory):
    pytest.importorskip("llama_index.core")
    from llama_index.core.schema import MetadataMode

    from llama_index_commonplace import CommonplaceRetriever, MemoryContextBlock

    retriever = CommonplaceRetriever(memory=memory, k=6, min_score=0)
    block = MemoryContextBlock(memory=memory, recall=3)
    for number in range(len(NOTES)):
        for scored in retriever.retrieve(word(number)):
            assert not HARMFUL.search(scored.node.get_content(MetadataMode.LLM))
            if scored.node.metadata["path"] == LOG:
                assert_marked(scored.node.text)
        assert not HARMFUL.search(block.text(word(number)))


@pytest.mark.slow
def test_pages_and_terminals_show_the_notes_and_do_nothing_else(memory, found):
    for results in found:
        assert_harmless(results._repr_html_())
        assert_quiet(in_terminal(results))
        assert_quiet(repr(results))
        for result in results[:2]:
            assert_quiet(plain_result(result, explain=True))
            assert_quiet(repr(result))
            assert "\x1b]8;" not in in_terminal(result)


COMMANDS = [
    ["search", "zebra020"],
    ["get", "MEMORY.md"],
    ["get", LOG],
    ["history"],
    ["history", LOG],
    ["blame", "MEMORY.md"],
    ["status"],
    ["forget", "--text", "zebra0", "--dry-run"],
]


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "JSON"])
@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: " ".join(arguments[:2]))
def test_commands_print_nothing_that_acts(memory, arguments, as_json):
    base = ["-w", str(memory.workspace.root), "--embedder", "none"]
    extra = ["--json"] if as_json else []
    result = CliRunner().invoke(app, [*base, *arguments, *extra])
    if as_json and "No such option" in result.stderr:
        pytest.skip("the command prints no JSON")
    assert result.exit_code == 0, result.output
    assert_quiet(result.stdout)
    assert_quiet(result.stderr)
    if as_json:
        json.loads(result.stdout)


def test_a_name_that_looks_like_another_is_no_other_file(memory):
    for name in ("\u041cEMORY.md", "\uff2dEMORY.md", "MEMORY\u2024md", "./\u041cEMORY.md"):
        with pytest.raises(PathNotAllowedError) as error:
            get_answer(memory, {"path": name})
        assert_quiet(str(error.value))
    assert "okapi" in get_answer(memory, {"path": "memory/\u041cEMORY.md"})["text"]
    assert get_answer(memory, {"path": "memory/MEMORY.md"})["status"] == "not_found"
    results = memory.search("okapi", min_score=0, max_results=9)
    assert len(results) >= 3
    assert not HARMFUL.search(answer_json(search_answer(memory, {"query": "okapi"})))
    for line in recall_notes(memory, "okapi", limit=6, cited=True).splitlines():
        assert printable(line) == line


def assert_told(text):
    """Letters of another script, and unseen ones, stand in no name as they are."""
    assert not re.search("[\u0430-\u044f\u00ad]", text), text


def test_a_look_alike_in_a_path_is_told_on_every_surface(memory):
    results = memory.search("narwhal", min_score=0, max_results=9)
    assert {hit.path for hit in results} == {f"memory/{name}" for name in LOOK_ALIKES}
    assert_told(recall_notes(memory, "narwhal", limit=4, cited=True))
    assert_told(results._repr_html_())
    assert_told(in_terminal(results))
    answer = search_answer(memory, {"query": "narwhal", "minScore": 0}, citations="on")
    assert_told(answer_json(answer))
    assert json.loads(answer_json(answer)) == answer
    for hit in results:
        assert_told(plain_result(hit, explain=True))
        assert_told(hit._repr_html_())
        excerpt = memory.get(hit.path)
        assert_told(excerpt._repr_html_())
        assert_told(in_terminal(excerpt))
        got = get_answer(memory, {"path": hit.path})
        assert_told(answer_json(got))
        assert json.loads(answer_json(got))["path"] == hit.path, "a model can give it back"


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "JSON"])
@pytest.mark.parametrize(
    "arguments",
    [["search", "narwhal"], ["get", f"memory/{LOOK_ALIKES[0]}"], ["history"]],
    ids=lambda arguments: arguments[0],
)
def test_commands_tell_look_alikes(memory, arguments, as_json):
    base = ["-w", str(memory.workspace.root), "--embedder", "none"]
    extra = ["--json"] if as_json else []
    result = CliRunner().invoke(app, [*base, *arguments, *extra])
    assert result.exit_code == 0, result.output
    assert_told(result.stdout)
    assert_told(result.stderr)


@pytest.mark.slow
def test_nodes_of_llama_index_tell_look_alikes(memory):
    pytest.importorskip("llama_index.core")
    from llama_index.core.schema import MetadataMode

    from llama_index_commonplace import CommonplaceRetriever

    found = CommonplaceRetriever(memory=memory, k=6, min_score=0).retrieve("narwhal")
    assert found
    for scored in found:
        assert_told(scored.node.get_content(MetadataMode.LLM))


@pytest.mark.parametrize(
    "odd", ["\0", "\ud800", "\u2028", "e\u0301", "\r", "\x1a", "\ufeff", "\x85"]
)
def test_no_character_hides_where_a_line_came_from(tmp_path, odd):
    (tmp_path / "notes").mkdir()
    with Memory.open(tmp_path / "notes", embedder=None, index=tmp_path / "i.sqlite") as memory:
        path = memory.append(f"- okapi {odd} one", origin=Origin("untrusted"))
        assert memory.get(path).untrusted == (3,)
        assert "okapi" not in memory.startup_context()


@pytest.mark.slow
def test_pictures_hold_no_harmful_character(memory):
    pytest.importorskip("matplotlib")
    from matplotlib.text import Text

    from commonplace import explorer

    for number in (0, 30, 50, 58, 85, 99):
        picture = explorer.stages(memory, word(number))
        assert picture._repr_png_().startswith(b"\x89PNG")
        for part in picture.findobj(Text):
            assert not HARMFUL.search(part.get_text())


def test_a_refused_citation_mode_is_an_error_and_no_answer(memory):
    with pytest.raises(SettingsError):
        search_answer(memory, {"query": "x"}, citations=NOTES[0])
