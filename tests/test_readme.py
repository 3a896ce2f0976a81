"""What the README shows is what happens."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from support import made_parts, pages
from support.loopback_openai import LoopbackOpenAI
from support.pages import Example, run, without_days

README = Path(__file__).parent.parent / "README.md"


def blocks() -> list[pages.Block]:
    return pages.blocks(README.read_text("utf-8"))


def examples() -> list[Example]:
    return pages.examples(README.read_text("utf-8"))


def the_short_one(framework: str) -> Example:
    [example] = [e for e in examples() if e.framework == framework]
    return example


@pytest.fixture
def folder(tmp_path):
    return tmp_path


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize("framework", [None, "langchain", "llama_index.core"])
def test_python_blocks_print_what_stands_below_them(folder, framework):
    if framework:
        pytest.importorskip(framework, reason=f"{framework} is not installed")
    shown = [example for example in examples() if example.framework in (None, framework)]
    assert framework in {example.framework for example in shown}
    for example in shown:
        printed = run([sys.executable, "-W", "error", "-c", example.code], folder)
        assert without_days(printed) == without_days(example.output)


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.processes
def test_the_same_query_engine_runs_with_a_real_model(folder):
    pytest.importorskip("llama_index.llms.openai", reason="the package is not installed")
    printed = with_a_real_model("llama_index.core", folder, url="OPENAI_API_BASE")
    assert printed == "['memory/2026-11-20.md#L1']\nPort 51820, it seems.\n"


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.processes
def test_the_same_chain_runs_with_a_real_model(folder):
    pytest.importorskip("langchain_openai", reason="langchain-openai is not installed")
    printed = with_a_real_model("langchain", folder, url="OPENAI_BASE_URL")
    assert printed == "Port 51820, it seems.\n"


def with_a_real_model(framework, folder, *, url):
    """Run a short example with its line of a real model; return what it prints."""
    code = the_short_one(framework).code
    real = re.sub(r"^# (from .*; (?:llm|model) = .*)$", r"\1", code, flags=re.MULTILINE)
    assert real != code
    log = folder / "notes" / "memory" / "2026-11-20.md"
    log.parent.mkdir(parents=True)
    log.write_text("- Decided: the VPN listens on port 51820.\n", encoding="utf-8")
    with LoopbackOpenAI(lambda body: "Port 51820, it seems.") as server:
        key = {"OPENAI_API_KEY": "x", url: server.base_url}
        printed = run([sys.executable, "-c", real], folder, **key)
    [chat] = server.chats()
    assert "the VPN listens on port 51820" in chat["messages"][-1]["content"]
    return printed


@pytest.mark.parametrize("framework", ["langchain", "llama_index.core"])
def test_the_short_examples_have_ten_lines(framework):
    code = the_short_one(framework).code
    lines = [line for line in code.splitlines() if line and not line.startswith("#")]
    assert len(lines) == 10


def test_the_picture_shows_what_a_search_shows():
    shown = made_parts.PICTURE.read_text("utf-8")
    assert shown == made_parts.picture(), "run: python tests/support/made_parts.py"
    assert "http" not in shown.replace("http://www.w3.org/2000/svg", "").replace(
        "https://www.textualize.io", ""
    )


@pytest.mark.slow
@pytest.mark.processes
def test_commands_on_ones_own_notes_work_in_their_order(folder):
    commands = [
        line.split("#")[0].strip()
        for block in blocks()
        if block.language == "sh"
        for line in block.text.splitlines()
        if line.startswith("commonplace -w")
    ]
    assert [command.split()[3] for command in commands] == ["init", "append", "search", "status"]
    script = Path(sys.executable).parent / "commonplace"
    printed = [
        run(["sh", "-c", command.replace("commonplace", f'"{script}"', 1)], folder)
        for command in commands
    ]
    assert "02:00" in printed[2]
    assert "files" in printed[3]


def test_the_two_commands_stand_alone_on_a_line_each():
    lines = [line for line in README.read_text("utf-8").splitlines() if "-m venv" in line]
    assert len(lines) == 2
    assert lines[0].endswith("commonplace demo")
    assert "pytest" in lines[1]


def test_it_fits_on_a_few_screens():
    assert len(README.read_text("utf-8").splitlines()) <= 165
