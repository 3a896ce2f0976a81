"""The demo's notes and questions, and the log that repeats itself."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path

import pytest

from commonplace.demo import (
    DEMO_DAY,
    DEMO_QUESTIONS,
    QuestionTemplate,
    demo_files,
    demo_questions,
    evaluation_questions,
    open_demo,
    write_demo_workspace,
    write_questions,
    write_repeating_workspace,
)
from commonplace.errors import QuestionFileError, WorkspaceError, WorkspaceNotFoundError
from commonplace.evaluation import Question

TODAYS = [date(2026, 11, 20), date(2024, 3, 1), date(2025, 1, 5), date(2030, 12, 31)]
TODAY = TODAYS[0]

each_today = pytest.mark.parametrize("today", TODAYS, ids=date.isoformat)


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode("utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def lines_of(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in text.split("\n") if line.strip()]


def evidence_texts(question: Question, files: dict[str, str]) -> list[str]:
    return [files[place.path].split("\n")[place.line - 1] for place in question.evidence]


@each_today
def test_the_demo_is_memory_md_dated_logs_and_evergreen_notes(tmp_path: Path, today: date) -> None:
    folder = write_demo_workspace(tmp_path / "notes", today=today)

    files = contents(folder)
    dated = [path for path in files if re.match(r"memory/\d{4}-\d\d-\d\d", path)]
    days = {date.fromisoformat(path[7:17]) for path in dated}
    assert folder == tmp_path / "notes"
    assert {"MEMORY.md", "memory/projects/billing.md", "memory/runbooks/restore.md"} < set(files)
    assert len(dated) == 17
    assert max(days) == today
    assert min(days) == today - timedelta(days=20)
    assert sum(path.endswith("-incident-review.md") for path in dated) == 1
    assert all(files[path].startswith(f"# {path[7:17]}") for path in dated)


def test_the_demo_has_between_400_and_700_lines_that_are_not_blank() -> None:
    assert 400 <= len(lines_of(demo_files(TODAY).values())) <= 700


@each_today
def test_no_placeholder_is_left_in_notes_or_questions(today: date) -> None:
    questions = [question.question for question in evaluation_questions(today)]
    for text in [*demo_files(today).values(), *questions]:
        assert not re.search(r"\{\w+(:[+-]?\d+)?\}", text)


@each_today
def test_links_between_days_lead_to_notes(today: date) -> None:
    files = demo_files(today)
    targets = [
        target
        for path, text in files.items()
        if path.startswith("memory/2")
        for target in re.findall(r"\]\(([^)]+)\)", text)
    ]
    assert targets
    assert {f"memory/{target}" for target in targets} <= set(files)


def test_nothing_in_the_demo_looks_like_a_secret() -> None:
    for text in demo_files(TODAY).values():
        assert not re.search(r"sk-|BEGIN [A-Z ]*KEY|\b[A-Za-z0-9+/]{32,}\b|\w@\w+\.\w", text)


@each_today
def test_every_evidence_line_of_the_demo_is_found_exactly_once_and_not_blank(today: date) -> None:
    files = demo_files(today)
    count = Counter(lines_of(files.values()))
    for question in evaluation_questions(today):
        texts = evidence_texts(question, files)
        assert texts, question.question
        assert len(set(question.evidence)) == len(question.evidence)
        assert all(text.strip() and count[text] == 1 for text in texts), question.question
        assert all(len(text) <= 300 for text in texts), question.question


def test_the_demo_asks_five_questions_of_five_kinds() -> None:
    categories = [question.category for question in demo_questions(TODAY)]
    assert categories == ["exact", "paraphrase", "time", "corrected", "person"]
    assert len(DEMO_QUESTIONS) == 5


def test_the_demo_can_be_evaluated_in_six_categories() -> None:
    questions = evaluation_questions(TODAY)
    assert questions[:5] == demo_questions(TODAY)
    assert len({question.question for question in questions}) == len(questions) >= 30
    assert set(Counter(question.category for question in questions)) == {
        "exact",
        "paraphrase",
        "time",
        "corrected",
        "several",
        "person",
    }


def test_questions_about_several_days_have_evidence_in_several_files() -> None:
    for question in evaluation_questions(TODAY):
        if question.category == "several":
            assert len({place.path for place in question.evidence}) >= 2, question.question


@pytest.mark.parametrize("text", ["no line says this", "Mara"], ids=["in no line", "in several"])
def test_evidence_that_is_not_in_exactly_one_line_is_an_error(text: str) -> None:
    template = QuestionTemplate("Who?", (("MEMORY", text),), "exact")
    with pytest.raises(QuestionFileError, match="exactly one"):
        template.resolve(TODAY, demo_files(TODAY))


def test_writing_the_demo_twice_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    write_demo_workspace(tmp_path, today=TODAY)
    (tmp_path / "MEMORY.md").write_text("mine\n", encoding="utf-8")
    before = contents(tmp_path)
    with pytest.raises(WorkspaceError, match="already holds"):
        write_demo_workspace(tmp_path, today=TODAY)
    assert contents(tmp_path) == before


def test_one_file_in_the_way_is_enough_to_write_nothing(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / f"{TODAY}.md").write_text("mine\n", encoding="utf-8")
    with pytest.raises(WorkspaceError, match=r"already holds memory/2026-11-20\.md; "):
        write_demo_workspace(tmp_path, today=TODAY)
    assert list(contents(tmp_path)) == [f"memory/{TODAY}.md"]


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("", encoding="utf-8")
    with pytest.raises(WorkspaceNotFoundError, match="in the way"):
        write_demo_workspace(tmp_path / "notes", today=TODAY)


def test_the_demo_is_the_same_each_time(tmp_path: Path) -> None:
    first = write_demo_workspace(tmp_path / "a", today=TODAY)
    second = write_demo_workspace(tmp_path / "b", today=TODAY)
    assert contents(first) == contents(second) == dict(sorted(demo_files(TODAY).items()))


def test_a_question_file_has_the_form_of_the_contract(tmp_path: Path) -> None:
    path = write_questions(tmp_path / "questions.jsonl", demo_questions(TODAY))
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows[0] == {
        "question": "What was wrong in SLIP-431?",
        "evidence": [{"path": "memory/2026-11-18.md", "line": 10}],
        "category": "exact",
    }
    with pytest.raises(WorkspaceError):
        write_questions(path, [])


@each_today
def test_the_repeating_log_has_every_evidence_line_where_it_says(
    tmp_path: Path, today: date
) -> None:
    questions = write_repeating_workspace(tmp_path, today=today)
    files = contents(tmp_path)
    assert Counter(question.category for question in questions) == {
        "current": 10,
        "several": 6,
        "standing": 6,
    }
    assert f"memory/{today}.md" in files
    for question in questions:
        assert all(text.startswith("- ") for text in evidence_texts(question, files))


@pytest.mark.parametrize("days", [21, 60, 200])
@pytest.mark.parametrize("seed", range(8))
def test_current_and_standing_lines_stand_once_and_several_on_different_days(
    tmp_path: Path, days: int, seed: int
) -> None:
    questions = write_repeating_workspace(tmp_path, today=TODAY, days=days, seed=seed)
    files = contents(tmp_path)
    count = Counter(lines_of(files.values()))
    for question in questions:
        texts = evidence_texts(question, files)
        if question.category == "several":
            assert len({place.path for place in question.evidence}) == len(texts) == 4
        else:
            assert [count[text] for text in texts] == [1]


def test_the_evidence_of_a_superseded_port_is_the_newest_statement(tmp_path: Path) -> None:
    questions = write_repeating_workspace(tmp_path, today=TODAY)
    files = contents(tmp_path)
    [question] = [one for one in questions if "staging" in one.question]
    stated = [
        (path, line)
        for path, text in files.items()
        for line in text.split("\n")
        if "taging" in line and re.search(r"\b8\d{3}\b", line)
    ]
    newest = max(stated)
    assert (question.evidence[0].path, evidence_texts(question, files)[0]) == newest
    assert newest[1] == "- Staging now listens on 8443, no longer 8310."
    assert sum("8080" in line for _, line in stated) >= 3


def test_the_usual_thing_about_a_subject_is_repeated_often_enough_to_crowd(tmp_path: Path) -> None:
    questions = write_repeating_workspace(tmp_path, today=TODAY)
    files = contents(tmp_path)
    [question] = [one for one in questions if "mailer" in one.question]
    repeats = [line for line in lines_of(files.values()) if "ailer" in line and "queue" in line]
    assert len(repeats) > 2 * 6
    assert sum(text in repeats for text in evidence_texts(question, files)) == 1


def test_the_repeating_log_depends_on_its_seed_and_on_nothing_else(tmp_path: Path) -> None:
    questions = [
        write_repeating_workspace(tmp_path / name, today=TODAY, seed=seed)
        for name, seed in (("a", 7), ("b", 7), ("c", 8))
    ]
    assert questions[0] == questions[1] != questions[2]
    assert contents(tmp_path / "a") == contents(tmp_path / "b") != contents(tmp_path / "c")


def test_the_repeating_log_says_the_same_whatever_the_day(tmp_path: Path) -> None:
    texts = []
    for today in TODAYS:
        write_repeating_workspace(tmp_path / str(today), today=today)
        texts.append([text.split("\n")[1:] for text in contents(tmp_path / str(today)).values()])
    assert all(text == texts[0] for text in texts)


def test_the_repeating_log_is_not_written_over_another(tmp_path: Path) -> None:
    write_repeating_workspace(tmp_path, today=TODAY)
    before = contents(tmp_path)
    with pytest.raises(WorkspaceError, match="already holds"):
        write_repeating_workspace(tmp_path, today=TODAY, seed=8)
    assert contents(tmp_path) == before


def test_a_log_of_too_few_days_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="days is 20"):
        write_repeating_workspace(tmp_path, today=TODAY, days=20)
    assert contents(tmp_path) == {}


def test_the_demo_opens_in_a_temporary_folder_on_its_day(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with open_demo() as memory:
        assert memory.now().date() == DEMO_DAY
        [hit] = memory.search("How much does a club pay for the hosted plan now?", max_results=1)
        assert "45 euros" in hit.snippet
        assert memory.workspace.root.is_relative_to(tmp_path)
