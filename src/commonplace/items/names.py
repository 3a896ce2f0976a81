"""File names of keys and namespace labels: any text, mapped to a safe name and back.

A name is the text itself where that is safe, so that people find their way. Other characters are
percent-encoded. A text with capitals gets a hash behind a tilde, because many file systems ignore
case, and so does a long one, which is cut.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from urllib.parse import unquote_to_bytes

from commonplace.workspace.namespaces import DEVICE_NAME, INVISIBLE

__all__ = ["decode_name", "encode_name", "resolve_name"]

_MAX_BYTES = 180
"""Bytes of a name without its ending: file systems take 255."""
_HASH_CHARS = 8
_LONG_HASH_CHARS = 20
_EMPTY = "%"
"""Name of the empty text."""
_ENCODED = re.compile(r'[\x00-\x1f\x7f%~/\\:*?"<>|\[\]{}]')
_AT_EDGE = re.compile(r"^[ .]|[ .]$")
_CASED = re.compile(rf"(?s)(.*)~[0-9a-f]{{{_HASH_CHARS}}}")
_CUT = re.compile(rf"(?s).*~~[0-9a-f]{{{_LONG_HASH_CHARS}}}")


def encode_name(text: str, *, dots: bool = True) -> str:
    """Return the file name of a key or a label, without an ending.

    Args:
        text: Any text.
        dots: Whether dots within it stay; in a folder's name they do not, so that no folder has the
            name of an item's file.
    """
    plain = _plain_name(text, dots=dots)
    if len(plain.encode("utf-8")) > _MAX_BYTES:
        start = plain.encode("utf-8")[: _MAX_BYTES - _LONG_HASH_CHARS - 2].decode("utf-8", "ignore")
        return f"{start.rstrip('% .')}~~{_hash(text)[:_LONG_HASH_CHARS]}"
    if text.casefold() != text:
        return f"{plain}~{_hash(text)[:_HASH_CHARS]}"
    return plain


def decode_name(name: str) -> str | None:
    """Return the text of a file name; None for one that was cut, whose text the file has."""
    if _CUT.fullmatch(name):
        return None
    cased = _CASED.fullmatch(name)
    plain = cased[1] if cased else name
    if plain == _EMPTY:
        return ""
    return unquote_to_bytes(plain).decode("utf-8", "surrogatepass" if "%ED" in plain else "replace")


def resolve_name(folder: str, text: str, *, ending: str = "") -> str:
    """Return the name that a text has in a folder: a person may have given it without the hash.

    Args:
        folder: The folder.
        text: Key or label.
        ending: Ending of the file; empty for a folder.
    """
    name = encode_name(text, dots=bool(ending)) + ending
    plain = _plain_name(text, dots=bool(ending)) + ending
    if name == plain or os.path.lexists(os.path.join(folder, name)):
        return name
    try:
        listed = os.listdir(folder)  # a file system that ignores case would find another's file
    except OSError:
        return name
    return plain if plain in listed else name


def _plain_name(text: str, *, dots: bool) -> str:
    """Return a text with its unsafe characters percent-encoded."""
    if not text:
        return _EMPTY
    is_normal = unicodedata.normalize("NFC", text) == text
    name = "".join(_encoded(one) if _is_unsafe(one, dots, is_normal) else one for one in text)
    name = _AT_EDGE.sub(lambda edge: _encoded(edge[0]), name)
    if DEVICE_NAME.fullmatch(name):
        return _encoded(name[0]) + name[1:]
    return name


def _is_unsafe(character: str, dots: bool, is_normal: bool) -> bool:
    if character.isascii():
        return bool(_ENCODED.match(character)) or (character == "." and not dots)
    return not is_normal or unicodedata.category(character) in (*INVISIBLE, "Zs")


def _encoded(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
