"""Example workspaces with questions: the demo, and a log that repeats itself.

The notes are those of an invented team. Their days are relative to a `today` of the caller, so that
they are always fresh.
"""

from commonplace.demo.questions import (
    DEMO_QUESTIONS,
    MORE_QUESTIONS,
    QuestionTemplate,
    demo_questions,
    evaluation_questions,
    write_questions,
)
from commonplace.demo.repeating import write_repeating_workspace
from commonplace.demo.workspace import DEMO_DAY, demo_files, open_demo, write_demo_workspace

__all__ = [
    "DEMO_DAY",
    "DEMO_QUESTIONS",
    "MORE_QUESTIONS",
    "QuestionTemplate",
    "demo_files",
    "demo_questions",
    "evaluation_questions",
    "open_demo",
    "write_demo_workspace",
    "write_questions",
    "write_repeating_workspace",
]
