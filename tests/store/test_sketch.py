import numpy as np
import pytest

from commonplace.store import sketch
from commonplace.store.sketch import Sketch


def rows(count: int, dimension: int, *, seed: int = 0) -> np.ndarray:
    """Vectors as models make them: a few directions matter, and all share a part."""
    rng = np.random.default_rng(seed)
    directions = np.random.default_rng(99).standard_normal((24, dimension))
    vectors = rng.standard_normal((count, 24)) @ directions
    vectors += rng.standard_normal((count, dimension)) + 3 * directions[0]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32)


@pytest.mark.parametrize("dimension", [1, 63, 64, 100, 384, 1000])
@pytest.mark.parametrize("count", [1, 500])
def test_it_counts_the_dimensions_on_the_same_side(
    monkeypatch: pytest.MonkeyPatch, dimension: int, count: int
) -> None:
    monkeypatch.setattr(sketch, "_BLOCK", 64)
    matrix, query = rows(count, dimension), rows(1, dimension, seed=1)[0]
    same = (matrix > matrix.mean(axis=0)) == (query > 0)
    strong = np.square(query) > np.square(query).mean()
    expected = same.sum(axis=1)
    if dimension < 384:
        expected = expected + 2 * (same & strong).sum(axis=1)
    assert Sketch(matrix).likeness(query).tolist() == expected.tolist()


def test_what_is_likest_is_nearest() -> None:
    matrix = rows(5000, 256)
    sketched = Sketch(matrix)
    for query in rows(20, 256, seed=1):
        nearest = np.argsort(-(matrix @ query))[:10]
        likest = np.argsort(-sketched.likeness(query).astype(int), kind="stable")[:300]
        assert len(set(nearest) & set(likest)) >= 9


def test_it_takes_a_bit_a_dimension() -> None:
    matrix = rows(20_000, 256)
    assert Sketch(matrix).nbytes < matrix.nbytes / 25
