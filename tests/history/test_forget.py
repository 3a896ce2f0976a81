"""Forgetting: what goes is in no byte that is kept, and nothing else goes."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from datetime import timedelta
from pathlib import Path
from unicodedata import normalize

import apsw
import pytest

from commonplace import Memory, Origin, Settings
from commonplace.errors import (
    EditError,
    PathNotAllowedError,
    StateError,
    WorkspaceError,
    WorkspaceReadOnlyError,
)
from commonplace.flush import CallableFlushModel, Flusher, FlushMessage
from commonplace.flush.messages import dump_replies
from commonplace.flush.protocol import FlushReply
from commonplace.history.database import HistoryFile
from commonplace.history.forget_plan import ForgetPlan, planned_edits
from commonplace.history.forgotten_lines import ForgottenLines
from commonplace.history.forgotten_text import FORGOTTEN, ForgottenText
from commonplace.history.versions import VersionLog
from commonplace.settings import SessionsSettings, SyncSettings
from commonplace.system.state import StateFile
from commonplace.types import ToolCall
from support.fakes import NOON, HashedWords, clock
from support.notes import unprivileged
from support.sampling import sampled

LOG = "memory/2026-11-20.md"
SETTINGS = Settings(
    timezone="UTC",
    sync=SyncSettings(on_open=False, on_search=False, watch=False),
    sessions=SessionsSettings(enabled=True),
)
SECRET = "Hollyhock Lane 221b, Zürich-Enge"
LINE = f"- My sister lives in {SECRET}, above the old bakery."
KEPT = "- The VPN listens on port 51820, as the admin said.\n- Tea is at four.\n"


def opened(root, **options):
    index = root.parent / "state" / "index.sqlite"
    options = {"settings": SETTINGS, "embedder": HashedWords(), "now": clock(NOON)} | options
    return Memory.open(root, index=index, **options)


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "notes"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text(f"# Memory\n\n{KEPT}{LINE}\n", "utf-8")
    return root


@pytest.fixture
def memory(root):
    with opened(root) as memory:
        memory.index()
        yield memory


def runs_of(text, *kept):
    """Return the runs of 12 characters of a text that are in no kept text."""
    runs = {text[at : at + 12] for at in range(len(text) - 11)}
    return {run for run in runs if not any(run in other for other in kept)}


def left_in(folder, runs):
    """Return the files below a folder with bytes of a run, in any encoding, or compressed."""
    found = []
    wanted = set()
    for run in runs:
        for text in (run, run.lower(), json.dumps(run)[1:-1]):
            wanted |= {text.encode(name) for name in ("utf-8", "utf-16-le", "utf-16-be")}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            found += [(path.name, run) for run in wanted if run in data]
            if path.name.endswith("history.sqlite"):
                log = VersionLog(HistoryFile(path))
                found += [
                    (f"{path.name} {state.id}", run)
                    for note in log.file.rows("SELECT path FROM note")
                    for state in log.states_of(*note)
                    if state.exists
                    for run in wanted
                    if run in log.text(state)
                ]
    return found


def said(*texts):
    roles = ("user", "assistant")
    return [FlushMessage(roles[at % 2], text) for at, text in enumerate(texts)]


def failing(request):
    raise RuntimeError("the model is not there")


def filled(memory):
    """Leave the secret wherever a memory keeps texts; and other texts beside it."""
    memory.edit("MEMORY.md", "221b", "221c")
    memory.edit("MEMORY.md", "221c", "221b")
    memory.append(f"- Post for her goes to {SECRET}.", origin=Origin("agent", "thread-1"))
    memory.append("- A parcel for the admin came.", origin=Origin("agent", "thread-1"))
    memory.write("memory/sister.md", f"# Sister\n\nShe moved to {SECRET} in May.\nShe sings.\n")
    memory.delete("memory/sister.md")
    flusher = Flusher(memory, CallableFlushModel(failing))
    flusher.flush(
        said("Where does my sister live?", f"In {SECRET}.", "And the VPN?"), thread="thread-2"
    )
    tool = {"results": [{"snippet": LINE, "path": "MEMORY.md"}]}
    messages = [
        *said("What is the port?", "51820.", f"She lives in\n{SECRET}\nby now."),
        FlushMessage("tool", json.dumps(tool), call_id="1", name="memory_search"),
    ]
    flusher.archive(messages, thread="thread-3")
    memory.index()
    assert memory.search("Hollyhock Lane")


@pytest.mark.slow
def test_a_text_is_in_no_byte_afterwards_and_the_rest_is_untouched(memory, root, tmp_path):
    filled(memory)
    runs = runs_of(SECRET, KEPT)
    assert len({name for name, _ in left_in(tmp_path, runs)}) > 5
    receipt = memory.forget(text=SECRET)
    assert left_in(tmp_path, runs) == []
    assert not [hit for hit in memory.search("Hollyhock Lane") if "ollyhock" in hit.snippet]
    assert (root / "MEMORY.md").read_text("utf-8") == f"# Memory\n\n{KEPT}"
    assert memory.get(LOG).text == "# 2026-11-20\n\n- A parcel for the admin came.\n"
    assert {"lines", "chunks", "versions", "journal messages", "session messages"} <= set(
        receipt.removed
    )
    assert receipt.removed["lines"] == 2
    assert SECRET not in repr(receipt)
    assert not receipt.dry_run
    (session,) = (tmp_path / "state" / "sessions").iterdir()
    records = [json.loads(line) for line in session.read_text().splitlines()]
    texts = [record["message"]["content"][0]["text"] for record in records[1:]]
    assert texts == ["What is the port?", "51820.", "She lives in\nby now.", FORGOTTEN]
    memory.undo(memory.history("memory/sister.md")[0].id)
    assert memory.get("memory/sister.md").text == "# Sister\n\nShe sings.\n"


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("engine_words", ["bundled", None])
def test_words_vectors_and_caches_of_other_embedders(root, tmp_path, engine_words):
    with opened(root, embedder=engine_words) as memory:
        memory.index()
        filled(memory)
        memory.index(force=True)
        memory.forget(citation="MEMORY.md#L5")
        memory.forget(text=SECRET)
        assert left_in(tmp_path, runs_of(LINE, KEPT)) == []
        assert memory.search("VPN port")[0].path == "MEMORY.md"


def test_a_dry_run_lists_what_would_go_and_changes_nothing(memory, tmp_path):
    filled(memory)
    before = {p: p.read_bytes() for p in (tmp_path / "notes").rglob("*") if p.is_file()}
    receipt = memory.forget(text=SECRET, dry_run=True)
    assert receipt.dry_run
    assert receipt.places == ("MEMORY.md#L5", f"{LOG}#L3")
    assert before == {p: p.read_bytes() for p in (tmp_path / "notes").rglob("*") if p.is_file()}
    assert "ollyhock" in memory.search("Hollyhock Lane")[0].snippet
    done = memory.forget(text=SECRET).removed
    # The text before this very change is one more version.
    assert {kind: count for kind, count in done.items() if kind != "versions"} == {
        kind: count for kind, count in receipt.removed.items() if kind != "versions"
    }


def test_a_note_goes_with_all_that_it_was_under_earlier_names_too(memory, root, tmp_path):
    memory.write("memory/old-name.md", f"# Sister\n\n- She lives in {SECRET}.\n")
    memory.edit("memory/old-name.md", SECRET, "Oslo, Karl Johans gate 31")
    memory.move("memory/old-name.md", "memory/sister.md")
    receipt = memory.forget(path="memory/sister.md")
    assert not (root / "memory" / "sister.md").exists()
    assert receipt.removed["notes"] == 1
    runs = runs_of("Oslo, Karl Johans gate 31") | {"old-name.md"} | runs_of("memory/sister.md")
    assert left_in(tmp_path, runs) == []
    assert memory.history("memory/sister.md") == []
    assert LINE in memory.get("MEMORY.md").text


def test_a_note_that_was_deleted_before_is_forgotten_from_history(memory, tmp_path):
    memory.write("memory/diary.md", "I met the Xanthippe-Quintett in the Blauer Salon.\n")
    memory.delete("memory/diary.md")
    memory.forget(path="memory/diary.md")
    assert left_in(tmp_path, runs_of("Xanthippe-Quintett in the Blauer Salon")) == []


@pytest.mark.slow
def test_a_citation_forgets_its_lines_and_the_links_of_their_correction(memory, root, tmp_path):
    memory.correct("MEMORY.md#L5", "My sister lives in Oslo.")
    assert "([corrects](../MEMORY.md#L5))" in memory.get(LOG).text
    receipt = memory.forget(citation="MEMORY.md#L5")
    assert receipt.removed["lines"] == 1
    assert memory.get(LOG).text == "# 2026-11-20\n\n- My sister lives in Oslo.\n"
    assert (root / "MEMORY.md").read_text("utf-8") == f"# Memory\n\n{KEPT}"
    runs = runs_of(LINE, KEPT, "- My sister lives in Oslo.")
    assert left_in(tmp_path, runs) == []


def test_a_forgotten_correction_leaves_the_struck_line_without_its_link(memory, root):
    memory.correct("MEMORY.md#L5", "My sister lives in Oslo.")
    memory.forget(citation=f"{LOG}#L3")
    assert (root / "MEMORY.md").read_text("utf-8").endswith(f"- ~~{LINE[2:]}~~\n")


def test_a_session_goes_with_its_lines_its_transcript_and_its_journal(memory, root, tmp_path):
    filled(memory)
    memory.write_session_note(
        [{"role": "user", "content": "My code is Quetzalcoatl-88."}], slug="code", session="s-9"
    )
    Flusher(memory, CallableFlushModel(failing)).archive(
        said("My code is Quetzalcoatl-88."), thread="s-9"
    )
    receipt = memory.forget(session="s-9")
    assert receipt.removed["notes"] == receipt.removed["session files"] == 1
    assert left_in(tmp_path, runs_of("Quetzalcoatl-88.")) == []
    receipt = memory.forget(session="thread-1")
    assert receipt.removed["lines"] == 2
    receipt = memory.forget(session="thread-2")
    assert receipt.removed["journal messages"] == 3
    assert (root / "MEMORY.md").exists()


def test_a_session_goes_with_its_lines_that_were_edited_since(memory):
    memory.append("- The code of the door is four.", origin=Origin("agent", session="s-9"))
    memory.append("- The bell is broken.")
    memory.edit(LOG, "is four", "is five")
    assert memory.forget(session="s-9", dry_run=True).removed == {"versions": 2}
    assert memory.forget(session="s-9").removed == {"versions": 2}
    texts = [memory.get(LOG, as_of=version.when).text for version in memory.history(LOG)]
    assert not any("is four" in text for text in texts)
    assert memory.get(LOG).text.endswith("- The code of the door is five.\n- The bell is broken.\n")
    assert memory.forget(session="s-9").removed == {}


def test_a_plan_that_an_older_version_journaled_is_read():
    text = json.loads(ForgetPlan({}, session="s-9").to_json())
    del text["unread"]
    assert ForgetPlan.from_json(json.dumps(text)) == ForgetPlan({}, session="s-9")


def test_a_session_leaves_the_headings_and_tags_that_a_user_wrote(memory):
    mine = "# Plan\n\n## Buy food on Friday\n\n#idea paint the shed\n\n#2 rent is 900 euros\n"
    memory.write("memory/plan.md", mine)
    memory.append(
        "- The tram is late.", path="memory/plan.md", origin=Origin("agent", session="s1")
    )
    receipt = memory.forget(session="s1")
    assert memory.get("memory/plan.md").text.rstrip() == mine.rstrip()
    assert receipt.removed["lines"] == 1
    assert "notes" not in receipt.removed


@pytest.mark.parametrize("own", ["# 2026-11-20\n", ""], ids=["a user", "the session"])
def test_a_log_of_which_only_the_title_is_left_goes_where_the_session_made_it(memory, own):
    if own:
        memory.write(LOG, own)
    memory.append("- The tram is late.", origin=Origin("agent", session="s1"))
    memory.forget(session="s1")
    assert memory.get(LOG).status == ("ok" if own else "not_found")


def test_a_note_goes_with_what_it_was_under_another_path_meanwhile(memory, tmp_path):
    memory.write("memory/home.md", "- Home.\n")
    memory.move("memory/home.md", "memory/house.md")
    memory.write("memory/house.md", "- The safe opens with Quetzalcoatl-88.\n")
    memory.write("memory/house.md", "- Home.\n")
    memory.move("memory/house.md", "memory/home.md")
    memory.forget(path="memory/home.md")
    assert memory.history("memory/house.md") == []
    assert left_in(tmp_path, runs_of("Quetzalcoatl-88.")) == []


@pytest.mark.parametrize("word", ["role", "content", "user", "text", "message"])
def test_a_record_keeps_its_form_where_a_word_of_it_is_forgotten(memory, word):
    filled(memory)
    flusher = Flusher(memory, CallableFlushModel(failing))
    path = flusher.archive(said(f"My {word} is to sing.", "I like tea."), thread="s-9")
    before = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    file = StateFile(memory.state.database)
    rows = "SELECT messages, replies FROM flush_entries"
    call = ToolCall("memory_append", {"at": "- Tea at four."}, "c1")
    with file.transaction() as connection:
        replies = dump_replies([FlushReply("", (call,))])
        connection.execute("UPDATE flush_entries SET replies = ?, checksums = NULL", (replies,))
    entries = file.rows(rows)
    assert entries
    memory.forget(text=word)
    after = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert after[0] == before[0]
    for one, other in zip(before[1:], after[1:], strict=True):
        is_gone = f"My {word}" in str(one)
        assert set(other) == set(one)
        assert other["message"]["role"] == one["message"]["role"]
        if is_gone:
            one["message"]["content"][0]["text"] = FORGOTTEN
        assert other == one
    assert file.rows(rows) == entries


def test_what_a_model_named_is_forgotten_with_its_name():
    forgotten = ForgottenText([], "Mira")
    call = {"type": "toolCall", "name": "note", "arguments": {"Mira": 1, "of": "Mira", "at": "x"}}
    assert forgotten.without_values(call) == {
        **call,
        "arguments": {"of": FORGOTTEN, "at": "x"},
    }


@pytest.mark.slow
def test_a_damaged_entry_of_the_journal_goes_too(memory, tmp_path):
    filled(memory)
    (tmp_path / "state" / "state.sqlite.damaged-entry-9-1").write_bytes(SECRET.encode())
    file = StateFile(memory.state.database)
    with file.transaction() as connection:
        connection.execute("UPDATE flush_entries SET messages = messages || CAST(x'ff' AS TEXT)")
        held = connection.execute(
            "SELECT count(*) FROM flush_entries WHERE instr(messages, 'Hollyhock')"
        ).get
    receipt = memory.forget(text="Hollyhock")
    assert receipt.removed["journal messages"] == held > 0
    assert left_in(tmp_path, runs_of("Hollyhock Lane 221b")) == []


def test_a_session_line_that_is_nested_too_deeply_is_text_as_any_other(memory, tmp_path):
    session = tmp_path / "state" / "sessions" / "a.jsonl"
    session.parent.mkdir()
    bomb, kept = "[" * 100_000, '{"text": "Tea."}'
    deep = '{"a":' * 2_000 + f'"{SECRET}"' + "}" * 2_000
    session.write_text(f"{bomb}\n{kept}\n{bomb}{SECRET}\n{deep}\n", "utf-8")
    assert memory.forget(text=SECRET).removed["session messages"] == 2
    assert session.read_text("utf-8") == f"{bomb}\n{kept}\n\n\n"


def test_a_list_of_a_session_that_holds_nothing_of_it_stays_byte_by_byte(memory, tmp_path):
    session = tmp_path / "state" / "sessions" / "a.json"
    session.parent.mkdir()
    session.write_text('[\n {"text": "Tea."}\n]\n', "utf-8")
    before = session.stat()
    assert "session messages" not in memory.forget(text=SECRET).removed
    assert session.stat().st_mtime_ns == before.st_mtime_ns


def test_a_forgetting_that_cannot_be_finished_prevents_no_open(root, monkeypatch, caplog):
    def fail(*arguments, **options):
        raise MemoryError("a defect of any kind")

    with opened(root) as memory, monkeypatch.context() as patch:
        patch.setattr("commonplace.history.forget.forget_in_sessions", fail)
        with pytest.raises(MemoryError):
            memory.forget(text=SECRET)
        with opened(root) as again:
            assert again.paths()
        assert "not forgotten yet; the next open tries again: a defect" in caplog.text
        assert HistoryFile(memory.state.history).is_forgetting
    with opened(root) as memory:
        assert not HistoryFile(memory.state.history).is_forgetting


@pytest.fixture
def shared():
    """Folder that an unprivileged user may write: root is refused nothing."""
    folder = Path(tempfile.mkdtemp(dir="/tmp")).resolve()
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@contextlib.contextmanager
def unwritable(*folders):
    for folder in folders:
        folder.chmod(0o555)
    yield
    for folder in folders:
        folder.chmod(0o755)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_a_session_that_cannot_be_written_is_named_and_the_next_open_does_the_rest(memory, shared):
    # An unprivileged user may not be able to import what is needed.
    memory.forget(text=SECRET)
    Flusher(memory, CallableFlushModel(failing))
    root = shared / "notes"
    with unprivileged():
        root.mkdir()
        (root / "MEMORY.md").write_text(f"# Memory\n\n{KEPT}{LINE}\n", "utf-8")
        with opened(root) as memory:
            flusher = Flusher(memory, CallableFlushModel(failing))
            path = flusher.archive(said(f"She lives in {SECRET}."), thread="t")
            with unwritable(path.parent):
                with pytest.raises(StateError, match="next open of this memory does the rest") as e:
                    memory.forget(text=SECRET)
                assert f"the session file {path} cannot be changed (Permission" in str(e.value)
                assert "nothing" not in str(e.value)
                assert SECRET not in (root / "MEMORY.md").read_text("utf-8")
                memory.forget(text="Tea is at four")  # what is done meanwhile ends not the other
        with opened(root):
            pass
    assert left_in(shared, runs_of(SECRET)) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_a_workspace_that_cannot_be_written_is_named_and_nothing_is_forgotten(memory, shared):
    memory.forget(text=SECRET)
    root = shared / "notes"
    with unprivileged():
        root.mkdir()
        (root / "MEMORY.md").write_text(f"{KEPT}{LINE}\n", "utf-8")
        with opened(root) as memory, unwritable(root):
            with pytest.raises(
                WorkspaceReadOnlyError, match=r"cannot write MEMORY\.md: Permission"
            ):
                memory.forget(text=SECRET)
            assert not HistoryFile(memory.state.history).is_forgetting
        with opened(root):
            assert SECRET in (root / "MEMORY.md").read_text("utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
@pytest.mark.parametrize("locked", ["memory/plan.md", "memory"])
def test_a_session_keeps_the_origins_of_lines_in_a_note_that_cannot_be_read(memory, shared, locked):
    memory.forget(session="s-8")
    root, of_session = shared / "notes", Origin("agent", session="s-9")
    with unprivileged():
        root.mkdir()
        with opened(root) as memory:
            said = "- The safe opens with Quetzalcoatl-88."
            memory.append(said, path="memory/plan.md", origin=of_session)
            memory.append("- The door has four.", path="MEMORY.md", origin=of_session)
            memory.index()
            mode = (root / locked).stat().st_mode
            (root / locked).chmod(0)
            try:
                receipt = memory.forget(session="s-9")
            finally:
                (root / locked).chmod(mode)
            assert receipt.removed["lines"] == 1
            assert "door" not in memory.get("MEMORY.md").text
            (named,) = (said for said in receipt.unreachable if "was not read" in said)
            assert named.startswith(f"{locked} ")
            assert [line.origin for line in memory.blame("memory/plan.md")] == [of_session]
            assert memory.forget(session="s-9").removed["lines"] == 1
            assert not (root / "memory/plan.md").exists()
    assert left_in(shared, runs_of("Quetzalcoatl-88.")) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_what_cannot_be_read_is_named(memory, shared):
    memory.forget(text=SECRET)
    root, sessions = shared / "notes", shared / "state" / "sessions"
    with unprivileged():
        places = [root / "memory" / "in", root / "memory" / "a.md", sessions / "in"]
        places.append(sessions / "a.jsonl")
        for path in (places[0] / "b.md", places[1], places[2] / "c.jsonl", places[3]):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{LINE}\n", "utf-8")
        (root / "MEMORY.md").write_text(f"{KEPT}{LINE}\n", "utf-8")
        with opened(root) as memory:
            modes = [path.stat().st_mode for path in places]
            for path in places:
                path.chmod(0)
            for options in ({"dry_run": True}, {}):
                receipt = memory.forget(text=SECRET, **options)
                assert receipt.removed["lines"] == 1
                found = [said for said in receipt.unreachable if " was not read (" in said]
                shown = ["memory/in", "memory/a.md", str(places[2]), str(places[3])]
                assert sorted(said.split(" was ")[0] for said in found) == sorted(shown)
                assert all("Permission denied), and may hold some" in said for said in found)
            assert len(memory.forget(text=SECRET).unreachable) == 4
            for named in ({"path": "memory/in/b.md"}, {"citation": "memory/a.md#L1"}):
                with pytest.raises(
                    WorkspaceError, match=r"memory/(in|a\.md) cannot be read \(Perm"
                ):
                    memory.forget(**named)
            for path, mode in zip(places, modes, strict=True):
                path.chmod(mode)
            assert len(memory.forget(text=SECRET).unreachable) == 1
    assert left_in(shared, runs_of(SECRET)) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_a_note_that_cannot_be_read_is_not_found_by_what_was_forgotten(memory, shared):
    note = shared / "notes" / "memory" / "zoo.md"
    with unprivileged():
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text("- The okapi has a cold.\n", "utf-8")
        with opened(shared / "notes") as memory:
            memory.index()
            mode = note.stat().st_mode
            note.chmod(0)
            assert memory.forget(text="okapi", dry_run=True).removed == {"chunks": 1, "versions": 1}
            receipt = memory.forget(text="okapi")
            assert receipt.removed == {"chunks": 1, "versions": 1}
            assert any("memory/zoo.md was not read" in said for said in receipt.unreachable)
            assert not [hit for hit in memory.search("okapi") if "okapi" in hit.snippet]
            assert left_in(shared / "state", ["okapi has a cold"]) == []
            note.chmod(mode)
            memory.index()
            assert "okapi" in memory.search("okapi")[0].snippet


def test_what_has_a_forgotten_text_in_its_name_is_named(memory, tmp_path):
    memory.write("memory/people/Jane Doe.md", "# Jane Doe\n\n- Likes tea.\n")
    memory.write("memory/2026-05-04-jane-doe.md", "- A visit.\n")
    memory.write("memory/janet-doeling.md", "- Another visit.\n")
    Flusher(memory, CallableFlushModel(failing)).archive(said("Hello."), thread="jane-doe")
    for options in ({"dry_run": True}, {}):
        receipt = memory.forget(text="Jane Doe", **options)
        found = [one.split(" has some")[0] for one in receipt.unreachable if "its name" in one]
        assert found[-2:] == ["memory/2026-05-04-jane-doe.md", "memory/people/Jane Doe.md"]
        assert len(found) == 3
        assert "sessions" in found[0]
    assert not any("its name" in one for one in memory.forget(text="tea").unreachable)


def full(*arguments, **options):
    raise apsw.FullError("database or disk is full")


def test_a_full_disk_before_the_first_change_leaves_no_plan(root, memory, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(VersionLog, "add", full)
        with pytest.raises(StateError, match="disk is full"):
            memory.forget(text=SECRET)
    with opened(root):
        assert LINE in (root / "MEMORY.md").read_text("utf-8")


@pytest.mark.slow
def test_a_full_disk_after_it_says_that_the_next_open_does_the_rest(
    root, memory, tmp_path, monkeypatch
):
    memory.edit("MEMORY.md", "old bakery", "new bakery")
    with monkeypatch.context() as patch:
        patch.setattr("commonplace.history.version_removal.rewrite_bodies", full)
        with pytest.raises(StateError, match=r"the next open .* does the rest: .* disk is full"):
            memory.forget(text=SECRET)
    assert SECRET not in (root / "MEMORY.md").read_text("utf-8")
    with opened(root):
        assert left_in(tmp_path, runs_of(SECRET)) == []


def test_nothing_brings_back_what_is_forgotten(memory):
    version = memory.edit("MEMORY.md", "above the old bakery", "above the new bakery")
    memory.forget(text="Hollyhock")
    undone = memory.undo(version.id)
    assert "ollyhock" not in memory.get("MEMORY.md").text
    for one in memory.history():
        assert "ollyhock" not in memory.get("MEMORY.md", as_of=one.when).text
    assert undone


def kept_texts(memory, path):
    """Return all texts of a note that its history keeps."""
    log = VersionLog(HistoryFile(memory.state.history))
    return {log.text(state).decode() for state in log.states_of(path) if state.exists}


@pytest.mark.parametrize(
    ("earlier", "line"),
    [
        ("- PIN 4711 (card)", "- PIN 4711"),
        ("- PIN 4711", "- PIN 4711 (card)"),
        ("- Ann left (today)", "- Ann left"),
        ("- Tea", "* Tea"),
    ],
)
def test_no_version_keeps_a_short_line(memory, earlier, line):
    memory.write("memory/a.md", f"{earlier}\n- keep\n\n---\n")
    memory.edit("memory/a.md", earlier, line)
    memory.edit("memory/a.md", "- keep\n\n---\n", "- keep\n")
    memory.forget(citation="memory/a.md#L1")
    assert kept_texts(memory, "memory/a.md") == {"- keep\n\n---\n", "- keep\n"}


def test_no_other_note_and_no_conversation_keeps_a_short_line(memory):
    memory.write("memory/a.md", "- Room 4711\n- Tea\n- keep\n")
    memory.write("memory/b.md", "- Room 4711, she said\n- Tea is out\n- stay\n")
    memory.edit("memory/b.md", "- Room 4711, she said\n- Tea is out\n", "")
    texts = ("Room 4711?", "Yes.", "4711", "Tea", "Call 47112.")
    path = Flusher(memory, CallableFlushModel(failing)).archive(said(*texts), thread="t")
    memory.forget(citation="memory/a.md#L1-L2")
    assert kept_texts(memory, "memory/b.md") == {"- Tea is out\n- stay\n", "- stay\n"}
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    held = [record["message"]["content"][0]["text"] for record in records[1:]]
    assert held == [FORGOTTEN, "Yes.", FORGOTTEN, "Tea", "Call 47112."]


def test_no_search_of_the_past_finds_what_is_forgotten(root):
    clock_now = [NOON]
    with opened(root, now=lambda: clock_now[0]) as memory:
        memory.index()
        for hours in (1, 2):
            clock_now[0] = NOON + timedelta(hours=hours)
            memory.edit("MEMORY.md", "old bakery", f"old bakery {hours}")
        then = NOON + timedelta(minutes=90)
        asked = "Hollyhock Lane bakery"
        assert any("ollyhock" in hit.snippet for hit in memory.search(asked, as_of=then))
        memory.forget(text=SECRET)
        for moment in (NOON, then, clock_now[0]):
            assert not any("ollyhock" in hit.snippet for hit in memory.search(asked, as_of=moment))


@pytest.mark.slow
@pytest.mark.full
def test_old_texts_that_another_process_has_indexed_go_too(root, tmp_path):
    clock_now = [NOON]
    with (
        opened(root, now=lambda: clock_now[0]) as memory,
        opened(root, now=lambda: clock_now[0]) as other,
    ):
        memory.index()
        clock_now[0] = NOON + timedelta(hours=2)
        memory.edit("MEMORY.md", "Tea is at four.", "Tea is at five.")
        memory.edit("MEMORY.md", "bakery", "butcher")
        asked, then = "Hollyhock Lane", NOON + timedelta(hours=1)
        assert any("ollyhock" in hit.snippet for hit in other.search(asked, as_of=then))
        assert left_in(tmp_path / "state", runs_of(SECRET))
        memory.forget(text=SECRET)
        assert left_in(tmp_path, runs_of(SECRET)) == []
        assert any("four" in hit.snippet for hit in other.search("tea", as_of=then))
        assert not any("ollyhock" in hit.snippet for hit in other.search(asked, as_of=then))


def test_lines_of_others_that_share_common_words_stay(memory, tmp_path):
    flusher = Flusher(memory, CallableFlushModel(failing))
    texts = ("My sister is nice.", "The old town is nice.", "Above the roofs.", "I live here.")
    path = flusher.archive(said(*texts), thread="t")
    before = path.read_bytes()
    memory.forget(citation="MEMORY.md#L5")
    assert path.read_bytes() == before


def test_a_note_that_was_deleted_and_came_back_can_be_changed_afterwards(memory):
    memory.write("memory/house.md", f"# House\n\n- It has a door.\n{LINE}\n")
    memory.undo(memory.delete("memory/house.md").id)
    memory.forget(text=SECRET)
    edit = memory.edit("memory/house.md", "a door", "two doors")
    memory.undo(edit.id)
    assert memory.get("memory/house.md").text == "# House\n\n- It has a door.\n"


@pytest.mark.parametrize(
    "arguments", [{}, {"path": "MEMORY.md", "text": "x"}, {"text": " \n"}, {"session": ""}]
)
def test_exactly_one_thing_is_forgotten(memory, arguments):
    with pytest.raises(ValueError, match="one of path, citation, text and session"):
        memory.forget(**arguments)


def test_bad_places_are_refused(memory):
    with pytest.raises(PathNotAllowedError):
        memory.forget(path="../other.md")
    with pytest.raises(EditError, match="not there any more"):
        memory.forget(citation="MEMORY.md#L99")
    with pytest.raises(EditError, match="not there any more"):
        memory.forget(citation="memory/none.md#L1")
    assert memory.forget(text="a text that stands nowhere").removed == {}


@pytest.mark.slow
def test_damaged_copies_shadow_indexes_and_temporary_files_go_too(memory, root, tmp_path):
    state = tmp_path / "state"
    names = ("index.sqlite.damaged-1", "index.sqlite.rebuild", "history.sqlite.damaged-2")
    for name in (*names, "state.sqlite.damaged-3", "sessions/a.jsonl.99.tmp"):
        (state / name).parent.mkdir(exist_ok=True)
        (state / name).write_text(LINE, "utf-8")
    memory.forget(text=SECRET)
    assert left_in(tmp_path, runs_of(SECRET)) == []


def test_the_receipt_names_what_cannot_be_reached(memory, root, tmp_path):
    (tmp_path / ".git").mkdir()
    (root / "MEMORY.md~").write_text(LINE, "utf-8")
    (root / "memory" / ".a.swp").write_bytes(LINE.encode("utf-16-le"))
    unreachable = "\n".join(memory.forget(text=SECRET).unreachable)
    assert "MEMORY.md~ holds some of it" in unreachable
    assert "memory/.a.swp holds some of it" in unreachable
    assert f"Git repository {tmp_path}" in unreachable
    assert "Backups" in unreachable


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_an_index_that_cannot_be_written_is_named_and_forgets_at_its_next_chance(memory):
    memory.forget(text=SECRET)
    assert SECRET not in str(memory.search("Which port has the VPN?"))
    assert left_in(memory.workspace.root.parent, runs_of(SECRET)) == []
    # An unprivileged user may not be able to import what is needed: it is there now.
    folder = Path(tempfile.mkdtemp(dir="/tmp")).resolve()
    folder.chmod(0o777)
    root, index = folder / "notes", folder / "state" / "index.sqlite"
    try:
        with unprivileged():
            root.mkdir()
            (root / "MEMORY.md").write_text(f"# Memory\n\n{KEPT}{LINE}\n", "utf-8")
            with opened(root) as memory:
                memory.index()
            index.chmod(0o444)
            with opened(root) as memory:
                receipt = memory.forget(text=SECRET)
            assert f"The index {index} cannot be written" in "\n".join(receipt.unreachable)
            assert receipt.removed["lines"] == 1
            assert {name for name, _ in left_in(folder, runs_of(SECRET))} == {index.name}
            for file in index.parent.glob(f"{index.name}*"):  # its log has its mode
                file.chmod(0o644)
            with opened(root) as memory:
                assert memory.search("Hollyhock Lane") == []
            assert left_in(folder, runs_of(SECRET)) == []
    finally:
        shutil.rmtree(folder)


@pytest.mark.slow
def test_files_of_other_encodings(memory, root, tmp_path):
    text = f"# Notes\r\n\r\n{LINE}\r\n- Tea is at four.\r\n"
    (root / "memory" / "a.md").write_bytes(b"\xff\xfe" + text.encode("utf-16-le"))
    memory.index()
    memory.forget(text=SECRET)
    data = (root / "memory" / "a.md").read_bytes()
    assert data.decode("utf-16") == "# Notes\r\n\r\n- Tea is at four.\r\n"
    assert left_in(tmp_path, runs_of(SECRET)) == []


def test_a_text_of_several_lines_takes_the_lines_that_it_touches(memory, root):
    memory.forget(text="said.\n- Tea is")
    assert (root / "MEMORY.md").read_text("utf-8") == f"# Memory\n\n{LINE}\n"


def test_a_text_of_several_lines_goes_from_versions_and_conversations(memory, tmp_path):
    text = "The aunt lives\n12 Hollyhock Lane"
    memory.write(
        "memory/aunt.md", "# Aunt\n\nThe aunt lives\n  12 Hollyhock Lane\nThe aunt sings.\n"
    )
    memory.edit("memory/aunt.md", "The aunt lives\n  12 Hollyhock Lane\n", "")
    messages = said(f"{text}, I think.\nYes.", "The aunt lives?\n12 Hollyhock Lane")
    path = Flusher(memory, CallableFlushModel(failing)).archive(messages, thread="t")
    removed = memory.forget(text=text).removed
    assert removed["session messages"] == 1
    assert kept_texts(memory, "memory/aunt.md") == {"# Aunt\n\nThe aunt sings.\n"}
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    held = [record["message"]["content"][0]["text"] for record in records[1:]]
    assert held == ["Yes.", "The aunt lives?\n12 Hollyhock Lane"]
    assert memory.forget(text=text).removed == {}


@pytest.mark.parametrize(("one", "other"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_text_is_found_in_either_unicode_form(memory, root, tmp_path, one, other):
    line = "- Zoë wohnt in der Grünhöfer Straße über der Bäckerei.\n"
    memory.write("memory/a.md", normalize(one, line) + "- b\n")
    memory.write("memory/b.md", normalize(one, line) + "- b\n")
    memory.edit("memory/b.md", normalize(one, line), "")
    messages = said(normalize(one, "Sie heißt Zoë."), "Ja.")
    Flusher(memory, CallableFlushModel(failing)).archive(messages, thread="t")
    (root / "a.txt").write_text(normalize(one, line), "utf-8")
    receipt = memory.forget(text=normalize(other, "Zoë"))
    assert (receipt.removed["lines"], receipt.removed["session messages"]) == (1, 1)
    assert any("a.txt holds some of it" in said for said in receipt.unreachable)
    (root / "a.txt").unlink()
    for form in ("NFC", "NFD"):
        assert left_in(tmp_path, {normalize(form, "Zoë"), normalize(form, "Grünhöfer S")}) == []


@pytest.mark.parametrize("elsewhere", ["copy.md", "memory/copy.md"])
def test_another_name_of_a_note_is_named(memory, root, tmp_path, elsewhere):
    other = (root if elsewhere.startswith("memory/") else tmp_path) / elsewhere
    os.link(root / "MEMORY.md", other)
    for options in ({"dry_run": True}, {}):
        receipt = memory.forget(text=SECRET, **options)
        (said,) = (said for said in receipt.unreachable if "a hard link" in said)
        assert said.startswith("MEMORY.md has another name on the disk")
    assert SECRET in other.read_text("utf-8")
    if elsewhere.startswith("memory/"):
        memory.forget(text=SECRET)
        assert SECRET not in other.read_text("utf-8")


# -- other processes -----------------------------------------------------------------------------

FORGET = """
    import os, signal, sys
    sys.path[:0] = {paths!r}
    from pathlib import Path
    from history.test_forget import SECRET, opened
    from commonplace.history import forget, version_removal
    from commonplace.history.forget import Forgetter
    from commonplace.history.mutations import Mutator
    from commonplace.store.sqlite.store import SqliteStore
    from commonplace.system.database import DatabaseFile

    def die(*arguments, **options):
        os.kill(os.getpid(), signal.SIGKILL)

    owner, name, when = {owner}, {name!r}, {when!r}
    real = getattr(owner, name)

    def then_die(*arguments, **options):
        real(*arguments, **options)
        die()

    with opened(Path({root!r})) as memory:
        setattr(owner, name, die if when == "before" else then_die)
        memory.forget(text=SECRET)
"""
STEPS = [
    ("Mutator", "apply", "before"),
    ("Mutator", "apply", "after"),
    ("Mutator", "_finish", "before"),
    ("forget", "forget_in_sessions", "before"),
    ("forget", "forget_in_journal", "after"),
    ("version_removal", "rewrite_bodies", "after"),
    ("Forgetter", "_overwrite", "before"),
    ("SqliteStore", "purge", "before"),
    ("DatabaseFile", "overwrite_free_pages", "before"),
    ("DatabaseFile", "overwrite_free_pages", "after"),
]


@pytest.mark.processes
@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize("step", sampled(STEPS, every=5), ids=map("-".join, STEPS))
def test_what_a_killed_process_left_is_forgotten_by_the_next_open(root, tmp_path, step):
    owner, name, when = step
    with opened(root) as memory:
        memory.index()
        filled(memory)
    paths = [str(Path(__file__).parent.parent)]
    code = textwrap.dedent(FORGET).format(
        paths=paths, owner=owner, name=name, when=when, root=str(root)
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with opened(root) as memory:
        assert left_in(tmp_path, runs_of(SECRET)) == []
        assert (root / "MEMORY.md").read_text("utf-8") == f"# Memory\n\n{KEPT}"
        assert "51820" in memory.search("VPN port")[0].snippet


READ = """
    import sys, time
    sys.path[:0] = {paths!r}
    from pathlib import Path
    from history.test_forget import opened

    with opened(Path({root!r})) as memory:
        with memory.snapshot() as snapshot:
            print(len(snapshot.files()), flush=True)
            sys.stdin.readline()
        print(len(memory.search("Hollyhock Lane bakery")), flush=True)
        sys.stdin.readline()
"""


@pytest.mark.processes
@pytest.mark.slow
def test_a_reader_in_another_process_delays_the_last_step_which_the_receipt_says(
    root, tmp_path, monkeypatch
):
    monkeypatch.setattr("commonplace.store.sqlite.connection.WRITER_WAIT_S", 2.0)
    with opened(root) as memory:
        memory.index()
        code = textwrap.dedent(READ).format(
            paths=[str(Path(__file__).parent.parent)], root=str(root)
        )
        reader = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            assert reader.stdout.readline() == "1\n"
            receipt = memory.forget(text=SECRET)
            assert any("reads an earlier state" in each for each in receipt.unreachable)
            reader.stdin.write("go on\n")
            reader.stdin.flush()
            assert reader.stdout.readline().strip().isdecimal()
            with opened(root):
                assert left_in(tmp_path, runs_of(SECRET)) == []
        finally:
            reader.communicate("end\n", timeout=20)


def test_a_line_that_another_program_moves_meanwhile_goes_all_the_same():
    text = "# A\n\n- PIN 47\n- Keep it.\n"
    plan = planned_edits({"a.md": text.encode()}, lambda path, lines: [2])
    edit = ForgetPlan.from_json(ForgetPlan(plan).to_json()).files["a.md"]
    assert edit.apply(text.encode()) == b"# A\n\n- Keep it.\n"
    assert edit.apply((text + "- New.\n").encode()) == b"# A\n\n- Keep it.\n- New.\n"
    assert edit.apply(("- First.\n" + text).encode()) == b"- First.\n# A\n\n- Keep it.\n"
    twice = f"{text}- PIN 47\n".encode()
    once = planned_edits({"a.md": twice}, lambda path, lines: [2])["a.md"]
    done = b"# A\n\n- Keep it.\n- PIN 47\n"
    assert once.apply(once.apply(twice)) == done
    done = b"# A\n\n- Keep it.\n"
    assert edit.apply(done) == done
    assert edit.apply(None) is None


# -- texts ---------------------------------------------------------------------------------------


def test_lines_are_recognised_by_runs_that_are_no_chance():
    forgotten = ForgottenText([LINE])
    forgotten.spare("My sister lives in Oslo.")
    assert forgotten.is_in(f"user: is it {SECRET}?")
    assert forgotten.is_in("it was in Zürich-Enge, above")
    assert forgotten.is_in("the old bakery")
    assert not forgotten.is_in("My sister lives in Oslo, and she sings there.")
    assert not forgotten.is_in("She went above the old town, and was never seen again.")
    assert forgotten.without(f"a\n{LINE}\nb") == "a\nb"
    assert forgotten.without_values({"a": [LINE, f"x\n{LINE}", 7], SECRET: 1}) == {
        "a": [FORGOTTEN, "x", 7]
    }


def test_short_lines_are_recognised_with_more_around_them_and_with_less():
    forgotten = ForgottenText(["- PIN 4711", "- 密码是蜥蜴", "- Ann left", "- Tea", "# 2026-11-20"])
    for line in ("PIN 4711 (card)", "* ~~PIN 4711~~", "4711", "他的密码是蜥蜴。", "Ann left"):
        assert forgotten.is_in(line), line
    others = ("PIN 47112", "PIN", "Ann left home", "Tea", "Ann", "2026-11-20", "the 20th", "")
    for line in others:
        assert not forgotten.is_in(line), line
    assert forgotten.without_values({"role": "Tea", "at": "2026-11-20T10:00:00Z"}) == {
        "role": "Tea",
        "at": "2026-11-20T10:00:00Z",
    }
    forgotten.spare("# Cards\n\n- [ ] The **PIN** is PIN 4711.\n")
    assert not forgotten.is_in("PIN 4711 (card)")
    assert "PIN 4711" not in forgotten.runs
    assert "密码是蜥蜴" in forgotten.runs


def test_a_rule_and_an_empty_item_are_no_lines_of_a_note_that_it_loses():
    forgotten = ForgottenLines(["- Tea", "---", "- "], own=True)
    assert forgotten.are_in("* Tea")
    assert not any(map(forgotten.are_in, ["---", "-", "", "# "]))


def test_lines_that_begin_as_one_that_stays_are_recognised_as_a_whole():
    door = "- The number for the front door of the house in Oslo is {}"
    forgotten = ForgottenText([door.format(47)])
    forgotten.spare(door.format(12))
    assert forgotten.is_in(door.format("47, says Ann"))
    assert not forgotten.is_in(door.format(12))


@pytest.mark.slow
@pytest.mark.full
def test_a_plan_that_changed_nothing_is_not_tried_again(root, memory):
    (root / "memory/large.md").write_bytes(f"{SECRET}\n".encode() + b"x" * (32 << 20))
    with pytest.raises(WorkspaceError, match=r"large\.md: it has 32 MiB"):
        memory.forget(path="memory/large.md")
    assert not HistoryFile(memory.state.history).is_forgetting
    (root / "memory/large.md").unlink()
    assert memory.forget(text=SECRET).removed["lines"] == 1
