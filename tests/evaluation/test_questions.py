from __future__ import annotations

import json

import pytest

from commonplace.errors import QuestionFileError
from commonplace.evaluation import (
    Evidence,
    Question,
    open_at,
    read_question_texts,
    read_questions,
)
from commonplace.settings import Settings

GOOD = '{"question": "port?", "evidence": [{"path": "MEMORY.md", "line": 3}], "category": 2}'


@pytest.fixture
def memory(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("# Memory\n\n- port 51820\r\n- tea\n", encoding="utf-8")
    (tmp_path / "outside.md").write_text("secret\n", encoding="utf-8")
    opened = open_at(
        folder, settings=Settings.openclaw(), embedder=None, index=tmp_path / "i.sqlite"
    )
    with opened as memory:
        yield memory


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(*lines):
        data = [line if isinstance(line, bytes) else line.encode() for line in lines]
        (tmp_path / "q.jsonl").write_bytes(b"\n".join(data) + b"\n")
        return "q.jsonl"

    return write


def row(evidence, question='"port?"'):
    return f'{{"question": {question}, "evidence": {evidence}}}'


def test_a_question_file_is_read_line_by_line(memory, write):
    file = read_questions(write(GOOD, "", "  \r", GOOD + "\r"), memory=memory)
    question = Question("port?", (Evidence("MEMORY.md", 3),), 2)
    assert file.questions == (question, question)
    assert file.problems == ()


def test_evidence_may_be_a_passage_and_belong_first(memory, write):
    place = {"path": "MEMORY.md", "text": "port 51820\n- tea"}
    text = json.dumps({"question": "port?", "evidence": [place], "first": True})
    file = read_questions(write(text), memory=memory)
    assert file.problems == ()
    [question] = file.questions
    assert question.evidence == (Evidence("MEMORY.md", text="port 51820\n- tea"),)
    assert question.first
    assert json.loads(json.dumps(question.as_dict())) == json.loads(text) | {"category": None}


def test_a_byte_order_mark_and_further_names_do_no_harm(write):
    extra = GOOD.replace("{", '{"id": 7, "answer": "51820", ', 1)
    file = read_questions(write(b"\xef\xbb\xbf" + extra.encode()))
    assert len(file.questions) == 1
    assert file.problems == ()


def test_the_same_line_named_twice_is_one_piece_of_evidence(write):
    place = '{"path": "a.md", "line": 1}'
    assert len(read_questions(write(row(f"[{place}, {place}]"))).questions[0].evidence) == 1


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{not json", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"question": NaN}', "NaN"),
        ("[1]", "an object was expected"),
        (b"\xff\xfe", "UTF-8"),
        ("{}", "question is None"),
        (row("[]", question="7"), "question is 7"),
        (row("[]", question='"  "'), "a text was expected"),
        ('{"question": "q"}', "evidence is None"),
        (row("[]"), "evidence is []"),
        (row("{}"), "evidence is {}"),
        (row("[3]"), "has no path"),
        (row('[{"path": 3, "line": 1}]'), "has no path"),
        (row('[{"path": "MEMORY.md"}]'), "has no line"),
        (row('[{"path": "MEMORY.md", "line": "3"}]'), "has no line"),
        (row('[{"path": "MEMORY.md", "line": 3, "text": "tea"}]'), "one of them was expected"),
        (row('[{"path": "MEMORY.md", "text": 3}]'), "has no text"),
        (row('[{"path": "MEMORY.md", "text": " "}]'), "has no text"),
        (row('[{"path": "MEMORY.md", "text": "coffee"}]'), "MEMORY.md does not have this text"),
        (GOOD.replace("{", '{"first": 1, ', 1), "first is 1; true or false"),
        (row('[{"path": "MEMORY.md", "line": true}]'), "has no line"),
        (row('[{"path": "MEMORY.md", "line": 0}]'), "has no line"),
        (row('[{"path": "MEMORY.md", "line": 5}]'), "ends at line 4"),
        (row('[{"path": "MEMORY.md", "line": ' + "9" * 40 + "}]"), "ends at line 4"),
        (row('[{"path": "MEMORY.md", "line": 2}]'), "blank"),
        (row('[{"path": "memory/none.md", "line": 1}]'), "no such file"),
        (row('[{"path": "../outside.md", "line": 1}]'), "outside.md"),
        (row('[{"path": "memory/../../outside.md", "line": 1}]'), "outside.md"),
        (row('[{"path": "/etc/passwd", "line": 1}]'), "passwd"),
        (row('[{"path": "MEMORY.md\\u0000", "line": 1}]'), "MEMORY.md"),
        (row('[{"path": "memory/\\ud800.md", "line": 1}]'), "evidence"),
    ],
)
def test_an_invalid_line_is_reported_with_its_number_and_the_rest_is_read(
    memory, write, line, told
):
    file = read_questions(write(GOOD, "", line, GOOD), memory=memory)
    assert len(file.questions) == 2
    [problem] = file.problems
    assert problem.startswith("q.jsonl:3: ")
    assert told in problem


def test_one_bad_piece_of_evidence_leaves_the_whole_question_out(memory, write):
    both = '[{"path": "MEMORY.md", "line": 3}, {"path": "MEMORY.md", "line": 99}]'
    file = read_questions(write(row(both)), memory=memory)
    assert file.questions == ()
    assert len(file.problems) == 1


def test_without_a_memory_places_are_not_looked_at(write):
    assert read_questions(write(row('[{"path": "x.md", "line": 9}]'))).problems == ()


def test_a_file_that_cannot_be_read_says_what_was_expected(tmp_path):
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(QuestionFileError, match="JSON Lines"):
            read_questions(path)


def test_an_empty_file_has_no_questions(write):
    assert read_questions(write("")).questions == ()


def test_foreign_files_need_no_evidence(write):
    texts, problems = read_question_texts(write('{"question": "a"}', "broken", GOOD))
    assert texts == ("a", "port?")
    assert len(problems) == 1
