"""A reader who copies the blocks of a page, in order, into an empty folder gets what it shows."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from support.pages import Block, blocks, run, without_days

ROOT = Path(__file__).parents[1]
PAGES = sorted(path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md"))
# workflows looks through an agent's members with inspect, pydantic's deprecated ones included.
WARNINGS = ("-W", "error", "-W", "ignore::DeprecationWarning:inspect")
IMPORTS = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)


def page_blocks(page: Path) -> list[Block]:
    return blocks((ROOT / "docs" / page).read_text("utf-8"))


def runnable(page: Path) -> bool:
    return any(block.language in ("python", "sh") for block in page_blocks(page))


def install(project: str, folder: Path) -> None:
    """Install a project as an editable install would: its metadata lies on the path."""
    described = tomllib.loads(project)["project"]
    metadata = folder / f"{described['name'].replace('-', '_')}-{described['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {described['name']}\nVersion: {described['version']}\n"
    )
    lines = []
    for group, points in described["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("page", [*filter(runnable, PAGES)], ids=str)
def test_what_a_page_shows_is_what_happens(page, tmp_path):
    path = {"PYTHONPATH": os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))}
    rest = page_blocks(page)
    while rest:
        block = rest.pop(0)
        if block.file:
            (tmp_path / block.file).write_text(block.text, "utf-8")
            if block.file == "pyproject.toml":
                install(block.text, tmp_path)
            continue
        if block.language == "python":
            for module in sorted({*IMPORTS.findall(block.text)}):
                pytest.importorskip(module, reason=f"{module} is not installed")
            printed = run([sys.executable, *WARNINGS, "-c", block.text], tmp_path, **path)
        elif block.language == "sh":
            printed = run(["bash", "-euo", "pipefail", "-c", block.text], tmp_path, **path)
        else:
            continue
        if rest and rest[0].language == "text":
            assert without_days(printed) == without_days(rest.pop(0).text)
        elif block.language == "python":
            assert not printed, "the page does not show what this prints"


def test_every_page_is_found_from_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert [page for page in PAGES if page.as_posix() not in navigation] == []
