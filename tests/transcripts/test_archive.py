"""Conversations that are kept as session files."""

import json
import stat
from datetime import UTC, datetime, timedelta

import pytest

from commonplace.transcripts.archive import write_session_file
from commonplace.types import FlushMessage, ToolCall

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
SECRET = "sk-abcdefghijklmnopqrstuvwxyz123456"
CALL = ToolCall("login", {"user": "bob", "password": "hunter2", "more": [f"use {SECRET}"]}, "c1")
MESSAGES = [
    FlushMessage("user", f"The key is {SECRET} \ud800", at=NOON - timedelta(hours=1)),
    FlushMessage("assistant", "", (CALL,)),
    FlushMessage("tool", "logged in", call_id="c1", name="login"),
]


def test_a_session_file_has_the_references_form(tmp_path):
    path = write_session_file(tmp_path / "s", MESSAGES, session="chat/1", moment=NOON)
    lines = path.read_text(encoding="utf-8").splitlines()
    session, user, assistant, tool = map(json.loads, lines)
    assert session == {
        "type": "session",
        "version": 3,
        "id": "chat/1",
        "timestamp": "2026-11-20T12:00:00.000+00:00",
    }
    assert user["type"] == "message"
    assert user["timestamp"] == "2026-11-20T11:00:00.000+00:00"
    text = user["message"]["content"][0]
    assert text == {"type": "text", "text": "The key is sk-abc…3456 \ud800"}
    assert user["message"]["role"] == "user"
    assert user["message"]["timestamp"] == 1795172400000
    assert assistant["parentId"] == user["id"]
    (call,) = assistant["message"]["content"]
    masked = {"user": "bob", "password": "***", "more": ["use sk-abc…3456"]}
    assert call == {"type": "toolCall", "id": "c1", "name": "login", "arguments": masked}
    assert tool["message"]["role"] == "toolResult"
    assert (tool["message"]["toolCallId"], tool["message"]["toolName"]) == ("c1", "login")
    assert "hunter2" not in path.read_text()
    assert "ghijk" not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("session", "start"),
    [
        ("chat/1", "2026-11-20-chat-1-"),
        ("../../etc/passwd", "2026-11-20-etc-passwd-"),
        ("", "2026-11-20-session-"),
        ("聊天", "2026-11-20-session-"),
        ("x" * 300, "2026-11-20-" + "x" * 40 + "-"),
        ("a\0b\ud800", "2026-11-20-a-b-"),
    ],
)
def test_any_name_of_a_session_makes_a_file_name(tmp_path, session, start):
    path = write_session_file(tmp_path, MESSAGES, session=session, moment=NOON)
    assert path.parent == tmp_path
    assert path.name.startswith(start)
    assert path.suffix == ".jsonl"


def test_the_same_key_gives_the_same_file_and_another_one_another(tmp_path):
    def keep(**options):
        return write_session_file(tmp_path, MESSAGES, session="s", moment=NOON, **options)

    assert keep() == keep()
    assert keep(key="a") == keep(key="a")
    assert len({keep(), keep(key="a"), keep(key="b")}) == 3
    assert len(list(tmp_path.iterdir())) == 3


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def fail(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("commonplace.transcripts.archive.os.replace", fail)
    with pytest.raises(OSError, match="No space left"):
        write_session_file(tmp_path, MESSAGES, session="s", moment=NOON)
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_a_session_shows_no_secret(tmp_path):
    path = write_session_file(tmp_path, MESSAGES, session=f"key {SECRET}", moment=NOON)
    assert path.name.startswith("2026-11-20-key-sk-abc-3456-")
    assert SECRET not in path.read_text()


def test_a_file_that_no_flush_wrote_down_says_so_in_its_name(tmp_path):
    path = write_session_file(tmp_path, MESSAGES, session="x" * 60, moment=NOON, unwritten=True)
    assert path.name.startswith("2026-11-20-xxx")
    assert "x-unwritten-" in path.name
    nameless = write_session_file(tmp_path, MESSAGES, session="", moment=NOON, unwritten=True)
    assert nameless.name.startswith("2026-11-20-unwritten-")
