"""Notes as objects: written, edited, moved, deleted and taken back, each with its version."""

import hashlib
import os
import stat
import sys
from datetime import UTC, date, datetime, timedelta

import pytest

from commonplace.errors import ConflictError, EditError, PathNotAllowedError
from commonplace.memory import Memory
from commonplace.settings import HistorySettings, Settings, SyncSettings
from commonplace.types import Origin

QUIET = SyncSettings(on_open=False, on_search=False)
VPN = "# VPN\n\n- The VPN listens on 1194.\n- Ann looks after it.\n"


class Clock:
    """A time that a test moves."""

    def __init__(self):
        self.now = datetime(2026, 11, 20, 12, tzinfo=UTC)

    def __call__(self):
        return self.now

    def pass_days(self, days):
        self.now += timedelta(days=days)


@pytest.fixture
def time():
    return Clock()


@pytest.fixture
def memory(notes, time):
    with open_notes(notes, time) as memory:
        yield memory


def open_notes(notes, time, **settings):
    return Memory.open(
        notes.root,
        settings=Settings(sync=QUIET, timezone="UTC", **settings),
        embedder=None,
        index=notes.index,
        now=time,
    )


def on_disk(notes, path):
    return (notes.root / path).read_bytes()


def leftovers(notes):
    return [name for name in os.listdir(notes.root / "memory") if name.startswith(".")]


def found(memory, query):
    return [(hit.path, hit.snippet) for hit in memory.search(query)]


# -- write, edit, delete, move ---------------------------------------------------------------------


def test_a_note_is_written_and_the_next_search_finds_it(notes, memory):
    memory.index()
    version = memory.write("memory/net/vpn.md", VPN, origin=Origin("agent", "t1", "memory_write"))
    assert on_disk(notes, "memory/net/vpn.md") == VPN.encode()
    assert version.hash == hashlib.sha256(VPN.encode()).hexdigest()
    assert (version.path, version.change, version.size) == ("memory/net/vpn.md", "write", len(VPN))
    assert version.origin == Origin("agent", "t1", "memory_write")
    assert version.when == datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert memory.get("memory/net/vpn.md").version == version.hash
    assert found(memory, "1194")[0][0] == "memory/net/vpn.md"
    with notes.open() as other:
        assert other.search("1194", min_score=0)[0].path == "memory/net/vpn.md"
    assert leftovers(notes) == []


def test_an_edit_replaces_one_passage_and_keeps_the_rest(notes, memory):
    memory.write("memory/vpn.md", VPN)
    version = memory.edit("memory/vpn.md", "1194", "51820")
    assert memory.get("memory/vpn.md").text == VPN.replace("1194", "51820")
    assert version.change == "edit"
    assert "1194" not in found(memory, "VPN listens")[0][1]


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("1195", "does not stand in memory/vpn.md"),
        ("the vpn listens on 1194", "memory/vpn.md#L3: - The VPN listens on 1194."),
        ("VPN", "stands 2 times in memory/vpn.md: memory/vpn.md#L1, memory/vpn.md#L3"),
        ("", "old is empty"),
        ("Ann", "old and new are the same"),
    ],
)
def test_a_passage_that_is_missing_or_ambiguous_is_an_error_that_names_places(
    notes, memory, old, said
):
    memory.write("memory/vpn.md", VPN)
    with pytest.raises(EditError) as error:
        memory.edit("memory/vpn.md", old, "Ann")
    assert said in str(error.value)
    assert on_disk(notes, "memory/vpn.md") == VPN.encode()
    assert len(memory.history("memory/vpn.md")) == 1


def test_a_note_that_was_changed_since_is_a_conflict(notes, memory):
    first = memory.write("memory/vpn.md", VPN)
    memory.edit("memory/vpn.md", "1194", "51820")
    for change in (
        lambda: memory.write("memory/vpn.md", "other", if_version=first.hash),
        lambda: memory.edit("memory/vpn.md", "Ann", "Bob", if_version=first.hash),
        lambda: memory.delete("memory/vpn.md", if_version=first.hash),
        lambda: memory.move("memory/vpn.md", "memory/b.md", if_version=first.hash),
        lambda: memory.write("memory/vpn.md", "other", if_version=""),
    ):
        with pytest.raises(ConflictError) as error:
            change()
        assert error.value.version == memory.get("memory/vpn.md").version
    assert memory.get("memory/vpn.md").text == VPN.replace("1194", "51820")
    assert memory.write("memory/new.md", "n", if_version="").size == 1
    with pytest.raises(ConflictError) as error:
        memory.write("memory/gone.md", "n", if_version=first.hash)
    assert error.value.version == ""
    assert memory.paths("memory/") == ["memory/2026-11-20.md", "memory/new.md", "memory/vpn.md"]


def test_the_text_that_a_conflict_refuses_is_in_the_error(notes, memory):
    first = memory.write("memory/vpn.md", VPN)
    notes.write("memory/vpn.md", "By an editor.\n")
    with pytest.raises(ConflictError) as error:
        memory.write("memory/vpn.md", "Mine.\n", if_version=first.hash)
    assert error.value.text == "Mine.\n"
    assert on_disk(notes, "memory/vpn.md") == b"By an editor.\n"
    memory.write("memory/vpn.md", error.value.text, if_version=error.value.version)
    texts = [memory._notes.log.text(one) for one in memory._notes.log.states_of("memory/vpn.md")]
    assert texts == [b"Mine.\n", b"By an editor.\n", VPN.encode()]
    with pytest.raises(ConflictError) as error:
        memory.edit("memory/vpn.md", "Mine", "Ours", if_version=first.hash)
    assert error.value.text == "Ours"


@pytest.mark.skipif(sys.platform == "win32", reason="hard links of notes are for POSIX")
def test_a_hard_link_keeps_the_text_of_before_and_the_log_says_so(notes, memory, caplog):
    memory.write("memory/vpn.md", VPN)
    backup = notes.root.parent / "backup.md"
    os.link(notes.root / "memory/vpn.md", backup)
    memory.edit("memory/vpn.md", "1194", "51820")
    assert backup.read_text() == VPN
    assert "memory/vpn.md has another name on the disk" in caplog.text
    caplog.clear()
    memory.edit("memory/vpn.md", "51820", "51821")
    assert caplog.text == ""


def test_a_note_moves_with_its_history_and_its_place_in_the_index(notes, memory):
    memory.index()
    memory.write("memory/vpn.md", VPN)
    version = memory.move("memory/vpn.md", "memory/net/vpn.md")
    assert (version.path, version.moved_from) == ("memory/net/vpn.md", "memory/vpn.md")
    assert [path for path, _ in found(memory, "1194")] == ["memory/net/vpn.md"]
    memory.edit("memory/net/vpn.md", "1194", "51820")
    changes = [one.change for one in memory.history("memory/net/vpn.md")]
    assert changes == ["edit", "move", "move", "write"]
    with pytest.raises(ConflictError):
        memory.move("memory/net/vpn.md", "MEMORY.md")


def test_a_deleted_note_is_gone_from_search_and_comes_back(notes, memory):
    memory.index()
    memory.write("memory/vpn.md", VPN)
    version = memory.delete("memory/vpn.md")
    assert (version.hash, version.size) == ("", 0)
    assert not (notes.root / "memory/vpn.md").exists()
    assert found(memory, "1194") == []
    assert memory.get("memory/vpn.md").status == "not_found"
    memory.undo(version.id)
    assert on_disk(notes, "memory/vpn.md") == VPN.encode()
    assert found(memory, "1194")[0][0] == "memory/vpn.md"


@pytest.mark.parametrize("verb", ["edit", "delete", "move"])
def test_a_note_that_is_not_there_is_a_conflict(memory, verb):
    arguments = {"edit": ("a", "b"), "delete": (), "move": ("memory/b.md",)}[verb]
    with pytest.raises(ConflictError, match="there is no note memory/none"):
        getattr(memory, verb)("memory/none.md", *arguments)
    assert memory.paths() == ["MEMORY.md", "memory/2026-11-20.md"]


# -- paths -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        *("../a.md", "/etc/a.md", "a.md", "memory/../a.md", "memory/a.txt", "memory/a", "memory"),
        *("memory/sub", "memory/sub.md", "memory/link.md", "memory/linked/a.md", "memory//a.md"),
        *("memory/2026-11-20.MD", "MEMORY.MD", "Memory/a.md", "memory/Known.md", ""),
        *("memory/cafe\N{COMBINING ACUTE ACCENT}.md", "memory/SUB/new.md", "sessions/a.jsonl"),
    ],
)
def test_other_paths_are_refused_and_nothing_is_written(notes, memory, path):
    for name in ("memory/known.md", "memory/caf\N{LATIN SMALL LETTER E WITH ACUTE}.md"):
        notes.write(name, "known\n")
    (notes.root / "memory/sub.md").mkdir()
    (notes.root / "memory/sub").mkdir()
    outside = notes.root.parent / "outside"
    outside.mkdir()
    (notes.root / "memory/link.md").symlink_to(outside / "a.md")
    (notes.root / "memory/linked").symlink_to(outside)
    before = sorted(notes.root.rglob("*"))
    for change in (
        lambda: memory.write(path, "text"),
        lambda: memory.edit(path, "known", "other"),
        lambda: memory.delete(path),
        lambda: memory.move(path, "memory/moved.md"),
        lambda: memory.move("memory/known.md", path),
    ):
        with pytest.raises((PathNotAllowedError, ConflictError)):
            change()
    assert sorted(notes.root.rglob("*")) == before
    assert list(outside.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_note_that_an_undo_brings_back_has_the_mode_that_it_had(notes, memory, time, mode):
    def known(path, text):
        notes.write(path, text.encode())
        (notes.root / path).chmod(mode)

    def mode_of(path):
        return stat.S_IMODE((notes.root / path).stat().st_mode)

    known("memory/a.md", VPN)
    known("memory/guest.md", "---\nexpires: 2026-11-20\n---\nThe code is 4711.\n")
    memory.index()
    memory.undo(memory.delete("memory/a.md").id)
    assert mode_of("memory/a.md") == mode
    time.pass_days(1)
    memory.index()
    memory.undo(memory.history("memory/guest.md")[0].id)
    assert mode_of("memory/guest.md") == mode
    # What another program deletes leaves no mode; it may have been its owner's alone.
    (notes.root / "memory/a.md").unlink()
    memory.index()
    memory.undo(memory.history("memory/a.md")[0].id)
    assert mode_of("memory/a.md") == 0o600
    # A note that is written anew is a new file.
    memory.delete("memory/a.md")
    memory.write("memory/a.md", VPN)
    memory.write("memory/b.md", VPN)
    assert mode_of("memory/a.md") == mode_of("memory/b.md")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_mode_encoding_and_line_endings_of_a_file_stay(notes, memory):
    for name, data in {
        "crlf": b"one\r\ntwo\r\n",
        "mark": "\ufeffone\ntwo\n".encode(),
        "utf16": "one\r\ntwo\r\n".encode("utf-16"),
        "latin": "caf\xe9 one\ntwo\n".encode("latin-1"),
    }.items():
        notes.write(f"memory/{name}.md", data)
        (notes.root / f"memory/{name}.md").chmod(0o640)
        memory.edit(f"memory/{name}.md", "one", "1\n1½")
        expected = {
            "crlf": "1\r\n1½\r\ntwo\r\n".encode(),
            "mark": "\ufeff1\n1½\ntwo\n".encode(),
            "utf16": "1\r\n1½\r\ntwo\r\n".encode("utf-16"),
            "latin": b"caf\xe9 " + "1\n1½\ntwo\n".encode(),
        }[name]
        assert on_disk(notes, f"memory/{name}.md") == expected
        assert stat.S_IMODE((notes.root / f"memory/{name}.md").stat().st_mode) == 0o640
    memory.write("memory/crlf.md", "a\nb\n")
    assert on_disk(notes, "memory/crlf.md") == b"a\r\nb\r\n"


# -- history and undo ------------------------------------------------------------------------------


def test_undo_takes_a_change_back_and_can_be_undone(memory):
    memory.write("memory/vpn.md", VPN)
    edit = memory.edit("memory/vpn.md", "1194", "51820")
    undone = memory.undo(edit.id)
    assert undone.change == "undo"
    assert memory.get("memory/vpn.md").text == VPN
    memory.undo(undone.id)
    assert memory.get("memory/vpn.md").text == VPN.replace("1194", "51820")


def test_undo_keeps_later_changes_of_other_lines(memory):
    memory.write("memory/vpn.md", VPN)
    edit = memory.edit("memory/vpn.md", "1194", "51820")
    memory.edit("memory/vpn.md", "Ann", "Bob")
    memory.append("- A later line.", path="memory/vpn.md")
    memory.undo(edit.id)
    text = memory.get("memory/vpn.md").text
    assert "1194" in text
    assert "Bob" in text
    assert "A later line" in text


def test_undo_of_lines_that_were_changed_since_is_a_conflict(memory):
    memory.write("memory/vpn.md", VPN)
    edit = memory.edit("memory/vpn.md", "1194", "51820")
    later = memory.edit("memory/vpn.md", "51820", "51821")
    with pytest.raises(ConflictError, match=r"memory/vpn.md#L3") as error:
        memory.undo(edit.id)
    assert error.value.version == later.hash
    memory.undo(later.id)
    memory.undo(edit.id)
    assert memory.get("memory/vpn.md").text == VPN


def test_undo_makes_the_folder_that_went_with_its_last_note(memory):
    memory.write("memory/a/vpn.md", VPN)
    deleted = memory.delete("memory/a/vpn.md")
    os.rmdir(memory.workspace.root / "memory/a")
    memory.undo(deleted.id)
    assert memory.get("memory/a/vpn.md").text == VPN


def test_undo_of_a_new_note_and_of_a_move(memory):
    written = memory.write("memory/vpn.md", VPN)
    moved = memory.move("memory/vpn.md", "memory/b.md")
    memory.edit("memory/b.md", "Ann", "Bob")
    back = memory.undo(moved.id)
    assert memory.get("memory/vpn.md").text == VPN.replace("Ann", "Bob")
    assert memory.paths("memory/b") == []
    memory.undo(back.id)
    assert memory.paths("memory/b") == ["memory/b.md"]
    with pytest.raises(ConflictError):
        memory.undo(written.id)
    with pytest.raises(ValueError, match="no version 999"):
        memory.undo(999)


def test_what_was_there_when_history_began_has_nothing_before_it(memory):
    memory.edit("MEMORY.md", "Gutenberg", "Aldus")
    edit, first = memory.history("MEMORY.md")
    assert (edit.change, first.change) == ("edit", "found")
    with pytest.raises(ConflictError, match="no text of before"):
        memory.undo(first.id)


def test_a_note_is_read_as_of_a_time(memory, time):
    before = memory.get("MEMORY.md").text
    time.pass_days(1)
    memory.edit("MEMORY.md", "Gutenberg", "Aldus")
    time.pass_days(1)
    memory.delete("MEMORY.md")
    for moment, text in {
        date(2026, 11, 1): before,
        "2026-11-20": before,
        "2026-11-21": before.replace("Gutenberg", "Aldus"),
        datetime(2026, 11, 21, 11, tzinfo=UTC): before,
        "2026-11-21T13:00:00+00:00": before.replace("Gutenberg", "Aldus"),
    }.items():
        assert memory.get("MEMORY.md", as_of=moment).text == text, moment
    assert memory.get("MEMORY.md", as_of="2026-11-22").status == "not_found"
    memory.write("memory/new.md", "new\n")
    assert memory.get("memory/new.md", as_of="2026-11-21").status == "not_found"
    assert memory.get("memory/2026-11-20.md", as_of="2026-11-21").status == "ok"
    assert memory.get("MEMORY.md", as_of="2026-11-20", from_line=4, lines=1).text.startswith("- ")
    with pytest.raises(ValueError, match="a time without a zone"):
        memory.get("MEMORY.md", as_of=datetime(2026, 11, 20))  # noqa: DTZ001


def test_without_history_notes_are_changed_and_nothing_is_kept(notes, time):
    with open_notes(notes, time, history=HistorySettings(enabled=False)) as memory:
        memory.write("memory/vpn.md", VPN)
        memory.edit("memory/vpn.md", "1194", "51820")
        assert memory.get("memory/vpn.md").text == VPN.replace("1194", "51820")
        assert memory.history() == []


async def test_async_twins_do_what_the_verbs_do(memory):
    written = await memory.awrite("memory/vpn.md", VPN)
    edit = await memory.aedit("memory/vpn.md", "1194", "51820", if_version=written.hash)
    assert [one.id for one in await memory.ahistory("memory/vpn.md")] == [edit.id, written.id]
    await memory.aundo(edit.id)
    await memory.amove("memory/vpn.md", "memory/b.md")
    assert await memory.apaths("memory/b") == ["memory/b.md"]
    await memory.adelete("memory/b.md")
    assert (await memory.aget("memory/b.md")).status == "not_found"


# -- other programs --------------------------------------------------------------------------------


def changes(memory, path=None):
    return [(one.path, one.change) for one in reversed(memory.history(path))]


def test_edits_of_other_programs_are_kept_as_index_runs_meet_them(notes, memory):
    memory.index()
    notes.write("memory/new.md", "new\n")
    notes.write("MEMORY.md", "other\n")
    memory.index()
    (notes.root / "memory/new.md").unlink()
    notes.write("MEMORY.md", "third\n")
    memory.index(force=True)
    assert changes(memory, "MEMORY.md") == [
        ("MEMORY.md", change) for change in ("found", "changed", "changed")
    ]
    assert changes(memory, "memory/new.md") == [
        ("memory/new.md", change) for change in ("created", "gone")
    ]
    gone = memory.history("memory/new.md")[0]
    memory.undo(gone.id)
    assert on_disk(notes, "memory/new.md") == b"new\n"
    second = memory.history("MEMORY.md")[1]
    memory.undo(memory.history("MEMORY.md")[0].id)
    assert memory.get("MEMORY.md").version == second.hash


def test_an_index_of_before_has_its_texts_kept_by_the_next_run(notes, time):
    with open_notes(notes, time, history=HistorySettings(enabled=False)) as memory:
        memory.index()
        assert memory.history() == []
    with open_notes(notes, time) as memory:
        memory.index()
        assert sorted(changes(memory)) == [
            ("MEMORY.md", "found"),
            ("memory/2026-11-20.md", "found"),
        ]
        notes.write("MEMORY.md", "other\n")
        memory.index()
        assert changes(memory, "MEMORY.md")[-1] == ("MEMORY.md", "changed")


def test_an_append_is_a_version_that_can_be_undone(notes, memory):
    origin = Origin("agent", "t1")
    memory.append("- before the index", origin=origin)
    memory.index()
    memory.append("- second")
    memory.append("- third", path="memory/topic.md", origin=origin)
    log = "memory/2026-11-20.md"
    assert changes(memory, log) == [(log, change) for change in ("found", "append", "append")]
    assert changes(memory, "memory/topic.md") == [("memory/topic.md", "append")]
    assert [one.origin for one in memory.history(limit=2)] == [origin, None]
    for wrong in (0, 1.5, None):
        with pytest.raises(ValueError, match=f"^limit is {wrong}; it must be a whole number"):
            memory.history(limit=wrong)
    memory.undo(memory.history(log)[1].id)
    assert b"before the index" not in on_disk(notes, log)
    assert b"second" in on_disk(notes, log)


def test_the_text_before_an_edit_of_another_programs_edit_is_kept(notes, memory):
    memory.index()
    notes.write("MEMORY.md", "unmet\n")
    edit = memory.edit("MEMORY.md", "unmet", "edited")
    assert [one.change for one in memory.history("MEMORY.md")] == ["edit", "changed", "found"]
    memory.undo(edit.id)
    assert on_disk(notes, "MEMORY.md") == b"unmet\n"


def test_history_of_a_folder_or_another_spelling_and_too_long_names_are_refused(notes, memory):
    memory.write("memory/vpn.md", VPN)
    (notes.root / "memory" / "folder.md").mkdir()
    for path, why in (("memory/VPN.md", "vpn.md"), ("memory/folder.md", "is a folder")):
        with pytest.raises(PathNotAllowedError, match=why):
            memory.history(path)
    assert memory.history("memory/never.md") == []
    long = f"memory/{'n' * 300}.md"
    for change in (memory.write, lambda path, text: memory.append(text, path=path)):
        with pytest.raises(PathNotAllowedError, match="too long: 303 bytes"):
            change(long, "text")
    with pytest.raises(PathNotAllowedError, match="too long"):
        memory.move("memory/vpn.md", "memory/" + "folder/" * 600 + "n.md")
