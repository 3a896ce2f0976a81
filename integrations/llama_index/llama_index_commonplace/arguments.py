"""Checks of arguments: a wrong one is an error of one line that names what was expected."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import Any

from llama_index.core.llms import LLM

from commonplace import Memory

__all__ = ["checked_llm", "checked_memory", "checked_options"]


def checked_memory(memory: Memory) -> Memory:
    """Return a memory.

    Raises:
        TypeError: It is none.
    """
    if callable(getattr(memory, "search", None)):
        return memory
    raise TypeError(
        f"memory is {_shown(memory)}; a Memory of commonplace was expected, such as "
        "Memory.open('notes')."
    )


def checked_llm(llm: LLM) -> LLM:
    """Return a chat model.

    Raises:
        TypeError: It is none.
    """
    if isinstance(llm, LLM):
        return llm
    raise TypeError(
        f"llm is {_shown(llm)}; a model of LlamaIndex was expected, such as OpenAI('gpt-5-mini')."
    )


def checked_options(
    options: dict[str, Any],
    *,
    positional: tuple[Any, ...] = (),
    allowed: Iterable[str],
    caller: str,
) -> dict[str, Any]:
    """Return the options of a memory block, of which the first may be given without its name.

    Raises:
        TypeError: An option does not exist, or the memory is none; pydantic passes it on as it is.
    """
    if len(positional) > 1 or (positional and "memory" in options):
        raise TypeError(f"{caller} takes one argument without a name, the memory.")
    options = {"memory": positional[0], **options} if positional else dict(options)
    names = list(allowed)
    for name in options:
        if name not in names:
            raise TypeError(
                f"{caller} got {name!r}, which it does not take; it takes " + ", ".join(names) + "."
            )
    if "memory" not in options:
        raise TypeError(f"{caller} got no memory; give it one, such as Memory.open('notes').")
    checked_memory(options["memory"])
    if options.get("llm") is not None:
        checked_llm(options["llm"])
    return options


def _shown(value: object) -> str:
    return f"{reprlib.repr(value)}, of type {type(value).__name__}"
