from __future__ import annotations

import json

import pytest

from benchmarks.locomo import convert_locomo, main
from commonplace.errors import QuestionFileError, WorkspaceError
from commonplace.evaluation import open_at, read_questions
from commonplace.settings import Settings


def turn(dia_id, speaker, text, **more):
    return {"speaker": speaker, "dia_id": dia_id, "text": text} | more


def sample(qa, name="conv-1"):
    return {
        "sample_id": name,
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Ben",
            "session_10": [turn("D10:1", "Ben", "Back again.")],
            "session_10_date_time": "12:05 am on 9 June, 2023",
            "session_2": [turn("D2:1", "Ann", "I sold\nthe  boat. ")],
            "session_2_date_time": "12:30 pm on 8 May, 2023",
            "session_1": [
                turn("D1:1", "Ann", "Hello!"),
                turn("D1:2", "Ben", "Look.", blip_caption="a photo of a kite", img_url=["x"]),
            ],
            "session_1_date_time": "1:56 am on 8 May, 2023",
            "session_11": [],
            "session_11_date_time": "1:00 pm on 10 June, 2023",
            "session_12_date_time": "1:00 pm on 11 June, 2023",
        },
        "qa": qa,
    }


def asked(question, evidence, category=4):
    return {"question": question, "answer": 3, "evidence": evidence, "category": category}


@pytest.fixture
def convert(tmp_path):
    def convert(*samples):
        source = tmp_path / "locomo10.json"
        source.write_text(json.dumps(samples), encoding="utf-8")
        return convert_locomo(source, tmp_path / "out")

    return convert


def rows(tmp_path, name="conv-1"):
    text = (tmp_path / "out" / name / "questions.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_a_day_is_a_log_a_session_a_section_and_a_turn_a_line(convert, tmp_path):
    [made] = convert(sample([asked("What was sold?", ["D2:1"])]))

    folder = tmp_path / "out" / "conv-1" / "workspace" / "memory"
    assert sorted(path.name for path in folder.iterdir()) == ["2023-05-08.md", "2023-06-09.md"]
    assert (folder / "2023-05-08.md").read_text(encoding="utf-8") == (
        "# 2023-05-08\n\n"
        "## 01:56 session 1\n\n"
        "- Ann: Hello!\n"
        "- Ben: Look. [shared image: a photo of a kite]\n\n"
        "## 12:30 session 2\n\n"
        "- Ann: I sold the  boat. \n\n"
    )
    assert (
        (folder / "2023-06-09.md")
        .read_text(encoding="utf-8")
        .startswith("# 2023-06-09\n\n## 00:05 session 10\n\n- Ben: Back again.\n")
    )
    assert rows(tmp_path) == [
        {
            "question": "What was sold?",
            "category": 4,
            "evidence": [{"path": "memory/2023-05-08.md", "line": 10}],
        }
    ]
    assert (made.name, made.days, made.turns, made.questions) == ("conv-1", 2, 4, 1)
    assert made.problems == ()


@pytest.mark.parametrize(
    ("evidence", "lines", "problems"),
    [
        (["D1:1; D10:1"], [5, 5], 0),
        (["D1:1 D1:2", "D1:1"], [5, 6], 0),
        (["D:10:1"], [5], 0),
        (["D01:02"], [6], 0),
        ("D1:2", [6], 0),
        (["D1:1", "D1:99"], [5], 1),
        (["D1:1", "D"], [5], 1),
    ],
)
def test_evidence_variants_are_parsed_or_reported(convert, tmp_path, evidence, lines, problems):
    [made] = convert(sample([asked("q", evidence)]))
    assert [place["line"] for place in rows(tmp_path)[0]["evidence"]] == lines
    assert len(made.problems) == problems


@pytest.mark.parametrize("evidence", [[], None, ["D"], ["D7:7"]])
def test_a_question_without_evidence_is_skipped_and_reported(convert, tmp_path, evidence):
    [made] = convert(sample([asked("q", evidence), asked("r", ["D1:1"], category=5)]))
    assert [row["question"] for row in rows(tmp_path)] == ["r"]
    assert made.questions == 1
    assert made.problems[-1] == "question 1 has no evidence; it is left out"


def test_what_was_made_can_be_evaluated(convert, tmp_path):
    convert(sample([asked("q", ["D1:1", "D2:1", "D10:1"])]))
    folder = tmp_path / "out" / "conv-1"
    opened = open_at(
        folder / "workspace",
        settings=Settings.openclaw(),
        embedder=None,
        index=tmp_path / "index.sqlite",
    )
    with opened as memory:
        file = read_questions(folder / "questions.jsonl", memory=memory)
    assert len(file.questions) == 1
    assert file.problems == ()


def test_nothing_is_overwritten(convert):
    convert(sample([]))
    with pytest.raises(WorkspaceError, match="exists already"):
        convert(sample([]))


def test_a_name_that_is_no_folders_name_is_replaced(convert, tmp_path):
    convert(sample([], name="../evil"), sample([], name="conv-9"))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["conv-1", "conv-9"]


@pytest.mark.parametrize(
    "text",
    ["{", "{}", "[1]", '[{"sample_id": "a"}]', '[{"conversation": 1, "qa": []}]', "\xff"],
)
def test_a_file_of_another_format_is_refused(tmp_path, text):
    source = tmp_path / "x.json"
    source.write_bytes(text.encode("latin-1"))
    with pytest.raises(QuestionFileError, match="LoCoMo"):
        convert_locomo(source, tmp_path / "out")


def test_an_unreadable_time_is_an_error(convert):
    odd = sample([])
    odd["conversation"]["session_1_date_time"] = "yesterday"
    with pytest.raises(QuestionFileError, match="yesterday"):
        convert(odd)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(QuestionFileError, match="cannot read"):
        convert_locomo(tmp_path / "none.json", tmp_path / "out")


def test_the_command_prints_what_it_wrote_and_what_it_left_out(tmp_path, capsys, monkeypatch):
    (tmp_path / "locomo.json").write_text(json.dumps([sample([asked("q", ["D1:1", "D9:9"])])]))
    monkeypatch.setattr("sys.argv", ["locomo.py", str(tmp_path / "locomo.json"), str(tmp_path)])
    main()
    printed = capsys.readouterr()
    assert printed.out == "conv-1  2 days, 4 turns, 1 questions\n"
    assert "D9:9" in printed.err
