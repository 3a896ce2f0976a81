"""Prompt templates: Markdown files of this package with placeholders written ``{name}``.

A template's placeholders are checked when it is loaded, so that a wrong edit fails at once and not
in the middle of a conversation.
"""

from __future__ import annotations

import functools
import importlib.resources
import re
from dataclasses import dataclass

__all__ = ["PromptTemplate", "load_prompt"]

_PLACEHOLDER = re.compile(r"\{([a-z][a-z_]*)\}")


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """Text of a prompt with named placeholders."""

    text: str

    @property
    def placeholders(self) -> frozenset[str]:
        """Names of the placeholders."""
        return frozenset(_PLACEHOLDER.findall(self.text))

    def fill(self, **values: str) -> str:
        """Replace each placeholder by its value; placeholders within a value stay as they are.

        Raises:
            ValueError: A placeholder has no value, or a value has no placeholder.
        """
        _check("the prompt", self.placeholders, frozenset(values))
        return _PLACEHOLDER.sub(lambda match: values[match[1]], self.text)


@functools.cache
def load_prompt(name: str, *placeholders: str) -> PromptTemplate:
    """Load a prompt of this package by its file name without ``.md``.

    Raises:
        ValueError: The file's placeholders are not the ones named.
    """
    source = importlib.resources.files(__package__) / f"{name}.md"
    prompt = PromptTemplate(source.read_text(encoding="utf-8").replace("\r\n", "\n"))
    _check(f"prompts/{name}.md", prompt.placeholders, frozenset(placeholders))
    return prompt


def _check(what: str, found: frozenset[str], expected: frozenset[str]) -> None:
    if found != expected:
        raise ValueError(
            f"{what} has the places {sorted(found)}; expected were {sorted(expected)}."
        )
