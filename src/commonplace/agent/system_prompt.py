"""System prompt: the startup context from current files, and the instructions for recall.

All functions are pure: the same texts and settings give the same bytes, so that a provider's
prompt cache stays valid while the memory is unchanged. Notes are quoted line by line, so that no
text of a note looks like the prompt around it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from commonplace.prompts.templates import load_prompt
from commonplace.settings import ContextSettings
from commonplace.text.quotation import block_quote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

__all__ = ["ContextFile", "recall_instructions", "startup_context"]

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<title>.*?)(?:[ \t]+#+)?[ \t]*")
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})")
_NOTE_CHARS = 400
"""Characters of the truncation note, at most."""
_CALL_CHARS = 80
"""Characters of the truncation note without its headings and its two copies of the path."""
_TITLE_CHARS = 60
"""Characters of one heading in the truncation note, at most."""

_End = Literal["head", "tail"]
"""Part of a file that is kept: the head if ordered by weight, the tail if ordered by time."""


@dataclass(frozen=True, slots=True)
class ContextFile:
    """File of the startup context.

    Attributes:
        path: Path, as ``memory_get`` takes it.
        text: Text; its untrusted lines are blank.
        untrusted: Number of its untrusted lines.
    """

    path: str
    text: str
    untrusted: int = 0

    @property
    def notice(self) -> str:
        """Sentence that says which lines are left out; empty for none."""
        if not self.untrusted:
            return ""
        lines = f"{self.untrusted} untrusted line" + "s" * (self.untrusted > 1)
        return f"\n… {lines} of {self.path} not shown; memory_get path={self.path} quotes them\n"


def startup_context(
    long_term: ContextFile | None,
    *,
    user: ContextFile | None = None,
    logs: Iterable[ContextFile] = (),
    settings: ContextSettings | None = None,
    max_chars: int | None = None,
) -> str:
    """Render the long-term memory and the logs as one Markdown text within a character budget.

    A file that exceeds its share is truncated between lines, at a heading where one is near. A
    truncation note names the number of lines, their sections, and the call that reads them.

    Args:
        long_term: MEMORY.md; None if it is missing, or if the conversation is not private.
        user: USER.md; None as above.
        logs: Logs of days, oldest first; a long one keeps its end.
        settings: The budgets.
        max_chars: Budget of a caller that has less room. Logs give way to the long-term memory
            then, and the older one to the newer.

    Returns:
        The text, which ends with a newline; empty if all files are empty.
    """
    budget = settings or ContextSettings()
    heads = [file for file in (long_term, user) if file and (file.text.strip() or file.untrusted)]
    tails = [file for file in logs if file.text.strip() or file.untrusted]
    if not heads and not tails:
        return ""
    for oldest in range(len(tails) + 1):
        left_out, kept = tails[:oldest], tails[oldest:]
        text = _render(heads, logs=kept, left_out=left_out, budget=budget, max_chars=max_chars)
        if len(text) <= _total(budget, max_chars):
            return text
    if max_chars is not None:
        return "Memory is left out: there is no room for it. Use memory_get.\n"
    return "Memory is left out: context.total_chars is too small. Use memory_get.\n"


def recall_instructions(
    tools: Collection[str] = ("memory_search", "memory_get"),
    *,
    citations: Literal["auto", "on", "off"] = "auto",
) -> str:
    """Render the Memory Recall instructions for an agent's tools; empty without memory tools."""
    available = [name for name in ("search", "get") if f"memory_{name}" in tools]
    if not available:
        return ""
    rule = load_prompt("citations_off" if citations == "off" else "citations_on")
    return load_prompt("_".join(["recall", *available]), "citations").format(citations=rule)


def _render(
    heads: Sequence[ContextFile],
    *,
    logs: Sequence[ContextFile],
    left_out: Iterable[ContextFile],
    budget: ContextSettings,
    max_chars: int | None,
) -> str:
    """Render the files, each within its share of the budget, and list those that are left out."""
    intro = load_prompt("startup_context")
    outro = "".join(
        f"\n… {file.path} not shown; read it with memory_get path={file.path}\n"
        for file in left_out
    )
    files = [*heads, *logs]
    headers = [f"\n## {file.path}\n\n" for file in files]
    spent = len(intro) + len(outro) + sum(len(header) + 1 for header in headers)
    spent += sum(len(file.notice) for file in files)
    wanted = [min(len(block_quote(_body(file))), budget.file_chars) for file in files]
    total = _total(budget, max_chars) - spent
    shares = _shares(wanted, total=total) if max_chars is None else _ranked(wanted, total=total)
    parts = [intro]
    for index, (file, header, share) in enumerate(zip(files, headers, shares, strict=True)):
        keep: _End = "head" if index < len(heads) else "tail"
        parts.append(f"{header}{_truncated(file, keep=keep, budget=share)}\n{file.notice}")
    return "".join([*parts, outro])


def _total(budget: ContextSettings, max_chars: int | None) -> int:
    return budget.total_chars if max_chars is None else min(budget.total_chars, max_chars)


def _ranked(wanted: Sequence[int], *, total: int) -> list[int]:
    """Divide a total by rank: the first file has all that it wants, then the newest log."""
    shares = [0] * len(wanted)
    left = max(total, 0)
    files = range(len(wanted))
    for index in (*files[:1], *files[:0:-1]):
        shares[index] = min(wanted[index], left)
        left -= shares[index]
    return shares


def _body(file: ContextFile) -> str:
    return file.text.lstrip("\ufeff").rstrip()


def _shares(wanted: Sequence[int], *, total: int) -> list[int]:
    """Divide a total fairly: a file below an equal share leaves the rest to the others."""
    shares = [0] * len(wanted)
    left = max(total, 0)
    for done, index in enumerate(sorted(range(len(wanted)), key=lambda i: (wanted[i], i))):
        shares[index] = min(wanted[index], left // (len(wanted) - done))
        left -= shares[index]
    return shares


def _truncated(file: ContextFile, *, keep: _End, budget: int) -> str:
    """Return a file's text, quoted, or its head or tail with a truncation note."""
    body = _body(file)
    quoted = block_quote(body)
    if len(quoted) <= budget:
        return quoted
    return _Truncation(file.path, tuple(body.split("\n")), keep=keep, budget=budget).render()


@dataclass(frozen=True, slots=True)
class _Truncation:
    """Truncation of one file to its share of the budget."""

    path: str
    lines: tuple[str, ...]
    keep: _End
    budget: int

    def render(self) -> str:
        """Return the kept lines and the note, in the order of the file."""
        shortest = _CALL_CHARS + 2 * len(self.path)
        note_budget = min(_NOTE_CHARS, max(self.budget // 2, shortest))
        text_budget = max(self.budget - note_budget - 2, 0)
        shown = self._whole_lines(text_budget)
        note = self._note(shown, budget=note_budget)
        kept = "\n".join(self._kept(shown)).strip("\n")
        pieces = [block_quote(kept), note] if kept else [note]
        return "\n\n".join(pieces if self.keep == "head" else reversed(pieces))

    def _whole_lines(self, budget: int) -> int:
        """Return how many lines to keep: all that fit, or half of them up to a heading."""
        count, sizes = 0, [0]
        for line in self.lines if self.keep == "head" else reversed(self.lines):
            size = sizes[-1] + len(block_quote(line)) + 1
            if size > budget + 1:
                break
            sizes.append(size)
            count += 1
        headings = {number for number, _ in _headings(self.lines)}
        for fewer in range(count, 0, -1):
            if sizes[fewer] * 2 < sizes[count]:
                break
            first = fewer + 1 if self.keep == "head" else len(self.lines) - fewer + 1
            if first in headings:
                return fewer
        return count

    def _kept(self, shown: int) -> tuple[str, ...]:
        if self.keep == "head":
            return self.lines[:shown]
        return self.lines[len(self.lines) - shown :]

    def _note(self, shown: int, *, budget: int) -> str:
        total = len(self.lines)
        first, last = (shown + 1, total) if self.keep == "head" else (1, total - shown)
        hidden = last - first + 1
        what, them = (f"{hidden} lines", "them") if hidden > 1 else ("1 line", "it")
        place = f"from={first}" + (f" lines={hidden}" if self.keep == "tail" else "")
        head = f"… {what} of {self.path} not shown"
        tail = f"; read {them} with memory_get path={self.path} {place}"
        titles = self._titles(first, last)
        return head + _listed(titles, budget=budget - len(head) - len(tail)) + tail

    def _titles(self, first: int, last: int) -> list[str]:
        """Return the headings of the hidden lines; a section shown in part is marked."""
        headings = _headings(self.lines)
        titles = [_quoted(title) for number, title in headings if first <= number <= last]
        starts = {number for number, _ in headings}
        if self.keep == "tail" and titles and last + 1 not in starts and last < len(self.lines):
            titles[-1] += " (in part)"
        before = [title for number, title in headings if number < first]
        if self.keep == "head" and before and first not in starts:
            titles.insert(0, f"{_quoted(before[-1])} (in part)")
        return titles


def _listed(titles: Sequence[str], *, budget: int) -> str:
    """List as many headings as fit into the budget, and count the others."""
    label = ": section " if len(titles) == 1 else ": sections "
    for count in range(len(titles), 0, -1):
        more = f" and {len(titles) - count} more" if count < len(titles) else ""
        text = label + ", ".join(titles[:count]) + more
        if len(text) <= budget:
            return text
    return ""


def _quoted(title: str) -> str:
    """Quote a heading within a line; it cannot end its quote."""
    return '"' + " ".join(title.replace('"', "'").split()) + '"'


def _headings(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return the line number and title of each heading outside fenced code."""
    found: list[tuple[int, str]] = []
    fence = ""
    for number, line in enumerate(lines, start=1):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark["mark"].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark["mark"]
        elif (heading := _HEADING.fullmatch(line.rstrip("\r"))) and heading["title"]:
            found.append((number, _shortened(heading["title"])))
    return found


def _shortened(title: str) -> str:
    return title if len(title) <= _TITLE_CHARS else title[: _TITLE_CHARS - 1] + "…"
