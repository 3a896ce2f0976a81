"""Edits of a file's bytes: encoding, byte order mark and line endings stay as they are."""

from __future__ import annotations

import codecs
import difflib
import re
from collections.abc import Callable, Iterator
from typing import AnyStr, NamedTuple

from commonplace.errors import EditError
from commonplace.types import citation
from commonplace.workspace.appended_text import added_text
from commonplace.workspace.file_text import utf16_encoding

__all__ = [
    "FileCodec",
    "Quote",
    "appended_bytes",
    "nearest_lines",
    "occurrences",
    "replace_passage",
    "replace_text",
]

Quote = Callable[[str], str]
_LINE_CHARS = 120
_MAX_PLACES = 5
"""Places that an error names."""


class FileCodec(NamedTuple):
    """Codec of a file: its encoding, its byte order mark, and its line endings.

    Attributes:
        encoding: Name of the encoding.
        mark: Byte order mark.
        newline: Line ending where all lines have the same; None where they differ.
    """

    encoding: str = "utf-8"
    mark: bytes = b""
    newline: str | None = None

    @classmethod
    def of(cls, data: bytes) -> FileCodec:
        """Return the codec of a file by its bytes."""
        utf16 = utf16_encoding(data)
        mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        codec = cls(utf16 or "utf-8", data[:2] if utf16 else mark)
        text = codec.decode(data).encode("utf-8", "surrogatepass") if utf16 else data
        if b"\r" not in text:  # one byte is found much faster than lines are counted
            return codec._replace(newline="\n" if b"\n" in text else None)
        lines, windows = text.count(b"\n"), text.count(b"\r\n")
        newline = {0: "\n", lines: "\r\n"}.get(windows) if lines else None
        return codec._replace(newline=newline)

    def decode(self, data: bytes) -> str:
        """Return the text without the mark; bytes that are no text come back from `encode`."""
        return data[len(self.mark) :].decode(self.encoding, self._errors)

    def encode(self, text: str) -> bytes:
        """Return the bytes of a text that `decode` returned, or of one with changes."""
        return self.mark + text.encode(self.encoding, self._errors)

    @property
    def _errors(self) -> str:
        return "surrogateescape" if self.encoding == "utf-8" else "surrogatepass"

    def adapted(self, text: str) -> str:
        """Return a text of a caller with the line endings of the file, fit to be encoded."""
        text = text.encode("utf-8", "replace").decode("utf-8")
        if self.newline == "\r\n" and "\r" not in text:
            return text.replace("\n", "\r\n")
        return text


def replace_text(before: bytes | None, text: str) -> bytes:
    """Return the bytes of a file whose whole text is replaced, or of a new one."""
    codec = FileCodec() if before is None else FileCodec.of(before)
    if codec.mark and text.startswith("\ufeff"):
        text = text[1:]
    return codec.encode(codec.adapted(text))


def appended_bytes(before: bytes | None, note: str, *, title: str | None) -> bytes | None:
    """Return the bytes of a file with a note appended; the same where it holds the note.

    Args:
        before: The bytes; None for no file.
        note: The note, without blank lines around it.
        title: Heading of a new file; None for no heading.
    """
    codec = FileCodec() if before is None else FileCodec.of(before)
    held = "" if before is None else codec.decode(before)
    added = added_text(held, codec.adapted(note), title=title)
    return before if added is None else codec.encode(held + added)


def replace_passage(path: str, before: bytes, old: str, new: str, *, quoted: Quote = str) -> bytes:
    """Return the bytes of a file with the one place of a passage replaced.

    Args:
        path: The note, for errors.
        before: The bytes.
        old: The passage.
        new: What replaces it.
        quoted: Marks a line in an error if it is untrusted.

    Raises:
        EditError: The passage stands nowhere, or in several places; or the two are the same.
    """
    if not old:
        raise EditError("old is empty; give the passage that is to be replaced.")
    if old == new:
        raise EditError("old and new are the same; there is nothing to change.")
    codec = FileCodec.of(before)
    wanted, with_what = codec.adapted(old), codec.adapted(new)
    if codec.encoding == "utf-8":  # a character's bytes are in no other place: nothing is decoded
        starts = list(occurrences(before, wanted.encode()))
        if len(starts) == 1 and starts[0] >= len(codec.mark):
            end = starts[0] + len(wanted.encode())
            return b"".join((before[: starts[0]], with_what.encode(), before[end:]))
    text = codec.decode(before)
    starts = list(occurrences(text, wanted))
    if len(starts) != 1:
        raise EditError(_places(path, text, wanted, starts, quoted))
    (start,) = starts
    return codec.encode(text[:start] + with_what + text[start + len(wanted) :])


def occurrences(text: AnyStr, wanted: AnyStr) -> Iterator[int]:
    """Yield the offsets of a passage, overlapping ones included."""
    start = text.find(wanted)
    while start >= 0:
        yield start
        start = text.find(wanted, start + 1)


def _places(path: str, text: str, wanted: str, starts: list[int], quoted: Quote) -> str:
    """Return the message of an error: where the passage stands, or what is most like it."""
    if starts:
        shown = [citation(path, line, line) for line in (_line_of(text, at) for at in starts)]
        more = ", …" if len(shown) > _MAX_PLACES else ""
        return (
            f"old stands {len(starts)} times in {path}: {', '.join(shown[:_MAX_PLACES])}{more}. "
            "Nothing was changed; give more of the text around the one that is meant."
        )
    near = nearest_lines(text, wanted, quoted)
    found = "; ".join(f"{citation(path, line, line)}: {said}" for line, said in near)
    hint = f"The nearest lines are {found}" if near else "Read the note, and copy from it."
    return f"old does not stand in {path}; it must be a verbatim part of it. {hint}"


def nearest_lines(text: str, wanted: str, quoted: Quote = str) -> list[tuple[int, str]]:
    """Return the lines that are most like the first line of a passage, with their numbers.

    Args:
        text: The text.
        wanted: The passage.
        quoted: Marks a line that is shown if it is untrusted: a model may read it.
    """
    first = next((line for line in wanted.split("\n") if line.strip()), "").strip()
    words = set(re.findall(r"\w+", first.casefold()))
    lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"), 1)]
    rated = [
        (len(words & set(re.findall(r"\w+", line.casefold()))), number, line)
        for number, line in lines
        if line
    ]
    rated.sort(key=lambda one: (-one[0], one[1]))
    best = sorted(
        (-difflib.SequenceMatcher(None, first[:400], line[:400]).ratio(), number, line)
        for shared, number, line in rated[:50]
        if shared
    )
    return [(number, quoted(line)[:_LINE_CHARS]) for _, number, line in best[:3]]


def _line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
