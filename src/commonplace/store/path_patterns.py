"""Path patterns: files, folders and globs that select files of an index."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

__all__ = ["matches_any", "path_pattern"]

_WILDCARD = re.compile(r"(\*\*/|\*\*|\*)|(\?)|\[(!?)(\]?[^\]]*)\]")
_ALL_BELOW = "**"

Token = str | re.Pattern[str]
"""Part of a pattern: ``*``, ``**`` or ``**/``; or the expression of what is between them."""


def matches_any(patterns: Iterable[str], path: str) -> bool:
    """Return whether a path matches one of the patterns."""
    return any(_matches(path_pattern(pattern), path) for pattern in patterns)


@functools.lru_cache(maxsize=256)
def path_pattern(pattern: str) -> tuple[Token, ...]:
    """Return a pattern as tokens.

    Raises:
        re.error: A range of characters in it is reversed.
    """
    if not _WILDCARD.search(pattern):
        end = "" if pattern.endswith("/") else r"(?:/|\Z)"
        return re.compile(re.escape(pattern) + end), _ALL_BELOW
    tokens: list[Token] = []
    between, at = "", 0
    for found in _WILDCARD.finditer(pattern):
        between += re.escape(pattern[at : found.start()])
        at = found.end()
        if found[1]:
            tokens += [re.compile(between), found[1]]
            between = ""
        else:
            between += _character(found)
    return (*tokens, re.compile(between + re.escape(pattern[at:])))


def _character(found: re.Match[str]) -> str:
    if found[2]:
        return "[^/]"
    inside = re.sub(r"([\\\[&~|^])", r"\\\1", found[4])
    return f"(?!/)[{'^' if found[3] else ''}{inside}]"


def _matches(tokens: Sequence[Token], path: str) -> bool:
    """Return whether tokens match a whole path.

    All places that the tokens so far can end at are carried along, instead of trying one after
    the other: the time of a regular expression with as many wildcards grows exponentially.
    """
    ends = {0}
    for token in tokens:
        ends = _ends(token, path, ends)
        if not ends:
            return False
    return len(path) in ends


def _ends(token: Token, path: str, starts: set[int]) -> set[int]:
    """Return where a token can end that begins at one of the places."""
    if isinstance(token, re.Pattern):
        return {found.end() for at in starts if (found := token.match(path, at))}
    first, after = min(starts), len(path) + 1
    if token == _ALL_BELOW:
        return set(range(first, after))
    if token == "**/":
        return starts | {at for at in range(first + 1, after) if path[at - 1] == "/"}
    ends: set[int] = set()
    for at in range(first, after):
        if at in starts or (at - 1 in ends and path[at - 1] != "/"):
            ends.add(at)
    return ends
