"""Secrets that are recognised by the structure they stand in: tables and headers of cookies."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.text.named_secrets import JUDGED_CHARS, is_mask, looks_chosen, looks_random
from commonplace.text.secret_names import NAMES, QUALIFIED_KEY

__all__ = ["cookie_secrets", "table_secrets"]

Span = tuple[int, int]

_ROW = re.compile(r"^[ \t]{0,12}\|[^\n]*$", re.MULTILINE)
_CELL = re.compile(r"\|[ \t]*[*`_]{0,3}([^|\n]*?)[*`_]{0,3}[ \t]*(?=\||$)", re.MULTILINE)
_RULE = re.compile(r"[ \t]{0,12}\|?[ \t:|-]{3,}$")


def table_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield the cells of a Markdown table's columns whose heads name secrets."""
    columns: dict[int, str] = {}
    last_end = -2
    head: list[Span] = []
    for row in _ROW.finditer(text):
        if row.start() != last_end + 1:
            columns, head = {}, []
        last_end = row.end()
        cells = _cells(text, row.start(), row.end())
        if _RULE.fullmatch(row[0]):
            columns = _secret_columns(lowered, head)
        head = cells
        for index, kind in columns.items():
            if index < len(cells) and _is_secret(text[slice(*cells[index])][:JUDGED_CHARS], kind):
                yield cells[index]


def _is_secret(cell: str, kind: str) -> bool:
    if not cell or " " in cell or is_mask(cell):
        return False
    return looks_random(cell) or (kind in ("password", "short") and looks_chosen(cell))


def _cells(text: str, start: int, end: int) -> list[Span]:
    return [cell.span(1) for cell in _CELL.finditer(text, start, end)]


def _secret_columns(lowered: str, head: list[Span]) -> dict[int, str]:
    found = {}
    for index, (start, end) in enumerate(head):
        if match := NAMES.search(lowered, start, min(end, start + 80)):
            kind = (match.lastgroup or "").removesuffix("_cjk")
            if kind != "key" or QUALIFIED_KEY.search(lowered[start : match.start()]):
                found[index] = kind
    return found


_COOKIES = re.compile(r"cookies?[\"']?:[ \t]?[^\n]*")
_COOKIE = re.compile(r"(?<![\w.-])[\w.-]{1,60}=\"?([^;\s\"',…*]{12,})")


def cookie_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values of a header of cookies."""
    for line in _COOKIES.finditer(lowered):
        for cookie in _COOKIE.finditer(text, line.start(), line.end()):
            yield cookie.span(1)
