"""A reader who copies the blocks of a page, in order, into an empty folder gets what it shows."""

from __future__ import annotations

import ast
import builtins
import configparser
import contextlib
import functools
import importlib
import inspect
import itertools
import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import commonplace
from commonplace import Settings
from commonplace.cli.app import app
from support import made_parts, postgres
from support.loopback_openai import LoopbackOpenAI, calling
from support.pages import PAGES, TEXTS, Block, blocks, run, without_blocks, without_days

bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
ROOT = Path(__file__).parents[1]
# workflows looks through an agent's members with inspect, pydantic's deprecated ones included.
WARNINGS = ("-W", "error", "-W", "ignore::DeprecationWarning:inspect")
BENCHMARKS = Path("benchmarks.md")
POSTGRES = Path("how-to/postgres.md")
LONG = {
    Path(f"{name}.md")
    for name in (
        "how-to/adapter",
        "how-to/claude-memory-tool",
        "how-to/correct",
        "how-to/explorer",
        "how-to/flush",
        "how-to/fresh",
        "how-to/langgraph-store",
        "how-to/llama-index-agent",
        "how-to/llama-index-agents",
        "how-to/llama-index-blocks",
        "how-to/llama-index-retrieval",
        "how-to/metadata",
        "how-to/users",
        "how-to/verify",
        "tutorials/agent",
    )
}
"""Pages whose blocks .ci/full alone runs: they take long."""
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
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.full] if page in LONG else [], id=str(page))
        for page in filter(runnable, PAGES)
    ],
)
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
            own = {file.stem for file in tmp_path.glob("*.py")}
            for module in sorted({*IMPORTS.findall(block.text)} - own):
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
    # Not with -q: warnings that it leaves out are none that --strict counts.
    run([sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(site)], ROOT)
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
@pytest.mark.full
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
@pytest.mark.full
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
@pytest.mark.full
@pytest.mark.processes
@bash
def test_the_benchmark_of_the_core_runs(tmp_path):
    printed = run_benchmark("benchmarks/core.py", tmp_path, ("10000 100000", "1000 --only chunks"))
    assert "warm search p50, 1,000 chunks" in printed
    assert "first index, 1,000 chunks" in printed


def prose(path: Path) -> str:
    """Return a page without its blocks."""
    return without_blocks(path.read_text("utf-8"))


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


LINKED = [*TEXTS, ROOT / "CHANGELOG.md", ROOT / "notebooks/README.md"]
LINK = re.compile(
    r"""\]\(<?([^)\s>]+)>?(?:\s+["'][^)]*)?\)"""  # [text](link "title")
    r"""|^ {0,3}\[[^]]+\]:\s+<?([^\s>]+)"""  # [name]: link
    r"""|\b(?:href|src)=["']([^"']+)""",
    re.MULTILINE,
)


def links(text: str) -> list[str]:
    return ["".join(found) for found in LINK.findall(text)]


def test_a_link_is_found_however_it_is_written():
    text = "[a](a.md) ![b](b.svg 'B')\n[c][d]\n\n[d]: d.md#e\n<img src='f.png'>"
    assert links(text) == ["a.md", "b.svg", "d.md#e", "f.png"]


@pytest.mark.parametrize("path", LINKED, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    for link in links(prose(path)):
        if link.startswith("https://"):
            assert "/commonplace/" not in link, "name a page of the repository by its path"
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


def inline_code(text: str) -> list[str]:
    return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_what_a_page_names_is_there(path):
    assert [name for name in inline_code(prose(path)) if is_gone(name)] == []


FOREIGN = {
    *("AsyncAnthropic", "BetaLocalFilesystemMemoryTool", "CacheBackedEmbeddings", "CodeActAgent"),
    "IngestionCache",
    *("FixedRecencyPostprocessor", "MockLLM", "create_agent", "from_dict", "get_all", "to_dict"),
    *("QMD_EMBED_MODEL", "claude_desktop_config", "idle_transaction_timeout", "pg_service"),
    *("max_connections", "max_parallel_maintenance_workers", "tcp_keepcnt"),
    *("tcp_keepidle", "tcp_keepintvl", "commonplace_NAME", "pg_read_all_stats"),
}
"""Names of others that pages use, and the package does not; a placeholder."""


@functools.cache
def words_of_the_code(*folders: str) -> set[str]:
    """Names and words of literals in the sources; docstrings and comments may be out of date."""
    words = {*builtins.__dict__}
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        words |= {path.stem, *path.parent.parts}
        docstrings: set[ast.AST] = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):  # parents come first
            match node:
                case ast.Constant(value=str(text)) if node not in docstrings:
                    words |= {*re.findall(r"\w+", text)}
                case (
                    ast.Module(body=[ast.Expr(said), *_]) | ast.ClassDef(body=[ast.Expr(said), *_])
                ):
                    docstrings.add(said)
                case ast.FunctionDef(body=[ast.Expr(said), *_]):
                    docstrings.add(said)
                case ast.AsyncFunctionDef(body=[ast.Expr(said), *_]):
                    docstrings.add(said)
            names = (getattr(node, field, None) for field in ("id", "attr", "arg", "name"))
            words |= {part for name in names if isinstance(name, str) for part in name.split(".")}
    return words


def unknown_names(name: str, known: set[str]) -> list[str]:
    """Return the names within a piece of code that are written as Python's are, and unknown."""
    names = re.findall(r"(?<![\w/.-])[A-Za-z]\w*(?:\.[A-Za-z]\w*)*", name)
    parts = {part for dotted in names for part in dotted.split(".")}
    formed = re.compile(r"\w+_\w+|[A-Z][a-z]+[A-Z]\w*")
    called = {*re.findall(r"\b([a-z]\w+)(?=\(| ?=)", name)}
    dotted = {part for one in names if "." in one for part in one.split(".")}
    files = {*re.findall(r"(\w+)\.(?:md|toml|jsonl?|ya?ml|zip|gguf|sqlite|sh|txt)\b", name)}
    asked = {part for part in parts if formed.fullmatch(part)} | called | dotted
    return sorted(asked - files - known - FOREIGN)


@pytest.mark.slow
@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_what_a_page_calls_by_name_is_in_the_code(path):
    known = words_of_the_code("src", "integrations")
    if path.name in ("CONTRIBUTING.md", "provider.md", "store.md"):
        known = known | words_of_the_code("tests")
    text = path.read_text("utf-8")
    known = known | {
        word
        for block in blocks(text)
        for word in re.findall(r"\w+", block.text)
        if block.language in ("python", "toml")
    }
    unknown = {name: unknown_names(name, known) for name in inline_code(prose(path))}
    assert {name: found for name, found in unknown.items() if found} == {}


@functools.cache
def public_callables() -> dict[str, list[Callable[..., Any]]]:
    """Everything public by its names, ``memory.verb`` too; two frameworks may share a name."""
    modules = ["commonplace", "commonplace.anthropic", "commonplace.flush", "commonplace.tools"]
    modules += ["commonplace.store.migration", "commonplace.text.redaction"]
    modules += ["langchain_commonplace", "llama_index_commonplace"]
    found: dict[str, list[Callable[..., Any]]] = {}
    for module in modules:
        with contextlib.suppress(ImportError):
            members = vars(importlib.import_module(module))
            for name in members.get("__all__", [name for name in members if name[0] != "_"]):
                if callable(members[name]):
                    found.setdefault(name, []).append(members[name])
    for owner, kind in CLASSES.items():
        for name in dir(kind):
            if name[0] != "_" and callable(getattr(kind, name)):
                found[f"{owner}.{name}"] = [getattr(kind, name)]
    return found


def takes(called: Callable[..., Any], keyword: str) -> bool:
    try:
        parameters = inspect.signature(called).parameters
    except ValueError:
        return True
    open_ended = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    return open_ended or keyword in parameters


def refused_arguments(code: str) -> list[str]:
    """Return ``name(argument=)`` for each argument that something public does not take."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return []
    public = public_callables()
    return [
        f"{ast.unparse(call.func)}({keyword.arg}=)"
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and (known := public.get(ast.unparse(call.func)))
        for keyword in call.keywords
        if keyword.arg and not any(takes(one, keyword.arg) for one in known)
    ]


def test_an_argument_that_is_gone_is_noticed():
    assert refused_arguments("Memory.open(..., embeder=...)") == ["Memory.open(embeder=)"]
    assert refused_arguments("pool.memory('a', speed=1)") == ["pool.memory(speed=)"]
    assert refused_arguments("Memory.open(folder, index=...)") == []


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_what_a_page_calls_takes_its_arguments(path):
    text = path.read_text("utf-8")
    code = [*inline_code(prose(path)), *(one.text for one in blocks(text) if one.language == "py")]
    assert [refused for piece in code for refused in refused_arguments(piece)] == []


def bound_names(tree: ast.AST) -> set[str]:
    nodes = [*ast.walk(tree)]
    bound = {
        one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    bound |= {one.asname or one.name for one in nodes if isinstance(one, ast.alias)}
    return bound | {one.arg for one in nodes if isinstance(one, ast.arg)}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_what_a_page_shows_of_a_real_model_has_its_names(page):
    bound: set[str] = {*dir(builtins)}
    for block in page_blocks(page):
        tree = ast.parse(block.text if block.language in ("py", "python") else "")
        bound |= bound_names(tree)
        if block.language == "py":
            used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            assert used - bound == set()
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom):
                    module = pytest.importorskip(str(node.module))
                    assert [one.name for one in node.names if not hasattr(module, one.name)] == []


DEFAULTS = {name: default for name, default, _ in made_parts.settings()}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_a_default_beside_a_setting_is_its_own(path):
    for name, shown in re.findall(r"`(\w+\.\w+)`[^`|.;:]{0,30}?\b([\d,]*\d)\b", prose(path)):
        if type(DEFAULTS.get(name)) in (int, float):
            assert float(shown.replace(",", "")) == DEFAULTS[name], name


SEPARATORS = {"|", "||", "&&", ";", ">", ">>", "<", "&"}


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command line of ours that a page shows."""
    text = text.replace("\\\n", " ")
    shown = r"^(?:\$ |    command: sh -c \".*exec )?((?:commonplace|python tests/\S+) .+)$"
    lines = [
        line
        for found in re.findall(r"^ *```(?:sh|console|yaml)\n(.*?)^ *```$", text, re.M | re.S)
        for line in re.findall(shown, found.replace('serve"', "serve"), re.MULTILINE)
    ]
    begins = re.compile(r"commonplace (?!\[OPTIONS\])|python tests/")
    lines += [name for name in inline_code(text) if begins.match(name)]
    for line in lines:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        yield [*itertools.takewhile(lambda word: word not in SEPARATORS, lexer)]


def misuse(words: list[str]) -> str | None:
    """Say what a command line names that is not there, or None."""
    if words[0] == "python":
        script = ROOT / words[1]
        options = [word for word in words if word.startswith("--")]
        source = script.read_text("utf-8") if script.exists() else ""
        return next((o for o in options if f'"{o}"' not in source), None if source else words[1])
    try:
        before = app.make_context("commonplace", words[1:], resilient_parsing=False)
        name, *arguments = [*before._protected_args, *before.args]
        app.commands[name].make_context(name, arguments, parent=before)
    except (click.NoSuchOption, KeyError) as error:
        return str(error)
    except (click.UsageError, click.exceptions.Exit, ValueError):
        return None
    return None


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_the_commands_of_a_page_have_their_options(path):
    wrong = [(words, misuse(words)) for words in commands(path.read_text("utf-8"))]
    assert [words for words, missing in wrong if missing] == []


def test_every_option_and_variable_of_a_page_is_there():
    options = {
        option
        for command in (app, *app.commands.values())
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    variables = {*re.findall(r"^\| `(COMMONPLACE_\w+)`", made_parts.COMMANDS.read_text(), re.M)}
    for path in TEXTS:
        text = path.read_text("utf-8")
        assert {*re.findall(r"\bCOMMONPLACE_[A-Z_]+", text)} <= variables, path
        for name in inline_code(prose(path)):
            if re.match("--[a-z]", name):
                assert name.split()[0].partition("=")[0] in options, (path, name)


@pytest.mark.parametrize(
    "line", ["commonplace sing", "commonplace -w n verify --mend", "commonplace --speed 1 status",
             "python tests/benchmarks/core.py --chunkses 1", "python tests/benchmarks/none.py"],
)  # fmt: skip
def test_a_command_that_is_gone_is_noticed(line):
    assert misuse(shlex.split(line))


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


@pytest.mark.parametrize(
    "name", ["NamespacesError", "`mask_person = true`", "write_session_notes", "pathes=",
             "ChatMemory.end_sessions", "commonplace.toolz", "synch.watch"],
)  # fmt: skip
def test_a_name_that_the_code_does_not_have_is_noticed(name):
    assert unknown_names(name, words_of_the_code("src", "integrations"))


LANGUAGES = {"python", "py", "sh", "console", "text", "toml", "json", "yaml", "ini", "sql"}
"""What blocks of pages are; each is run or read by a test of this module, or of one it names."""


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_block_of_a_page_is_one_that_the_tests_know(page):
    text = (ROOT / "docs" / page).read_text("utf-8")
    fences = re.findall(r"^\s*(?:```|~~~)", text, re.MULTILINE)
    found = page_blocks(page)
    assert len(fences) == 2 * len(found), "a fence that is indented, or without a language"
    assert {block.language for block in found} <= LANGUAGES
    unprinted = [
        block.text
        for before, block in itertools.pairwise([Block("", ""), *found])
        if block.language == "text" and (before.language not in ("python", "sh") or before.file)
    ]
    assert [text for text in unprinted if not re.search(SERVING, text)] == []


SERVING = r"^commonplace: [\d:]+ leads: this host watches the files\n[\d:]+  \d added, "
"""What `serve` prints, which another page could not show without a server."""


def test_what_serve_and_verify_print_is_what_the_pages_show(tmp_path):
    said = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    assert "leads: this host watches the files" in said
    assert " added, " in said
    [shown] = [
        block.text for block in page_blocks(Path("how-to/verify.md")) if block.language == "console"
    ]
    notes = tmp_path / "notes"
    bird = notes / "memory/birds.md"
    bird.parent.mkdir(parents=True)
    bird.write_text("- The owl sleeps.\n")
    ours = ["-w", str(notes), "--embedder", "none"]
    CliRunner().invoke(app, [*ours, "index"], catch_exceptions=False)
    bird.write_text("- The owl wakes.\n")
    printed = CliRunner().invoke(app, [*ours, "verify"]).output
    counted = re.compile(r"\d+ (\w+?)(?:ies|y|s)?\b")
    assert counted.sub(r"N \1", printed) == counted.sub(r"N \1", shown)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_file_that_a_page_shows_can_be_read(page):
    for block in page_blocks(page):
        if block.file == "commonplace.toml":
            Settings.from_mapping(tomllib.loads(block.text))
        elif block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "yaml":
            assert "services" in pytest.importorskip("yaml").safe_load(block.text)
        elif block.language == "ini":
            conninfo = pytest.importorskip("psycopg.conninfo")
            services = configparser.ConfigParser()
            services.read_string(block.text)
            for name in services.sections():
                conninfo.make_conninfo(**services[name])


@pytest.mark.slow
@pytest.mark.processes
def test_the_statements_of_the_roles_are_postgresqls():
    [roles] = [block.text for block in page_blocks(POSTGRES) if block.language == "sql"]
    with postgres.connected(postgres.database(f"roles_{postgres.WORKER}")) as connection:
        connection.execute(f"BEGIN; {roles}; ROLLBACK")
