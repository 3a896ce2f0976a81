"""A type checker helps the user of the adapters: wrong arguments are its errors, right ones not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("langchain", reason="LangChain is not installed")
pytest.importorskip("mypy", reason="mypy is not installed")

from support.python_path import environment

RIGHT = """
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel

from commonplace import FlushReport, Memory
from langchain_commonplace import (
    ChatMemory,
    CommonplaceRetriever,
    MemoryContextMiddleware,
    MemoryFlushMiddleware,
    memory_tools,
)


async def on_flush(report: FlushReport) -> None:
    print(report)


async def main(model: BaseChatModel, memory: Memory) -> None:
    CommonplaceRetriever(memory=memory, k=3, paths=["memory/"])
    MemoryFlushMiddleware(memory=memory, model=model, trigger=[("tokens", 9), {"messages": 5}])
    other = await Memory.aopen("notes", embedder=None)
    chat = ChatMemory(
        model,
        memory=memory,
        trigger=("fraction", 0.8),
        keep=("messages", 20),
        flush="background",
        on_flush=on_flush,
        trim_tokens_to_summarize=None,
    )
    create_agent(
        model,
        tools=memory_tools(memory),
        middleware=[
            MemoryContextMiddleware(memory=memory),
            MemoryContextMiddleware(memory=other, name="team"),
            chat,
        ],
    )
    report = chat.end_session(7)
    print(report.notes)
"""
WRONG = {
    "trigger": 'ChatMemory(model, memory=memory, trigger=("words", 3))',
    "trigger_of_a_text": 'ChatMemory(model, memory=memory, trigger="tokens")',
    "keep": 'ChatMemory(model, memory=memory, keep=("messages", "20"))',
    "flush": 'ChatMemory(model, memory=memory, flush="later")',
    "option": "ChatMemory(model, memory=memory, trim_tokens=4)",
    "memory": 'ChatMemory(model, memory="notes")',
    "flush_trigger": 'MemoryFlushMiddleware(model=model, memory=memory, trigger=("words", 3))',
    "recall": 'MemoryContextMiddleware(memory=memory, recall="3")',
}


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.processes
@pytest.mark.timeout(300)
def test_strict_mypy_takes_what_is_right_and_refuses_what_is_wrong(tmp_path):
    lines = [f"    {call}  # {name}" for name, call in WRONG.items()]
    head, _, _ = RIGHT.partition("async def on_flush")
    wrong = f"{head}def main(model: BaseChatModel, memory: Memory) -> None:\n" + "\n".join(lines)
    (tmp_path / "right.py").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(wrong + "\n", encoding="utf-8")
    paths = [path for path in environment()["PYTHONPATH"].split(":") if Path(path).is_dir()]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "right.py", "wrong.py"],
        cwd=tmp_path,
        env=environment() | {"MYPYPATH": ":".join(paths)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    errors = [line for line in run.stdout.splitlines() if ": error:" in line]
    assert [line for line in errors if not line.startswith("wrong.py")] == [], run.stdout
    source = wrong.splitlines()
    found = {source[int(line.split(":")[1]) - 1].split("# ")[-1] for line in errors}
    assert found == set(WRONG), run.stdout
