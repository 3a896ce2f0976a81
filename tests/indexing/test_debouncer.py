"""Files that are still being written, and files that fail: what is left alone, and for how long."""

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.indexing.background.debouncer import Debouncer, signature
from commonplace.indexing.background.file_backoff import FileBackoff
from commonplace.types import MemoryFile


class Disk(dict):
    """Sizes of files by their names."""

    def look(self, path):
        return (self[path], 0) if path in self else None


def test_a_file_has_come_to_rest_when_it_was_quiet_for_long_enough():
    disk = Disk(a=1)
    settling = Debouncer(1.5, look=disk.look)
    settling.touch("a", 10.0)
    assert settling.due == 11.5
    assert settling.settled(11.4) == ()
    settling.touch("a", 11.4)
    assert settling.settled(11.6) == ()
    assert settling.restless == ("a",)
    assert settling.settled(12.9) == ("a",)
    assert settling.restless == ()
    assert settling.due is None


def test_a_file_that_grew_without_an_event_waits_on():
    disk = Disk(a=1, b=1)
    settling = Debouncer(1.0, look=disk.look)
    settling.touch("a", 0.0)
    settling.touch("b", 0.0)
    disk["a"] = 2
    assert settling.settled(1.0) == ("b",)
    assert settling.settled(1.9) == ()
    assert settling.settled(2.0) == ("a",)


def test_a_file_that_is_gone_has_come_to_rest():
    disk = Disk(a=1)
    settling = Debouncer(1.0, look=disk.look)
    settling.touch("a", 0.0)
    del disk["a"]
    assert settling.settled(1.0) == ()
    assert settling.settled(2.0) == ("a",)


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9)), min_size=1, max_size=20))
def test_no_file_rests_before_it_was_quiet_and_none_is_forgotten(touches):
    disk = Disk(a=0, b=0)
    settling = Debouncer(10, look=disk.look)
    now, last, rested = 0, {}, {}
    for path, pause in touches:
        now += pause
        for done in settling.settled(now):
            assert now - last.pop(done) >= 10
            rested[done] = disk[done]
        disk[path] += 1
        settling.touch(path, now)
        last[path] = now
    for done in settling.settled(now + 10):
        rested[done] = disk[done]
        last.pop(done)
    assert last == {}
    assert all(rested[path] == disk[path] for path, _ in touches)


def test_a_signature_changes_with_the_file(tmp_path):
    path = str(tmp_path / "a.md")
    assert signature(path) is None
    Path(path).write_text("a")
    first = signature(path)
    Path(path).write_text("ab")
    assert signature(path) != first


def file_of(path, *, size=1):
    return MemoryFile(path, Path(path), "memory", size, 0, date(2026, 11, 20))


def test_what_failed_is_left_alone_for_longer_each_time_and_tried_at_once_when_it_changed():
    now = [0.0]
    attempts = FileBackoff(lambda: now[0])
    waits = []
    for _ in range(12):
        attempts.begin()
        assert not attempts.skips(file_of("a.md"))
        attempts.end(["a.md"])
        attempts.begin()
        assert attempts.skips(file_of("a.md"))
        assert not attempts.skips(file_of("a.md", size=2))
        began = now[0]
        while attempts.skips(file_of("a.md")):
            now[0] += 1.0
            attempts.begin()
        waits.append(now[0] - began)
    assert waits[:4] == [2, 4, 8, 16]
    assert waits == sorted(waits)
    assert waits[-1] == 300


def test_after_a_success_the_waits_begin_anew():
    now = [0.0]
    attempts = FileBackoff(lambda: now[0])
    for failed in (["a.md"], ["a.md"], [], ["a.md"]):
        now[0] += 1000
        attempts.begin()
        assert not attempts.skips(file_of("a.md"))
        attempts.end(failed)
    now[0] += 2.0
    attempts.begin()
    assert not attempts.skips(file_of("a.md"))
