"""What of the memory goes into a system prompt: the files of now, and how to recall the rest.

Everything here is pure: the same texts and settings give the same bytes, so that a provider's
prompt cache keeps working while the memory is unchanged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from commonplace.prompts.templates import load_prompt
from commonplace.settings import ContextSettings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

__all__ = ["ContextFile", "recall_instructions", "startup_context"]

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<title>.*?)(?:[ \t]+#+)?[ \t]*")
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})")
_NOTE_CHARS = 400
"""Characters of the line that says what was cut, at most."""
_CALL_CHARS = 80
"""Characters of that line without headings and the file's path, which stands in it twice."""
_TITLE_CHARS = 60
"""Characters of one heading in that line, at most."""

_End = Literal["head", "tail"]
"""The end of a file that stays: of what is ordered by weight, and of what is ordered by time."""


@dataclass(frozen=True, slots=True)
class ContextFile:
    """A file that belongs into the context: its path, as ``memory_get`` takes it, and its text."""

    path: str
    text: str


def startup_context(
    long_term: ContextFile | None,
    *,
    logs: Iterable[ContextFile] = (),
    settings: ContextSettings | None = None,
) -> str:
    """Render the long-term memory and the logs as one Markdown text within the budget.

    What does not fit is cut between lines, at a heading where one is near, and the text says so:
    how many lines of which sections, and the call that reads them.

    Args:
        long_term: MEMORY.md; None when there is none, or others take part in the conversation.
        logs: The days' logs, oldest first; of a long one, the end is kept.
        settings: The budget.

    Returns:
        The text, which ends with a newline; empty when there is nothing to say.
    """
    budget = settings or ContextSettings()
    heads = [file for file in (long_term,) if file and file.text.strip()]
    tails = [file for file in logs if file.text.strip()]
    if not heads and not tails:
        return ""
    for oldest in range(len(tails) + 1):
        left_out, kept = tails[:oldest], tails[oldest:]
        text = _rendered(heads, logs=kept, left_out=left_out, budget=budget)
        if len(text) <= budget.total_chars:
            return text
    return "Memory is left out: context.total_chars is too small. Use memory_get.\n"


def recall_instructions(
    tools: Collection[str] = ("memory_search", "memory_get"),
    *,
    citations: Literal["auto", "on", "off"] = "auto",
) -> str:
    """Render the Memory Recall guidance for the tools at hand; empty without any of them."""
    have = [name for name in ("search", "get") if f"memory_{name}" in tools]
    if not have:
        return ""
    rule = load_prompt("citations_off" if citations == "off" else "citations_on").text
    return load_prompt("_".join(["recall", *have]), "citations").fill(citations=rule)


def _rendered(
    heads: Sequence[ContextFile],
    *,
    logs: Sequence[ContextFile],
    left_out: Iterable[ContextFile],
    budget: ContextSettings,
) -> str:
    """Render the files, each in its share of the budget, and name those that are left out."""
    intro = load_prompt("startup_context").text
    outro = "".join(
        f"\n… {file.path} not shown; read it with memory_get path={file.path}\n"
        for file in left_out
    )
    files = [*heads, *logs]
    frames = [f"\n## {file.path}\n\n" for file in files]
    spent = len(intro) + len(outro) + sum(len(frame) + 1 for frame in frames)
    wanted = [min(len(_body(file)), budget.file_chars) for file in files]
    rooms = _shares(wanted, total=budget.total_chars - spent)
    parts = [intro]
    for index, (file, frame, room) in enumerate(zip(files, frames, rooms, strict=True)):
        keep: _End = "head" if index < len(heads) else "tail"
        parts.append(f"{frame}{_fitted(file, keep=keep, room=room)}\n")
    return "".join([*parts, outro])


def _body(file: ContextFile) -> str:
    return file.text.lstrip("\ufeff").rstrip()


def _shares(wanted: Sequence[int], *, total: int) -> list[int]:
    """Divide a total: who wants less than an equal share leaves the rest to the others."""
    shares = [0] * len(wanted)
    left = max(total, 0)
    for place, index in enumerate(sorted(range(len(wanted)), key=lambda i: (wanted[i], i))):
        shares[index] = min(wanted[index], left // (len(wanted) - place))
        left -= shares[index]
    return shares


def _fitted(file: ContextFile, *, keep: _End, room: int) -> str:
    """Return a file's text, or the end of it that is kept and a line on what is not."""
    body = _body(file)
    if len(body) <= room:
        return body
    return _Cut(file.path, tuple(body.split("\n")), keep=keep, room=room).render()


@dataclass(frozen=True, slots=True)
class _Cut:
    """One file that is too long for its room."""

    path: str
    lines: tuple[str, ...]
    keep: _End
    room: int

    def render(self) -> str:
        """Join what is kept and the note, in the order of the file."""
        shortest = _CALL_CHARS + 2 * len(self.path)
        note_room = min(_NOTE_CHARS, max(self.room // 2, shortest))
        space = max(self.room - note_room - 2, 0)
        shown = self._whole_lines(space)
        note = self._note(shown, room=note_room)
        kept = "\n".join(self._kept(shown))
        pieces = [piece for piece in (kept.strip("\n"), note) if piece]
        return "\n\n".join(pieces if self.keep == "head" else reversed(pieces))

    def _whole_lines(self, space: int) -> int:
        """Count the lines to keep: all that fit, or those up to a heading if half remains."""
        count, sizes = 0, [0]
        for line in self.lines if self.keep == "head" else reversed(self.lines):
            if sizes[-1] + len(line) + 1 > space + 1:
                break
            sizes.append(sizes[-1] + len(line) + 1)
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

    def _note(self, shown: int, *, room: int) -> str:
        total = len(self.lines)
        first, last = (shown + 1, total) if self.keep == "head" else (1, total - shown)
        hidden = last - first + 1
        what, them = (f"{hidden} lines", "them") if hidden > 1 else ("1 line", "it")
        place = f"from={first}" + (f" lines={hidden}" if self.keep == "tail" else "")
        head = f"… {what} of {self.path} not shown"
        tail = f"; read {them} with memory_get path={self.path} {place}"
        titles = self._titles(first, last)
        return head + _listed(titles, room=room - len(head) - len(tail)) + tail

    def _titles(self, first: int, last: int) -> list[str]:
        """Name the sections of the lines from first to last; one may be shown in part."""
        headings = _headings(self.lines)
        titles = [title for number, title in headings if first <= number <= last]
        starts = {number for number, _ in headings}
        if self.keep == "tail" and titles and last + 1 not in starts and last < len(self.lines):
            titles[-1] += " (in part)"
        before = [title for number, title in headings if number < first]
        if self.keep == "head" and before and first not in starts:
            titles.insert(0, f"{before[-1]} (in part)")
        return titles


def _listed(titles: Sequence[str], *, room: int) -> str:
    """Name as many headings as there is room for, and count the others."""
    label = ": section " if len(titles) == 1 else ": sections "
    for count in range(len(titles), 0, -1):
        more = f" and {len(titles) - count} more" if count < len(titles) else ""
        text = label + ", ".join(titles[:count]) + more
        if len(text) <= room:
            return text
    return ""


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
