"""Strikethrough (``~~text~~``, as GitHub's Markdown has it) and the links of corrections.

A correction strikes the wrong line through, where it stands, and links it with the line that
corrects it, both ways::

    - ~~The VPN listens on port 1194~~ ([corrected 2026-11-22](memory/2026-11-22.md))
    - The VPN listens on port 51820 ([corrects](../MEMORY.md#L3))

Other programs show both as Markdown. The links are marks: they are neither embedded nor searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple
from urllib.parse import quote, unquote

__all__ = [
    "CorrectionLink",
    "correction_links",
    "is_struck",
    "strike",
    "struck_parts",
    "struck_spans",
    "with_links_blanked",
    "without_strikethrough",
]

_TOKEN = re.compile(r"\\.|`+|~+")
_MARKS = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)]|#{1,6}|>)\s+|>)*(?:\[[ xX]\](?:\s+|$))?")
"""Marks in front of a line's text: of lists, headings, quotes and tasks."""
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_LINK = re.compile(
    r"[ \t]*\(\[(?:corrected (\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))|corrects)\]"
    r"\(([^()<>\s#]*)(?:#L(\d{1,9})(?:-L\d{1,9})?)?\)\)"
)
_REMARK = re.compile(r"\[\[[^][]*\d{4}-\d\d-\d\d[^][]*\]\]|\d{4}-\d\d-\d\d(?:\.md)?")
"""What people write behind a struck line: the day of the line that replaces it."""
_WORD = re.compile(r"\w")


class CorrectionLink(NamedTuple):
    """Link between a struck line and the line that corrects it.

    Attributes:
        path: The other line's file, relative to the link's own file.
        day: Day of the correction, in the link of a struck line; None in the other line's.
        line: The other line's number, where the link names it.
    """

    path: str
    day: date | None = None
    line: int | None = None

    def __str__(self) -> str:
        """Return the link as Markdown, to be written behind a line and a space."""
        label = "corrects" if self.day is None else f"corrected {self.day.isoformat()}"
        place = "" if self.line is None else f"#L{self.line}"
        return f"([{label}]({quote(self.path)}{place}))"


def correction_links(text: str) -> list[CorrectionLink]:
    """Return the links of corrections in a text, in order."""
    return [
        CorrectionLink(
            unquote(match[2]),
            _day(match[1]),
            int(match[3]) if match[3] else None,
        )
        for match in _links(text)
    ]


def struck_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each struck part of a line, its tildes included.

    Tildes in code spans and behind a backslash are text, as in GitHub's Markdown.
    """
    if "~~" not in text:
        return []
    spans: list[tuple[int, int]] = []
    opened: int | None = None
    for start, end in _tildes(text):
        if opened is not None and not text[start - 1].isspace():
            spans.append((opened, end))
            opened = None
        elif opened is None and not text[end : end + 1].isspace() and end < len(text):
            opened = start
    return spans


def struck_parts(line: str) -> list[str]:
    """Return the struck parts of a line, without their tildes."""
    return [line[start + 2 : end - 2] for start, end in struck_spans(line)]


def is_struck(line: str) -> bool:
    """Return whether all that a line says is struck; a table's row is one line.

    Marks in front of the text, the link of a correction and a day behind it do not count.
    """
    spans = struck_spans(line)
    if not spans:
        return False
    left = _cut(line, spans)[_MARKS.match(line).end() :]  # type: ignore[union-attr]
    return not _WORD.search(_REMARK.sub("", _without_links(left)))


def strike(line: str, link: CorrectionLink | None = None) -> str:
    """Strike a line through: all of its text, and nothing of its marks.

    The cells of a table's row are struck each by itself. A part that was struck before is joined
    with the rest; a line that is struck already stays as it is.

    Args:
        line: One line, without its line break.
        link: Link to the correction, written behind the text.

    Raises:
        ValueError: The line has no text, is the frame of a code fence, or has marks that no
            strikethrough can enclose.
    """
    if is_struck(line):
        return line
    marks = _MARKS.match(line).end()  # type: ignore[union-attr]
    head, body = line[:marks], line[marks:]
    said = body.rstrip()
    tail = body[len(said) :]
    if not _WORD.search(said) or said.startswith(("```", "~~~")):
        raise ValueError(f"the line {line!r} has no text; a line with words was expected.")
    suffix = "" if link is None else f" {link}"
    if said.startswith("|"):
        borders = [match.start() for match in _CELL_BORDER.finditer(said)]
        ends = [*borders[1:], len(said)]
        cells = [said[start + 1 : end] for start, end in zip(borders, ends, strict=True)]
        last = max(at for at, cell in enumerate(cells) if _WORD.search(cell))
        struck = "".join(
            f"|{_struck_text(cell, suffix if at == last else '')}" for at, cell in enumerate(cells)
        )
    else:
        struck = _struck_text(said, suffix)
    if not is_struck(head + struck + tail):
        raise ValueError(
            f"the marks of the line {line!r} cannot be struck through; edit it instead."
        )
    return head + struck + tail


def with_links_blanked(text: str) -> str:
    """Return a text with spaces in the place of its links of corrections; its length stays."""
    return _LINK.sub(lambda match: " " * len(match[0]), text)


def without_strikethrough(text: str) -> str:
    """Return a text without the tildes and links of corrections: what it said and says."""
    spans = struck_spans(text)
    parts, done = [], 0
    for start, end in spans:
        parts += [text[done:start], text[start + 2 : end - 2]]
        done = end
    return _without_links("".join((*parts, text[done:])))


def _struck_text(text: str, suffix: str) -> str:
    """Strike the words of a text, white space around them left as it is."""
    said = text.strip()
    if not _WORD.search(said):
        return text
    start = text.index(said)
    plain = without_strikethrough(said).strip()
    old = "".join(match[0] for match in _links(said))
    for begin, _ in reversed(list(_tildes(plain))):  # tildes that are text stay text
        plain = f"{plain[:begin]}\\{plain[begin:]}"
    # A tilde or a backslash beside the closing tildes would change what they mean.
    if plain[0] == "~":
        plain = "\\" + plain
    if plain[-1] in "~\\":
        plain = f"{plain[:-1]}\\{plain[-1]}"
    return f"{text[:start]}~~{plain}~~{old}{suffix}{text[start + len(said) :]}"


def _tildes(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each pair of tildes that is no code, escaped, or longer run."""
    tokens = list(_TOKEN.finditer(text))
    last = {match[0]: at for at, match in enumerate(tokens) if match[0][0] == "`"}
    inside = ""
    for at, match in enumerate(tokens):
        mark = match[0]
        if inside:
            inside = "" if mark == inside else inside
        elif mark[0] == "`":
            inside = mark if last[mark] > at else ""
        elif mark == "~~":
            yield match.span()


def _day(text: str | None) -> date | None:
    """Return a day; None for one that no calendar has, such as 30 February."""
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


def _links(text: str) -> Iterator[re.Match[str]]:
    return _LINK.finditer(text) if "([correct" in text else iter(())


def _without_links(text: str) -> str:
    return _LINK.sub("", text) if "([correct" in text else text


def _cut(text: str, spans: list[tuple[int, int]]) -> str:
    """Blank out parts of a text; its length stays."""
    for start, end in spans:
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text
