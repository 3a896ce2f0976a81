"""Makes text from notes harmless for a terminal.

Notes are written by models and pasted from anywhere. An escape code in one could recolour, clear or
retitle a terminal, or make it answer; a right-to-left override could show a path backwards; signs
that nobody sees could say something else to a model than to its reader.
"""

from __future__ import annotations

import re

__all__ = ["one_line", "printable"]

_HARMFUL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls but tab and line feed; CR is below
    "\u2028\u2029"  # line and paragraph separators
    "\u202a-\u202e\u2066-\u2069"  # embeddings, overrides and isolates of direction
    "\u2060-\u2064\ufeff\u180e\U000e0000-\U000e007f"  # joiners, marks and tags that are not seen
    "\ud800-\udfff]"  # lone surrogates, which no stream can encode
    "|(?<=[\x00-\x7f])\u200b|\u200b(?=[\x00-\x7f])"  # a break; Thai and Khmer have it between words
    "|\r(?!\n)"  # a carriage return that would overwrite its line
)


def printable(text: str) -> str:
    r"""Replace what a terminal would act on by signs that show it; lines stay as they are.

    Control characters become their pictures (``\x1b`` is shown as ``␛``), the others their code
    points (``<U+202E>``), lone surrogates U+FFFD. Tabs and ends of lines are left.
    """
    return _HARMFUL.sub(_shown, text)


def one_line(text: str) -> str:
    """Make a text printable and put it on one line."""
    return " ".join(printable(text).split())


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"<U+{code:04X}>"
