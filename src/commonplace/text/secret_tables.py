"""Secrets in tables: of Markdown and of terminals, in columns, in statements of SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.text.chosen_words import looks_joined
from commonplace.text.secret_names import NAMES, NO_SECRETS, QUALIFIED_KEY, kind_of
from commonplace.text.secret_values import (
    JUDGED_CHARS,
    is_mask,
    is_opaque,
    looks_chosen,
    looks_random,
    looks_strong,
)

__all__ = ["tabular_secrets"]

Span = tuple[int, int]


def tabular_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield the secrets that stand in a column whose head names them.

    Args:
        text: The text.
        lowered: The same in lower case, character for character.
    """
    if "|" in text or "│" in text:
        yield from _table_secrets(text, lowered)
    yield from _column_secrets(text, lowered)
    if "  " in text:
        yield from _aligned_secrets(text, lowered)
    yield from _inserted_secrets(text, lowered)


_ROW = re.compile(r"^[^\n]*(?:[|│]|[-=─═]{2}[+┼╪]|[+┌└├╞][-=─═]{2})[^\n]*$", re.MULTILINE)
_DRAWN = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
"""Key in a column that is called so, and nothing else."""
_BAR = re.compile(r"[|│]|$", re.MULTILINE)
_WIKI_BAR = re.compile(r"\|\||$", re.MULTILINE)
"""Of the head of a table in a wiki."""
_CELL = re.compile(r"[ \t]*[*`_]{0,3}([^|│\n]*?)[*`_]{0,3}[ \t\r]*")
_RULE = re.compile(r"[ \t]{0,12}[|+├╞┌]?[ \t:|+=─═┼╪┤╡┬┐-]{3,}\r?")


def _table_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield the cells of a table's columns whose heads name secrets, of Markdown or drawn."""
    columns: dict[int, str] = {}
    last_end = -2
    beside_user = False
    head: list[Span] = []
    for row in _ROW.finditer(text):
        if row.start() != last_end + 1:
            columns, head = {}, []
        last_end = row.end()
        cells = _cells(text, row.start(), row.end())
        if _RULE.fullmatch(row[0]):
            columns = columns or _secret_columns(lowered, head)
            names = [lowered[start : min(end, start + 80)] for start, end in head]
            exact = any(NAMES.fullmatch(name) for name in names)
            beside_user = exact and any(map(_USER.match, names))
        elif text.startswith("||", row.start()):
            columns = _secret_columns(lowered, cells)
        head = cells
        for index, kind in columns.items():
            if index < len(cells):
                cell = text[slice(*cells[index])][:JUDGED_CHARS]
                if _is_secret(cell, kind, beside_user=beside_user):
                    yield cells[index]


_USER = re.compile(
    r"(?:user|login|e-?mail|account|benutzer|anmelde|kennung|utilisateur|identifiant|compte|usuario|cuenta|utente"
    r"|usuário|conta|utilizador|gebruiker|użytkownik|konto|host|id|ユーザー|アカウント|ログイン|用户|账号|帳號)"
)
"""Head of a column beside which one of passwords has nothing else."""
_SAID = re.compile(
    r"(?i:\b(?:see|in|ask|via|same|as|above|from|use|using|with|none|no|never|not|siehe|im|bei|wie|kein\w{0,2}|frag\w{0,2}|voir|dans"
    r"|aucun|comme|ver|en el|ninguna|como|vedi|come|nessuna|zie|geen|patrz|brak|min|max"
    r"|required|or|more|is|has|vault"
    r"|by|to|on|at|your|our|stored|unknown|pending|reset|set|changed|expired|manager|bitwarden\w{0,9}|1password"
    r"|keepass\w{0,3}|lastpass|tresor|safe)\b|[…*•<>${}\[\]()?]|^\W{0,8}$)"
)


def _is_secret(cell: str, kind: str, *, beside_user: bool = False) -> bool:
    if kind == "pin":
        return cell.isdecimal() and 4 <= len(cell) <= 8
    if not cell or is_mask(cell):
        return False
    if kind == "opaque":
        return " " not in cell and (is_opaque(cell) or bool(_DRAWN.match(cell)))
    of_password = kind in ("password", "short")
    if of_password and beside_user and 6 <= len(cell) <= 60 and not _SAID.search(cell):
        words = re.findall(r"[^\W\d_]+", cell.lower())
        if (len(words) > 1 or not cell.isalpha()) and NO_SECRETS.isdisjoint(words):
            return True
    if " " in cell:
        return False
    return looks_random(cell) or (of_password and (looks_chosen(cell) or looks_joined(cell)))


def _cells(text: str, start: int, end: int) -> list[Span]:
    """Return the places of a row's cells; its outer bars may be missing."""
    cells: list[Span] = []
    at = start
    bars = _WIKI_BAR if text.startswith("||", start) else _BAR
    for bar in bars.finditer(text, start, end):
        if (cell := _CELL.fullmatch(text, at, bar.start())) and (cells or bar[0] == "" or cell[1]):
            cells.append(cell.span(1))
        at = bar.end()
    return cells


def _secret_columns(lowered: str, head: list[Span]) -> dict[int, str]:
    found = {}
    for index, (start, end) in enumerate(head):
        if match := NAMES.search(lowered, start, min(end, start + 80)):
            kind = kind_of(match)
            if kind != "key" or QUALIFIED_KEY.search(lowered[start : match.start()]):
                found[index] = kind
            elif match.span() == (start, end):
                found[index] = "opaque"
    return found


_INSERT = re.compile(
    r"insert\s{1,4}into\s{1,4}[\w.\"`\[\]]{1,80}\s{0,4}\((?P<names>[^()]{1,400})\)\s{0,4}values\s{0,4}\("
)
_SQL_VALUE = re.compile(
    r"\s{0,4}(?:n?'(?P<text>(?:[^'\n]|''){0,400})'|[^,()'\n]{1,80})\s{0,4}(?:,|\))"
)


def _inserted_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values that a statement of SQL gives to columns whose names are of secrets."""
    for statement in _INSERT.finditer(lowered):
        at = statement.end()
        for name in statement["names"].split(","):
            value = _SQL_VALUE.match(text, at)
            if value is None:
                break
            at = value.end()
            if (
                value["text"]
                and NAMES.fullmatch(name.strip(' "`[]'))
                and not is_mask(value["text"])
            ):
                yield value.span("text")


_HEAD = re.compile(
    r"(?m)^(?P<head>[\"'\w .-]{1,40}(?:(?P<comma>[,;\t])[\"'\w .-]{1,40}){1,20})\r?\n(?=[^\n]*"
    r"(?P=comma))"
)
"""First line of values that are separated by commas, semicolons or tabs."""


def _column_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values of separated columns (CSV) whose heads name secrets."""
    done = 0
    for head in _HEAD.finditer(lowered):
        if head.start() < done:
            continue
        comma, names = head["comma"], head["head"].split(head["comma"])
        columns = {}
        for index, name in enumerate(names):
            match = NAMES.fullmatch(name.strip("\"' "))
            kind = kind_of(match) if match else ""
            if kind in ("password", "short", "token"):
                columns[index] = kind
        beside_user = any(_USER.match(name.strip("\"' ")) for name in names)
        done = head.end()
        while columns and done < len(text):
            end = text.find("\n", done)
            end = len(text) if end < 0 else end
            row = _split(text[done:end], comma)
            if len(row) != len(names):
                break
            at = done
            for index, cell in enumerate(row):
                bare = cell.strip("\"'\r ")
                if index in columns and _is_secret(
                    bare[:JUDGED_CHARS], columns[index], beside_user=beside_user
                ):
                    start = at + cell.index(bare)
                    yield start, start + len(bare)
                at += len(cell) + 1
            done = end + 1


_CELLS = {
    comma: re.compile(rf"(?:\"(?:[^\"\n]|\"\")*\"|[^{comma}\n]*)(?:{comma}|$)") for comma in ",;\t"
}


def _split(row: str, comma: str) -> list[str]:
    """Return the cells of a row; one in quotes may have commas."""
    if '"' not in row:
        return row.split(comma)
    cells = [cell[0].removesuffix(comma) for cell in _CELLS[comma].finditer(row)]
    return cells if row.endswith(comma) else cells[:-1] if cells and not cells[-1] else cells


_ALIGNED = re.compile(r"(?m)^[^\S\n]{0,8}\S+(?: \S+){0,2}(?: {2,}\S+(?: \S+){0,2}){1,12} *$")
"""First line of columns that blanks align, as tools print them."""
_WORDS = re.compile(r"\S+(?: \S+)*")
_VALUE = re.compile(r"[^\s…*]{6,128}")


def _aligned_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values that stand below a name, in columns that blanks align."""
    done = 0
    for head in _ALIGNED.finditer(text):
        if head.start() < done:
            continue
        columns = {}
        for word in _WORDS.finditer(lowered, *head.span()):
            if name := NAMES.fullmatch(word[0]):
                columns[word.start() - head.start()] = kind_of(name)
        done = head.end() + 1
        while columns and (row := _ALIGNED.match(text, done)):
            for column, kind in columns.items():
                at = row.start() + column
                value = _VALUE.match(text, at, row.end())
                if value is None or not text[at - 1].isspace():
                    continue
                of_password = kind in ("password", "short") and looks_strong(value[0])
                if of_password or looks_random(value[0]):
                    yield value.span()
            done = row.end() + 1
