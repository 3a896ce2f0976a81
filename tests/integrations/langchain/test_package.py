from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("langchain", reason="LangChain is not installed")

import langchain_commonplace
from langchain_commonplace import (
    ChatMemory,
    CommonplaceRetriever,
    MemoryContextMiddleware,
    MemoryFlushMiddleware,
    memory_tools,
)
from support.langchain_fakes import ScriptedChatModel

FOLDER = Path(langchain_commonplace.__file__).parent


def test_the_public_names_are_sorted_and_there():
    names = langchain_commonplace.__all__
    assert names == sorted(names)
    assert all(hasattr(langchain_commonplace, name) for name in names)
    assert {
        "ChatMemory",
        "CommonplaceRetriever",
        "MemoryContextMiddleware",
        "MemoryFlushMiddleware",
    } <= set(names)


def test_it_is_typed():
    assert (FOLDER / "py.typed").exists()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_it_uses_nothing_private_of_the_core(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("commonplace"):
            names = [*node.module.split("."), *(alias.name for alias in node.names)]
            assert not any(name.startswith("_") for name in names)


@pytest.mark.processes
def test_importing_the_core_loads_no_langchain():
    code = "import sys, commonplace; print([m for m in sys.modules if m.startswith('lang')])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert shown.stdout.strip() == b"[]"


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize("missing", ["langchain", "langchain_core", "langgraph"])
def test_without_langchain_the_error_names_the_command(missing):
    script = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
try:
    import langchain_commonplace
except ImportError as error:
    print(type(error).__name__, error)
"""
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert shown.stdout.startswith(b"MissingExtraError langchain_commonplace needs langchain")
    assert b"pip install 'commonplace[langchain]'" in shown.stdout


WRONG = {
    "memory of ChatMemory": lambda memory, model: ChatMemory(model, memory=7),
    "memory of the flush": lambda memory, model: MemoryFlushMiddleware(model=model, memory=None),
    "memory of the context": lambda memory, model: MemoryContextMiddleware(memory=7),
    "memory of the tools": lambda memory, model: memory_tools(Path("notes")),
    "memory of the retriever": lambda memory, model: CommonplaceRetriever(memory=[]),
    "model of ChatMemory": lambda memory, model: ChatMemory(7, memory=memory),
    "model of the flush": lambda memory, model: MemoryFlushMiddleware(model=None, memory=memory),
    "flush model": lambda memory, model: ChatMemory(model, memory=memory, flush_model=7),
    "trigger": lambda memory, model: ChatMemory(model, memory=memory, trigger="tokens"),
    "trigger of the flush": lambda memory, model: MemoryFlushMiddleware(
        model=model, memory=memory, trigger=5
    ),
    "recall": lambda memory, model: MemoryContextMiddleware(memory=memory, recall="3"),
    "name": lambda memory, model: memory_tools(memory, name="my team"),
}


@pytest.mark.parametrize("make", WRONG.values(), ids=WRONG)
def test_a_wrong_argument_at_construction_is_one_line_that_says_what_is_expected(memory, make):
    with pytest.raises((TypeError, ValueError), match=r"must be|takes|none of") as caught:
        make(memory, ScriptedChatModel(script=["ok"]))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250
