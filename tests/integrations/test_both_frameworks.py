"""One workspace, used at the same time by an agent of LangChain and one of LlamaIndex."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.python_path import environment

pytestmark = pytest.mark.processes

pytest.importorskip("langchain", reason="LangChain is not installed")
pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

TESTS = Path(__file__).parents[1]
FRAMEWORKS = ("langchain", "llama_index")
OTHER = dict(zip(FRAMEWORKS, reversed(FRAMEWORKS), strict=True))
ROUNDS = 5
MAX_S = 2.0
"""How old what the other wrote may be when a question finds it."""


class Agent:
    """An agent in a process of its own."""

    def __init__(self, framework, folder):
        self.process = subprocess.Popen(
            [sys.executable, str(TESTS / "support" / "agent_process.py"), framework, str(folder)],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self.flushes = 0

    def say(self, text):
        self.process.stdin.write(json.dumps(text) + "\n")
        self.process.stdin.flush()

    def hear(self):
        """Wait for the answer; return it, and how long it took."""
        line = self.process.stdout.readline()
        assert line, f"the process ended: {self.process.wait(10)}"
        told = json.loads(line)
        self.flushes = told.get("flushes", 0)
        return told["answer"], told.get("seconds")

    def ask(self, text):
        self.say(text)
        return self.hear()


@pytest.fixture
def agents(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "state").mkdir()
    agents = {name: Agent(name, tmp_path) for name in FRAMEWORKS}
    try:
        for agent in agents.values():
            assert agent.hear()[0] == "ready"
        yield agents
    finally:
        for agent in agents.values():
            agent.process.stdin.close()
            if agent.process.wait(20):
                agent.process.kill()
            agent.process.stdout.close()


def fact(name, turn, kind):
    """Return a sentence with a word of its own, which is to be found by that word."""
    return f"the {kind} of {name.replace('_', '')}{kind}{turn} is settled"


def word_of(sentence):
    return sentence.split()[3]


def both_at_once(agents, **texts):
    """Say something to each before either has answered."""
    for name, text in texts.items():
        agents[name].say(text)
    return {name: agents[name].hear() for name in texts}


def found_by(agents, **sentences):
    """Check that each one's next question finds a sentence, in time; return the snippets."""
    asked = {
        name: f"Find: what is known of {word_of(sentence)}?" for name, sentence in sentences.items()
    }
    found = {}
    for name, (answer, seconds) in both_at_once(agents, **asked).items():
        found[name] = [hit["snippet"] for hit in json.loads(answer)["results"]]
        assert any(f"- {sentences[name]}" in snippet for snippet in found[name]), (name, answer)
        assert seconds < MAX_S
    return found


@pytest.mark.timing
@pytest.mark.slow
def test_each_finds_what_the_other_wrote_and_nothing_is_lost_or_doubled(agents, tmp_path):
    said = []
    for turn in range(ROUNDS):
        noted = {name: fact(name, turn, "tool") for name in FRAMEWORKS}
        same = f"the news of everybody{turn} is settled"
        talked = {name: fact(name, turn, "talk") for name in FRAMEWORKS}
        both_at_once(agents, **{name: f"Remember: {noted[name]}" for name in FRAMEWORKS})
        found_by(agents, **{name: noted[OTHER[name]] for name in FRAMEWORKS})
        both_at_once(agents, **dict.fromkeys(FRAMEWORKS, f"Remember: {same}"))
        both_at_once(agents, **{name: f"By the way: {talked[name]}" for name in FRAMEWORKS})
        said += [*noted.values(), same, *talked.values()]
    assert all(agent.flushes >= 2 for agent in agents.values()), "the silent turn was never asked"
    # What the other was only told, and its silent turn wrote down.
    found_by(agents, **{name: fact(OTHER[name], 0, "talk") for name in FRAMEWORKS})
    both_at_once(agents, **dict.fromkeys(FRAMEWORKS, "Goodbye"))
    log = (tmp_path / "notes" / "memory" / "2026-11-20.md").read_text("utf-8")
    assert sorted(re.findall(r"^- (.*)$", log, re.MULTILINE)) == sorted(said)
    for sentence in said:
        one, other = found_by(agents, **dict.fromkeys(FRAMEWORKS, sentence)).values()
        assert one == other
        assert sum(snippet.count(f"- {sentence}") for snippet in one) == 1
