"""How many modules a verb enters: what its reader has to open."""

import pytest

from benchmarks.entered_modules import LIMITS, VERBS


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_enters_few_modules(verb, tmp_path):
    if "LangChain" in verb:
        pytest.importorskip("langchain")
    entered = VERBS[verb](tmp_path)
    assert len(entered.here) <= LIMITS[verb], sorted(entered.here)
