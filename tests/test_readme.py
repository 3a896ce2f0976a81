"""What the README shows is what happens."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from support import pages, readme_parts
from support.loopback_openai import LoopbackOpenAI, calling
from support.pages import Example, run, without_days

bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
README = Path(__file__).parent.parent / "README.md"


def blocks() -> list[pages.Block]:
    return pages.blocks(README.read_text("utf-8"))


def examples() -> list[Example]:
    return pages.examples(README.read_text("utf-8"))


def the_agent() -> Example:
    [example] = [example for example in examples() if example.file == "agent.py"]
    return example


def the_short_one(framework: str) -> Example:
    [example] = [e for e in examples() if e.framework == framework and not e.file]
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
        if example.file:
            (folder / example.file).write_text(example.code, encoding="utf-8")
        printed = "".join(
            run([sys.executable, "-W", "error", *arguments], folder)
            for _, *arguments in example.commands
        )
        assert without_days(printed) == without_days(example.output)


def test_an_agent_remembers_across_two_processes():
    example = the_agent()
    told, asked = (command[-1] for command in example.commands)
    assert asked.endswith("?")
    assert told in example.output


@pytest.mark.slow
@pytest.mark.processes
def test_the_same_agent_runs_with_a_real_model(folder):
    pytest.importorskip("langchain_openai", reason="langchain-openai is not installed")
    example = the_agent()
    real = re.sub(r"^# (model = .*)$", r"\1", example.code, flags=re.MULTILINE)
    assert real != example.code
    (folder / "notes").mkdir()

    def answer(body):
        last = body["messages"][-1]
        if last["role"] == "tool":
            return f"I have {last['content']}"
        if last["content"].endswith("?"):
            return calling("memory_search", query=last["content"])
        return calling("memory_append", text=f"- {last['content']}")

    with LoopbackOpenAI(answer) as server:
        key = {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": server.base_url}
        printed = [
            run([sys.executable, "-c", real, command[-1]], folder, **key)
            for command in example.commands
        ]
    assert without_days(printed[0]) == "memory/YYYY-MM-DD.md"
    assert example.commands[0][-1] in printed[1]
    assert len(server.chats()) == 4


@pytest.mark.slow
@pytest.mark.processes
def test_the_same_query_engine_runs_with_a_real_model(folder):
    pytest.importorskip("llama_index.llms.openai", reason="the package is not installed")
    printed = with_a_real_model("llama_index.core", folder, url="OPENAI_API_BASE")
    assert printed == "['memory/2026-11-20.md#L1']\nPort 51820, it seems.\n"


@pytest.mark.slow
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


@pytest.mark.parametrize("page", [readme_parts.README, readme_parts.SETTINGS], ids=lambda p: p.name)
def test_what_is_made_of_the_code_is_up_to_date(page):
    text = page.read_text("utf-8")
    assert readme_parts.with_parts(text) == text, "run: python tests/support/readme_parts.py"


def test_the_picture_shows_what_a_search_shows():
    shown = readme_parts.PICTURE.read_text("utf-8")
    assert shown == readme_parts.picture(), "run: python tests/support/readme_parts.py"
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


def shell_block(holding):
    [block] = [b for b in blocks() if b.language == "sh" and holding in b.text]
    return block.text


def run_shell(text, folder):
    """Run a block as it is typed, in a folder beside which the checkout's tests stand."""
    (folder / "tests").symlink_to(Path(__file__).parent, target_is_directory=True)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return run(["bash", "-euc", text], folder, PATH=path)


@pytest.mark.processes
@bash
def test_a_vault_is_searched_as_it_lies(folder):
    (folder / "vault" / "house").mkdir(parents=True)
    note = "# Plants\n\n- Ben waters the plants on Mondays.\n"
    (folder / "vault" / "house" / "plants.md").write_text(note, encoding="utf-8")
    printed = run_shell(shell_block("vault.toml"), folder)
    assert "house/plants.md" in printed
    assert "Ben waters" in printed


@pytest.mark.slow
@pytest.mark.processes
@bash
def test_the_table_of_recall_is_printed_for_locomos_own_file(folder):
    turns = [{"speaker": "Ann", "dia_id": "D1:1", "text": "I sold the boat."}]
    talk = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    asked = [{"question": "What was sold?", "evidence": ["D1:1"], "category": 1}]
    samples = [
        {"sample_id": f"conv-{number}", "conversation": talk, "qa": asked}
        for number in (26, 30, 41, 42, 43)
    ]
    (folder / "locomo10.json").write_text(json.dumps(samples))
    printed = run_shell(shell_block("benchmarks/locomo.py"), folder)
    rows = re.findall(r"^\| ([^|]*[a-z][^|]*) \|", printed, re.MULTILINE)
    table = README.read_text("utf-8").split("| ranking | in the default answer |")[1]
    told = re.findall(r"^\| ([^|]*[a-z][^|]*) \|", table.split("```")[0], re.MULTILINE)
    assert len(told) > 5
    assert [row for row in rows if row != "ranking"] == told


@pytest.mark.slow
@pytest.mark.processes
@bash
def test_the_benchmark_of_the_core_runs(folder):
    text = shell_block("benchmarks/core.py").replace("10000 100000", "1000 --only chunks")
    printed = run_shell(text, folder)
    assert "warm search p50, 1,000 chunks" in printed
    assert "first index, 1,000 chunks" in printed


def test_the_two_commands_stand_alone_on_a_line_each():
    lines = [line for line in README.read_text("utf-8").splitlines() if "-m venv" in line]
    assert len(lines) == 2
    assert lines[0].endswith("commonplace demo")
    assert "pytest" in lines[1]
