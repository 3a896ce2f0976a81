"""Text codec: texts that PostgreSQL cannot hold are escaped on the way in, and restored.

A ``text`` of PostgreSQL holds no NUL and no lone surrogate; notes and file names may have both.
Each of them becomes U+FDD0, a noncharacter, and four hexadecimal digits; so does U+FDD0 itself.
"""

from __future__ import annotations

import re
from typing import Any

from psycopg import adapters
from psycopg.adapt import AdaptersMap, Loader
from psycopg.pq import Format
from psycopg.types.string import StrBinaryDumper, StrDumper, StrDumperUnknown

__all__ = ["ADAPTERS", "escaped", "restored"]

_MARK = "\ufdd0"
_ODD = re.compile(f"[\0{_MARK}\ud800-\udfff]")
_ESCAPED = re.compile(f"{_MARK}([0-9a-f]{{4}})")


def escaped(text: str) -> str:
    """Return a text without what PostgreSQL cannot hold."""
    if text.isascii() and "\0" not in text:
        return text
    return _ODD.sub(lambda odd: f"{_MARK}{ord(odd[0]):04x}", text)


def restored(text: str) -> str:
    """Return the text that was escaped."""
    if _MARK not in text:
        return text
    return _ESCAPED.sub(lambda code: chr(int(code[1], 16)), text)


class _TextDumper(StrDumper):
    def dump(self, obj: str) -> Any:
        return super().dump(escaped(obj))


class _UnknownDumper(StrDumperUnknown):
    def dump(self, obj: str) -> Any:
        return super().dump(escaped(obj))


class _BinaryDumper(StrBinaryDumper):
    def dump(self, obj: str) -> Any:
        return super().dump(escaped(obj))


class _TextLoader(Loader):
    def load(self, data: Any) -> str:
        return restored(bytes(data).decode())


class _BinaryLoader(_TextLoader):
    format = Format.BINARY


def _adapters() -> AdaptersMap:
    made = AdaptersMap(adapters)
    for dumper in (_BinaryDumper, _TextDumper, _UnknownDumper):  # the last one is the default
        made.register_dumper(str, dumper)
    for loader in (_TextLoader, _BinaryLoader):
        made.register_loader("text", loader)
    return made


ADAPTERS = _adapters()
"""Adapters of the connections of this engine."""
