"""Views of a text whose places lead back to it: without invisible characters, or decoded."""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from urllib.parse import unquote

__all__ = [
    "ENCODED",
    "WRAPPED",
    "OffsetView",
    "decoded_views",
    "unwrapped_view",
    "visible_view",
]

_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u2060-\u2064\ufeff]+")
_BLANK = re.compile("[\u00a0\u2007\u202f\u3000]")
"""Blanks of other widths, as French typography has them before a colon."""
_COMPOSED = re.compile(rf"[A-Za-z][\u0300-\u036f]+|{_INVISIBLE.pattern}|{_BLANK.pattern}")
_ENTITY = re.compile(r"&(?:#[0-9]{1,6}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,8});")
_UNICODE = re.compile(r"\\u00[2-7][0-9A-Fa-f]|\\x[2-7][0-9A-Fa-f]")
_SOFT_BREAK = re.compile(r"\w=\r?\n[ \t>]{0,16}\w")
_CONCATENATED = re.compile(
    r"(?<=[\w+/=.-])(?P<quote>[\"'])[ \t]{0,4}(?:(?:[+.&][ \t]{0,4})?\\?\r?\n[ \t]{0,40}(?:[+.&"
    r"][ \t]{0,4})?|[+.&][ \t]{0,4})"
    r"(?P=quote)(?=[\w+/=.-]{4})"
)
"""Between two parts of a string in code."""
_PRINTABLE = re.compile(r"=(?:\r?\n[ \t>]{0,16}|[2-7][0-9A-F])")
"""Of a mail (quoted-printable): a sign of equality ends a line that goes on."""
ENCODED = ("&", "%", "\\u00", "\\x", "=\n", "=\r\n", '"\n', "'\n", '" ', "' ", '"\\', "'\\")
"""Signs, one of which a text has that `decoded_views` would change."""
WRAPPED = re.compile(
    r"(?<=[\w.=-]{12})\r?\n[ \t>]{0,8}(?=[\w=-]{6,200}[ \t]*(?:\r?\n|$))", re.ASCII
)
"""Between two parts of a word, of which the second is alone in its line."""
_PERCENT = re.compile(r"%(?:25){0,3}[2-7][0-9A-Fa-f]")


class OffsetView:
    """Text made from another one by the replacement of some passages.

    Attributes:
        text: The text.
    """

    def __init__(self, text: str, pattern: re.Pattern[str], replaced: Callable[[str], str]) -> None:
        """Replace what a pattern matches, and note where the rest comes from."""
        parts: list[str] = []
        self._starts, self._sources = [0], [0]
        at = length = 0
        for match in pattern.finditer(text):
            part = replaced(match[0])
            parts += (text[at : match.start()], part)
            length += match.start() - at + len(part)
            at = match.end()
            if part:  # the place of what was replaced is where it began
                self._starts.append(length - len(part))
                self._sources.append(match.start())
            self._starts.append(length)
            self._sources.append(at)
        self.text = "".join((*parts, text[at:]))

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Return the place of a passage in the original text."""
        return self._source(start), self._source(end)

    def _source(self, place: int) -> int:
        index = bisect_right(self._starts, place) - 1
        return self._sources[index] + place - self._starts[index]


def visible_view(text: str) -> OffsetView | None:
    """Return a text without invisible characters, accents composed; None if it is the same."""
    return OffsetView(text, _COMPOSED, _composed) if _COMPOSED.search(text) else None


def _composed(part: str) -> str:
    if _BLANK.match(part):
        return " "
    return unicodedata.normalize("NFC", part) if part[0].isascii() else ""


def unwrapped_view(text: str) -> OffsetView:
    """Return a text with its wrapped words whole."""
    return OffsetView(text, WRAPPED, lambda _: "")


def _character(entity: str) -> str:
    return _BLANK.sub(" ", _INVISIBLE.sub("", html.unescape(entity)))


def decoded_views(text: str) -> list[OffsetView]:
    """Return a text with the escapes of HTML, of URLs, of JSON and of mails decoded, one by one."""
    views = []
    if _ENTITY.search(text):
        views.append(OffsetView(text, _ENTITY, _character))
    if _PERCENT.search(text):
        views.append(OffsetView(text, _PERCENT, lambda code: unquote(f"%{code[-2:]}")))
    if _UNICODE.search(text):
        views.append(OffsetView(text, _UNICODE, lambda code: chr(int(code[-2:], 16))))
    if _CONCATENATED.search(text):
        views.append(OffsetView(text, _CONCATENATED, lambda _: ""))
    if _SOFT_BREAK.search(text):
        views.append(OffsetView(text, _PRINTABLE, _printed))
    return views


def _printed(code: str) -> str:
    return "" if code[1].isspace() else chr(int(code[1:], 16))
