"""JSON with comments, as OpenClaw's configuration is written (JSON5), made into strict JSON.

Comments, trailing commas, names without quotes, single quotes, line continuations, and numbers in
hexadecimal or with a bare point. A regular expression cuts the text into tokens, so that ten
megabytes take seconds; strict JSON takes no detour.
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["parse"]

_TOKEN = re.compile(
    r"""
    (?P<blank>  [\s\ufeff]+ | //[^\n\u2028\u2029]* | /\*.*?\*/ )
    | (?P<text> "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' )
    | (?P<mark> [{}\[\]:,] )
    | (?P<word> [^\s\ufeff{}\[\]:,"'/]+ )
    """,
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|\r\n|.)", re.DOTALL)
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_CONTINUATIONS = ("\n", "\r", "\r\n", "\u2028", "\u2029")
_HEX = re.compile(r"([+-]?)0[xX]([0-9a-fA-F]+)")


def parse(text: str) -> Any:
    """Return the value of a text.

    Raises:
        ValueError: It is neither JSON nor JSON5; the message has the line.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("its values are nested too deep") from error
    except ValueError:
        pass
    try:
        return json.loads(_strict(text))
    except RecursionError as error:
        raise ValueError("its values are nested too deep") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: {error.msg}") from error


def _strict(text: str) -> str:
    """Return strict JSON with the lines of a text."""
    parts: list[str] = []
    comma = word = -1  # places in `parts` of a comma, and of a word, that are not settled yet
    at, before = 0, ""
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"line {text.count(chr(10), 0, at) + 1}: {text[at]!r} is unexpected")
        kind, value, at = token.lastgroup, token[0], token.end()
        if kind == "blank":
            parts.append("\n" * value.count("\n") or " ")
            continue
        if comma >= 0 and value in "}]":
            parts[comma] = ""
        if word >= 0:
            name = parts[word]
            parts[word] = json.dumps(_unescaped(name)) if value == ":" else _number(name)
        comma = len(parts) if value == "," and before not in ("[", "{", ",") else -1
        before = value
        word = len(parts) if kind == "word" else -1
        parts.append(_quoted(value) if kind == "text" else value)
    if word >= 0:
        parts[word] = _number(parts[word])
    return "".join(parts)


def _quoted(text: str) -> str:
    inner = text[1:-1]
    plain = text[0] == '"' and "\\" not in inner
    return text if plain else json.dumps(_unescaped(inner)) + "\n" * inner.count("\n")


def _unescaped(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        code = found[1]
        if len(code) > 2 and code[0] in "xu":
            return chr(int(code[1:], 16))
        return "" if code in _CONTINUATIONS else _CONTROLS.get(code, code)

    # Two halves of a surrogate pair become one character.
    whole = _ESCAPE.sub(character, text)
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _number(word: str) -> str:
    """Return a word as JSON has it; what is no number is left to JSON's own error."""
    hexadecimal = _HEX.fullmatch(word)
    if hexadecimal:
        return str(int(hexadecimal[1] + hexadecimal[2], 16))
    word = re.sub(r"^([+-]?)\.(?=[0-9])", r"\g<1>0.", word).removeprefix("+")
    return re.sub(r"\.(?=$|[eE])", ".0", word)
