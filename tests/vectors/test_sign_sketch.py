import threading

import numpy as np
import pytest

from commonplace.vectors import sign_sketch
from commonplace.vectors.sign_sketch import SignSketch

if not SignSketch.can_be_made:
    pytest.skip("numpy 1 cannot count bits", allow_module_level=True)


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
def test_it_weighs_the_sides_of_all_dimensions(
    monkeypatch: pytest.MonkeyPatch, dimension: int, count: int
) -> None:
    monkeypatch.setattr(sign_sketch, "_BLOCK", 64)
    matrix, query = rows(count, dimension), rows(1, dimension, seed=1)[0]
    centred = matrix - matrix.mean(axis=0)
    sides = np.where(centred > 0, 1, -1)
    wanted = np.where(query > 0, 1, -1) * np.where(query**2 > (query**2).mean(), 3, 1)
    expected = (sides @ wanted) / 2 * np.linalg.norm(centred, axis=1)
    found = SignSketch(matrix).estimates(query)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_what_seems_nearest_is() -> None:
    matrix = rows(5000, 256)
    sketched = SignSketch(matrix)
    for query in rows(20, 256, seed=1):
        nearest = np.argsort(-(matrix @ query))[:10]
        seeming = np.argsort(-sketched.estimates(query))[:200]
        assert len(set(nearest) & set(seeming)) >= 9


def test_it_takes_a_bit_a_dimension_and_little_more() -> None:
    matrix = np.zeros((100_000, 256), dtype=np.float32)
    assert SignSketch(matrix).nbytes < matrix.nbytes / 20


@pytest.mark.parametrize("starts", [True, False], ids=["two threads", "no thread can be started"])
@pytest.mark.parametrize("count", [200, 201, 333])
def test_two_threads_estimate_what_one_does(
    monkeypatch: pytest.MonkeyPatch, count: int, starts: bool
) -> None:
    matrix, query = rows(count, 100), rows(1, 100, seed=1)[0]
    alone = SignSketch(matrix).estimates(query)
    monkeypatch.setattr(sign_sketch, "_BLOCK", 64)
    monkeypatch.setattr(sign_sketch, "_SPLIT_FROM", 200)
    sketched = SignSketch(matrix)
    started: list[str] = []
    start = threading.Thread.start

    def begin(thread: threading.Thread) -> None:
        started.append(thread.name)
        if not starts:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", begin)
    np.testing.assert_array_equal(sketched.estimates(query), alone)
    assert len(started) == 1
