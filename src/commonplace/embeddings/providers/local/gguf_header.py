"""Header of a GGUF file: its metadata, whether the file is whole, and a digest of its content.

The format: magic, version, counts; keys with typed values; name, shape, type and offset of each
tensor; the tensors themselves. Strings and arrays carry their lengths, so that a vocabulary of a
quarter of a million words is passed over without being read.
"""

from __future__ import annotations

import functools
import hashlib
import math
import mmap
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from commonplace.errors import EmbedderError

__all__ = ["BLOCK_BYTES", "GGUFHeader", "read_header"]

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_SCALARS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?",
    10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9
_MAX_VALUE_BYTES = 1 << 20
_MAX_DIMENSIONS = 4
_ALIGNMENT = 32

BLOCK_BYTES = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
    20: (32, 18), 23: (256, 136), 24: (1, 1), 26: (1, 4), 30: (1, 2),
}  # fmt: skip
"""Values in a block and its bytes, by the number of a tensor's type, for the usual types."""

_SAMPLES = 16
_SAMPLE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class GGUFHeader:
    """What a model file says of itself.

    Attributes:
        metadata: Its scalar values and texts by key; arrays are left out.
        digest: Hash of the header, of the file's size, and of samples of the tensors. Two files of
            one digest hold the same model; reading a gigabyte whole would take a second.
    """

    metadata: Mapping[str, Any]
    digest: str

    @property
    def architecture(self) -> str:
        """Architecture as llama.cpp names it."""
        return self.text("general.architecture")

    def text(self, key: str) -> str:
        """Return a text of the metadata; empty where there is none."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key: str) -> int | None:
        """Return a whole number of the metadata; ``{arch}`` in the key is the architecture."""
        value = self.metadata.get(key.replace("{arch}", self.architecture))
        return value if isinstance(value, int) else None


def read_header(path: str) -> GGUFHeader:
    """Read the header of a model file, and check that the file is whole.

    Raises:
        EmbedderError: The file is missing, cannot be read, is no GGUF file, or is cut.
    """
    try:
        found = os.stat(path)
        return _read(path, found.st_size, found.st_mtime_ns)
    except FileNotFoundError as error:
        raise EmbedderError(
            f"there is no model file {path}; expected is the path of a GGUF file."
        ) from error
    except OSError as error:
        raise EmbedderError(
            f"the model file {path} cannot be read: {error.strerror or error}; expected is a GGUF "
            "file."
        ) from error


@functools.lru_cache(maxsize=8)
def _read(path: str, size: int, _changed: int) -> GGUFHeader:
    with open(path, "rb") as file:
        start = file.read(len(_MAGIC))
        if start != _MAGIC:
            raise EmbedderError(
                f"{path} is no GGUF file: it begins with {start!r}, expected is {_MAGIC!r}. "
                "Name a file that ends with .gguf, or fetch it again."
            )
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            reader = _Reader(data, path)
            metadata = reader.metadata()
            end = reader.tensors_end(metadata.get("general.alignment"))
            if end > size:
                raise EmbedderError(
                    f"the model file {path} is cut: it has {size:,} bytes of {end:,}. "
                    "Fetch it again."
                )
            return GGUFHeader(metadata, _digest(data, reader.at))


def _digest(data: mmap.mmap, header_end: int) -> str:
    whole = hashlib.sha256(data[:header_end])
    whole.update(str(len(data)).encode())
    rest = max(0, len(data) - header_end - _SAMPLE_BYTES)
    for sample in range(_SAMPLES + 1):
        at = header_end + rest * sample // _SAMPLES
        whole.update(data[at : at + _SAMPLE_BYTES])
    return whole.hexdigest()


class _Reader:
    """Position in the header of a file."""

    def __init__(self, data: mmap.mmap, path: str) -> None:
        self._data = data
        self._path = path
        self.at = len(_MAGIC)
        version = self._number("<I")
        if version not in _VERSIONS:
            raise EmbedderError(
                f"the model file {path} has version {version} of GGUF, or another byte order; "
                f"expected is version {' or '.join(map(str, _VERSIONS))}. Convert it again."
            )
        self._tensors, self._values = self._number("<Q"), self._number("<Q")

    def metadata(self) -> dict[str, Any]:
        """Read the values, arrays left out."""
        found: dict[str, Any] = {}
        for _ in range(self._values):
            key = self._text()
            value = self._value(self._number("<I"), depth=0)
            if value is not None:
                found[key] = value
        return found

    def tensors_end(self, alignment: Any) -> int:
        """Read what the header says of the tensors; return the size that the file has with them."""
        if not isinstance(alignment, int) or alignment < 1:
            alignment = _ALIGNMENT
        last: int = 0
        for _ in range(self._tensors):
            self._text()
            dimensions = self._number("<I")
            if dimensions > _MAX_DIMENSIONS:
                raise self._broken()
            count = math.prod(self._number("<Q") for _ in range(dimensions))
            block, size = BLOCK_BYTES.get(self._number("<I"), (count or 1, 1))
            last = max(last, self._number("<Q") + -(-count // block) * size)
        start: int = -(-self.at // alignment) * alignment
        return start + last

    def _value(self, kind: int, depth: int) -> Any:
        if kind == _STRING:
            return self._text()
        if kind in _SCALARS:
            return self._number(_SCALARS[kind])
        if kind != _ARRAY or depth:
            raise self._broken()
        inner, count = self._number("<I"), self._number("<Q")
        if inner in _SCALARS:
            self._pass(count * struct.calcsize(_SCALARS[inner]))
        elif inner == _STRING:
            for _ in range(count):
                self._pass(self._number("<Q"))
        else:
            raise self._broken()
        return None

    def _text(self) -> str:
        size = self._number("<Q")
        at = self.at
        self._pass(size)
        return self._data[at : at + min(size, _MAX_VALUE_BYTES)].decode("utf-8", "replace")

    def _number(self, form: str) -> Any:
        at = self.at
        self._pass(struct.calcsize(form))
        return struct.unpack_from(form, self._data, at)[0]

    def _pass(self, size: int) -> None:
        self.at += size
        if self.at > len(self._data):
            raise self._broken()

    def _broken(self) -> EmbedderError:
        return EmbedderError(
            f"the model file {self._path} breaks off in its header, or its header is damaged; "
            "fetch it again."
        )
