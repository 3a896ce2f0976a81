"""Bytes flipped in every file that a memory keeps, at random, open and closed.

By hand, with more of them: ``FLIPS=500 python -m pytest tests/test_rot.py``.
"""

import os
import random

import pytest

from support import rot

FLIPS = int(os.environ.get("FLIPS", "20"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rot") / "made"
    rot.make(folder)
    return folder


@pytest.mark.slow
def test_damage_of_each_kind_of_file_is_met(made):
    names = {path.name for path in rot.files(made)}
    assert {"index.sqlite", "index.sqlite-wal", "index.sqlite-shm"} <= names
    assert {"state.sqlite", "history.sqlite", "history.sqlite-wal"} <= names


@pytest.mark.slow
def test_what_is_damaged_at_random_gives_right_answers_or_errors_of_ours(made):
    rot.Trial(made, 1).run()


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.timeout(20 * FLIPS)
def test_many_files_that_are_damaged_at_random(made):
    first = random.randrange(10**6)
    for seed in range(first, first + FLIPS):
        rot.Trial(made, seed).run()
