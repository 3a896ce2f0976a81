"""Dot products on one processor."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from commonplace.vectors.arrays import products_of_pairs
from support.python_path import environment


def rows(count: int, dimension: int) -> np.ndarray:
    random = np.random.default_rng(count * dimension)
    return random.standard_normal((count, dimension), dtype=np.float32)


@pytest.mark.parametrize("dimension", [0, 1, 8, 384, 3072])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 24, 64])
def test_the_products_of_pairs_are_those_of_the_matrix_with_itself(
    count: int, dimension: int
) -> None:
    matrix = rows(count, dimension)
    products = products_of_pairs(matrix)
    assert products.dtype == np.float32
    np.testing.assert_allclose(products, matrix @ matrix.T, rtol=1e-4, atol=1e-5 * dimension)


_SHARE = """
import time
import numpy as np
from commonplace.vectors.arrays import products_of_pairs

matrix = np.random.default_rng(0).standard_normal((64, 384), dtype=np.float32)
shares = []
for _ in range(20):
    whole, own = time.process_time(), time.thread_time()
    for _ in range(100):
        products_of_pairs(matrix)
    shares.append((time.process_time() - whole) / (time.thread_time() - own))
print(min(shares))  # threads that numpy made at import spin for a moment of their own
"""


def test_the_products_of_pairs_are_made_by_one_thread() -> None:
    run = subprocess.run(  # a process of its own, in which no other thread runs
        [sys.executable, "-c", _SHARE],
        env=environment(),
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert float(run.stdout) < 1.3, "other threads of the process took part"
