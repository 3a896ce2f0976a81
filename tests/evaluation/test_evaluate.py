from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from commonplace.demo import (
    evaluation_questions,
    write_demo_workspace,
    write_repeating_workspace,
)
from commonplace.errors import QuestionFileError, WorkspaceNotFoundError
from commonplace.evaluation import Evidence, Figures, Question, compare, evaluate, open_at
from commonplace.evaluation.fixed_clock import asking_time
from commonplace.settings import Settings
from commonplace.tools import answer_json, search_answer
from commonplace.workspace.discovery import Workspace

TODAY = date(2026, 11, 20)
OPENCLAW = Settings.openclaw()
WORDS = replace(OPENCLAW, search=replace(OPENCLAW.search, min_score=0.0, operator="or"))


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Memory\n\n- The VPN listens on port 51820.\n")
    log = "# 2026-11-01\n\n- Moved the printer Gutenberg upstairs.\n- Bought two new routers.\n"
    (folder / "memory" / "2026-11-01.md").write_text(log)
    return folder


@pytest.fixture
def memory(notes, tmp_path):
    path = tmp_path / "index.sqlite"
    with open_at(notes, settings=WORDS, embedder=None, index=path) as memory:
        yield memory


def ask(text, *places, category=None):
    return Question(text, tuple(Evidence(path, line) for path, line in places), category)


PORT = ask("VPN port", ("MEMORY.md", 3), category="network")
PRINTER = ask("printer Gutenberg", ("memory/2026-11-01.md", 3), ("MEMORY.md", 3), category="office")


def test_questions_are_asked_and_their_evidence_is_looked_for(memory):
    report = evaluate(memory, [PORT, PRINTER])

    first, second = report.outcomes
    assert first.found == PORT.evidence
    assert first.missed == ()
    assert first.rank == 1
    assert first.milliseconds > 0
    assert second.found == PRINTER.evidence[:1]
    assert second.missed == PRINTER.evidence[1:]
    assert report.overall.questions == 2
    assert report.overall.shown == pytest.approx(0.75)
    assert report.overall.mrr == 1.0
    assert report.overall.auroc is None
    assert list(report.by_category) == ["network", "office"]
    assert report.by_category["office"].shown == pytest.approx(0.5)
    assert first.results[0].explanation is not None


def test_the_index_is_brought_up_to_date_first(memory, notes):
    evaluate(memory, [PORT])
    (notes / "memory" / "2026-11-02.md").write_text("# 2026-11-02\n\n- Zebras are striped.\n")
    report = evaluate(memory, [ask("zebras striped", ("memory/2026-11-02.md", 3))])
    assert report.overall.shown == 1.0


def test_the_default_answer_is_that_of_the_settings_and_the_wide_one_is_not(notes, tmp_path):
    strict = replace(WORDS, search=replace(WORDS.search, min_score=1.0))
    path = tmp_path / "index.sqlite"
    with open_at(notes, settings=strict, embedder=None, index=path) as memory:
        report = evaluate(memory, [PORT])
    assert report.overall.empty == 1.0
    assert report.overall.shown == 0.0
    assert report.overall.shown_in_8000 == 1.0
    assert report.outcomes[0].best_score > 0


def test_foreign_questions_give_the_auroc(memory):
    foreign = ["VPN port", "zebras", "mountain weather", "zebras"]
    report = evaluate(memory, [PORT, PRINTER], foreign=foreign)
    assert report.foreign_scores == (0.0, 0.0)  # two of two others: its own text is not foreign
    assert report.overall.auroc == 1.0
    assert report.by_category["office"].auroc == 1.0


def test_as_many_foreign_questions_are_asked_as_own_ones_and_always_the_same(memory):
    foreign = [f"question {number} VPN" for number in range(50)]

    def asked():
        texts = []
        evaluate(memory, [PORT], foreign=foreign, progress=lambda *call: texts.append(call[2]))
        return texts

    once = asked()
    assert once == asked()
    assert len(once) == 2


def test_a_fallback_names_the_mode_unless_the_reranker_alone_failed(memory, monkeypatch):
    search = memory.search

    def falls_back(mode, fallback):
        def searched(*arguments, **options):
            results = search(*arguments, **options)
            results.mode, results.fallback = mode, fallback
            return results

        monkeypatch.setattr(memory, "search", searched)
        return evaluate(memory, [PORT]).fallbacks

    assert falls_back("keyword", "no key") == ("keyword search only: no key",)
    assert falls_back("hybrid", "the reranker failed: x") == ("the reranker failed: x",)
    assert falls_back("hybrid", None) == ()


def test_an_answer_has_its_length_beside_it(memory):
    [outcome] = evaluate(memory, [PORT]).outcomes
    assert outcome.chars == sum(len(hit.snippet) + len(hit.context) for hit in outcome.results)
    assert outcome.json_chars == len(answer_json(search_answer(memory, {"query": "VPN port"})))
    assert outcome.chars_in_8000 >= outcome.chars


def test_a_passage_is_looked_for_as_a_line_is(memory):
    passage = Evidence("MEMORY.md", text="VPN listens on port")
    other = Evidence("MEMORY.md", text="# Memory")
    question = Question("VPN port", (passage, other), first=True)
    report = evaluate(memory, [question, Question("VPN port", (passage,), "now", first=True)])
    assert [outcome.found for outcome in report.outcomes] == [(passage, other), (passage,)]
    assert report.overall.first_right == 1.0
    assert report.by_category["now"].first_right == 1.0


def test_progress_counts_every_question_once(memory):
    calls = []
    evaluate(memory, [PORT, PRINTER], progress=lambda *call: calls.append(call))
    assert calls == [(1, 2, "VPN port"), (2, 2, "printer Gutenberg")]


def test_evidence_may_be_written_with_a_leading_dot(memory):
    report = evaluate(memory, [ask("VPN port", ("./MEMORY.md", 3))])
    assert report.overall.shown == 1.0
    assert report.outcomes[0].question.evidence == (Evidence("MEMORY.md", 3),)


def test_evidence_that_is_not_there_is_an_error(memory):
    with pytest.raises(QuestionFileError, match="ends at line 3"):
        evaluate(memory, [ask("VPN", ("MEMORY.md", 9))])


def test_an_empty_workspace_gives_zeros(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    with open_at(folder, embedder=None, index=tmp_path / "index.sqlite") as memory:
        assert evaluate(memory, []).overall == Figures()
        assert evaluate(memory, [], foreign=["a"]).overall == Figures(auroc=0.0)
    assert list(folder.iterdir()) == []


def test_time_stands_at_the_day_after_the_newest_dated_log(notes):
    (notes / "memory" / "2026-11-05-review.md").write_text("x\n")
    space = Workspace(notes, Settings(timezone="Asia/Tokyo"))
    assert asking_time(space).isoformat() == "2026-11-06T12:00:00+09:00"
    assert asking_time(space, now=TODAY).isoformat() == "2026-11-20T12:00:00+09:00"
    assert asking_time(Workspace(notes)).date() == date(2026, 11, 6)


def test_a_log_of_the_last_day_of_all_does_no_harm(notes):
    (notes / "memory" / "9999-12-31.md").write_text("x\n")
    assert asking_time(Workspace(notes)).year == 9999


def test_without_a_dated_log_it_is_asked_today(tmp_path):
    assert asking_time(Workspace(tmp_path)).tzinfo is not None


def test_a_missing_workspace_is_an_error(tmp_path):
    with pytest.raises(WorkspaceNotFoundError):
        open_at(tmp_path / "none")


def test_the_demo_and_the_repeating_log_can_be_evaluated(tmp_path):
    write_demo_workspace(tmp_path / "demo", today=TODAY)
    repeating = write_repeating_workspace(tmp_path / "repeating", today=TODAY)
    for name, questions in (("demo", evaluation_questions(TODAY)), ("repeating", repeating)):
        path = tmp_path / f"{name}.sqlite"
        with open_at(tmp_path / name, settings=WORDS, embedder=None, index=path) as memory:
            report = evaluate(memory, questions)
        assert report.overall.questions == len(questions)
        assert report.overall.shown_in_8000 > 0.5


def test_settings_can_be_compared(notes):
    strict = replace(WORDS, search=replace(WORDS.search, min_score=1.0))
    reports = compare(notes, [PORT], settings={"any": WORDS, "strict": strict}, embedder=None)
    assert {name: report.overall.shown for name, report in reports.items()} == {
        "any": 1.0,
        "strict": 0.0,
    }
