from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("langchain", reason="LangChain is not installed")

import langchain_commonplace

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
