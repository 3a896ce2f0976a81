import contextlib
import os
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.workspace.file_text import UnreadableFileError, read_text

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and links of POSIX")


@pytest.fixture
def log(tmp_path):
    return tmp_path / "2026-11-20.md"


@pytest.mark.parametrize(
    ("data", "text", "note"),
    [
        (b"", "", None),
        ("ä\r\nb\rc".encode(), "ä\r\nb\rc", None),
        (b"a\nb\xffc\n", "a\nb\ufffdc\n", "not UTF-8 from line 2"),
        (b"a\0b", "a\ufffdb", "NUL"),
        ("aä\n".encode("utf-16"), "aä\n", "UTF-16"),
        ("aä\n".encode("utf-16-be"), None, "NUL|UTF-8"),
        (b"\xfe\xff" + "aä".encode("utf-16-be"), "aä", "UTF-16"),
        (b"\xff\xfea", "\ufffd", "UTF-16"),
        ("a".encode("utf-32"), "\ufffda\ufffd", "UTF-16"),
        ("\ufeffa".encode(), "\ufeffa", None),
    ],
)
def test_read_text_accepts_any_bytes_and_notes_their_encoding(log, data, text, note):
    log.write_bytes(data)
    read = read_text(log)
    assert read.text == text or text is None
    assert "\0" not in read.text
    assert read.size == len(data)
    if note is None:
        assert read.note is None
    else:
        assert any(word in read.note for word in note.split("|"))


@given(data=st.binary(max_size=200))
def test_no_bytes_make_reading_fail(tmp_path_factory, data):
    file = tmp_path_factory.getbasetemp() / "any.md"
    file.write_bytes(data)
    assert "\0" not in read_text(file).text


def test_a_huge_file_is_refused_without_being_read(log):
    with log.open("wb") as file:
        file.truncate(200 * 2**20)
    with pytest.raises(UnreadableFileError, match="it has 200 MiB; a note may have 32"):
        read_text(log)


def test_a_missing_file_is_a_file_not_found_error(tmp_path, log):
    for missing in (log, tmp_path / "a" / "b.md", tmp_path / ("x" * 300)):
        with pytest.raises(FileNotFoundError):
            read_text(missing)


@posix
def test_links_pipes_and_folders_are_not_read(tmp_path):
    (tmp_path / "link.md").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    for name, reason in [("link", "symbolic link"), ("pipe", "regular"), ("folder", "regular")]:
        with pytest.raises(UnreadableFileError, match=reason):
            read_text(tmp_path / f"{name}.md")


def test_a_file_is_read_in_one_state_of_it_while_others_replace_its_content(log):
    log.write_text("a" * 100_000, encoding="utf-8")
    stopped = threading.Event()

    def rewrite():
        while not stopped.is_set():
            for letter in "bc":
                log.write_text(letter * 100_000)
                time.sleep(0.002)

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        for _ in range(50):
            with contextlib.suppress(UnreadableFileError):
                text = read_text(log).text
                assert len(set(text)) <= 1
    finally:
        stopped.set()
        writer.join()
