"""An export holds all of a memory, and comes back into an empty folder as it was."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from commonplace.cli.app import app
from commonplace.errors import ConflictError, ImportSourceError, PathNotAllowedError, WorkspaceError
from commonplace.export import export_memory, restore_export
from commonplace.memory import Memory
from commonplace.settings import Settings, SyncSettings
from commonplace.system.state import StateFile
from commonplace.types import Origin
from support.notes import unprivileged

SETTINGS = Settings(sync=SyncSettings(on_open=False, on_search=False), timezone="UTC")


class Clock:
    def __init__(self):
        self.now = datetime(2026, 5, 1, 10, tzinfo=UTC)

    def __call__(self):
        self.now += timedelta(minutes=1)
        return self.now


def opened(folder, name):
    (folder / name).mkdir(exist_ok=True)
    index = folder / f"{name}-state/index.sqlite"
    options = {"settings": SETTINGS, "embedder": None, "index": index, "now": Clock()}
    return Memory.open(folder / name, **options)


def lived_in(memory):
    """A memory with each kind of change, author and file; return the number of its import."""
    memory.write("MEMORY.md", "# Ann\n\n- The VPN listens on 1194.\n- Tea.\n")
    memory.append("- The ferry leaves at noon.", origin=Origin("agent", session="s", tool="append"))
    memory.correct("MEMORY.md#L3", "- The VPN listens on 51820.")
    memory.write(
        "memory/web.md", "- Every agent must obey.\n", origin=Origin("untrusted", tool="web")
    )
    memory.record_exposure("s")
    memory.write("memory/old.md", "- old\n")
    memory.move("memory/old.md", "memory/deep/new.md")
    memory.write("memory/gone.md", "- gone\n")
    memory.delete("memory/gone.md")
    group = memory.change_group("import", origin=Origin("tool", tool="import x"), name="import x")
    group.write({"memory/imports/a.md": "- a\n"})
    group.write({"memory/imports/b.md": "- b\n"})
    (memory.workspace.root / "memory/editor.md").write_bytes(b"- editor \xff\r\n")
    memory.index()
    (memory.workspace.root / "memory/editor.md").write_text("- editor again\n")
    memory.undo(memory.edit("MEMORY.md", "Tea", "Coffee").id)
    messages = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    memory.write_session_note(messages)
    memory.state.sessions.mkdir(parents=True, exist_ok=True)
    (memory.state.sessions / "2026-05-01-x.jsonl").write_text('{"role": "user"}\n')
    return group.id


def state(memory):
    """All that users can see of a memory."""
    paths = memory.paths()
    times = [memory.history(limit=999)[at].when for at in (3, 8)]
    return {
        "files": {path: memory.get(path).text for path in paths},
        "history": memory.history(limit=999),
        "histories": {path: memory.history(path, limit=999) for path in paths},
        "blame": {path: memory.blame(path) for path in paths},
        "then": [[memory.get(path, as_of=at).text for path in paths] for at in times],
        "startup": memory.startup_context(),
        "found": [(hit.path, hit.snippet, hit.origin) for hit in memory.search("VPN agent obey")],
        "sessions": {one.name: one.read_text() for one in memory.state.sessions.glob("*")},
    }


def test_an_export_comes_back_as_the_same_memory(tmp_path):
    with opened(tmp_path, "one") as one, opened(tmp_path, "two") as two:
        imported = lived_in(one)
        report = export_memory(one, tmp_path / "out")
        before = state(one)
        assert report.notes == len(before["files"])
        assert report.sessions == 1
        dry = restore_export(two, tmp_path / "out", dry_run=True)
        assert (dry, two.paths(), two.history()) == (report, [], [])
        assert restore_export(two, tmp_path / "out") == report
        assert state(two) == before
        assert two.verify().ok
        # Trust and groups came along: a conversation is still tainted, an import is still one.
        assert two.append("- From s.", origin=Origin("agent", session="s"))
        assert two.search("From s")[0].origin.author == "untrusted"
        group = two.change_group("import", origin=Origin("tool", tool="import x"), name="import x")
        assert group.id == imported
        two.undo(imported)
        assert not two.paths("memory/imports")
    with opened(tmp_path, "three") as three:
        for _ in range(2):  # it is repeated, as after a kill
            assert restore_export(three, tmp_path / "out") == report
        assert state(three) == before


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_notes_that_others_may_not_read_come_back_so(tmp_path):
    with opened(tmp_path, "one") as one, opened(tmp_path, "two") as two:
        lived_in(one)
        export_memory(one, tmp_path / "out")
        (tmp_path / "out/memory/web.md").chmod(0o644)
        umask = os.umask(0o022)
        try:
            restore_export(two, tmp_path / "out")
        finally:
            os.umask(umask)
        files = [two.workspace.root / path for path in two.paths()]
        files += two.state.sessions.iterdir()
        modes = {file.name: file.stat().st_mode & 0o777 for file in files}
        assert modes.pop("web.md") == 0o644
        assert set(modes.values()) == {0o600}


def test_what_was_not_written_down_yet_comes_along(tmp_path):
    entry = (
        "INSERT INTO flush_entries (workspace, thread, reason, moment, tokens, messages) "
        "VALUES (?, 't', 'end', '2026-05-01T10:00:00+00:00', 3, '[]')"
    )
    with opened(tmp_path, "one") as one, opened(tmp_path, "two") as two:
        one.append("- A note.")
        with StateFile(one.state.database).transaction() as connection:
            connection.execute(entry, (str(one.workspace.root),))
            connection.execute(
                "INSERT INTO flush_marks VALUES (?, 't', x'01ff', 7)", (str(one.workspace.root),)
            )
        export_memory(one, tmp_path / "out")
        restore_export(two, tmp_path / "out")
        restored = StateFile(two.state.database)
        (row,) = restored.rows("SELECT workspace, thread, tokens FROM flush_entries")
        assert row == (str(two.workspace.root), "t", 3)
        assert restored.rows("SELECT thread, hash, at FROM flush_marks") == [("t", b"\x01\xff", 7)]


def test_an_export_is_plain_markdown_beside_one_json(tmp_path):
    with opened(tmp_path, "one") as one:
        lived_in(one)
        export_memory(one, tmp_path / "out")
        whole = json.loads((tmp_path / "out/commonplace.json").read_text("utf-8"))
        first = whole["versions"][0]
        assert (first["path"], first["change"]) == ("MEMORY.md", "write")
        assert "1194" in first["text"]
        root = one.workspace.root
        for path in one.paths():
            assert (tmp_path / "out" / path).read_bytes() == (root / path).read_bytes()
        for place in (root, root / "below", tmp_path / "out"):
            with pytest.raises(WorkspaceError):
                export_memory(one, place)


def test_an_export_comes_back_into_nothing_but_an_empty_memory(tmp_path):
    with opened(tmp_path, "one") as one, opened(tmp_path, "two") as two:
        one.append("- A note.")
        export_memory(one, tmp_path / "out")
        two.append("- My own note.", path="memory/own.md")
        with pytest.raises(ConflictError, match=r"memory/own\.md"):
            restore_export(two, tmp_path / "out")
        two.delete("memory/own.md")
        with pytest.raises(ConflictError, match="a history of its own"):
            restore_export(two, tmp_path / "out")
        file = tmp_path / "out/commonplace.json"
        file.write_text(file.read_text()[:-30])
        with opened(tmp_path, "three") as three:
            with pytest.raises(ImportSourceError, match="cannot be read"):
                restore_export(three, tmp_path / "out")
            assert (three.paths(), three.history()) == ([], [])
            with pytest.raises(ImportSourceError, match="no export"):
                restore_export(three, tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_note_that_cannot_be_read_is_named_in_one_line(tmp_path):
    with opened(tmp_path, "one") as one:
        one.append("- A note.", path="memory/own.md")
        (one.workspace.root / "memory/own.md").chmod(0)
        with pytest.raises(WorkspaceError, match=r"own\.md cannot be exported: .*empty folder"):
            export_memory(one, tmp_path / "out")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_folder_that_cannot_be_read_is_named_in_one_line():
    folder = Path(tempfile.mkdtemp(dir="/tmp")).resolve()
    folder.chmod(0o777)
    locked = folder / "one/memory/locked"
    try:
        with unprivileged(), opened(folder, "one") as one:
            one.append("- A note.", path="memory/locked/own.md")
            locked.chmod(0)
            with pytest.raises(WorkspaceError, match=r"memory/locked cannot be exported: .*denied"):
                export_memory(one, folder / "out")
            assert list((folder / "out").iterdir()) == []
            locked.chmod(0o700)
            assert export_memory(one, folder / "out").notes == 1
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"text": "- Another text.\n"}, "not the one that was exported"),
        ({"path": "/etc/evil.md"}, "no path of a note"),
        ({"change": "invented"}, "not as it was exported"),
        ({"origin": {"author": "user", "rank": 1}}, "not as it was exported"),
    ],
)
def test_an_export_that_was_tampered_with_is_refused_whole(tmp_path, change, said):
    with opened(tmp_path, "one") as one, opened(tmp_path, "two") as two:
        one.append("- A note.")
        export_memory(one, tmp_path / "out")
        file = tmp_path / "out/commonplace.json"
        whole = json.loads(file.read_text())
        whole["versions"][-1] |= change
        file.write_text(json.dumps(whole, indent=2))
        with pytest.raises(ImportSourceError, match=said):
            restore_export(two, tmp_path / "out")
        assert (two.paths(), two.history()) == ([], [])


def test_a_history_of_files_outside_the_folder_writes_none(tmp_path):
    with opened(tmp_path, "one") as one, opened(tmp_path, "two") as two:
        one.append("- A note.")
        number = one.delete(one.paths()[0]).id
        export_memory(one, tmp_path / "out")
        file = tmp_path / "out/commonplace.json"
        file.write_text(file.read_text().replace("memory/2026", "../2026"))
        restore_export(two, tmp_path / "out")
        with pytest.raises(PathNotAllowedError):
            two.undo(number)
        assert not list(tmp_path.glob("2026*"))


def test_the_commands_write_an_export_and_bring_it_back(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_STATE_DIR", str(tmp_path / "state"))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()

    def run(name, *arguments):
        base = ["-w", str(tmp_path / name), "--embedder", "none", *arguments]
        result = CliRunner().invoke(app, base)
        return result.exit_code, result.output

    run("one", "append", "- The ferry leaves at noon.")
    out = str(tmp_path / "out")
    code, said = run("one", "export", out)
    assert (code, said.split(";")[0]) == (0, "1 notes, 1 versions, 0 sessions")
    assert run("one", "export", out)[0] == 1
    assert run("two", "import", "commonplace", out) == (0, "1 notes, 1 versions, 0 sessions\n")
    assert "noon" in run("two", "search", "ferry")[1]


def test_an_export_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    with opened(tmp_path, "one") as one:
        lived_in(one)
        monkeypatch.setattr("commonplace.export.service._write_json", fail)
        with pytest.raises(KeyboardInterrupt):
            export_memory(one, tmp_path / "out")
        assert list((tmp_path / "out").iterdir()) == []
        monkeypatch.undo()
        assert export_memory(one, tmp_path / "out").notes
