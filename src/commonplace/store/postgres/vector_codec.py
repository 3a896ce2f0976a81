"""Vector codec: pgvector's binary format, which is big-endian behind a header of four bytes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from commonplace.vectors import Matrix, Vector

__all__ = ["matrix_from", "packed", "vector_from", "vector_text"]

_HEADER = 4


def packed(vector: Vector) -> bytes:
    """Return a vector in pgvector's binary format."""
    return struct.pack(">HH", len(vector), 0) + vector.astype(">f4").tobytes()


def vector_from(data: bytes) -> Vector:
    """Return the vector of pgvector's binary format."""
    return np.frombuffer(data, dtype=">f4", offset=_HEADER).astype(np.float32)


def matrix_from(rows: Sequence[bytes]) -> Matrix:
    """Return vectors of one length as a matrix."""
    row = np.dtype([("header", "V4"), ("vector", ">f4", ((len(rows[0]) - _HEADER) // 4,))])
    matrix: Matrix = np.frombuffer(b"".join(rows), dtype=row)["vector"].astype(np.float32)
    return matrix


def vector_text(vector: Vector) -> str:
    """Return a vector as a literal of SQL, exactly."""
    return "[" + ",".join(map(repr, vector.astype(np.float64).tolist())) + "]"
