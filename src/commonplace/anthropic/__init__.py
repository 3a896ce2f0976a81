"""Anthropic's memory tool, ``memory_20250818``, over the notes of a memory.

``/memories`` is the workspace's folder ``memory/``, so that what Claude writes there are notes: the
next search finds them, people read them, the history takes each change back. It needs the extra
``anthropic``::

    from anthropic import Anthropic
    from commonplace import Memory
    from commonplace.anthropic import MemoryTool

    with Memory.open("notes") as memory:
        runner = Anthropic().beta.messages.tool_runner(
            model=model, max_tokens=4_096, messages=messages, tools=[MemoryTool(memory)]
        )

Answers are word for word those of the SDK's own ``BetaLocalFilesystemMemoryTool``, but for these
rules of a memory: a file is Markdown, its name ends with ``.md``; files of other kinds, links and
hidden folders are not shown, and a folder that holds some is neither renamed nor deleted; a name
that differs from another one in case only is refused; secrets are masked; untrusted lines are
marked. Where that tool raises an error of the system, this one answers with a tool error.
"""

from commonplace.errors import MissingExtraError

try:
    from commonplace.anthropic.memory_tool import AsyncMemoryTool, MemoryTool
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] != "anthropic":
        raise
    raise MissingExtraError(
        "commonplace.anthropic needs the package anthropic, 2 or newer: "
        "pip install 'commonplace[anthropic]'"
    ) from missing

__all__ = ["AsyncMemoryTool", "MemoryTool"]
