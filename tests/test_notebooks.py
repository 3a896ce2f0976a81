"""Each notebook prints what is committed: it runs from top to bottom, offline, in a real kernel."""

from __future__ import annotations

import base64
import re
import struct

import pytest

for needed in ("ipykernel", "langchain", "llama_index.core", "matplotlib", "nbclient"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

from support import notebooks  # noqa: E402 - it imports what may be missing

pytestmark = pytest.mark.notebooks

PATHS = notebooks.paths()
NAMES = [path.stem for path in PATHS]


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(output):
    """Return all that a reader sees of an output; of a picture, its size.

    The pixels differ between machines, with the fonts that are there and with matplotlib's release.
    """
    if output.output_type == "stream":
        return {output.name: output.text}
    return {
        kind: picture_size(data) if kind == "image/png" else data
        for kind, data in output.data.items()
    }


def picture_size(data):
    png = base64.b64decode(data)
    assert png.startswith(b"\x89PNG")
    return struct.unpack(">II", png[16:24])


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_notebook_prints_what_is_committed(path, tmp_path):
    committed = notebooks.read(path)
    run = notebooks.executed(notebooks.read(path), tmp_path)
    again = f"If that is as it should be: python tests/support/notebooks.py notebooks/{path.name}"
    for ours, theirs in zip(code_cells(run), code_cells(committed), strict=True):
        printed = [shown(output) for output in ours.outputs]
        assert printed == [shown(output) for output in theirs.outputs], f"{ours.source}\n{again}"
    left = {file.name for file in tmp_path.iterdir()}
    assert left == {notebooks.SCRATCH}, "a notebook leaves nothing behind where it was run"


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_notebook_is_committed_as_a_fresh_run_leaves_it(path):
    committed = notebooks.read(path)
    counts = [cell.execution_count for cell in code_cells(committed)]
    assert counts == list(range(1, len(counts) + 1))
    assert notebooks.tidy(notebooks.read(path)) == committed


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_no_output_tells_of_the_machine_or_of_trouble(path):
    for cell in code_cells(notebooks.read(path)):
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.text
            told = " ".join(map(str, shown(output).values()))
            assert not re.search(r"/tmp|/home/|/Users/|[A-Z]:\\|site-packages| at 0x", told)


def test_the_index_names_each_notebook_and_no_other():
    index = (notebooks.FOLDER / "README.md").read_text("utf-8")
    assert re.findall(r"\(([^)]+\.ipynb)\)", index) == [path.name for path in PATHS]


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_links_between_notebooks_lead_somewhere(path):
    for cell in notebooks.read(path).cells:
        for link in re.findall(r"\]\(([^)#]+)\)", cell.source):
            assert link.startswith("https://") or (notebooks.FOLDER / link).is_file(), link
