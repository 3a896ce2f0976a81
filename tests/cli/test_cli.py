from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import date

import pytest
from click.testing import CliRunner

from commonplace import Memory, Settings
from commonplace.cli.app import app
from commonplace.cli.init import create_workspace
from support.sampling import sampled

MEMORY = """\
# Memory

## Network

- The VPN listens on port 51820.
- The office printer is called Gutenberg.

## People

- Ada prefers tea, never coffee.
"""
TODAY = date.today().isoformat()  # noqa: DTZ011 - as the command line does


@pytest.fixture
def notes(notes):
    (notes / "memory" / "2026-11-01.md").write_text(
        "# 2026-11-01\n\n- Moved the printer Gutenberg to the second floor.\n", encoding="utf-8"
    )
    return notes


def command(*arguments, **kwargs):
    line = [sys.executable, "-W", "error", "-m", "commonplace", *arguments]
    return subprocess.run(line, capture_output=True, check=False, **kwargs)


def one_line(result):
    """Return the one line that a failed command told."""
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("commonplace: ")
    return result.stderr


# ---------------------------------------------------------------- help, version, usage


@pytest.mark.processes
def test_help_lists_the_commands_and_loads_neither_numpy_nor_rich():
    code = (
        "import sys\n"
        "from commonplace.cli import main\n"
        "sys.argv = ['commonplace', '--help']\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "heavy = {'numpy', 'rich', 'apsw', 'tokenizers', 'watchdog', 'commonplace.memory'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "loaded: []" in result.stdout
    for name in ("init", "status", "index", "search", "get", "append", "watch", "demo"):
        assert f"\n  {name}" in result.stdout


@pytest.mark.parametrize(
    "name", ["init", "status", "index", "search", "get", "append", "watch", "demo"]
)
def test_every_command_has_help(name):
    result = CliRunner().invoke(app, [name, "--help"])
    assert result.exit_code == 0
    assert "Usage:" in result.stdout


def test_the_version_is_printed():
    result = CliRunner().invoke(app, ["--version"])
    assert re.fullmatch(r"commonplace \d+\.\d+\.\d+\S*\n", result.stdout)


@pytest.mark.parametrize(
    "arguments",
    [
        ["search"],
        ["nothing"],
        ["search", "x", "--max-results", "0"],
        ["search", "x", "--max-results", "many"],
        ["search", "x", "--min-score", "2"],
        ["search", "x", "--paths", "/etc/"],
        ["search", "x", "--min-score", "nan"],
        ["get", "MEMORY.md", "--lines", "0"],
        ["status", "--wrong"],
    ],
)
def test_wrong_usage_exits_with_2_and_says_so_on_standard_error(run, arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Error: " in result.stderr
    assert result.stdout == ""


# ---------------------------------------------------------------- init


def test_init_makes_a_workspace_that_explains_itself_and_is_searchable(run, tmp_path):
    folder = tmp_path / "new" / "notes"
    result = run("init", workspace=folder)
    assert result.exit_code == 0
    assert result.stdout == f"created  MEMORY.md\ncreated  memory/{TODAY}.md\n"
    assert (folder / "memory" / f"{TODAY}.md").read_text().startswith(f"# {TODAY}\n\n- ")
    assert (folder / "MEMORY.md").read_text().startswith("# Memory\n\nWhat lasts: ")
    found = run("search", "set up memory", "--min-score", "0", workspace=folder)
    assert f"memory/{TODAY}.md#L" in found.stdout


def test_init_overwrites_nothing_and_may_be_run_again(run, notes):
    before = {path: path.read_bytes() for path in notes.rglob("*.md")}
    for _ in range(2):
        result = run("init")
        assert (result.exit_code, result.stdout) == (0, "kept  MEMORY.md\n")
    assert {path: path.read_bytes() for path in notes.rglob("*.md")} == before


def test_init_makes_no_memory_md_beside_a_memory_md_in_small_letters(tmp_path):
    (tmp_path / "memory.md").write_text("- mine\n")
    made = create_workspace(tmp_path, today=date(2026, 11, 20))
    assert made == [("memory.md", False), ("memory/2026-11-20.md", True)]
    assert (tmp_path / "memory.md").read_text() == "- mine\n"


@pytest.mark.parametrize("place", ["file", "file/below", "folder"])
def test_init_on_a_file_is_one_line(run, tmp_path, place):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "memory").write_text("x")
    result = run("init", workspace=tmp_path / place)
    assert result.exit_code == 1
    assert "is a file" in one_line(result)


# ---------------------------------------------------------------- search


def test_files_that_cannot_be_indexed_are_counted_by_a_search(run, notes):
    for number, counted in ((1, "1 file could not be indexed as it should;"), (2, "2 files could")):
        (notes / "memory" / f"broken-{number}.md").write_bytes(b"- Caf\xff\xe9 at four.\n")
        assert counted in run("search", "vpn port").stderr


def test_search_updates_the_index_and_prints_score_citation_and_snippet(run):
    result = run("search", "vpn port")
    assert result.exit_code == 0
    first, second = result.stdout.split("\n")[:2]
    assert re.fullmatch(r"\d\.\d\d  MEMORY\.md#L\d+(-L\d+)?", first)
    assert second.startswith("    ")
    assert "51820" in result.stdout
    assert "words:" not in result.stdout


def test_search_of_paths_shows_nothing_of_other_files(run):
    found = run("search", "port", "--min-score", "0", "--paths", "memory", "--paths", "memory/*.md")
    assert found.exit_code == 0
    assert "MEMORY.md" not in found.stdout
    assert "MEMORY.md#L" in run("search", "vpn port", "--paths", "MEMORY.md").stdout


def test_search_explains_scores_on_request(run):
    result = run("search", "vpn port", "--explain")
    assert re.search(r"keyword [01]\.\d\d · words: \w+, \w+\n", result.stdout)


def test_search_sees_what_was_written_since_the_last_one(run, notes):
    run("search", "zebra")
    (notes / "memory" / "2026-11-02.md").write_text("# 2026-11-02\n\n- A zebra ran by.\n")
    assert "memory/2026-11-02.md#L" in run("search", "zebra").stdout


def test_search_as_json_is_the_memory_search_answer(run):
    answer = json.loads(run("search", "vpn port", "--json").stdout)
    assert list(answer) == ["results", "provider", "model", "fallback", "citations", "mode"]
    hit = answer["results"][0]
    expected = ["path", "startLine", "endLine", "score", "snippet", "source", "citation"]
    assert list(hit) == expected
    assert (hit["path"], answer["mode"], answer["provider"]) == ("MEMORY.md", "keyword", None)


def test_search_keeps_to_the_number_of_results(run):
    answer = json.loads(
        run(
            "search", "printer Gutenberg", "--max-results", "1", "--min-score", "0", "--json"
        ).stdout
    )
    assert len(answer["results"]) == 1


def test_search_that_finds_nothing_says_what_was_searched(run):
    result = run("search", "xylophone")
    assert (result.exit_code, result.stdout) == (0, "")
    told = one_line(result)
    assert "no results for 'xylophone'" in told
    assert "keyword search of 2 files" in told
    assert "--min-score 0" in told


def test_search_in_an_empty_folder_names_the_init_command(run, tmp_path):
    (tmp_path / "empty").mkdir()
    result = run("search", "x", workspace=tmp_path / "empty")
    assert result.exit_code == 0
    assert "'commonplace init'" in one_line(result)


@pytest.mark.parametrize("words", [("search", "x"), ("index",), ("status",), ("init",)])
def test_a_folder_of_unindexed_notes_gets_the_extra_paths_hint(run, tmp_path, caplog, words):
    vault = tmp_path / "vault"
    for name in ("Daily/2026-11-01.md", "Inbox.md", ".trash/old.md", "node_modules/x.md"):
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text("# A note\n", encoding="utf-8")
    told = one_line(run(*words, workspace=vault)) + caplog.text  # a log is printed, too
    assert told.count("2 Markdown files") == 1
    assert 'extra_paths = ["."]' in told


def test_a_program_is_warned_once_of_notes_that_its_memory_leaves_out(tmp_path, caplog):
    (tmp_path / "Inbox.md").write_text("- The beehive stands behind the shed.\n", encoding="utf-8")
    with Memory.open(tmp_path, embedder=None) as memory:
        assert memory.search("beehive") == []
        assert memory.search("beehive") == []
        (warning,) = [record.getMessage() for record in caplog.records]
        assert warning.startswith(f"1 Markdown file is in {tmp_path} but not in its memory")
    caplog.clear()
    with Memory.open(tmp_path, embedder=None, settings=Settings(extra_paths=(".",))) as memory:
        assert memory.search("beehive")
        assert memory.search("heron") == []
    assert caplog.records == []


def test_a_folder_in_extra_paths_gets_no_hint(tmp_path):
    (tmp_path / "Inbox.md").write_text("- The beehive stands behind the shed.\n", encoding="utf-8")
    settings = tmp_path / "settings.toml"
    settings.write_text('extra_paths = ["."]\n', encoding="utf-8")
    options = ["-w", str(tmp_path), "--settings", str(settings), "--embedder", "none"]
    for words in (("init",), ("index",), ("search", "beehive")):
        result = CliRunner().invoke(app, [*options, *words])
        assert result.exit_code == 0
        assert result.stderr == ""


def test_index_warns_of_a_missing_extra_path(notes, tmp_path):
    settings = tmp_path / "settings.toml"
    settings.write_text('extra_paths = ["vualt"]\n', encoding="utf-8")
    options = ["-w", str(notes), "--settings", str(settings), "--embedder", "none"]
    assert "vualt is not there" in one_line(CliRunner().invoke(app, [*options, "index"]))


def test_words_without_marks_of_quotation_are_one_question(run):
    quoted = run("search", "which port has the VPN")
    assert quoted.stdout
    assert run("search", "which", "port", "has", "the", "VPN").stdout == quoted.stdout
    assert run("search").exit_code == 2


def test_a_search_of_paths_that_no_file_has_says_so(run):
    told = one_line(run("search", "VPN", "--paths", "memory/nowhere/"))
    assert "no file of the index matches --paths memory/nowhere/" in told
    assert "no results for 'xylophone'" in one_line(run("search", "xylophone", "--paths", "*.md"))


def test_an_embedder_failure_is_reported_once(run, notes, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run("index")
    options = ["-w", str(notes), "--embedder", "openai"]
    for query in ("printer", "xylophone"):
        result = CliRunner().invoke(app, [*options, "search", query])
        assert result.exit_code == 0
        assert result.stderr.count("needs a key") == 1
    assert "no results for 'xylophone'" in result.stderr


def test_a_global_option_after_the_command_is_reported_with_its_place(notes):
    result = CliRunner().invoke(app, ["search", "printer", "-w", str(notes)])
    assert result.exit_code == 2
    assert "before the command: commonplace -w ... search" in result.stderr


def test_a_tilde_is_the_home_folder_for_init_as_well(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["-w", "~/notes", "init"]).exit_code == 0
    assert (tmp_path / "home" / "notes" / "MEMORY.md").is_file()
    assert not (tmp_path / "~").exists()


@pytest.mark.parametrize(
    "query", ["", '"', "NEAR(", "*", "a:b", "don't", "\x1b[31m", "👩‍👩‍👧", "x" * 9000]
)
def test_any_query_is_answered(run, query):
    result = run("search", query)
    assert result.exit_code == 0
    assert "\x1b" not in result.output


def test_escape_codes_in_notes_never_reach_the_output(run, notes):
    evil = "- zebra \x1b[31mred\x1b]0;title\x07 \x9b2J \u202etxt.exe\n"
    (notes / "memory" / "evil.md").write_text(evil, encoding="utf-8")
    for arguments in (["search", "zebra"], ["get", "memory/evil.md"]):
        out = run(*arguments).stdout
        assert "zebra" in out
        assert not set("\x1b\x07\x9b\u202e") & set(out)


def test_without_an_embedder_that_was_not_asked_for_search_says_so(notes, tmp_path):
    settings = tmp_path / "c.toml"
    settings.write_text('[embedding]\nprovider = "nobody"\n')
    result = CliRunner().invoke(
        app, ["-w", str(notes), "--settings", str(settings), "search", "vpn"]
    )
    assert result.exit_code in (0, 1)
    assert "nobody" in result.stderr


def test_an_index_that_cannot_be_made_is_one_line_and_in_json_an_unavailable_answer(
    run, tmp_path, monkeypatch
):
    (tmp_path / "taken").write_text("x")
    monkeypatch.setenv("COMMONPLACE_STATE_DIR", str(tmp_path / "taken"))
    plain = run("search", "vpn")
    assert (plain.exit_code, plain.stdout) == (1, "")
    assert "COMMONPLACE_STATE_DIR" in one_line(plain)
    as_json = run("search", "vpn", "--json")
    answer = json.loads(as_json.stdout)
    assert (as_json.exit_code, answer["results"], answer["unavailable"]) == (1, [], True)
    assert answer["error"] in one_line(as_json)


# ---------------------------------------------------------------- index and status


def test_index_reports_files_and_then_finds_nothing_to_do(run):
    assert "2 added" in run("index").stdout
    assert "2 unchanged" in run("index").stdout
    assert "2 unchanged" not in run("index", "--force").stdout


def test_index_as_json_is_the_report(run):
    report = json.loads(run("index", "--json").stdout)
    assert (report["added"], report["failed"]) == (2, [])
    assert report["chunks"] >= 2


def test_a_file_that_fails_is_a_line_on_standard_error_and_the_rest_is_indexed(run, notes):
    (notes / "memory" / "huge.md").write_bytes(b"x" * (33 * 1024 * 1024))
    result = run("index")
    assert result.exit_code == 0
    assert "memory/huge.md: " in one_line(result)


def test_index_fails_when_nothing_at_all_could_be_indexed(run, tmp_path):
    folder = tmp_path / "bad"
    (folder / "memory").mkdir(parents=True)
    (folder / "memory" / "huge.md").write_bytes(b"x" * (33 * 1024 * 1024))
    result = run("index", workspace=folder)
    assert result.exit_code == 1
    assert "nothing could be indexed" in result.stderr


def test_status_names_what_is_stale_and_what_to_do_and_indexes_on_request(run, notes):
    run("index")
    (notes / "MEMORY.md").write_text("# Memory\n\n- all new\n")
    result = run("status")
    assert "stale: MEMORY.md: " in result.stdout
    assert "commonplace index" in result.stdout
    fresh = run("status", "--index", "--deep")
    assert "stale" not in fresh.stdout
    assert re.search(r"files\s+2\n", fresh.stdout)


def test_status_as_json_has_the_fields_of_status(run):
    status = json.loads(run("status", "--index", "--json").stdout)
    for name in (
        *("files", "chunks", "provider", "model", "dimension", "vector_engine"),
        *("keyword_engine", "stale", "warnings"),
    ):
        assert name in status
    assert (status["files"], status["stale"]) == (2, [])


def test_status_of_a_workspace_that_was_never_indexed_shows_both_files_as_stale(run):
    assert len(json.loads(run("status", "--json").stdout)["stale"]) == 2


# ---------------------------------------------------------------- get and append


def test_get_prints_the_file_as_it_is(run):
    assert run("get", "MEMORY.md").stdout == MEMORY


def test_get_prints_some_lines(run):
    result = run("get", "MEMORY.md", "--from", "5", "--lines", "1")
    assert result.stdout == "- The VPN listens on port 51820.\n"


def test_get_takes_a_citation(run):
    shown = run("get", "MEMORY.md", "--from", "5", "--lines", "1").stdout
    assert run("get", "MEMORY.md#L5").stdout == shown
    assert json.loads(run("get", "MEMORY.md#L5-L5", "--json").stdout)["text"] == shown.rstrip("\n")
    assert "ends before it begins" in one_line(run("get", "MEMORY.md#L5-L4"))
    assert run("get", "MEMORY.md", "--from", "-3").exit_code == 2


def test_get_prints_a_blank_line(run):
    blank = run("get", "MEMORY.md#L2")
    assert (blank.stdout, blank.stderr) == ("\n", "")
    assert "ends before line 99" in one_line(run("get", "MEMORY.md#L99"))


def test_what_was_exported_comes_back_into_a_new_folder(run, tmp_path):
    assert run("export", str(tmp_path / "out")).exit_code == 0
    new = ["-w", str(tmp_path / "new"), "import", "commonplace"]
    assert CliRunner().invoke(app, [*new, str(tmp_path / "none")]).exit_code == 1
    assert not (tmp_path / "new").exists()
    assert CliRunner().invoke(app, [*new, str(tmp_path / "out")]).exit_code == 0
    assert (tmp_path / "new" / "MEMORY.md").read_text(encoding="utf-8") == MEMORY


def test_get_as_json_is_the_memory_get_answer(run):
    answer = json.loads(run("get", "MEMORY.md", "--from", "5", "--lines", "1", "--json").stdout)
    assert answer == {
        "status": "ok",
        "path": "MEMORY.md",
        "text": "- The VPN listens on port 51820.",
        "from": 5,
        "lines": 1,
        "truncated": True,
        "nextFrom": 6,
    }


@pytest.mark.parametrize(
    "asked", ["2026-10", "2026-10-14", "memory/2026-10-14", "memory/2026-10-41.md"]
)
def test_get_of_a_name_that_is_nearly_a_note_names_the_note(run, notes, asked):
    (notes / "memory" / "2026-10-14.md").write_text("- Paid the rent.\n")
    result = run("get", asked)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "id you mean memory/2026-10-14.md?" in one_line(result)


def test_get_of_a_missing_file_is_one_line(run):
    result = run("get", "memory/2001-01-01.md")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "there is no file memory/2001-01-01.md" in one_line(result)
    answer = json.loads(run("get", "memory/2001-01-01.md", "--json").stdout)
    assert (answer["status"], answer["text"]) == ("not_found", "")


@pytest.mark.parametrize("path", ["../x.md", "/etc/passwd", "", "memory/\0.md", "a\n.md"])
def test_a_refused_path_is_one_line_that_says_which_are_allowed(run, path):
    result = run("get", path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "llowed" in one_line(result)


@pytest.mark.parametrize("note", ["- Decided: -h is --help", "--max is 3", "-w", "plain", "-x=3"])
def test_append_takes_any_note_as_text_and_finds_it(run, notes, note):
    result = run("append", note)
    assert (result.exit_code, result.stdout) == (0, f"memory/{TODAY}.md\n")
    assert (notes / "memory" / f"{TODAY}.md").read_text() == f"# {TODAY}\n\n{note}\n"


@pytest.mark.parametrize("option", ["-h", "--json", "--hlp"])
def test_append_takes_no_option_for_a_note(run, notes, option):
    result = run("append", option)
    assert result.exit_code == 2
    assert "No such option" in result.stderr
    assert option in result.stderr
    assert not (notes / "memory" / f"{TODAY}.md").exists()


def test_append_reads_standard_input(run, notes):
    run("append", "-", stdin="- über\r\n- zwei\r\n".encode())
    text = (notes / "memory" / f"{TODAY}.md").read_text(encoding="utf-8")
    assert text == f"# {TODAY}\n\n- über\n- zwei\n"
    assert f"memory/{TODAY}.md#L" in run("search", "zwei").stdout


@pytest.mark.parametrize(("text", "stdin"), [("", None), ("  \n", None), ("-", b"\n")])
def test_nothing_to_append_is_one_line(run, notes, text, stdin):
    result = run("append", text, stdin=stdin)
    assert result.exit_code == 1
    assert "nothing to append" in one_line(result)
    assert not (notes / "memory" / f"{TODAY}.md").exists()


def test_standard_input_in_another_encoding_is_refused_not_replaced(run, notes):
    result = run("append", "-", stdin=b"- caf\xe9\n")
    assert result.exit_code == 1
    assert "standard input is not UTF-8" in one_line(result)
    assert run("edit", "MEMORY.md", "51820", "-", stdin=b"caf\xe9").exit_code == 1
    assert "51820" in (notes / "MEMORY.md").read_text("utf-8")
    assert not (notes / "memory" / f"{TODAY}.md").exists()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_standard_input_with_a_byte_order_mark_is_read_by_it(run, notes, encoding):
    run("append", "-", stdin="- café\r\n".encode(encoding))
    text = (notes / "memory" / f"{TODAY}.md").read_text("utf-8")
    assert text == f"# {TODAY}\n\n- café\n"


# ---------------------------------------------------------------- errors and the environment


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="a shell closes the streams")
@pytest.mark.parametrize("closed", sampled(["<&-", ">&-", "2>&-", "<&- >&- 2>&-"], every=3))
def test_closed_streams_are_no_error(notes, closed):
    line = f'"$0" -m commonplace -w "$1" --embedder none "$2" "$3" {closed}'

    def shell(*arguments):
        whole = ["sh", "-c", line, sys.executable, str(notes), *arguments]
        return subprocess.run(whole, capture_output=True, check=False, stdin=subprocess.DEVNULL)

    found = shell("search", "VPN")
    assert (found.returncode, found.stderr) == (0, b"")
    added = shell("append", "- The VPN moved.")
    assert (added.returncode, added.stderr) == (0, b"")
    log = notes / "memory" / f"{TODAY}.md"
    assert log.read_text("utf-8") == f"# {TODAY}\n\n- The VPN moved.\n"
    refused = shell("append", "-")
    assert refused.returncode == 1
    assert refused.stderr.count(b"\n") == ("2>&-" not in closed)


@pytest.mark.processes
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
def test_a_full_disk_behind_standard_output_is_one_line(notes):
    with open("/dev/full", "wb") as full:
        line = [sys.executable, "-m", "commonplace", "-w", str(notes), "get", "MEMORY.md"]
        result = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, check=False, text=True)
    assert result.returncode == 1
    assert one_line(result) == "commonplace: No space left on device.\n"


@pytest.mark.parametrize("arguments", [["status"], ["index"], ["search", "x"], ["append", "x"]])
@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_workspace_that_is_none_is_one_line_that_says_what_to_do(run, tmp_path, arguments, kind):
    (tmp_path / "file").write_text("x")
    result = run(*arguments, workspace=tmp_path / kind)
    assert (result.exit_code, result.stdout) == (1, "")
    assert str(tmp_path / kind) in one_line(result)


def test_the_environment_gives_the_defaults(notes, monkeypatch, tmp_path):
    settings = tmp_path / "c.toml"
    settings.write_text("[search]\nmax_results = 1\nmin_score = 0.0\n")
    monkeypatch.setenv("COMMONPLACE_WORKSPACE", str(notes))
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "none")
    monkeypatch.setenv("COMMONPLACE_CONFIG", str(settings))
    result = CliRunner().invoke(app, ["search", "printer Gutenberg", "--json"])
    answer = json.loads(result.stdout)
    assert (len(answer["results"]), answer["mode"]) == (1, "keyword")


def test_a_wrong_setting_is_one_line(run, notes, tmp_path):
    settings = tmp_path / "c.toml"
    settings.write_text("[search]\nmax_result = 1\n")
    result = CliRunner().invoke(app, ["-w", str(notes), "--settings", str(settings), "index"])
    assert result.exit_code == 1
    assert "did you mean search.max_results?" in one_line(result)


def test_a_slip_in_an_embedders_name_is_not_searched_with(run, notes):
    assert run("index").exit_code == 0
    for command in (["search", "printer"], ["status"], ["index"]):
        result = CliRunner().invoke(app, ["-w", str(notes), "--embedder", "opnai", *command])
        assert (result.exit_code, result.stdout) == (1, "")
        assert "no embedder 'opnai'" in one_line(result)


def test_the_status_of_an_embedder_without_its_key_shows_all_other_facts(run, notes, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert run("index").exit_code == 0
    asked = ["-w", str(notes), "--embedder", "openai", "status", "--deep"]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0
    assert "embedder      failed: openai needs a key: set the environment variable" in result.stdout
    assert "index file    ok" in result.stdout
    assert "Search is by keywords only: openai needs a key" in result.stdout


def test_an_unknown_embedder_is_one_line(notes):
    result = CliRunner().invoke(app, ["-w", str(notes), "--embedder", "zorglub", "index"])
    assert result.exit_code == 1
    assert "zorglub" in one_line(result)


@pytest.mark.slow
@pytest.mark.processes
def test_an_error_shows_its_traceback_only_when_debugging(tmp_path):
    arguments = ["-w", str(tmp_path / "none"), "status"]
    plain = command(*arguments, text=True)
    assert plain.returncode == 1
    assert "Traceback" not in one_line(plain)
    debug = command(*arguments, text=True, env={**os.environ, "COMMONPLACE_DEBUG": "1"})
    assert debug.returncode == 1
    assert "Traceback" in debug.stderr


@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_an_interrupt_is_quiet_and_exits_with_130(notes):
    line = [sys.executable, "-m", "commonplace", "-w", str(notes), "append", "-"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # A child of a test run may have been told to ignore interrupts.
    code = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import commonplace.cli\n"
        "print('ready', flush=True)\n"
        f"sys.argv = {line[2:]!r}\n"
        "commonplace.cli.main()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], text=True, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "")


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_reader_that_goes_away_is_no_traceback(notes):
    (notes / "memory" / "long.md").write_text("- zebra\n" * 40_000)
    line = (
        f"{sys.executable} -m commonplace -w {notes} --embedder none get memory/long.md | head -1"
    )
    result = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ("- zebra\n", "")


@pytest.mark.slow
@pytest.mark.processes
def test_text_that_the_output_cannot_encode_ends_no_command(notes):
    (notes / "memory" / "cjk.md").write_text("- zebra 金银 \U0001f600\n", encoding="utf-8")
    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    base = ("-w", str(notes), "--embedder", "none", "search", "zebra")
    assert b"zebra ??" in command(*base, env=env).stdout
    answer = json.loads(command(*base, "--json", env=env).stdout.decode("utf-8"))
    assert "金银" in answer["results"][0]["snippet"]


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_on_a_terminal_results_are_a_table_with_marked_words(notes):
    shown = in_terminal("-w", str(notes), "--embedder", "none", "search", "vpn port", "--explain")
    assert "\x1b[" in shown
    assert "█" in shown
    assert "51820" in shown


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_on_a_terminal_index_and_status_are_panels(notes):
    base = ("-w", str(notes), "--embedder", "none")
    assert "2 added" in in_terminal(*base, "index")
    assert "╭" in in_terminal(*base, "status")


def in_terminal(*arguments):
    """Run the command with a pseudo-terminal as its output and return what it showed."""
    import pty

    leader, follower = pty.openpty()
    line = [sys.executable, "-m", "commonplace", *arguments]
    with subprocess.Popen(line, stdout=follower, stderr=follower, stdin=follower) as process:
        os.close(follower)
        shown = b""
        try:
            while part := os.read(leader, 65_536):
                shown += part
        except OSError:  # Linux's way to say that the other end is closed
            pass
        assert process.wait(timeout=60) == 0, shown.decode()
    os.close(leader)
    return shown.decode()


# ---------------------------------------------------------------- watch and demo


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_watch_indexes_what_changes_until_it_is_interrupted(notes, run, tmp_path):
    (tmp_path / "c.toml").write_text("[sync]\ndebounce_ms = 50\n")
    base = ["-w", str(notes), "--embedder", "none", "--settings", str(tmp_path / "c.toml")]
    line = [sys.executable, "-m", "commonplace", *base, "watch"]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert "watching" in process.stderr.readline()
        (notes / "MEMORY.md").write_text("# Memory\n\n- zebra\n")
        deadline = time.monotonic() + 20
        while json.loads(run("status", "--json").stdout)["stale"]:
            assert time.monotonic() < deadline, "the change was never indexed"
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "2 added" in out
    assert "Traceback" not in err


@pytest.mark.parametrize("embedder", [[], ["--embedder", "none"]])
def test_the_demo_answers_its_questions_and_leaves_nothing_behind(tmp_path, monkeypatch, embedder):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    result = CliRunner().invoke(app, [*embedder, "demo"])
    assert result.exit_code == 0, result.output
    assert re.search(r"^[3-5] of 5 questions answered\.$", result.stdout, re.MULTILINE)
    assert result.stdout.count("evidence ") >= 5
    assert "words:" in result.stdout
    assert "commonplace init" in result.stdout
    assert list(temporary.iterdir()) == []
    assert not (tmp_path / "state").exists() or not any((tmp_path / "state").iterdir())


def test_the_demo_keeps_its_notes_on_request(tmp_path):
    folder = tmp_path / "kept"
    result = CliRunner().invoke(app, ["demo", "--keep", str(folder)])
    assert result.exit_code == 0
    assert (folder / "MEMORY.md").is_file()
    again = CliRunner().invoke(app, ["demo", "--keep", str(folder)])
    assert again.exit_code == 1
    assert "already holds" in one_line(again)


def test_the_demo_uses_no_service_though_a_key_is_set(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "")
    assert CliRunner().invoke(app, ["demo"]).exit_code == 0


def test_json_holds_nothing_that_a_terminal_acts_on(run, notes):
    (notes / "MEMORY.md").write_text(
        "- The hatch \x9b31m is \u202egreen\u2066 \x7f.\n", encoding="utf-8"
    )
    shown = run("search", "hatch", "--json").stdout
    assert not {"\x9b", "\x7f", "\u202e", "\u2066"} & set(shown)
    assert "<U+202E>green" in json.loads(shown)["results"][0]["snippet"]


def test_a_workspace_that_was_never_indexed_is_not_reported_as_empty(run, notes):
    result = run("status")
    assert "no notes yet" not in result.stderr
    assert "stale:" in result.stdout


# ---------------------------------------------------------------- URLs


URL = "postgresql://ann:s3cret@host/notes?name=team"


@pytest.mark.parametrize("url", [URL, URL.replace("//", "/", 1)])
@pytest.mark.parametrize("words", [("init",), ("eval", "q.jsonl"), ("watch",)])
@pytest.mark.parametrize("named_by", ["-w", "variable", "agent"])
def test_a_url_for_a_folder_is_refused_in_one_line_without_its_password(
    tmp_path, monkeypatch, url, words, named_by
):
    monkeypatch.chdir(tmp_path)
    settings = tmp_path / "settings.toml"
    settings.write_text(f'[agents.team]\nworkspace = "{url}"\n', encoding="utf-8")
    options = {"-w": ["-w", url], "variable": []}
    options["agent"] = ["--settings", str(settings), "--agent", "team"]
    if named_by == "variable":
        monkeypatch.setenv("COMMONPLACE_WORKSPACE", url)
    told = one_line(CliRunner().invoke(app, [*options[named_by], *words]))
    assert "URL" in told
    assert "s3cret" not in told
    assert [path.name for path in tmp_path.iterdir()] == ["settings.toml"]


def test_an_agent_has_its_own_folder_although_the_variable_names_a_url(
    notes, tmp_path, monkeypatch
):
    settings = tmp_path / "settings.toml"
    settings.write_text(f"[agents.team]\nworkspace = '{notes}'\n", encoding="utf-8")
    monkeypatch.setenv("COMMONPLACE_WORKSPACE", URL)
    options = ["--settings", str(settings), "--agent", "team", "--embedder", "none"]
    assert CliRunner().invoke(app, [*options, "status"]).exit_code == 0


# ---------------------------------------------------------------- other locales


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="Windows gives arguments in Unicode")
def test_arguments_are_utf_8_in_any_locale(notes):
    env = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0"}
    options = ["-w", str(notes), "--embedder", "none"]
    appended = command(*options, "append", "- Zoë met Øyvind in the café 🍵".encode(), env=env)
    assert (appended.returncode, appended.stderr) == (0, b"")
    log = notes / appended.stdout.decode().strip()
    assert "- Zoë met Øyvind in the café 🍵\n" in log.read_text("utf-8")
    found = command(*options, "search", "café".encode(), "--json", env=env)
    assert len(json.loads(found.stdout)["results"]) == 1
    path = log.relative_to(notes).as_posix()
    command(*options, "edit", path, "café".encode(), "crêperie".encode(), env=env)
    command(*options, "correct", f"{path}#L3", "- Zoë met Åse".encode(), env=env)
    text = log.read_text("utf-8")
    assert "crêperie" in text
    assert "- Zoë met Åse" in text
    (notes / "memory" / "crêpes.md").write_text("- Crêpes on Friday.\n", "utf-8")
    name = "memory/crêpes.md".encode()
    assert command(*options, "get", name, env=env).stdout.decode() == "- Crêpes on Friday.\n"
    indexed = command(*options, "index", env=env)
    assert (indexed.returncode, indexed.stderr) == (0, b"")
    assert command(*options, "edit", name, "Friday", "Monday", env=env).returncode == 0
    assert "memory/crêpes.md" in command(*options, "search", "Monday", env=env).stdout.decode()
    refused = command(*options, "append", b"- caf\xe9", env=env)
    assert refused.returncode == 1
    assert refused.stderr.count(b"\n") == 1
    assert b"TEXT is not UTF-8" in refused.stderr
    assert log.read_text("utf-8") == text
    forgotten = command(*options, "forget", "--text", "Åse".encode(), "--yes", env=env)
    assert forgotten.returncode == 0
    assert "Åse" not in log.read_text("utf-8")
