"""Claude Code: ``CLAUDE.md``, the memory folders of its projects, and its transcripts.

They lie below ``~/.claude``; the transcripts are ``projects/PROJECT/SESSION.jsonl``, a record a
line. What subagents, commands and hooks wrote, and summaries of what stands above them, are left
out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from commonplace.importers.export_file import Export, ExportFile
from commonplace.importers.note import (
    ImportedNote,
    Skipped,
    Speech,
    conversation_note,
    file_note,
    one_line,
)

__all__ = ["claude_code_folder", "claude_code_notes"]

_FILES = (
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".claude/CLAUDE.md",
    "rules/**/*.md",
    "memory/**/*.md",
    "projects/*/memory/**/*.md",
)
_TRANSCRIPTS = ("*.jsonl", "projects/*/*.jsonl")
_TITLES = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary"))
"""Records that name a conversation, the best first, and the name of their text."""
_MACHINE = re.compile(r"\s*<(?:command-|local-command|bash-|user-prompt-submit-hook|task-)")
"""Beginnings of messages that a command, a shell or a hook wrote in the user's place."""
_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)


def claude_code_folder() -> Path:
    """Return the folder of Claude Code on this machine."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def claude_code_notes(export: Export, *, workspace: Path) -> Iterator[ImportedNote | Skipped]:
    """Yield the notes of Claude Code: its files of Markdown, and a note a conversation.

    Those of the memory itself, whose folder may be a project's, are left out.
    """
    top = "" if export.path.name == ".claude" or export.path.is_file() else export.path.name
    named = "CLAUDE.md, memory folder or transcript"
    own = workspace / "memory"
    for file in export.files(*_FILES, *_TRANSCRIPTS, named=named, without=own):
        path = _place(top, file.name)
        if file.name.endswith(".jsonl"):
            yield _transcript(export, file, folder=path.parent.as_posix())
        else:
            text = export.text(file)
            yield Skipped("too large") if text is None else file_note(path.as_posix(), text)


def _place(top: str, name: str) -> PurePosixPath:
    """Return the path of a note: that of its file, without the folder of all projects."""
    parts = [part.lstrip("-.") for part in PurePosixPath(name).parts]
    if parts[0] == "projects":
        parts = parts[1:]
    return PurePosixPath(top.lstrip("-."), *parts)


def _transcript(export: Export, file: ExportFile, *, folder: str) -> ImportedNote | Skipped:
    messages: list[Speech] = []
    titles: dict[str, str] = {}
    when: Any = None
    outside = False
    for record in export.lines(file):
        if not isinstance(record, dict) or record.get("isSidechain"):
            continue
        kind = record.get("type")
        for title, name in _TITLES:
            if kind == title and isinstance(record.get(name), str):
                titles[title] = record[name]
        message = record.get("message")
        if kind not in ("user", "assistant") or not isinstance(message, dict):
            continue
        content = message.get("content")
        outside = outside or _has_read(content)
        if record.get("isMeta") or record.get("isCompactSummary"):
            continue
        said = _said(content)
        if said and not (kind == "user" and _MACHINE.match(said)):
            when = when or record.get("timestamp")
            messages.append(Speech(kind, said, outside and kind != "user"))
    title = next((titles[name] for name, _ in _TITLES if name in titles), "")
    if not title:
        title = next((one_line(one.content) for one in messages if one.role == "user"), "")
    return conversation_note(
        *(messages,),
        label="Claude Code",
        key=PurePosixPath(file.name).stem,
        title=title[:80],
        when=when,
        folder="" if folder == "." else folder,
    )


def _has_read(content: Any) -> bool:
    """Return whether a message brings the answer of a tool, a document or a picture."""
    blocks = content if isinstance(content, list) else []
    kinds = [block.get("type") for block in blocks if isinstance(block, dict)]
    return any(kind in ("tool_result", "document", "image") for kind in kinds)


def _said(content: Any) -> str:
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [
        block.get("text")
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "text"
    ]
    whole = "\n".join(text for text in texts if isinstance(text, str))
    return _REMINDER.sub("", whole).strip()
