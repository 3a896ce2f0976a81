"""Appended text: what a note adds to a text that may hold parts of it, and how it is set off.

Items and paragraphs that a log holds are not written again. They are compared as blocks, word by
word: white space does not count. The time is linear in the text: a log may have megabytes, and is
locked meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["added_text", "may_hold", "trim_blank_lines"]

_BLANK = re.compile(r"\ufeff*\s*")
_BLANK_START = re.compile(r"\A(?:[^\S\n]*\n)+")
_BLANK_END = re.compile(r"\n[ \t\r]*\n\Z")
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+\S")
_SPACE = re.compile(r"\s+")
_SAMPLE_CHARS = 1 << 16
_MOST_PLACES = 64
"""Places of a word that are looked at one by one; of more, all of the text is decoded."""
_ROOM_BYTES = 1 << 12
"""White space among the words of a piece that is looked through in the bytes of a long text."""
_MOST_SOUGHT = 20
"""Pieces of a note that are searched for in a text one by one; for more, its blocks are indexed."""


def added_text(held: str, note: str, *, title: str | None) -> str | None:
    """Return the text that appending a note adds to a file; None when the file holds the note."""
    new = _deduplicated(trim_blank_lines(note), held)
    return None if new is None else _joined(held, new, title)


def _joined(held: str, note: str, title: str | None) -> str:
    """Return the text to add: a separator from the text before, the note, a newline."""
    if _BLANK.fullmatch(held):
        gap = "" if not held or held.endswith(("\n", "\ufeff")) else "\n"
        return gap + (f"# {title}\n\n" if title else "") + note + "\n"
    gap = "" if held.endswith("\n") else "\n"
    ending = held[len(held.rstrip()) :]
    if _ends_in_list(held, len(held) - len(ending)) and _ITEM.match(note):
        return gap + note + "\n"
    if not _BLANK_END.search(ending):
        gap += "\n"
    return gap + note + "\n"


def _ends_in_list(text: str, end: int) -> bool:
    """Check whether the last block of a text is a list item, its continuation lines included.

    Args:
        text: The text.
        end: End of its last line that is not blank.
    """
    while end > 0:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end]
        if _ITEM.match(line):
            return True
        if not line.strip() or _is_heading(line):
            return False
        end = start - 1
    return False


def trim_blank_lines(text: str) -> str:
    """Return a note without the blank lines around it."""
    return _BLANK_START.sub("", text).rstrip()


def may_hold(data: bytes, note: str) -> bool:
    """Return whether the bytes of a long text may hold a piece of a note; mostly they do not.

    Each place of a piece's rarest word is looked at with what stands around it: nothing else of the
    text is decoded.
    """
    note = trim_blank_lines(note)
    pieces = _items(note) or [note]
    if len(pieces) > _MOST_SOUGHT or "\ufffd" in note:  # what is not UTF-8 is read as that
        return True
    return any(_may_hold(data, piece) for piece in pieces)


def _may_hold(data: bytes, piece: str) -> bool:
    words = piece.split()
    number = _rarest(words, data[:_SAMPLE_CHARS].decode("utf-8", "replace"))
    word = words[number].encode("utf-8", "surrogatepass")
    room = 4 * len(piece.encode("utf-8", "surrogatepass")) + _ROOM_BYTES
    at, places = data.find(word), 0
    while at >= 0:
        places += 1
        above = data[max(0, at - room) : at].decode("utf-8", "ignore")
        behind = data[at : at + room].decode("utf-8", "ignore")
        if places > _MOST_PLACES or (
            _end_of_words(behind, 0, words, number) is not None
            and _start_of_words(above, len(above), words, number) is not None
        ):
            return True
        at = data.find(word, at + len(word))
    return False


def _deduplicated(note: str, held: str) -> str | None:
    """Deduplicate a note: return the part that a text does not hold yet; None when it holds all.

    A note of list items is compared item by item, any other note as a whole. Both are compared
    with whole blocks, so a note that is only part of a longer sentence is still appended.
    """
    pieces = _items(note) or [note]
    index = _BlockIndex(held) if len(pieces) > _MOST_SOUGHT else None
    fresh: list[str] = []
    for piece in pieces:
        if index is not None:
            is_held = index.holds(piece)
        else:
            is_held = _holds(held, piece) or _holds("\n".join(fresh), piece)
        if not is_held:
            fresh.append(piece)
            if index is not None:
                index.add(piece)
    return "\n".join(fresh).rstrip() if fresh else None


def _holds(text: str, piece: str) -> bool:
    """Check whether consecutive blocks of a text have the words of a piece.

    All of the text is searched for the rarest of the words alone, as far as a sample tells it: a
    note that says something new often has a word that is nowhere.
    """
    words = piece.split()
    number = _rarest(words, text[:_SAMPLE_CHARS])
    for found in re.finditer(re.escape(words[number]), text):
        start = _start_of_words(text, found.start(), words, number)
        if start is not None and _starts_block(text, start):
            end = _end_of_words(text, found.start(), words, number)
            if end is not None and _ends_block(text, end):
                return True
    return False


def _rarest(words: list[str], sample: str) -> int:
    """Return which of some words is the rarest, as far as a sample of a text tells it."""
    places = {word: sample.find(word) for word in words}
    rarest = max(places, key=lambda word: (places[word] < 0, places[word], len(word)))
    return words.index(rarest)


def _start_of_words(text: str, at: int, words: list[str], number: int) -> int | None:
    """Return where the words before a word begin in a text; None if others stand there."""
    for index in range(number - 1, -1, -1):
        end = at
        while end and text[end - 1].isspace():
            end -= 1
        if end == at or not text.endswith(words[index], 0, end):
            return None
        at = end - len(words[index])
    return at


def _end_of_words(text: str, at: int, words: list[str], number: int) -> int | None:
    """Return where the words from a word on end in a text; None if others stand there."""
    for index in range(number, len(words)):
        if index > number:
            space = _SPACE.match(text, at)
            if space is None:
                return None
            at = space.end()
        if not text.startswith(words[index], at):
            return None
        at += len(words[index])
    return at


def _starts_block(text: str, at: int) -> bool:
    """Check whether a block of a text begins with the word at a place."""
    start = text.rfind("\n", 0, at) + 1
    if text[start:at].strip():
        return False
    before = text[text.rfind("\n", 0, max(0, start - 1)) + 1 : max(0, start - 1)]
    return _starts_with_mark(_line_at(text, start)) or not before.strip() or _is_heading(before)


def _ends_block(text: str, at: int) -> bool:
    """Check whether a block of a text ends with the word before a place."""
    end = at + len(_line_at(text, at))
    if text[at:end].strip():
        return False
    after = _line_at(text, end + 1)
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return not after.strip() or _starts_with_mark(after) or _is_heading(line)


def _line_at(text: str, at: int) -> str:
    """Return the rest of the line at a place of a text."""
    end = text.find("\n", at)
    return text[at : end if end >= 0 else len(text)]


def _is_heading(line: str) -> bool:
    return line.lstrip().startswith("#")


def _starts_with_mark(line: str) -> bool:
    return bool(_ITEM.match(line)) or _is_heading(line)


class _BlockIndex:
    """Index of the blocks of a text by their words, for a note of many pieces."""

    def __init__(self, text: str) -> None:
        self._blocks: list[str] = []
        # Numbers alone, no list a block: a hundred thousand of them keep the collector busy.
        self._places: dict[str, int] = {}
        self._equal: list[int] = []
        self._longest = 0
        self.add(text)

    def add(self, text: str) -> None:
        """Add the blocks of a text that does not go on with the one before."""
        self._append("")
        for block in _blocks(text):
            squeezed = " ".join(block.split())
            self._append(squeezed)
            self._places[squeezed] = len(self._blocks) - 1
            self._longest = max(self._longest, len(squeezed))

    def _append(self, block: str) -> None:
        self._equal.append(self._places.get(block, -1))  # the last one before of the same words
        self._blocks.append(block)

    def holds(self, piece: str) -> bool:
        """Check whether consecutive blocks have the words of a piece."""
        wanted = " ".join(piece.split())
        if wanted in self._places:
            return True
        end = wanted.find(" ")
        while 0 < end <= self._longest:
            at = self._places.get(wanted[:end], -1)
            while at >= 0:
                if self._continues(at + 1, wanted[end + 1 :]):
                    return True
                at = self._equal[at]
            end = wanted.find(" ", end + 1)
        return False

    def _continues(self, at: int, rest: str) -> bool:
        for block in self._blocks[at : at + len(rest)]:
            if rest == block:
                return True
            if not rest.startswith(f"{block} "):
                return False
            rest = rest[len(block) + 1 :]
        return False


def _blocks(text: str) -> Iterator[str]:
    """Split a text into paragraphs, headings and list items."""
    block: list[str] = []
    for line in text.split("\n"):
        if block and (not line.strip() or _starts_with_mark(line)):
            yield "\n".join(block)
            block = []
        if _is_heading(line):
            yield line
        elif line.strip():
            block.append(line)
    if block:
        yield "\n".join(block)


def _items(text: str) -> list[str] | None:
    """Split a text of list items into its top-level items; None for any other text."""
    items: list[list[str]] = []
    indent = 0
    for line in text.split("\n"):
        match = _ITEM.match(line)
        if match and (not items or len(match["indent"]) <= indent):
            indent = len(match["indent"])
            items.append([line])
        elif items and (not line.strip() or line[:1].isspace()):
            items[-1].append(line)
        else:
            return None
    return ["\n".join(item) for item in items]
