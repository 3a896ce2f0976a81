"""Deltas: a text as its difference from another one, compressed.

A delta keeps what two texts have in common at their beginning and at their end by its length, and
deflates the part between, with the other text's part as its dictionary: a changed line takes some
dozens of bytes, in a file of any size.
"""

from __future__ import annotations

import zlib

from commonplace.text.common_ends import common_end, common_start

__all__ = ["appended_delta", "compress", "decompress", "from_delta", "to_delta"]

_LEVEL = 3
"""Effort of compression: an index run compresses all that it reads for the first time."""
_WINDOW = 1 << 15
"""Bytes of a dictionary that deflate looks at."""


def compress(text: bytes) -> bytes:
    """Return a whole text, compressed."""
    return zlib.compress(text, _LEVEL)


def decompress(body: bytes) -> bytes:
    """Return the text of `compress`."""
    return zlib.decompress(body)


def to_delta(text: bytes, base: bytes) -> bytes:
    """Return a text as its difference from another one."""
    limit = min(len(text), len(base))
    start = common_start(text, base, limit)
    end = common_end(text, base, limit - start)
    part = text[start : len(text) - end]
    return _number(start) + _number(end) + _deflated(part, _around(base, start, end))


def appended_delta(added: bytes, base: bytes) -> bytes:
    """Return a text as its difference from another one, which it has in front of what is added."""
    return _number(len(base)) + _number(0) + _deflated(added, _around(base, len(base), 0))


def from_delta(body: bytes, base: bytes) -> bytes:
    """Return the text of `to_delta`, from the same base."""
    start, at = _read_number(body, 0)
    end, at = _read_number(body, at)
    stop = len(base) - end
    return base[:start] + _inflated(body[at:], base, start, end) + base[stop:]


def _around(base: bytes, start: int, end: int) -> bytes:
    """Return the dictionary of a difference: what it replaces last, the text around it before."""
    stop = len(base) - end
    replaced = base[start:stop][-_WINDOW:]
    room = _WINDOW - len(replaced)
    behind = base[stop : stop + room // 2]
    above = base[max(0, start - room + len(behind)) : start]
    return behind + above + replaced


def _deflated(text: bytes, dictionary: bytes) -> bytes:
    """Return a text, deflated where that is shorter; the first byte says whether it is."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=dictionary)
    packed = packer.compress(text) + packer.flush()
    return b"\2" + packed if len(packed) < len(text) else b"\0" + text


def _inflated(body: bytes, base: bytes, start: int, end: int) -> bytes:
    if body[:1] == b"\0":
        return body[1:]
    # Bodies of the first kind have no text around them in their dictionary.
    replaced = base[start : len(base) - end][-_WINDOW:]
    dictionary = _around(base, start, end) if body[:1] == b"\2" else replaced
    return zlib.decompressobj(-15, zdict=dictionary).decompress(body[1:])


def _number(value: int) -> bytes:
    """Encode a number in as few bytes as it needs, seven bits each."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _read_number(body: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while body[at] & 0x80:
        value |= (body[at] & 0x7F) << shift
        shift += 7
        at += 1
    return value | body[at] << shift, at + 1
