"""Database files: one connection stays open, for whichever thread uses it next."""

import contextlib
import os
import threading

import apsw
import pytest

from commonplace.errors import StateError
from commonplace.history.database import HistoryFile


@pytest.fixture(params=["file", "memory"])
def file(request, tmp_path):
    file = HistoryFile(tmp_path / "history.sqlite" if request.param == "file" else None)
    yield file
    file.close()


def add(file, *paths, error=None):
    with file.transaction() as connection:
        for path in paths:
            connection.execute("INSERT INTO note (path) VALUES (?)", (path,))
        if error is not None:
            raise error


def paths(file):
    return [path for (path,) in file.rows("SELECT path FROM note ORDER BY path")]


def test_a_connection_stays_open_from_the_first_write_on(tmp_path, monkeypatch):
    file, opened = HistoryFile(tmp_path / "history.sqlite"), []
    real = apsw.Connection
    monkeypatch.setattr(
        apsw, "Connection", lambda *args, **how: opened.append(1) or real(*args, **how)
    )
    assert paths(file) == []
    for name in "abc":
        add(file, name)
        assert paths(file)[-1] == name
    assert len(opened) == 2  # the first one made the file
    file.close()
    add(file, "d")
    assert len(opened) == 3
    file.close()


def test_threads_use_a_file_at_once(file):
    def work(name):
        for number in range(20):
            add(file, f"{name}{number:02}")
            assert f"{name}{number:02}" in paths(file)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(paths(file)) == 80


def test_a_query_within_a_transaction_reads_the_state_before_it(tmp_path):
    file = HistoryFile(tmp_path / "history.sqlite")
    add(file, "a")
    with file.transaction() as connection:
        connection.execute("INSERT INTO note (path) VALUES ('b')")
        assert paths(file) == ["a"]
    assert paths(file) == ["a", "b"]
    file.close()


def test_an_error_ends_what_was_begun_and_the_next_use_goes_on(file):
    add(file, "a")
    with pytest.raises(StateError):
        add(file, "b", "a")
    with pytest.raises(KeyError):
        add(file, "c", error=KeyError)
    add(file, "d")
    assert paths(file) == ["a", "d"]


def test_a_file_that_is_replaced_or_deleted_is_opened_anew(tmp_path):
    file, other = (HistoryFile(tmp_path / name) for name in ("history.sqlite", "other.sqlite"))
    add(file, "a")
    add(other, "b")
    other.close()
    for suffix in ("", "-wal", "-shm"):  # as a damaged file is moved aside
        os.replace(f"{file.path}{suffix}", f"{file.path}.aside{suffix}")
    os.replace(other.path, file.path)
    assert paths(file) == ["b"]
    add(file, "c")
    file.close()
    file.path.unlink()
    assert paths(file) == []
    add(file, "d")
    assert paths(file) == ["d"]
    file.close()


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_opens_a_connection_of_its_own(file):
    add(file, "a")
    if not (child := os.fork()):
        try:
            add(file, "b")
            os._exit(0 if paths(file) == ["a", "b"] else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    add(file, "c")
    assert paths(file) == (["a", "c"] if file.path is None else ["a", "b", "c"])


def test_rows_of_a_damaged_file_are_read_again_from_what_is_left_of_it(tmp_path):
    path = tmp_path / "history.sqlite"
    file = HistoryFile(path)
    add(file, *(f"{number:04}{'x' * 500}" for number in range(100)))
    file.close()
    data = bytearray(path.read_bytes())
    while (at := data.find(b"0050xxx") // 4096 * 4096) >= 0:  # in the table, and in its index
        data[at : at + 4096] = bytes(4096)
    path.write_bytes(data)
    left = paths(HistoryFile(path))
    assert 85 < len(left) < 100
    assert left[0].startswith("0000")
    assert left[-1].startswith("0099")
    (aside,) = tmp_path.glob("history.sqlite.damaged-*")
    assert aside.read_bytes() == data


def test_a_change_of_a_damaged_file_is_an_error_once(tmp_path):
    path = tmp_path / "history.sqlite"
    file = HistoryFile(path)
    add(file, "a", "b")
    file.close()
    data = bytearray(path.read_bytes())
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        pages = "SELECT rootpage FROM sqlite_schema WHERE tbl_name IN ('note', 'ledger_sum')"
        for page in [page for (page,) in connection.execute(pages) if page]:
            data[page * 4096 - 4096 : page * 4096] = bytes(4096)
    path.write_bytes(data)
    with pytest.raises(StateError, match=r"was damaged .* try again"):
        add(file, "c")
    add(file, "c")
    assert paths(file) == ["c"]


def test_versions_without_what_they_are_based_on_are_not_kept(tmp_path):
    path = tmp_path / "history.sqlite"
    file = HistoryFile(path)
    add(file, "a")
    row = (
        "INSERT INTO version (id, batch, note, at, change, size, base) VALUES (?, 1, 1, 1, 1, 1, ?)"
    )
    with file.transaction() as connection:
        connection.executemany(row, [(1, None), (2, 1), (3, 9), (4, 3), (5, None)])
    file.close()
    data = path.read_bytes()
    path.write_bytes(data.replace(b"CREATE TABLE began", b"CREATE TABLE bEgan"))
    assert [one for (one,) in HistoryFile(path).rows("SELECT id FROM version")] == [1, 2, 3, 4, 5]
    path.write_bytes(data.replace(b"CREATE TABLE began (at", b"CREATE TABLE began (bt"))
    assert HistoryFile(path).rows("SELECT at FROM began") == []
    assert [one for (one,) in HistoryFile(path).rows("SELECT id FROM version")] == [1, 2, 5]


def test_a_file_that_was_cut_to_nothing_is_damaged_and_said(tmp_path, caplog):
    file = HistoryFile(tmp_path / "history.sqlite")
    add(file, "a")
    file.close()
    os.truncate(file.path, 0)
    assert paths(file) == []
    assert "is damaged (it is empty)" in caplog.text
    assert len(list(tmp_path.glob("history.sqlite.damaged-*"))) == 1
    add(file, "b")
    assert paths(file) == ["b"]


def test_a_file_is_made_whole(tmp_path):
    """Between its name and its tables, no crash leaves an empty file, which is a damaged one."""
    file = HistoryFile(tmp_path / "history.sqlite")
    seen = []

    class Watched(HistoryFile):
        def _create_tables(self, connection):
            seen.append(file.path.exists())
            super()._create_tables(connection)

    with contextlib.closing(Watched(file.path)._open()):
        assert not seen[0]
        assert [path.name.split("-")[0] for path in tmp_path.glob("*new*")] == []
    assert paths(file) == []
