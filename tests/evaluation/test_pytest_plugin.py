from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.processes

pytest_plugins = ["pytester"]

QUESTIONS = """\
{"question": "Which port has the VPN?", "evidence": [{"path": "MEMORY.md", "line": 3}]}
{"question": "What does Ada drink?", "evidence": [{"path": "MEMORY.md", "line": 4}]}
"""
MODULE = """\
from commonplace import Settings
from dataclasses import replace

SETTINGS = replace(
    Settings.openclaw(), search=replace(Settings.openclaw().search, min_score=0.0, operator="or")
)

def test_notes(commonplace_eval):
    report = commonplace_eval("notes", "q.jsonl", settings=SETTINGS, embedder=None, {arguments})
    assert report.overall.questions == 2
"""


@pytest.fixture
def project(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # other plugins load for seconds
    pytester.makeconftest('pytest_plugins = ["commonplace.evaluation.pytest_plugin"]')
    notes = pytester.mkdir("notes")
    (notes / "MEMORY.md").write_text("# Memory\n\n- The VPN has port 51820.\n- Ada drinks tea.\n")
    (pytester.path / "q.jsonl").write_text(QUESTIONS)

    def run(arguments=""):
        pytester.makepyfile(MODULE.format(arguments=arguments))
        return pytester.runpytest_subprocess("-W", "error", "-p", "no:cacheprovider")

    run.path = pytester.path
    return run


@pytest.mark.slow
def test_questions_that_are_answered_pass(project):
    project().assert_outcomes(passed=1)


@pytest.mark.slow
def test_a_regression_fails_and_names_what_was_missed(project):
    long = "- " + "word " * 300
    (project.path / "notes" / "MEMORY.md").write_text(f"# Memory\n\n{long}\n- Ada: tea.\n")
    result = project("at_least=0.99")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*q.jsonl: shown is 0.* at least 0.99 was expected.",
            "answers took: * characters, * as JSON",
            "missed:*",
        ]
    )


@pytest.mark.slow
def test_what_comes_first_can_be_asked_for(project):
    project('measure="first_right"').assert_outcomes(failed=1)
    questions = QUESTIONS.replace("]}", '], "first": true}')
    (project.path / "q.jsonl").write_text(questions)
    project('measure="first_right"').assert_outcomes(passed=1)


@pytest.mark.slow
def test_another_measure_can_be_asked_for(project):
    project('at_least=1.0, measure="shown_in_8000"').assert_outcomes(passed=1)


@pytest.mark.slow
def test_a_broken_line_fails(project):
    (project.path / "q.jsonl").write_text(QUESTIONS + "broken\n")
    result = project("at_least=0.0")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*q.jsonl:3: it is not JSON*"])


@pytest.mark.slow
def test_importing_the_plugin_loads_neither_numpy_nor_the_index():
    code = (
        "import sys, commonplace.evaluation.pytest_plugin\n"
        "print({'numpy', 'apsw', 'commonplace.memory', 'rich'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "set()", result.stderr
