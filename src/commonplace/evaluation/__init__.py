"""The ruler: how much of what a question needs does an answer of `memory_search` show?

::

    from commonplace.evaluation import evaluate, open_at, read_questions

    with open_at("notes") as memory:
        questions = read_questions("notes/questions.jsonl", memory=memory).questions
        print(evaluate(memory, questions).overall)

A question file is JSON Lines: ``{"question": str, "evidence": [{"path": str, "line": int}],
"category"?: any}``.
"""

from commonplace.evaluation.compare import compare
from commonplace.evaluation.evaluate import evaluate
from commonplace.evaluation.fixed_clock import open_at
from commonplace.evaluation.locomo import Conversion, convert_locomo
from commonplace.evaluation.questions import (
    Evidence,
    Question,
    QuestionFile,
    read_question_texts,
    read_questions,
)
from commonplace.evaluation.report import EvaluationReport, Figures, Outcome

__all__ = [
    "Conversion",
    "EvaluationReport",
    "Evidence",
    "Figures",
    "Outcome",
    "Question",
    "QuestionFile",
    "compare",
    "convert_locomo",
    "evaluate",
    "open_at",
    "read_question_texts",
    "read_questions",
]
