"""The parts of the README that are made: run this file to make them anew.

    python tests/readme_parts.py
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from commonplace.settings import Settings

README = Path(__file__).parent.parent / "README.md"


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
        name: " ".join(text.split())
        for name, text in zip(entries[::2], entries[1::2], strict=True)
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


def with_parts(text: str) -> str:
    """Put each part between its two markers."""
    made = {"settings": settings_table()}
    for name, part in made.items():
        text, found = re.subn(
            rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)",
            lambda match, part=part: f"{match[1]}\n{part}\n{match[2]}",
            text,
            flags=re.DOTALL,
        )
        assert found == 1, f"README.md has {found} places for {name}; one was expected."
    return text


if __name__ == "__main__":
    README.write_text(with_parts(README.read_text("utf-8")), encoding="utf-8")
