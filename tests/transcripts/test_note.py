"""The note that a session leaves when a new one starts."""

import asyncio
import os
import threading
from dataclasses import replace
from datetime import UTC, datetime
from tempfile import TemporaryDirectory

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from llama_index.core.base.llms.types import ChatMessage

from commonplace import Settings
from commonplace.errors import PathNotAllowedError, WorkspaceReadOnlyError
from commonplace.flush import FlushMessage, ToolCall
from commonplace.settings import SessionsSettings
from support.notes import unprivileged
from transcripts.talk import NOON, Path, Talk

SAID = [
    {"role": "system", "content": "You are helpful."},
    {"role": "user", "content": "Which port does\nthe router use?"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]},
    {"role": "tool", "content": "8443"},
    {"role": "assistant", "content": "Port 8443."},
    {"role": "user", "content": "/new"},
]
NOTE = """# Session: 2026-11-20 12:00:00 UTC

- **Session Key**: agent:main:main
- **Session ID**: s-1
- **Source**: commonplace

## Conversation Summary

user: Which port does the router use?
assistant: Port 8443.
"""


@pytest.fixture
def talk(tmp_path):
    return Talk(tmp_path)


def text_of(talk, path):
    return (talk.root / path).read_text(encoding="utf-8")


def test_a_note_has_the_references_header_and_the_last_messages(talk):
    with talk.open() as memory:
        path = memory.write_session_note(SAID, slug="router", key="agent:main:main", session="s-1")
    assert path == "memory/2026-11-20-router.md"
    assert text_of(talk, path) == NOTE


def test_a_note_is_found_by_the_next_search_and_is_of_its_day(talk):
    with talk.open() as memory:
        memory.index()
        path = memory.write_session_note(SAID, slug="router")
        hits = memory.search("router port", after="2026-11-20")
        assert path in {hit.path for hit in hits}
        assert {hit.source for hit in hits} == {"memory"}


FORMS = {
    "flush": [
        FlushMessage("user", "Which port?"),
        FlushMessage("assistant", "", (ToolCall("ls"),)),
        FlushMessage("tool", "8443"),
        FlushMessage("assistant", "Port 8443."),
    ],
    "LangChain": [
        HumanMessage("Which port?"),
        AIMessage("", tool_calls=[{"name": "ls", "args": {}, "id": "1"}]),
        ToolMessage("8443", tool_call_id="1"),
        AIMessage([{"type": "text", "text": "Port 8443."}]),
    ],
    "LlamaIndex": [
        ChatMessage(role="user", content="Which port?"),
        ChatMessage(role="tool", content="8443"),
        ChatMessage(role="assistant", content="Port 8443."),
    ],
}


@pytest.mark.parametrize("messages", FORMS.values(), ids=FORMS)
def test_messages_of_any_kind_are_taken(talk, messages):
    with talk.open() as memory:
        text = text_of(talk, memory.write_session_note(messages))
    assert text.endswith("\n\nuser: Which port?\nassistant: Port 8443.\n")


def test_anything_else_is_refused_and_nothing_is_written(talk):
    with talk.open() as memory:
        with pytest.raises(TypeError, match="a message is int"):
            memory.write_session_note([1])
        with pytest.raises(ValueError, match="neither user nor assistant said anything"):
            memory.write_session_note([{"role": "system", "content": "x"}])
    assert os.listdir(talk.root / "memory") == ["2026-11-20.md"]


@pytest.mark.parametrize(
    ("settings", "count"), [(None, 15), (SessionsSettings(archive_messages=3), 3)]
)
def test_the_last_messages_are_kept(talk, settings, count):
    messages = [{"role": "user", "content": f"message {n}"} for n in range(40)]
    chosen = replace(talk.settings, sessions=settings or talk.settings.sessions)
    with talk.open(settings=chosen) as memory:
        lines = text_of(talk, memory.write_session_note(messages)).splitlines()
    kept = [line for line in lines if line.startswith("user: ")]
    assert kept == [f"user: message {n}" for n in range(40 - count, 40)]


@pytest.mark.parametrize(
    ("slug", "name"),
    [
        (None, "1200"),
        ("Vendor Pitch!", "vendor-pitch"),
        ("../../etc/passwd", "etc-passwd"),
        ("", "1200"),
        ("...", "1200"),
        ("x" * 99, "x" * 30),
        ("路由器", "路由器"),
        (lambda prompt: '"api-design"\n', "api-design"),
        (lambda prompt: "", "1200"),
        (lambda prompt: None, "1200"),
        (lambda prompt: 1 / 0, "1200"),
    ],
)
def test_the_name_says_what_is_given_else_the_time(talk, slug, name):
    with talk.open() as memory:
        path = memory.write_session_note(SAID, slug=slug)
    assert path == f"memory/2026-11-20-{name}.md"
    assert (talk.root / path).is_file()


def test_a_model_is_shown_the_conversation(talk):
    asked = []
    with talk.open() as memory:
        memory.write_session_note(SAID, slug=lambda prompt: asked.append(prompt) or "router")
    assert "User: Which port does the router use?\nAssistant: Port 8443." in asked[0]
    assert len(asked) == 1


def test_a_note_that_is_there_stays(talk):
    with talk.open() as memory:
        paths = [memory.write_session_note(SAID, slug="a") for _ in range(3)]
        assert paths == [f"memory/2026-11-20-a{end}.md" for end in ("", "-2", "-3")]
        (talk.root / "memory/2026-11-20-b.md").write_text("mine\n")
        memory.write_session_note(SAID, slug="b")
    assert text_of(talk, "memory/2026-11-20-b.md") == "mine\n"


def test_notes_that_are_written_at_once_have_names_of_their_own(talk):
    with talk.open() as memory:
        memory.index()
        found = []
        threads = [
            threading.Thread(target=lambda: found.append(memory.write_session_note(SAID, slug="a")))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(set(found)) == 8
    assert {text_of(talk, path) for path in found} == {text_of(talk, found[0])}


def test_the_day_is_that_of_the_zone(talk):
    late = datetime(2026, 11, 20, 23, 30, tzinfo=UTC)
    with talk.open(settings=Settings(timezone="Asia/Tokyo"), now=late) as memory:
        path = memory.write_session_note(SAID)
    assert path == "memory/2026-11-21-0830.md"
    assert "2026-11-21 08:30:00 Asia/Tokyo" in text_of(talk, path).splitlines()[0]


def test_the_async_twin_does_the_same(talk):
    async def archive(memory):
        return await memory.awrite_session_note(SAID, slug="router", session="s-1")

    with talk.open(now=NOON) as memory:
        path = asyncio.run(archive(memory))
    assert "- **Session ID**: s-1" in text_of(talk, path)


def test_a_memory_folder_that_is_a_link_is_refused(tmp_path):
    talk = Talk(tmp_path)
    (talk.root / "memory").rename(tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", talk.root / "memory")
    with talk.open() as memory, pytest.raises(PathNotAllowedError):
        memory.write_session_note(SAID)


def test_a_folder_that_cannot_be_written_is_an_error():
    with TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        talk = Talk(Path(folder))
        (talk.root / "memory").chmod(0o555)
        told = pytest.raises(WorkspaceReadOnlyError, match="cannot create")
        with talk.open() as memory, unprivileged(), told:
            memory.write_session_note(SAID)
        assert os.listdir(talk.root / "memory") == ["2026-11-20.md"]
        (talk.root / "memory").chmod(0o755)


def test_a_full_disk_leaves_nothing_behind(talk, monkeypatch):
    monkeypatch.setattr("commonplace.workspace.notes.os.write", lambda descriptor, data: 3)
    with talk.open() as memory, pytest.raises(WorkspaceReadOnlyError, match="No space left"):
        memory.write_session_note(SAID)
    assert os.listdir(talk.root / "memory") == ["2026-11-20.md"]
