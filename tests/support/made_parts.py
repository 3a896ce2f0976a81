"""The parts of the documentation that are made: run this file to make them anew.

python tests/support/made_parts.py
"""

from __future__ import annotations

import dataclasses
import inspect
import io
import re
import tempfile
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import click

from commonplace import Memory
from commonplace.cli.app import app
from commonplace.cli.examples import EXAMPLES
from commonplace.demo import write_demo_workspace
from commonplace.settings import Settings, SyncSettings

_ROOT = Path(__file__).parents[2]
SETTINGS = _ROOT / "docs" / "settings.md"
COMMANDS = _ROOT / "docs" / "reference" / "command-line.md"
PICTURE = _ROOT / "notebooks" / "images" / "search.svg"

_TODAY = date(2026, 11, 20)
_ASKED = "How much does a club pay for the hosted plan now?"


def settings_table() -> str:
    """Every setting, its default, and the first sentence of what its docstring says."""
    rows = ["| setting | default | what it does |", "|---|---|---|"]
    rows += [
        f"| `{name}` | {_shown(default)} | {_cell(told)} |" for name, default, told in settings()
    ]
    return "\n".join(rows)


def settings() -> Iterator[tuple[str, Any, str]]:
    """Yield ``(name, default, description)``; nested settings by their dotted names."""
    yield from _settings_of(Settings(), "")


def _settings_of(held: Any, prefix: str) -> Iterator[tuple[str, Any, str]]:
    described = _attributes(type(held))
    nested = []
    for field in dataclasses.fields(held):
        value = getattr(held, field.name)
        if dataclasses.is_dataclass(value):
            nested.append((value, f"{prefix}{field.name}."))
        else:
            yield f"{prefix}{field.name}", value, described[field.name]
    for value, inner in nested:
        yield from _settings_of(value, inner)


def _attributes(kind: type) -> dict[str, str]:
    """Read the Attributes section of a docstring: name to description, on one line."""
    _, _, section = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")
    section = re.split(r"\n(?=\S)", section, maxsplit=1)[0]
    entries = re.split(r"^ {4}(\w+): ", section, flags=re.MULTILINE)[1:]
    return {
        name: " ".join(text.split()) for name, text in zip(entries[::2], entries[1::2], strict=True)
    }


def _shown(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return f"`{list(value)}`".replace("'", '"')
    if isinstance(value, str):
        return f'`"{value}"`'
    return f"`{value}`"


def _cell(text: str) -> str:
    first = re.split(r"(?<=[.])\s+(?=[A-Z0-9`])", text, maxsplit=1)[0]
    return first.replace("``", "`").replace("|", "\\|")


def picture() -> str:
    """What ``commonplace search --explain`` shows in a terminal, as SVG."""
    from rich.console import Console
    from rich.text import Text

    console = Console(
        record=True, width=100, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(Text(f'$ commonplace search "{_ASKED}" --max-results 2 --explain\n'))
    console.print(_found())
    svg = console.export_svg(title="commonplace", unique_id="commonplace")
    # A picture that names fonts has its readers load them from another server.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def _found() -> Any:
    from commonplace.display import results_table

    settings = Settings(sync=SyncSettings(on_open=False, on_search=False))
    now = datetime(_TODAY.year, _TODAY.month, _TODAY.day, 12, tzinfo=UTC)
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        write_demo_workspace(notes, today=_TODAY)
        with Memory.open(
            notes,
            settings=settings,
            embedder="bundled",
            index=Path(folder) / "index.sqlite",
            now=lambda: now,
        ) as memory:
            memory.index()
            return results_table(memory.search(_ASKED, max_results=2, explain=True), explain=True)


def command_sections() -> str:
    """The options before a command, and each command: its help, options and examples."""
    sections = ["## Options before the command\n", *_options(app), ""]
    for name, command in sorted(app.commands.items()):
        context = click.Context(command, info_name=f"commonplace {name}")
        usage = " ".join(command.collect_usage_pieces(context))
        help_text = inspect.cleandoc(command.help or "").replace("<", "\\<")
        sections += [f"## {name}\n", f"`commonplace {name} {usage}`\n", help_text, ""]
        if _rows(command):
            sections += [*_options(command), ""]
        sections += ["```console", *(line for line, _ in EXAMPLES[name]), "```", ""]
    return "\n".join(sections).rstrip()


def _options(command: click.Command) -> list[str]:
    return ["| option | what it does |", "|---|---|", *_rows(command)]


def _rows(command: click.Command) -> list[str]:
    context = click.Context(command)
    records = [
        option.get_help_record(context)
        for option in command.params
        if isinstance(option, click.Option)
    ]
    escaped = [[cell.replace("|", "\\|") for cell in record] for record in records if record]
    return [f"| `{name}` | {told} |" for name, told in escaped]


def with_settings(text: str) -> str:
    """Put the table of the settings between its two markers."""
    return _with(text, "settings", settings_table())


def with_commands(text: str) -> str:
    """Put the commands between their two markers."""
    return _with(text, "commands", command_sections())


def _with(text: str, name: str, part: str) -> str:
    text, found = re.subn(
        rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)",
        lambda match: f"{match[1]}\n{part}\n{match[2]}",
        text,
        flags=re.DOTALL,
    )
    assert found == 1, f"the page has {found} places for the {name}; one was expected."
    return text


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(), encoding="utf-8")
    SETTINGS.write_text(with_settings(SETTINGS.read_text("utf-8")), encoding="utf-8")
    COMMANDS.write_text(with_commands(COMMANDS.read_text("utf-8")), encoding="utf-8")
