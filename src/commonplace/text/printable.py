"""Sanitizing of text from notes before it reaches a terminal, or a model.

Notes are written by models and pasted from anywhere. An escape code could recolour, clear or
retitle a terminal, or make it answer. A right-to-left override could show a path backwards.
Invisible characters could carry a text to a model that its reader does not see.
"""

from __future__ import annotations

import re

__all__ = ["escaped_json", "one_line", "printable"]

_HARMFUL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls but tab and line feed; CR is below
    "\u2028\u2029"  # line and paragraph separators
    "\u202a-\u202e\u2066-\u2069"  # embeddings, overrides and isolates of direction
    "\u2060-\u2064\ufeff\u180e\U000e0000-\U000e007f"  # invisible joiners, marks and tags
    "\ud800-\udfff]"  # lone surrogates, which no stream can encode
    "|(?<=[\x00-\x7f])\u200b|\u200b(?=[\x00-\x7f])"  # a break; Thai and Khmer have it between words
    "|\r(?!\n)"  # a carriage return that would overwrite its line
)


def printable(text: str) -> str:
    r"""Escape the characters that a terminal acts on; line breaks and tabs are kept.

    Control characters become control pictures (``\x1b`` is shown as ``␛``), lone surrogates U+FFFD,
    all others their code points (``<U+202E>``).
    """
    return _HARMFUL.sub(_shown, text)


def one_line(text: str) -> str:
    """Escape a text as `printable` does, on one line."""
    return " ".join(printable(text).split())


def escaped_json(text: str) -> str:
    """Escape what `printable` escapes in a JSON text; its values stay the same."""
    return _HARMFUL.sub(_json_escape, text)


def _json_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"<U+{code:04X}>"
