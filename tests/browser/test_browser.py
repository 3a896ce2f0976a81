"""Pages and widgets in a real browser: notebooks as pages, and JupyterLab with a kernel.

They run where Playwright and a Chromium are: ``pip install -e '.[test,browser]'``, and a browser of
the system. With ``COMMONPLACE_SCREENSHOTS=FOLDER``, screenshots are kept to be looked at.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import nbformat
import pytest

for needed in ("playwright.sync_api", "jupyterlab", "nbconvert", "ipywidgets", "vl_convert"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

from playwright.sync_api import expect, sync_playwright  # noqa: E402

from commonplace import explorer  # noqa: E402
from commonplace.demo import write_demo_workspace  # noqa: E402
from commonplace.evaluation import open_at  # noqa: E402
from support import notebooks  # noqa: E402

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PROGRAM = os.environ.get("COMMONPLACE_BROWSER") or next(
    filter(None, map(shutil.which, BROWSERS)), ""
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.processes,
    pytest.mark.timeout(200),
    pytest.mark.skipif(not PROGRAM, reason="there is no Chromium"),
]

CELLS = (
    """
from datetime import date
from pathlib import Path
from commonplace import explorer
from commonplace.demo import write_demo_workspace
from commonplace.evaluation import open_at
notes = write_demo_workspace(Path("notes"), today=date(2026, 11, 20))
memory = open_at(notes, now=date(2026, 11, 20), embedder="bundled", index=Path("index.sqlite"))
report = memory.index()
""",
    "explorer.search_box(memory, 'How much does a club pay for the hosted plan now?')",
    "explorer.chunk_map(memory, query='What do we order for lunch?')",
)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"])
        yield browser
        browser.close()


def keep(page, name):
    """Keep a screenshot where they are asked for."""
    if folder := os.environ.get("COMMONPLACE_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


# ---------------------------------------------------------------- notebooks as pages


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", notebooks.paths(), ids=lambda path: path.stem)
def test_a_page_of_a_notebook_shows_all_of_its_pictures_and_lines(browser, tmp_path, path, theme):
    from nbconvert import HTMLExporter

    html, _ = HTMLExporter(theme=theme).from_notebook_node(notebooks.read(path))
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    page.route(re.compile("^https?:"), lambda route: route.abort())
    page.goto((tmp_path / "page.html").as_uri())
    keep(page, f"{path.stem}-{theme}")
    assert page.evaluate("[...document.images].every(image => image.naturalWidth > 0)")
    cut = """[...document.querySelectorAll('.commonplace *')].filter(each =>
        each.scrollHeight > each.clientHeight + 2 && each.clientHeight > 0
        && getComputedStyle(each).overflowY != 'visible').map(each => each.className)"""
    assert page.evaluate(cut) == []
    wide = """[...document.querySelectorAll('.commonplace')].filter(each =>
        each.getBoundingClientRect().right > document.documentElement.clientWidth).length"""
    assert page.evaluate(wide) == 0
    page.close()


# ---------------------------------------------------------------- JupyterLab with a kernel


@pytest.fixture(scope="module")
def lab(browser, tmp_path_factory):
    """A page of JupyterLab with the cells run."""
    folder = tmp_path_factory.mktemp("lab")
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in CELLS],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, folder / "page.ipynb")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    token = secrets.token_hex(8)
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
                *(f"--port={port}", f"--IdentityProvider.token={token}", "--LabApp.news_url="),
                *("--ServerApp.ip=127.0.0.1", f"--ServerApp.root_dir={folder}"),
                "--expose-app-in-browser",
            ],
            env=os.environ
            | {"COMMONPLACE_STATE_DIR": str(folder / "state"), "COMMONPLACE_CONFIG": ""},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        base = f"http://127.0.0.1:{port}"
        wait_for(f"{base}/api?token={token}")
        page = browser.new_page(viewport={"width": 1200, "height": 1500})
        page.set_default_timeout(60_000)
        page.goto(f"{base}/lab/tree/page.ipynb?token={token}&reset", wait_until="domcontentloaded")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        is_idle = "document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status"
        page.wait_for_function(f"window.jupyterapp && {is_idle} == 'idle'")
        # The command's promise is not waited for: it ends with the last cell.
        run = "() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }"
        page.wait_for_timeout(1_000)
        page.evaluate(run)
        answer, kernel = ".widget-vbox .cp-best", ".jp-Dialog .jp-mod-accept"
        page.wait_for_selector(f"{answer}, {kernel}", state="attached")
        if page.locator(kernel).count():  # a slow machine is asked for the kernel once more
            page.locator(kernel).click()
            page.wait_for_selector(answer, state="attached")
        yield page
        page.close()
    finally:
        server.terminate()
        server.wait(30)


def wait_for(address):
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.3)


def test_the_search_box_answers_what_is_typed_and_slid(lab):
    box = lab.locator(".jp-OutputArea-output .widget-vbox").first
    expect(box.locator(".cp-best").first).to_contain_text("45 euros a month")
    keep(lab, "search-box")
    field = box.locator("input[type=text]").first
    field.click()
    field.press("ControlOrMeta+a")
    field.press_sequentially("Which port does staging use?", delay=5)
    expect(box.locator(".cp-best").first).to_contain_text("8443", timeout=30_000)
    hits = box.locator(".cp-hits > li")
    before = hits.count()
    handle = box.locator(".widget-slider", has_text="characters").locator(".noUi-handle")
    handle.focus()
    handle.press("Home")
    expect(hits).not_to_have_count(before, timeout=30_000)
    other = box.locator("select").last
    other.select_option(index=3)
    # The option's spaces do not break.
    citation = other.locator("option").nth(3).text_content().split("\xa0·\xa0")[1]
    expect(box.locator("table").last).to_contain_text(citation)
    keep(lab, "search-box-typed-and-slid")


def test_the_map_shows_a_line_that_is_hovered_and_keeps_one_that_is_clicked(browser, tmp_path):
    with commonplace_map(tmp_path) as (picture, memory):
        picture.save(tmp_path / "map.html")
        page = browser.new_page(viewport={"width": 800, "height": 760})
        page.route(re.compile("^https?:"), lambda route: route.abort())
        page.goto((tmp_path / "map.html").as_uri())
        chart = page.locator("svg.marks, canvas.marks")
        chart.wait_for()
        box = chart.bounding_box()
        before = chart.screenshot()
        tooltip = page.locator("#vg-tooltip-element.visible")
        for step in range(3_000):
            x, y = box["x"] + 150 + 7 * (step % 60), box["y"] + 120 + 7 * (step // 60)
            page.mouse.move(x, y)
            if tooltip.count():
                break
        keep(page, "map-hovered")
        rows = [row.locator("td").all_inner_texts() for row in tooltip.locator("tr").all()]
        told = {name.rstrip(":"): value for name, value in rows}
        path, _, line = told["citation"].partition("#L")
        assert told["line"][:40] in memory.get(path, from_line=int(line), lines=3).text
        page.mouse.click(x, y)
        page.mouse.move(5, 5)
        page.wait_for_timeout(500)
        keep(page, "map-clicked")
        assert chart.screenshot() != before
        page.close()


def test_jupyterlab_draws_the_map_by_itself(lab):
    lab.evaluate("document.querySelectorAll('.jp-Cell')[2].scrollIntoView()")
    lab.wait_for_selector(".vega-embed canvas, .vega-embed svg", state="attached")
    keep(lab, "map-in-lab")


@contextmanager
def commonplace_map(folder):
    notes = write_demo_workspace(folder / "notes", today=date(2026, 11, 20))
    with open_at(
        notes, now=date(2026, 11, 20), embedder="bundled", index=folder / "i.sqlite"
    ) as memory:
        memory.index()
        yield explorer.chunk_map(memory, query="What do we order for lunch?"), memory
