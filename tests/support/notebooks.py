"""Runs the notebooks: run this file to make their outputs anew, all of them or those it is given.

    python tests/support/notebooks.py
    python tests/support/notebooks.py notebooks/1-first-steps.ipynb

Edit a notebook in Jupyter as any other, then run this: it runs each from top to bottom in a fresh
kernel and an empty folder, and keeps of the result only what is the same at each run.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import nbformat
from matplotlib import font_manager  # noqa: F401 - else the first kernel tells that it looks for fonts
from nbclient import NotebookClient
from nbformat import NotebookNode

FOLDER = Path(__file__).parents[2] / "notebooks"
SCRATCH = ".scratch"
"""Where a kernel has what is temporary, in the folder that it runs in."""

_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_DEADLINE_S = 300
"""For the kernel to start, and for each cell; a whole notebook takes some seconds."""


def paths() -> list[Path]:
    """Return the notebooks, in their order."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> NotebookNode:
    """Read a notebook as it is committed."""
    return nbformat.read(path, as_version=4)


def write(path: Path, notebook: NotebookNode) -> None:
    """Write a notebook as it is committed; the ends of lines are the same on every machine."""
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8", newline="\n")


def executed(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """Return a notebook as it is after a run in a folder, which should be empty.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell raised; the message shows which, and how.
    """
    client = NotebookClient(
        nbformat.from_dict(notebook),
        timeout=_DEADLINE_S,
        startup_timeout=_DEADLINE_S,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR", "--colors=NoColor"],  # it warns of its own port
        resources={"metadata": {"path": str(folder)}},
        shutdown_kernel="immediate",
    )
    return tidy(client.execute(env=_environment(folder)))


def tidy(notebook: NotebookNode) -> NotebookNode:
    """Keep of a notebook what is the same at each run and on each machine."""
    notebook.metadata = nbformat.from_dict(_METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{number}"
        cell.metadata = nbformat.from_dict({})
        if cell.cell_type == "code":
            cell.outputs = [_still(output) for output in _joined(cell.outputs)]
    nbformat.validate(notebook)
    return notebook


def _still(output: NotebookNode) -> NotebookNode:
    """Drop the live form of an output: without a kernel, a page shows its picture or its text."""
    if "data" in output:
        live = [kind for kind in output.data if kind.startswith("application/vnd.")]
        for kind in live:
            del output.data[kind]
    return output


def _joined(outputs: Sequence[NotebookNode]) -> Iterator[NotebookNode]:
    """Join what was printed: a kernel sends it in pieces, by the clock."""
    for stream, group in groupby(outputs, key=lambda output: output.get("name")):
        pieces = list(group)
        if stream is not None:
            pieces[0].text = "".join(piece.text for piece in pieces)
            del pieces[1:]
        yield from pieces


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment of a kernel without the keys and the folders of its user."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    scratch = folder / SCRATCH
    scratch.mkdir()
    its_own = ("TMPDIR", "TEMP", "TMP", "COMMONPLACE_STATE_DIR", "IPYTHONDIR")
    # Beside the notebooks is what they import; a kernel of Jupyter runs there.
    path = os.pathsep.join(filter(None, (str(FOLDER), os.environ.get("PYTHONPATH"))))
    alone = {"COMMONPLACE_CONFIG": "", "LANGSMITH_TRACING": "false", "PYTHONPATH": path}
    return kept | dict.fromkeys(its_own, str(scratch)) | alone


def main(named: Sequence[str]) -> None:
    """Run notebooks and write what they printed."""
    for path in map(Path, named) if named else paths():
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            write(path, executed(read(path), Path(folder)))
        print(path.name)


if __name__ == "__main__":
    main(sys.argv[1:])
