"""Evaluation of search: the share of a question's evidence that `memory_search` answers show.

::

    from commonplace.evaluation import evaluate, open_at, read_questions

    with open_at("notes") as memory:
        questions = read_questions("notes/questions.jsonl", memory=memory).questions
        print(evaluate(memory, questions).overall)

A question file is JSON Lines: ``{"question": str, "evidence": [{"path": str, "line": int}],
"category"?: any, "first"?: bool}``. Evidence is a line, or ``{"path": str, "text": str}``, an exact
passage. With ``first``, the report also says whether the first result shows all of the evidence.
"""

from commonplace.evaluation.comparison import compare
from commonplace.evaluation.evaluator import evaluate
from commonplace.evaluation.fixed_clock import open_at
from commonplace.evaluation.questions import (
    Evidence,
    Question,
    QuestionFile,
    read_question_texts,
    read_questions,
)
from commonplace.evaluation.report import EvaluationReport, Figures, Outcome

__all__ = [
    "EvaluationReport",
    "Evidence",
    "Figures",
    "Outcome",
    "Question",
    "QuestionFile",
    "compare",
    "evaluate",
    "open_at",
    "read_question_texts",
    "read_questions",
]
