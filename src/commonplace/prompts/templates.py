"""Prompt templates: Markdown files of this package, with the placeholders of `str.format`.

A template's placeholders are checked when it is loaded, so that a wrong edit fails at once and not
in the middle of a conversation.
"""

from __future__ import annotations

import functools
import importlib.resources
import string

__all__ = ["load_prompt", "placeholders"]


@functools.cache
def load_prompt(name: str, *expected: str) -> str:
    """Load a prompt of this package by its file name without ``.md``.

    With placeholders, it is a template for `str.format`; without, it is the text itself.

    Raises:
        ValueError: The file's placeholders are not the expected ones.
    """
    source = importlib.resources.files(__package__) / f"{name}.md"
    text = source.read_text(encoding="utf-8").replace("\r\n", "\n")
    found = placeholders(text)
    if found != set(expected):
        raise ValueError(
            f"prompts/{name}.md has the places {sorted(found)}; expected were {sorted(expected)}."
        )
    return text


def placeholders(template: str) -> set[str]:
    """Return the names in the braces of a template.

    Raises:
        ValueError: A brace is not closed.
    """
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}
