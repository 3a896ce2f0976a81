"""Forms of secrets and harmless texts, with characters drawn at random in place of real ones."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parents[1] / "data" / "redaction"
LOWER, UPPER, DIGITS = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
ALPHABETS = {
    "a": LOWER + UPPER + DIGITS,
    "l": LOWER + DIGITS,
    "u": UPPER + DIGITS,
    "U": UPPER + DIGITS,
    "d": DIGITS,
    "h": DIGITS + "abcdef",
    "H": DIGITS + "ABCDEF",
    "b": LOWER + UPPER + DIGITS + "+/",
    "s": LOWER + UPPER + DIGITS + "-_",
    "w": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
}
SPEC = re.compile("‹([a-zA-Z])([0-9]+)›")
MARKS = re.compile("⟦(.*?)⟧", re.DOTALL)
SHOWN = 11
"""Characters in a row that a mask shows none of: it keeps six and four."""


class Form(NamedTuple):
    """One line of the data.

    Attributes:
        line: As it is written in the data.
        text: With characters in place of the notation.
        secrets: What must be masked of it.
        kept_aside: Whether it was not looked at while the patterns were written.
    """

    line: str
    text: str
    secrets: tuple[str, ...]
    kept_aside: bool

    def leaks(self, masked: str) -> bool:
        """Return whether a masked text shows more of a secret than both its ends."""
        shown = _bare(masked)
        return any(_shows(_bare(secret), shown) for secret in self.secrets)


def forms(name: str, *, seed: int = 0) -> Iterator[Form]:
    """Yield the forms of a file of the data, drawn anew for each seed."""
    lines = (DATA / f"{name}.txt").read_text("utf-8").split("\n")
    number, looked_at = -1, False
    for line in lines:
        if line.startswith("== "):
            looked_at = line.endswith("looked at")
        if not line.strip() or re.match(r"# |== ", line):
            continue
        number += 1
        drawn = random.Random(f"{seed} {line}")
        text = line.replace("⏎", "\n").replace("⇥", "\t").replace("‹zw›", "\u200b")
        text = SPEC.sub(lambda spec, drawn=drawn: _drawn(drawn, spec[1], int(spec[2])), text)
        secrets = tuple(MARKS.findall(text))
        yield Form(
            line, text.replace("⟦", "").replace("⟧", ""), secrets, number % 3 == 2 and not looked_at
        )


def _drawn(drawn: random.Random, kind: str, count: int) -> str:
    chars = "".join(drawn.choices(ALPHABETS[kind], k=count))
    # A token begins and ends with a letter or digit.
    return chars if kind in "dh" else re.sub(r"^[^A-Za-z0-9]|[^A-Za-z0-9]$", "k", chars)


def _bare(text: str) -> str:
    """Return a text without what secrets may be split by."""
    return re.sub("[\\s\u200b\\\\]", "", text)


def _shows(secret: str, text: str) -> bool:
    if len(secret) < 18:
        return secret in text
    return any(secret[at : at + SHOWN] in text for at in range(len(secret) - SHOWN + 1))
