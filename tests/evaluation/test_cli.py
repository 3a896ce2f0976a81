from __future__ import annotations

import json
import os

import pytest
from click.testing import CliRunner

from commonplace.cli.app import app

SETTINGS = """\
profile = "openclaw"
timezone = "UTC"
[search]
min_score = 0.0
decay = false
mmr = false
"""
FIGURES = {
    "questions",
    "shown",
    "shown_in_8000",
    "hit_rate",
    "mrr",
    "empty",
    "first_right",
    "chars",
    "chars_in_8000",
    "json_chars",
    "ms_per_query",
    "auroc",
}


@pytest.fixture(autouse=True)
def environment(tmp_path, monkeypatch):
    for name in list(os.environ):
        if name.startswith("COMMONPLACE_"):
            monkeypatch.delenv(name)
    settings = tmp_path / "settings.toml"
    settings.write_text(SETTINGS)
    monkeypatch.setenv("COMMONPLACE_CONFIG", str(settings))
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "none")
    monkeypatch.setenv("COMMONPLACE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def write_notes(folder, *, text="- The VPN listens on port 51820.\n- Ada prefers tea.\n"):
    (folder / "memory").mkdir(parents=True)
    (folder / "memory" / "2026-11-01.md").write_text(f"# 2026-11-01\n\n{text}")
    return folder


def line(question, number, category=None):
    evidence = [{"path": "memory/2026-11-01.md", "line": number}]
    return json.dumps({"question": question, "evidence": evidence, "category": category}) + "\n"


@pytest.fixture
def notes(tmp_path):
    folder = write_notes(tmp_path / "notes")
    text = line("Which port has the VPN?", 3, 2) + line("What does Ada drink?", 4, 10)
    (folder / "questions.jsonl").write_text(text)
    return folder


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_piped_figures_are_a_plain_table(notes):
    result = run("-w", notes, "eval", notes / "questions.jsonl")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    head, *rows = result.stdout.splitlines()
    assert head.split() == [
        "questions", "shown", "in", "8,000", "hit", "rate", "MRR", "empty", "chars", "JSON", "ms",
    ]  # fmt: skip
    assert [row.split()[:2] for row in rows] == [["all", "2"], ["2", "1"], ["10", "1"]]
    assert "\x1b" not in result.stdout


def test_what_belongs_first_is_reported_apart(notes):
    file = notes / "questions.jsonl"
    first = {"question": "Which port has the VPN?", "first": True, "category": "now"}
    first["evidence"] = [{"path": "memory/2026-11-01.md", "text": "VPN listens"}]
    wrong = first | {"evidence": [{"path": "memory/2026-11-01.md", "text": "# 2026-11-02"}]}
    rows = [json.dumps(first), json.dumps(wrong), line("What does Ada drink?", 4, "then")]
    file.write_text("\n".join(rows))
    result = run("-w", notes, "eval", file)
    assert result.exit_code == 1
    [problem] = result.stderr.splitlines()
    assert f"{file}:2: evidence '# 2026-11-02': memory/2026-11-01.md does not have" in problem
    head, *rows = result.stdout.splitlines()
    at = head.replace("in 8,000", "in").replace("hit rate", "hit").split().index("first") + 1
    assert [row.split()[at] for row in rows] == ["1.000", "1.000", "-"]
    saved = notes / "saved.jsonl"
    answer = json.loads(run("-w", notes, "eval", file, "--json", "--save", saved).stdout)
    assert answer["overall"]["first_right"] == 1.0
    assert answer["categories"]["then"]["first_right"] is None
    now, then = map(json.loads, saved.read_text().splitlines())
    assert (now["first"], now["first_right"]) == (True, True)
    assert now["evidence"] == first["evidence"] == now["found"]
    assert "first" not in then
    shown = sum(len(hit["snippet"]) + len(hit["context"]) for hit in then["results"])
    assert then["chars"] == shown < then["json_chars"]


def test_json_is_one_document(notes):
    result = run("-w", notes, "eval", notes / "questions.jsonl", "--json")
    answer = json.loads(result.stdout)
    assert set(answer) == {
        "overall", "categories", "mode", "provider", "model", "fallbacks", "failed", "files",
        "problems",
    }  # fmt: skip
    assert set(answer["overall"]) == FIGURES
    assert list(answer["categories"]) == ["2", "10"]
    assert answer["overall"]["questions"] == 2
    assert answer["overall"]["auroc"] is None
    assert answer["mode"] == "keyword"
    [file] = answer["files"]
    assert file["day"] == "2026-11-02"
    assert set(file["overall"]) == FIGURES


@pytest.mark.parametrize(("now", "day"), [("last", "2026-11-02"), ("2027-03-04", "2027-03-04")])
def test_now_is_the_day_on_which_it_is_asked(notes, now, day):
    result = run("-w", notes, "eval", "--now", now, notes / "questions.jsonl", "--json")
    assert json.loads(result.stdout)["files"][0]["day"] == day


def test_a_now_that_is_no_day_is_wrong_usage(notes):
    assert run("eval", "--now", "soon", notes / "questions.jsonl").exit_code == 2


def test_invalid_lines_are_reported_with_their_numbers_and_the_status_is_1(notes):
    file = notes / "questions.jsonl"
    file.write_text("broken\n" + file.read_text() + line("gone", 99) + "\n")
    result = run("-w", notes, "eval", file, "--json")
    assert result.exit_code == 1
    told = result.stderr.splitlines()
    assert len(told) == 2
    assert f"{file}:1: " in told[0]
    assert f"{file}:4: " in told[1]
    answer = json.loads(result.stdout)
    assert answer["overall"]["questions"] == 2
    assert len(answer["problems"]) == 2


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["table", "json"])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "q.jsonl is empty. "),
        ("\n\n", "q.jsonl is empty. "),
        ("broken\n", "q.jsonl:1: it is not JSON"),
        ("broken\n" * 3, "(and 2 more)"),
        (line("about a note that is not there", 1), "q.jsonl:1: evidence "),
    ],
    ids=["empty", "blank", "wrong", "all wrong", "another workspace"],
)
def test_a_file_without_a_question_to_ask_is_one_line_and_no_table(tmp_path, text, told, options):
    (tmp_path / "empty").mkdir()
    (tmp_path / "q.jsonl").write_text(text)
    result = run("-w", tmp_path / "empty", "eval", tmp_path / "q.jsonl", *options)
    assert result.exit_code == 1
    assert told in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_a_missing_question_file_is_reported_in_one_line(notes):
    result = run("-w", notes, "eval", "none.jsonl")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1


def test_no_question_file_is_wrong_usage(notes):
    assert run("-w", notes, "eval").exit_code == 2


@pytest.fixture
def two(tmp_path):
    for name, text in (("a", "- The VPN has port 51820.\n"), ("b", "- Zebras have stripes.\n")):
        write_notes(tmp_path / name / "workspace", text=text)
    (tmp_path / "a" / "questions.jsonl").write_text(line("VPN port", 3))
    (tmp_path / "b" / "questions.jsonl").write_text(line("zebras stripes", 3))
    return [tmp_path / name / "questions.jsonl" for name in ("a", "b")]


def test_a_file_with_a_workspace_beside_it_is_about_that_one(two):
    result = run("eval", *two, "--json")
    assert result.exit_code == 0, result.stderr
    answer = json.loads(result.stdout)
    assert answer["overall"]["questions"] == 2
    assert answer["overall"]["shown"] == 1.0
    assert [file["workspace"] for file in answer["files"]] == [
        str(path.parent / "workspace") for path in two
    ]


def test_several_files_have_rows_of_their_own(two):
    rows = run("eval", *two).stdout.splitlines()[2:]
    assert [row.split()[0] for row in rows] == [str(path) for path in two]


def test_a_workspace_that_was_named_is_the_one_of_all_files(two):
    result = run("-w", two[0].parent / "workspace", "eval", *two, "--json")
    answer = json.loads(result.stdout)
    assert {file["workspace"] for file in answer["files"]} == {str(two[0].parent / "workspace")}
    assert answer["overall"]["shown"] == 0.5


def test_foreign_questions_add_the_auroc(two):
    result = run("eval", two[0], "--foreign", two[0], "--foreign", two[1], "--json")
    answer = json.loads(result.stdout)
    assert answer["overall"]["auroc"] == 1.0
    assert "AUROC" in run("eval", two[0], "--foreign", two[1]).stdout


def test_invalid_foreign_lines_are_reported(two, tmp_path):
    (tmp_path / "f.jsonl").write_text('{"question": "no evidence needed"}\n{"q": 1}\n')
    result = run("eval", two[0], "--foreign", tmp_path / "f.jsonl")
    assert result.exit_code == 1
    assert "f.jsonl:2: " in result.stderr


@pytest.mark.parametrize("text", ["", "not JSON\n"])
def test_a_foreign_file_without_a_question_has_no_figure(two, tmp_path, text):
    (tmp_path / "f.jsonl").write_text(text)
    result = run("eval", two[0], "--foreign", tmp_path / "f.jsonl")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
    assert "AUROC" not in run("eval", two[0], "--foreign", two[0]).stdout


def test_outcomes_are_saved_as_json_lines(two, tmp_path):
    result = run("eval", *two, "--save", tmp_path / "out.jsonl")
    assert result.exit_code == 0
    rows = [json.loads(text) for text in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["question"] for row in rows] == ["VPN port", "zebras stripes"]
    assert rows[0]["found"] == rows[0]["evidence"]
    assert rows[0]["missed"] == []
    assert rows[0]["results"][0]["citation"] == "memory/2026-11-01.md#L1-L4"
    assert "fused" in rows[0]["results"][0]["explanation"]


def test_outcomes_are_never_saved_over_questions_or_notes(two):
    questions, note = two[0], two[0].parent / "workspace" / "memory" / "2026-11-01.md"
    before = questions.read_bytes(), note.read_bytes()
    for target in (questions, questions.parent / "." / questions.name, note):
        result = run("eval", *two, "--save", target)
        assert result.exit_code == 2
        assert "name another" in result.stderr
    assert (questions.read_bytes(), note.read_bytes()) == before


def test_an_unwritable_outcome_file_fails_before_the_first_question(two, tmp_path):
    result = run("eval", two[0], "--save", tmp_path / "none" / "out.jsonl")
    assert result.exit_code == 1
    assert result.stdout == ""


def test_what_is_tried_out_does_not_touch_the_index(two, tmp_path):
    run("--embedder", "none", "eval", two[0])
    assert [path.name for path in (tmp_path / "state").rglob("index.sqlite")] == []
    assert len(list((tmp_path / "state").rglob("eval-none-*.sqlite"))) == 1
    run("eval", two[0])
    assert len(list((tmp_path / "state").rglob("index.sqlite"))) == 1


@pytest.mark.parametrize("name", ["demo", "repeating"])
def test_examples_can_be_written_and_evaluated(tmp_path, name):
    out = tmp_path / "out"
    assert run("eval", "--example", name, out, "--now", "2026-11-20").exit_code == 0
    result = run("eval", out / "questions.jsonl", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["files"][0]["day"] == "2026-11-21"
    again = run("eval", "--example", name, out)
    assert again.exit_code == 1
    assert again.stderr.count("\n") == 1


def test_a_terminal_gets_a_rich_table(notes, monkeypatch, capsys):
    monkeypatch.setattr("commonplace.cli.evaluation_output.on_terminal", lambda: True)
    result = run("-w", notes, "eval", notes / "questions.jsonl")
    assert result.exit_code == 0
    assert "─" in result.stdout
