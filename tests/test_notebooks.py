"""Each notebook prints what is committed: it runs from top to bottom, offline, in a real kernel."""

from __future__ import annotations

import base64
import io
import re

import pytest

for needed in (
    "ipykernel",
    "langchain",
    "llama_index.core",
    "matplotlib",
    "nbclient",
    "vl_convert",
):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

import numpy as np  # noqa: E402 - after what may be missing
from matplotlib import image  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from support import notebooks  # noqa: E402

pytestmark = pytest.mark.notebooks

PATHS = notebooks.paths()
NAMES = [path.stem for path in PATHS]
LONG = {"2-what-the-settings-do", "3-langchain-agent", "5-your-own-notes"}
"""Notebooks that .ci/full alone runs: they take long."""
SQUARE = 16
FIRST_VALUE = 10
"""Line of code before which a notebook shows something."""


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(output):
    """Return all that a reader sees of an output."""
    if output.output_type == "stream":
        return {output.name: output.text}
    return {
        kind: Seen(base64.b64decode(data)) if kind == "image/png" else data
        for kind, data in output.data.items()
    }


class Seen:
    """Picture that equals another one that looks the same.

    Pixels differ between machines, with the fonts that are there and with the libraries' releases:
    squares of 16 pixels are compared, by their mean colours.
    """

    def __init__(self, png):
        assert png.startswith(b"\x89PNG")
        pixels = image.imread(io.BytesIO(png))[..., :3]
        high, wide = (size // SQUARE * SQUARE for size in pixels.shape[:2])
        squares = pixels[:high, :wide].reshape(high // SQUARE, SQUARE, wide // SQUARE, SQUARE, 3)
        self.size, self.colours = pixels.shape, squares.mean(axis=(1, 3))

    def __eq__(self, other):
        if self.size != other.size:
            return False
        apart = np.abs(self.colours - other.colours).max(axis=2)
        return apart.mean() < 0.004 and np.quantile(apart, 0.99) < 0.12

    __hash__ = None

    def __repr__(self):
        return f"a picture of {self.size[1]} x {self.size[0]} pixels"


def drawn(**changed):
    """Return a picture, perhaps changed a little."""
    figure = Figure(figsize=(6, 4), dpi=100)
    axes = figure.subplots()
    look = {"power": 2, "color": "#0065a8", "text": "half-life: 30 days"} | changed
    axes.plot([row ** look["power"] for row in range(12)], color=look["color"], lw=3)
    axes.set_title(look["text"], fontsize=20, fontweight="bold")
    data = io.BytesIO()
    figure.savefig(data, format="png", pil_kwargs={"compress_level": look.get("level", 6)})
    return Seen(data.getvalue())


def test_a_picture_equals_one_that_looks_the_same():
    assert drawn() == drawn(level=1)


@pytest.mark.parametrize(
    "change",
    [{"power": 1}, {"color": "#d98500"}, {"text": "no half-life"}],
    ids=["data", "colours", "title"],
)
def test_a_picture_of_other_data_colours_or_words_is_another(change):
    assert drawn() != drawn(**change)


@pytest.mark.timeout(240)
@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.full] if name in LONG else [], id=name)
        for path, name in zip(PATHS, NAMES, strict=True)
    ],
)
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
def test_the_first_value_comes_before_the_tenth_line_of_code(path):
    lines = 0
    for cell in code_cells(notebooks.read(path)):
        lines += sum(1 for line in cell.source.splitlines() if line.strip())
        if cell.outputs:
            break
    assert lines < FIRST_VALUE


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
