"""Imports of data exports, made in the form of each vendor's, into a real workspace."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from commonplace.cli.app import app
from commonplace.errors import ConflictError, ImportSourceError
from commonplace.importers import SOURCES, import_notes
from commonplace.memory import Memory
from commonplace.settings import HistorySettings, Settings, SyncSettings
from commonplace.types import Origin

SETTINGS = Settings(sync=SyncSettings(on_open=False, on_search=False), timezone="UTC")
KEY = "sk-ant-api03-" + "Ab1" * 20
CARD = "4111 1111 1111 1111"
MAY = 1_777_629_600  # 2026-05-01T10:00:00Z


def chatgpt_message(role, *parts, kind="text", **more):
    content = {"content_type": kind, "parts": list(parts)}
    return {"id": "m", "author": {"role": role}, "content": content, "recipient": "all"} | more


def chatgpt(number, said=(), *, title=None):
    """A conversation of ChatGPT's export, with an answer that was replaced by another one."""
    chain = [
        None,
        chatgpt_message("system", "You are ChatGPT."),
        chatgpt_message("user", f"Which port has VPN {number}?"),
        chatgpt_message("assistant", "search('vpn')", recipient="browser"),
        chatgpt_message("tool", "a page"),
        chatgpt_message("assistant", f"It listens on {50_000 + number}."),
        *said,
    ]
    nodes = {
        f"n{at}": {"id": f"n{at}", "message": message, "parent": f"n{at - 1}" if at else None,
                   "children": [f"n{at + 1}"] if at + 1 < len(chain) else []}
        for at, message in enumerate(chain)
    }  # fmt: skip
    wrong = chatgpt_message("assistant", "It has no port.")
    nodes["old"] = {"id": "old", "message": wrong, "parent": "n2", "children": []}
    return {
        "title": title or f"VPN {number}",
        "create_time": MAY + number * 86_400.5,
        "mapping": nodes,
        "current_node": f"n{len(chain) - 1}",
        "conversation_id": f"c-{number}",
    }


def claude(number, said=(), *, title=None):
    """A conversation of Claude's export: messages with a text, and with blocks."""
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "It listens on"}]
    messages = [
        {"uuid": "a", "sender": "human", "text": f"Which port has VPN {number}?", "content": []},
        {"uuid": "b", "sender": "assistant", "text": "…",
         "content": [*blocks, {"type": "text", "text": f"{50_000 + number}."}]},
        *({"uuid": "c", "sender": "human", "text": text} for text in said),
    ]  # fmt: skip
    return {
        "uuid": f"c-{number}",
        "name": title or f"VPN {number}",
        "created_at": f"2026-05-{1 + number % 28:02}T10:00:00.123456Z",
        "account": {"uuid": "me"},
        "chat_messages": messages,
    }


MADE = {"chatgpt": chatgpt, "claude": claude}


@pytest.fixture
def memory(tmp_path):
    (tmp_path / "notes").mkdir()
    with opened(tmp_path) as memory:
        yield memory


def opened(folder):
    index = folder / "index.sqlite"
    return Memory.open(folder / "notes", settings=SETTINGS, embedder=None, index=index)


def export(folder, conversations):
    path = folder / "conversations.json"
    path.write_text(json.dumps(conversations), "utf-8")
    return path


def disk(memory):
    root = memory.workspace.root
    return {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*.md")}


@pytest.mark.parametrize("source", MADE)
def test_a_conversation_is_a_dated_note_with_a_line_a_message(memory, tmp_path, source):
    path = export(tmp_path, [MADE[source](0), MADE[source](1)])
    report = import_notes(memory, source, path)
    assert (report.added, report.skipped) == (2, {})
    first = memory.paths(f"memory/imports/{source}/2026-05-01-vpn-0-")[0]
    assert memory.get(first).text == (
        "# VPN 0\n\nUser: Which port has VPN 0?\nAssistant: It listens on 50000.\n"
    )
    hit = memory.search("VPN 1 port", after="2026-05-02", before="2026-05-02")[0]
    assert "50001" in hit.snippet
    # ChatGPT had read a page before it answered, Claude had not.
    outside = {"chatgpt": "untrusted", "claude": "tool"}[source]
    authors = [line.origin for line in memory.blame(first)]
    assert authors[2] == Origin("tool", tool=f"import {source}")
    assert authors[0] == authors[3] == hit.origin == Origin(outside, tool=f"import {source}")


@pytest.mark.parametrize("choice", [True, False], ids=["masked", "kept"])
def test_the_setting_masks_numbers_of_persons_in_imports(tmp_path, choice):
    path = export(tmp_path, [claude(0, ["My card is 4111 1111 1111 1111"], title=CARD)])
    settings = replace(SETTINGS, mask_personal=choice)
    index = tmp_path / "index.sqlite"
    (tmp_path / "notes").mkdir()
    with Memory.open(tmp_path / "notes", settings=settings, embedder=None, index=index) as memory:
        assert import_notes(memory, "claude", path).added == 1
        assert import_notes(memory, "claude", path).unchanged == 1
        ((name, text),) = disk(memory).items()
    shown = [CARD in text, CARD.replace(" ", "-") in name, "4111 1…1111" in text]
    assert shown == ([False, False, True] if choice else [True, True, False])


@pytest.mark.slow
@pytest.mark.parametrize("source", MADE)
def test_an_import_is_taken_back_as_one_and_none_is_made_twice(memory, tmp_path, source):
    memory.append("- My own note.")
    before = disk(memory)
    path = export(tmp_path, [MADE[source](number) for number in range(120)])
    dry = import_notes(memory, source, path, dry_run=True)
    assert (dry.added, dry.id, disk(memory)) == (120, None, before)
    report = import_notes(memory, source, path)
    after = disk(memory)
    assert (report.added, len(after)) == (120, 121)
    assert memory.history(limit=1)[0].notes == 120
    again = import_notes(memory, source, path)
    assert (again.unchanged, again.added, again.id, disk(memory)) == (120, 0, None, after)
    memory.undo(report.id)
    assert disk(memory) == before


def test_a_later_export_brings_what_was_said_since_and_leaves_what_was_edited(memory, tmp_path):
    import_notes(memory, "claude", export(tmp_path, [claude(0), claude(1)]))
    one, two = memory.paths("memory/imports/")
    memory.edit(two, "50001", "51820")
    later = [claude(0, ["Thanks!"], title="Renamed"), claude(1, ["Thanks!"])]
    report = import_notes(memory, "claude", export(tmp_path, later))
    assert (report.updated, report.edited, report.added) == (1, 1, 0)
    assert memory.paths("memory/imports/") == [one, two]
    assert memory.get(one).text.startswith("# Renamed\n")
    assert memory.get(one).text.endswith("\nUser: Thanks!\n")
    assert "51820" in memory.get(two).text
    assert "Thanks" not in memory.get(two).text


def test_secrets_are_masked_and_names_are_names(memory, tmp_path):
    titles = [
        "../../../etc/passwd",
        "/abs\\c:*?\0",
        f"key {KEY}",
        "a\n# b",
        "x" * 500,
        "\U0001f600",
        "",
    ]
    made = [claude(at, [f"My key is {KEY}\n# No heading"], title=title)
            for at, title in enumerate(titles)]  # fmt: skip
    made[-1]["name"] = None
    assert import_notes(memory, "claude", export(tmp_path, made)).added == len(titles)
    texts = disk(memory)
    assert all(name.startswith("memory/imports/claude/2026-05-0") for name in texts)
    assert all(len(name.encode()) < 120 for name in texts)
    assert not any(KEY in text or KEY.lower() in name for name, text in texts.items())
    assert not any("\n# " in text for text in texts.values())
    assert {path.name for path in tmp_path.iterdir()} >= {"notes", "conversations.json"}
    assert [text for text in texts.values() if text.startswith("# Claude\n")]


def test_an_archive_is_read_where_it_is(memory, tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("user.json", "{}")
        archive.writestr("../conversations-000.json", json.dumps([chatgpt(0)]))
        archive.writestr("data/conversations-001.json", json.dumps([chatgpt(1)]))
    assert import_notes(memory, "chatgpt", path).added == 2
    found = [one.name for folder in (tmp_path, tmp_path.parent) for one in folder.iterdir()]
    assert not [name for name in found if name.endswith(".json")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot be read behind its entry 0"),
        ("no JSON", "cannot be read behind its entry 0"),
        (json.dumps({"conversations": [claude(0)]}), "it begins with '{'"),
        (json.dumps([claude(0), claude(1)])[:-40], "cannot be read behind its entry 1"),
    ],
)
def test_a_broken_export_says_how_far_it_was_read(memory, tmp_path, text, said):
    path = tmp_path / "conversations.json"
    path.write_text(text)
    with pytest.raises(ImportSourceError, match=said):
        import_notes(memory, "claude", path)
    assert len(disk(memory)) == text.startswith("[")
    with pytest.raises(ImportSourceError, match=r"holds no conversations\*\.json"):
        import_notes(memory, "claude", tmp_path / "notes")
    with pytest.raises(ImportSourceError, match="there is no export"):
        import_notes(memory, "claude", tmp_path / "missing")


@pytest.mark.parametrize("source", ["chatgpt", "claude", "mem0", "langmem"])
@pytest.mark.parametrize("form", ["[{}]", '[[], {{"a": {}}}]', '{{"items": {}}}'])
def test_an_export_that_is_nested_without_end_is_refused_in_one_line(
    memory, tmp_path, source, form
):
    path = tmp_path / "conversations.json"
    path.write_text(form.format("[" * 100_000 + "]" * 100_000))
    with pytest.raises(ImportSourceError, match=r"nested more than|begins with '\{'") as caught:
        import_notes(memory, source, path)
    assert "\n" not in str(caught.value)
    assert disk(memory) == {}


@pytest.mark.slow
def test_a_broken_export_continues_under_one_number_once_it_is_whole(memory, tmp_path):
    whole = [claude(number) for number in range(120)]
    path = export(tmp_path, whole)
    text = path.read_text()
    path.write_text(text[:-90])
    with pytest.raises(ImportSourceError, match=r"entry 119.*Nothing was written"):
        import_notes(memory, "claude", path, dry_run=True)
    with pytest.raises(ImportSourceError, match=r"entry 119.*What was before it is imported"):
        import_notes(memory, "claude", path)
    path.write_text(text)
    report = import_notes(memory, "claude", path)
    assert (report.added, report.unchanged) == (1, 119)
    assert [one.id for one in memory.history(limit=9)] == [report.id]
    later = import_notes(memory, "claude", export(tmp_path, [claude(200)]))
    assert later.id != report.id
    memory.undo(report.id)
    assert len(disk(memory)) == 1
    assert import_notes(memory, "claude", export(tmp_path, whole)).added == 120


@pytest.mark.parametrize("at", ["content", "directory"])
def test_a_damaged_archive_is_an_error_in_one_line(memory, tmp_path, at):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([claude(n) for n in range(50)]))
    data = bytearray(path.read_bytes())
    start = 100 if at == "content" else data.index(b"PK\x01\x02")
    data[start : start + 40] = bytes(40)
    path.write_bytes(data)
    with pytest.raises(ImportSourceError, match=r"[Dd]ownload the export"):
        import_notes(memory, "claude", path)


ODD = [
    None,
    7,
    "x",
    [],
    {},
    {"mapping": 1},
    {"chat_messages": {}},
    {"uuid": 3, "chat_messages": []},
]
ODD += [{"id": "a", "mapping": {"a": None}}, {"id": "b", "mapping": {}, "current_node": 3}]
ODD += [
    {"id": "c", "current_node": "x", "mapping": {"x": {"parent": "x", "message": {"author": 1}}}}
]
ODD += [{"uuid": "d", "chat_messages": [None, {"sender": ["x"], "text": 5}], "created_at": "soon"}]
ODD += [{"id": "e", "mapping": {"a": {"message": {"author": {}, "content": {"parts": 3}}}}}]
ODD += [{"id": "f", "mapping": {"a": {"message": {"metadata": "x", "author": {}, "content": {}}}}}]


@pytest.mark.parametrize("source", MADE)
def test_entries_that_are_no_conversations_are_counted(memory, tmp_path, source):
    report = import_notes(memory, source, export(tmp_path, [*ODD, MADE[source](0)]))
    assert (report.added, report.skipped) == (1, {"without a text": len(ODD)})


def test_a_note_that_was_deleted_stays_deleted_and_an_undone_import_can_be_repeated(
    memory, tmp_path
):
    path = export(tmp_path, [claude(0), claude(1)])
    first = import_notes(memory, "claude", path)
    memory.undo(first.id)
    assert import_notes(memory, "claude", path).added == 2
    memory.delete(memory.paths()[0])
    again = import_notes(memory, "claude", path)
    assert (again.edited, again.unchanged, len(disk(memory))) == (1, 1, 1)


def test_lines_that_were_forgotten_stay_so_and_a_forgotten_note_is_said_to_come_again(
    memory, tmp_path
):
    source = export(tmp_path, [chatgpt(1), chatgpt(2)])
    import_notes(memory, "chatgpt", source)
    first, second = sorted(disk(memory))
    memory.forget(text="50001")
    receipt = memory.forget(path=second)
    (said,) = (one for one in receipt.unreachable if "import" in one and "the next one" in one)
    assert said.startswith(f"{second} is of an import")
    again = import_notes(memory, "chatgpt", source)
    assert (again.edited, again.added) == (1, 1)
    assert "50001" not in memory.get(first).text
    plain = memory.append("- Tea.", path="memory/plan.md")
    assert not [one for one in memory.forget(path=plain).unreachable if "the next one" in one]


def test_without_a_history_no_number_is_promised_and_no_note_overwritten(tmp_path):
    (tmp_path / "notes").mkdir()
    settings = replace(SETTINGS, history=HistorySettings(enabled=False))
    options = {"settings": settings, "embedder": None, "index": tmp_path / "index.sqlite"}
    with Memory.open(tmp_path / "notes", **options) as memory:
        report = import_notes(memory, "claude", export(tmp_path, [claude(0)]))
        assert (report.added, report.id) == (1, None)
        later = export(tmp_path, [claude(0, ["Thanks!"]), claude(1)])
        again = import_notes(memory, "claude", later)
        assert (again.edited, again.added, again.id) == (1, 1, None)


def test_what_was_changed_since_is_not_taken_back(memory, tmp_path):
    report = import_notes(memory, "claude", export(tmp_path, [claude(0), claude(1)]))
    memory.edit(memory.paths()[0], "50000", "51820")
    with pytest.raises(ConflictError):
        memory.undo(report.id)


def test_the_command_says_what_it_did_and_how_to_take_it_back(tmp_path, monkeypatch):
    (tmp_path / "notes").mkdir()
    export(tmp_path, [chatgpt(0), None])
    base = ["-w", str(tmp_path / "notes"), "--embedder", "none", "import", "chatgpt", str(tmp_path)]
    dry = CliRunner().invoke(app, [*base, "--dry-run"])
    assert dry.output == "would import: 1 new, 1 without a text\n"
    done = CliRunner().invoke(app, base)
    assert done.output.startswith("1 new, 1 without a text; 'commonplace undo ")
    wrong = CliRunner().invoke(app, [*base[:-1], str(tmp_path / "missing")])
    assert (wrong.exit_code, wrong.output.count("\n")) == (1, 1)


def test_the_page_shows_what_the_command_prints(tmp_path):
    page = Path(__file__).parents[2] / "docs/how-to/import.md"
    (shown,) = re.findall(r"```console\n(\$ .*?)```", page.read_text("utf-8"), re.DOTALL)
    (tmp_path / "notes").mkdir()
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps([chatgpt(0), chatgpt(1), {}]))
    printed = ""
    for line in re.findall(r"^\$ (.*)$", shown, re.MULTILINE):
        arguments = line.split()[1:]
        arguments[1] = str(tmp_path / "notes")
        arguments[4] = str(tmp_path / "export.zip")
        said = CliRunner().invoke(app, ["--embedder", "none", *arguments]).output
        printed += f"$ {line}\n{said}"
    assert printed == shown


def test_each_source_is_a_choice_of_the_command():
    source = next(one for one in app.commands["import"].params if one.name == "source")
    assert set(source.type.choices) == {*SOURCES, "commonplace", "openclaw"}


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.timeout(300)
def test_memory_is_bounded_by_a_conversation_not_by_the_export(memory, tmp_path):
    def peak(count):
        path = tmp_path / "conversations.json"
        with path.open("w") as file:
            file.write("[")
            for number in range(count):
                entry = json.dumps(claude(number, ["words " * 500]))
                file.write(f"{',' * (number > 0)}{entry}")
            file.write("]")
        tracemalloc.start()
        import_notes(memory, "claude", path, dry_run=True)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    # The least of some: other threads of the process are counted, too.
    assert min(peak(200) for _ in range(3)) < 1.5 * peak(50)


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.processes
def test_an_import_that_is_killed_goes_on_where_it_was(tmp_path):
    (tmp_path / "notes").mkdir()
    path = export(tmp_path, [claude(number) for number in range(600)])
    code = (
        "import sys; sys.path[:0] = [sys.argv[2]];"
        "from pathlib import Path; import test_importers as t;"
        "t.import_notes(t.opened(Path(sys.argv[1])), 'claude', Path(sys.argv[1]))"
    )
    line = [sys.executable, "-c", code, str(tmp_path), str(Path(__file__).parent)]
    process = subprocess.Popen(line)
    folder = tmp_path / "notes/memory/imports/claude"
    until = time.monotonic() + 30
    while not (folder.is_dir() and len(list(folder.glob("*.md"))) > 60):
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with opened(tmp_path) as memory:
        report = import_notes(memory, "claude", path)
        assert report.added + report.unchanged == 600
        assert report.unchanged >= 50
        assert len(disk(memory)) == 600
        assert [one.id for one in memory.history(limit=9)] == [report.id]
        memory.undo(report.id)
        assert not disk(memory)
