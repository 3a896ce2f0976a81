"""The package's public names, and what it says without LlamaIndex."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

import llama_index_commonplace


def test_the_public_names_are_sorted_and_there():
    names = llama_index_commonplace.__all__
    assert names == sorted(names)
    assert all(hasattr(llama_index_commonplace, name) for name in names)
    assert {"CommonplaceRetriever", "CommonplaceToolSpec", "LlamaIndexEmbedder"} <= set(names)


@pytest.mark.processes
def test_without_llama_index_the_error_names_the_command():
    script = """
        import sys

        class Missing:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] == "llama_index":
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        sys.meta_path.insert(0, Missing())
        try:
            import llama_index_commonplace
        except ImportError as error:
            print(error)
    """
    told = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    assert "pip install 'commonplace[llama-index]'" in told.stdout
