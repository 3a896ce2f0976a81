"""What stands on a memory works on a host without the folder, or says that it needs the folder."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

pytest.importorskip("psycopg")

from commonplace import Memory, Settings, SyncSettings
from commonplace.cli.app import app
from commonplace.errors import WorkspaceNotFoundError
from commonplace.export import export_memory
from commonplace.flush import Flusher
from commonplace.items import ItemStore
from support import postgres
from support.fakes import clock
from support.silent import Noting, said

pytestmark = pytest.mark.slow

QUIET = Settings(sync=SyncSettings(on_open=False, on_search=False))
NOTE = "# Net\n- The VPN listens on port 51820.\n"


@pytest.fixture
def url(tmp_path):
    return postgres.url_of(tmp_path)


@pytest.fixture
def home(tmp_path, url):
    root = tmp_path / "notes"
    root.mkdir()
    (root / "MEMORY.md").write_text(NOTE)
    with Memory.open(root, index=url, settings=QUIET, embedder=None, now=clock()) as memory:
        memory.index()
        yield memory


@pytest.fixture
def far(home, url):
    with Memory.connect(url, settings=QUIET, embedder=None, now=clock()) as memory:
        yield memory


def run(url, *arguments):
    return CliRunner().invoke(app, ["-w", url, "--embedder", "none", *arguments])


def test_the_command_line_takes_a_url_for_a_folder(home, url):
    assert "51820" in run(url, "search", "VPN port").output
    assert run(url, "get", "MEMORY.md").output == NOTE
    assert run(url, "append", "- The boiler is in the cellar.").exit_code == 0
    status = json.loads(run(url, "status", "--json").output)
    assert status["workspace"] == home.index_location
    assert "1 change waits" in status["details"]["inbox"]
    for command in (["undo", "1"], ["init"]):
        refused = run(url, *command)
        assert refused.exit_code == 1
        assert refused.output.count("\n") == 1
    assert home.apply_inbox() == 1
    assert "append" in run(url, "history").output


def test_a_search_on_a_host_without_the_folder_says_nothing_of_it(home, url):
    found = run(url, "search", "VPN port")
    assert (found.exit_code, found.stderr) == (0, "")


def test_only_a_folder_is_watched_and_a_url_has_no_other_index(home, url):
    refused = run(url, "watch")
    assert refused.exit_code == 1
    assert "a folder is watched; a URL was given" in refused.stderr
    assert run(url, "--index", url, "status").exit_code == 2


def test_the_command_line_of_the_host_with_the_folder_takes_the_index_of_the_server(
    home, far, url, tmp_path, monkeypatch
):
    far.append("- The door code is 4711.")
    notes = str(home.workspace.root)

    def at_home(*arguments):
        return CliRunner().invoke(app, ["--embedder", "none", *arguments])

    status = json.loads(at_home("-w", notes, "--index", url, "status", "--json").stdout)
    assert (status["index_location"], status["server"]["waiting"]) == (home.index_location, 1)
    forgotten = at_home("-w", notes, "--index", url, "forget", "--text", "4711", "--yes")
    assert forgotten.exit_code == 0, forgotten.output
    assert not any("4711" in hit.snippet for hit in far.search("door code 4711"))
    assert not any("4711" in far.get(path).text for path in far.paths())

    settings = tmp_path / "settings.toml"
    settings.write_text(f'[agents.team]\nworkspace = "notes"\nindex = "{url}"\n')
    monkeypatch.setenv("COMMONPLACE_CONFIG", str(settings))
    status = json.loads(at_home("--agent", "team", "status", "--json").stdout)
    assert status["index_location"] == home.index_location


def test_tools_read_and_write(far, home):
    langchain = pytest.importorskip("langchain_commonplace")
    tools = {tool.name: tool for tool in langchain.memory_tools(far, write="edit")}
    found = json.loads(tools["memory_search"].invoke({"query": "VPN port"}))
    assert found["results"][0]["path"] == "MEMORY.md"
    assert "51820" in tools["memory_get"].invoke({"path": "MEMORY.md"})
    edit = {"path": "MEMORY.md", "old": "51820", "new": "443"}
    assert "error" not in json.loads(tools["memory_edit"].invoke(edit))
    retriever = langchain.CommonplaceRetriever(memory=far)
    assert "443" in retriever.invoke("VPN port")[0].page_content
    home.apply_inbox()
    assert "443" in (home.workspace.root / "MEMORY.md").read_text()


def test_a_retriever_of_llama_index_answers(far):
    llama_index = pytest.importorskip("llama_index_commonplace")
    retriever = llama_index.CommonplaceRetriever(far)
    assert "51820" in retriever.retrieve("VPN port")[0].text


async def test_the_async_twin_connects(url, home):
    async with await Memory.aconnect(url, settings=QUIET, embedder=None) as memory:
        assert "51820" in (await memory.asearch("VPN port"))[0].snippet


@pytest.mark.parametrize("use", [lambda it, _: ItemStore(it), lambda it, to: export_memory(it, to)])
def test_what_works_on_files_says_that_it_needs_the_folder(far, tmp_path, use):
    with pytest.raises(WorkspaceNotFoundError, match="needs the folder of the notes"):
        use(far, tmp_path / "export")
    assert not (tmp_path / "export").exists()


def test_a_conversation_is_flushed_into_the_inbox(far, home):
    flusher = Flusher(far, Noting(), context_window=8_000)
    report = flusher.flush(said(1, 2), thread="t1")
    assert report.failed is None, report
    assert report.notes
    home.apply_inbox()
    log = (home.workspace.root / "memory" / "2026-11-20.md").read_text()
    assert all(note in log for note in report.notes)
    (first, *_) = far.history("memory/2026-11-20.md")
    assert first.origin.author == "agent"
    assert first.origin.session == "t1"
