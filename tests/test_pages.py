"""A reader who copies the blocks of a page, in order, into an empty folder gets what it shows."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

import commonplace
from commonplace.cli.app import app
from support import made_parts, postgres
from support.loopback_openai import LoopbackOpenAI, calling
from support.pages import Block, blocks, run, without_days

bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
ROOT = Path(__file__).parents[1]
PAGES = sorted(path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md"))
# workflows looks through an agent's members with inspect, pydantic's deprecated ones included.
WARNINGS = ("-W", "error", "-W", "ignore::DeprecationWarning:inspect")
BENCHMARKS = Path("benchmarks.md")
POSTGRES = Path("how-to/postgres.md")
IMPORTS = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)

IMPORTED_NAMES = re.compile(r"^\s*from \w*commonplace[\w.]* import ([\w ,]+)", re.MULTILINE)


def page_blocks(page: Path) -> list[Block]:
    return blocks((ROOT / "docs" / page).read_text("utf-8"))


def runnable(page: Path) -> bool:
    # Those of the benchmarks take minutes: tests below run them with less.
    return page != BENCHMARKS and any(
        block.language in ("python", "sh") for block in page_blocks(page)
    )


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


def variables_of(page: Path, folder: Path) -> dict[str, str]:
    """The environment of a page's blocks."""
    path = {"PYTHONPATH": os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", "")))}
    if page == POSTGRES:
        pytest.importorskip("psycopg")
        path["PGSERVICEFILE"] = str(postgres.service_file(folder))
    return path


@pytest.mark.slow
@pytest.mark.processes
@bash
@pytest.mark.parametrize("page", [*filter(runnable, PAGES)], ids=str)
def test_what_a_page_shows_is_what_happens(page, tmp_path):
    path = variables_of(page, tmp_path)
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


@pytest.mark.slow
@pytest.mark.processes
def test_the_site_is_built_without_a_warning_and_has_every_public_name(tmp_path):
    pytest.importorskip("mkdocstrings", reason="the extra docs is not installed")
    pytest.importorskip("langchain", reason="langchain is not installed")
    pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
    import langchain_commonplace
    import llama_index_commonplace

    site = tmp_path / "site"
    run([sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-d", str(site)], ROOT)
    pages = "".join(page.read_text("utf-8") for page in (site / "reference").rglob("*.html"))
    shown = set(re.findall(r'id="[\w.]*?(\w+(?:\.\w+)?)"', pages))
    public = {name for name in commonplace.__all__ if name != "__version__"}
    public |= {*langchain_commonplace.__all__, *llama_index_commonplace.__all__}
    assert public - {name.rpartition(".")[2] for name in shown} == set()
    verbs = {f"Memory.{name}" for name in dir(commonplace.Memory) if name[0] != "_"}
    assert verbs - shown == set()
    imported = set()
    for page in TEXTS:
        code = "\n".join(block.text for block in blocks(page.read_text("utf-8")))
        for names in IMPORTED_NAMES.findall(code):
            imported |= {name.split(" as ")[0].strip() for name in names.split(",")}
    assert "migrate" in imported
    assert imported - {name.rpartition(".")[2] for name in shown} == set()


def test_every_page_is_found_from_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert [page for page in PAGES if page.as_posix() not in navigation] == []


def test_the_table_of_the_settings_is_up_to_date():
    text = made_parts.SETTINGS.read_text("utf-8")
    assert made_parts.with_settings(text) == text, "run: python tests/support/made_parts.py"


def test_the_page_of_the_commands_is_up_to_date():
    text = made_parts.COMMANDS.read_text("utf-8")
    assert made_parts.with_commands(text) == text, "run: python tests/support/made_parts.py"


def test_every_variable_of_the_environment_is_told():
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    read = {*re.findall(r"\bCOMMONPLACE_[A-Z_]+", sources)} - {"COMMONPLACE_COMPLETE"}
    assert read == {*re.findall(r"^\| `(COMMONPLACE_\w+)`", made_parts.COMMANDS.read_text(), re.M)}


@pytest.mark.slow
@pytest.mark.processes
def test_the_agent_of_the_tutorial_runs_with_a_real_model(tmp_path):
    pytest.importorskip("langchain_openai", reason="langchain-openai is not installed")
    [agent] = [block for block in page_blocks(Path("tutorials/agent.md")) if block.file]
    real = re.sub(r"^# (model = .*)$", r"\1", agent.text, flags=re.MULTILINE)
    assert real != agent.text
    told, asked = "Ada moves to Lyon in May.", "Where does Ada move?"

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
            run([sys.executable, "-c", real, said], tmp_path, **key) for said in (told, asked)
        ]
    assert without_days(printed[0]) == "memory/YYYY-MM-DD.md"
    assert told in printed[1]
    assert len(server.chats()) == 4


def run_benchmark(holding: str, folder: Path, less: tuple[str, str] = ("", "")) -> str:
    """Run a block of the benchmarks' page, in a folder beside which the tests stand."""
    [block] = [b for b in page_blocks(BENCHMARKS) if b.language == "sh" and holding in b.text]
    (folder / "tests").symlink_to(ROOT / "tests", target_is_directory=True)
    return run(["bash", "-euc", block.text.replace(*less)], folder)


@pytest.mark.slow
@pytest.mark.processes
@bash
def test_the_table_of_recall_is_printed_for_locomos_own_file(tmp_path):
    turns = [{"speaker": "Ann", "dia_id": "D1:1", "text": "I sold the boat."}]
    talk = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    asked = [{"question": "What was sold?", "evidence": ["D1:1"], "category": 1}]
    samples = [
        {"sample_id": f"conv-{number}", "conversation": talk, "qa": asked}
        for number in (26, 30, 41, 42, 43)
    ]
    (tmp_path / "locomo10.json").write_text(json.dumps(samples))
    printed = run_benchmark("benchmarks/locomo.py", tmp_path)
    rows = re.findall(r"^\| ([^|]*[a-z][^|]*) \|", printed, re.MULTILINE)
    page = (ROOT / "docs" / BENCHMARKS).read_text("utf-8")
    table = page.split("| ranking | in the default answer |")[1]
    told = re.findall(r"^\| ([^|]*[a-z][^|]*) \|", table.split("```")[0], re.MULTILINE)
    assert len(told) > 5
    assert [row for row in rows if row != "ranking"] == told


@pytest.mark.slow
@pytest.mark.processes
@bash
def test_the_benchmark_of_the_core_runs(tmp_path):
    printed = run_benchmark("benchmarks/core.py", tmp_path, ("10000 100000", "1000 --only chunks"))
    assert "warm search p50, 1,000 chunks" in printed
    assert "first index, 1,000 chunks" in printed


TEXTS = [
    *(ROOT / "docs" / page for page in PAGES),
    ROOT / "README.md",
    ROOT / ".github/CONTRIBUTING.md",
]


def prose(path: Path) -> str:
    """Return a page without its blocks."""
    return re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        linked = path.parent / name if name else path
        assert linked.exists(), link
        assert not anchor or anchor in anchors(linked), link


SETTINGS = {name for name, _, _ in made_parts.settings()}
GROUPS = {name.partition(".")[0] for name in SETTINGS if "." in name}
CLASSES = {name: getattr(commonplace, name) for name in commonplace.__all__ if name[0].isupper()}
CLASSES |= {"memory": commonplace.Memory, "pool": commonplace.MemoryPool}


def is_gone(name: str) -> bool:
    """Say whether a command, file, verb or setting that a page names is not there."""
    if command := re.match(r"commonplace ([a-z][a-z-]*)(?![\w/.])", name):
        return command[1] not in app.commands
    if re.match(r"python tests/|tests/\w|src/\w|integrations/\w", name):
        return not (ROOT / name.removeprefix("python ").split()[0]).exists()
    dotted = re.match(r"(\w+)\.([a-z_]\w*)", name)
    if not dotted or name.endswith((".py", ".toml", ".sqlite", "-wal", ".count")):
        return False
    owner, member = dotted.groups()
    if owner in CLASSES:
        fields = {*inspect.signature(CLASSES[owner]).parameters}
        return not hasattr(CLASSES[owner], member) and member not in fields
    return owner in GROUPS and dotted[0] not in SETTINGS


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_what_a_page_names_is_there(path):
    named = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", prose(path))
    assert [name for name in named if is_gone(name)] == []


@pytest.mark.parametrize(
    "name",
    [
        "commonplace sing",
        "search.speed",
        "memory.recall(1)",
        "SearchResults.total",
        "python tests/benchmarks/none.py --quick",
    ],
)
def test_a_name_that_is_gone_is_noticed(name):
    assert is_gone(name)


FIGURE = re.compile(r"\d ?(?:ms|%)(?!\w)|\d times as|\b0\.\d{3}\b|\d a second")


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_a_figure_stands_in_the_section_of_what_measures_it(path):
    sections = re.split(r"^(?=#+ )", path.read_text("utf-8"), flags=re.MULTILINE)
    figures = [FIGURE.search(section) for section in sections if "tests/" not in section]
    assert [found[0] for found in figures if found] == []
