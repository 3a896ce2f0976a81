r"""Look-alike characters in paths: letters of other scripts, and what is not seen at all.

``memory/аdmin.md`` with a Cyrillic а is another file than ``memory/admin.md``. Nothing is refused:
a path is shown so that a reader can tell, ``memory/<U+0430>dmin.md``; in JSON as ``\u0430``.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from commonplace.text.printable import one_line

__all__ = ["lookalikes", "named_path", "path_json", "shown_path"]

_SHOWN = re.compile(r"<U\+([0-9A-F]{4,5})>")
_WORD = re.compile(r"[^\W\d_]+")
_ALPHABETS = {"LATIN", "CYRILLIC", "GREEK", "COPTIC", "ARMENIAN", "CHEROKEE", "LISU", "DESERET"}
"""Scripts, by the first words of their letters' names, whose letters look like each other's."""
_LIKE_LATIN = frozenset(
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u0475\u04cf"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0423\u0406\u0408\u0405\u0474"
    "\u03b1\u03b9\u03ba\u03bd\u03bf\u03c1\u03c5\u03c4\u03f2\u0391\u0392\u0395\u0396\u0397\u0399\u039a"
    "\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u0585\u057d\u0578\u0570"
)
"""Letters of Cyrillic, Greek and Armenian that look like Latin ones."""
_UNSEEN = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u200b-\u200f\u2800\u3164\uffa0\ufe00-\ufe0f"
    "\u2060-\u206f\ufeff\U000e0100-\U000e01ef]"
)
_PUNCTUATION = re.compile(
    "[\u2010-\u2012\u2043\u2212\ufe58\ufe63"  # like a hyphen
    "\u2044\u2215\u29f8\u2024\ua4f8\ua60e\ufe52"  # like a slash or a dot
    "\u00a0\u1680\u2000-\u200a\u202f\u205f]"  # like a space
)
_PHONETIC = re.compile("[\u0250-\u02af\u1d00-\u1dbf]")
_JOINED = re.compile(
    "(?<=[\u0600-\u0dff])[\u200c\u200d](?=[\u0600-\u0dff])"
    "|(?<=[\u2190-\u2bff\U0001f000-\U0001faff])\ufe0f?(?:\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff]))?"
)
"""Joiners that Arabic and Indic scripts, and emoji, are written with."""
_FORMS = {"<wide", "<narrow", "<small", "<font"}
"""Forms of characters that look like the plain ones; a raised or a circled one does not."""
_EAST_ASIAN = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")


def lookalikes(path: str) -> frozenset[str]:
    """Return the characters of a path that pass for others, or for none."""
    if path.isascii():
        return frozenset()
    return frozenset(char for part in path.split("/") for char in _of_part(part))


def shown_path(path: str) -> str:
    """Escape a path, or a citation, for a reader: as `printable` does, and its look-alikes, too."""
    for char in lookalikes(path):
        path = path.replace(char, f"<U+{ord(char):04X}>")
    return one_line(path)


def named_path(shown: str) -> str:
    """Return the path that `shown_path` shows so; what it would not show so stays as it is."""
    path = _SHOWN.sub(lambda found: chr(int(found[1], 16)), shown)
    return path if shown_path(path) == shown else shown


def path_json(text: str, path: str) -> str:
    """Escape the look-alikes of a path wherever it stands in a JSON text; values stay the same."""
    found = lookalikes(path)
    if not found:
        return text
    escaped = path
    for char in found:
        units = char.encode("utf-16-be", "surrogatepass")
        code = "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
        escaped = escaped.replace(char, code)
    return text.replace(path, escaped)


def _of_part(part: str) -> Iterator[str]:
    yield from _UNSEEN.findall(_JOINED.sub("", part))
    yield from _PUNCTUATION.findall(part)
    yield from _PHONETIC.findall(part)
    if not _EAST_ASIAN.search(part):  # which is written with wide digits and brackets, too
        yield from (char for char in part if _is_ascii_in_other_form(char))
    letters: list[tuple[str, str]] = []
    for word in _WORD.findall(part):
        scripts = [(char, script) for char in word if (script := _script(char)) in _ALPHABETS]
        count = Counter(script for _, script in scripts)
        most = max(count, key=lambda script: (count[script], script == "LATIN"), default="")
        yield from (char for char, script in scripts if script != most)
        letters += [one for one in scripts if one[1] != "LATIN"]
    if all(char in _LIKE_LATIN for char, _ in letters):
        yield from (char for char, _ in letters)


def _is_ascii_in_other_form(char: str) -> bool:
    """Return whether a character is one of ASCII but for its form: wide, mathematical."""
    if char.isascii() or not unicodedata.normalize("NFKC", char).isascii():
        return False
    form, is_form, _ = unicodedata.decomposition(char).rpartition("> ")
    return not is_form or form in _FORMS


def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]
