"""Sessions beside the notes: search, reading, refusal, thresholds."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace import Settings
from commonplace.errors import PathNotAllowedError, SettingsError
from commonplace.flush import FlushMessage
from commonplace.settings import SessionsSettings
from support.fakes import HashedWords
from support.silent import Chat, FailingAt
from transcripts.talk import Talk, assistant, days_ago, tool_noise, user


@pytest.fixture
def talk(tmp_path, engine):
    return Talk(tmp_path, engine=engine)


def sources(hits):
    return {hit.source for hit in hits}


# What is found.


@pytest.mark.parametrize("embeds", [True, False], ids=["vectors", "words"])
def test_what_was_said_is_found_on_the_lines_of_its_file(talk, embeds):
    talk.say({"type": "session", "id": "x"}, user("Where is the cat?"), *tool_noise(2))
    talk.say(assistant("The cat is in the garden."))
    with talk.open(HashedWords() if embeds else None) as memory:
        memory.index()
        hit = memory.search("cat garden")[0]
        assert (hit.source, hit.path) == ("sessions", "sessions/a.jsonl")
        assert hit.citation == "sessions/a.jsonl#L2-L7"
        shown = memory.get(hit.path, from_line=hit.start_line, lines=6)
        assert hit.snippet == shown.text
        assert shown.text.split("\n")[5] == "Assistant: The cat is in the garden."


def test_sources_choose_what_answers(talk):
    talk.say(user("The printer is called Gutenberg, too."))
    with talk.open() as memory:
        memory.index()
        assert sources(memory.search("printer Gutenberg")) == {"memory", "sessions"}
        assert sources(memory.search("printer", sources=["memory"])) == {"memory"}
        assert sources(memory.search("printer", sources=("sessions",))) == {"sessions"}
        assert sources(memory.search("printer", sources=("memory", "sessions"))) == {
            "memory",
            "sessions",
        }


def test_a_memory_whose_sessions_are_off_has_none(talk):
    talk.say(user("The cat is in the garden."))
    with talk.open(settings=Settings()) as memory:
        memory.index()
        assert memory.search("cat garden", min_score=0) == []
        with pytest.raises(PathNotAllowedError):
            memory.get("sessions/a.jsonl")


def test_sessions_that_are_turned_off_leave_the_index(talk):
    talk.say(user("The cat is in the garden."))
    talk.indexed()
    off = replace(talk.settings, sessions=replace(talk.settings.sessions, enabled=False))
    report = talk.indexed(settings=off)
    assert report.removed == 1


def test_the_default_folder_is_beside_the_index(tmp_path):
    talk = Talk(tmp_path, path=None)
    talk.say(user("The cat is in the garden."))
    with talk.open() as memory:
        memory.index()
        assert memory.search("cat garden")
        assert Path(memory.index_location).parent == talk.folder.parent


def test_indexes_that_share_a_folder_do_not_share_sessions(tmp_path):
    talk = Talk(tmp_path, path=None)
    talk.say(user("The cat is in the garden."))
    with talk.open(index=tmp_path / "other.sqlite") as memory:
        memory.index()
        assert memory.search("cat garden", min_score=0) == []
    (tmp_path / "other.sessions").mkdir()
    (tmp_path / "other.sessions" / "a.jsonl").write_text(talk.path().read_text())
    with talk.open(index=tmp_path / "other.sqlite") as memory:
        memory.index()
        assert memory.search("cat garden")


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        (["*.jsonl"], ["a.jsonl"]),
        (["**/*.jsonl"], ["a.jsonl", "b/c.jsonl", "b/d/e.jsonl"]),
        (["b/*"], ["b/c.jsonl", "b/f.json"]),
        (["?.jsonl", "b/d/*"], ["a.jsonl", "b/d/e.jsonl"]),
        (["**/*.json", "*.md"], ["b/f.json"]),
        ([], []),
    ],
)
def test_patterns_choose_the_files(tmp_path, patterns, found):
    talk = Talk(tmp_path, patterns=tuple(patterns))
    for name in ("a.jsonl", "b/c.jsonl", "b/d/e.jsonl", "b/f.json", "g.md", "h.txt"):
        talk.say(user("The cat is in the garden."), name=name)
    with talk.open() as memory:
        memory.index()
        hits = memory.search("cat garden", max_results=20)
        assert sorted(hit.path.removeprefix("sessions/") for hit in hits) == found
        for name in found:
            assert memory.get(f"sessions/{name}").status == "ok"


@pytest.mark.parametrize(
    "path",
    [
        "sessions/../a.jsonl",
        "sessions//a.jsonl",
        "sessions/./a.jsonl",
        "sessions/b/../a.jsonl",
        "sessions/link.jsonl",
        "sessions/linked/a.jsonl",
        "sessions/a.txt",
        "sessions/",
        "sessions/\0.jsonl",
        "sessions\\a.jsonl",
        "/sessions/a.jsonl",
        "sessions/a.jsonl/../../notes/MEMORY.md",
        "sessions/x.md",
    ],
)
def test_paths_that_search_does_not_show_are_refused(tmp_path, path):
    talk = Talk(tmp_path, patterns=("**/*.jsonl",))
    talk.say(user("The cat is in the garden."))
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.jsonl").write_text(json.dumps(user("top secret")) + "\n")
    os.symlink(outside / "a.jsonl", talk.path("link.jsonl"))
    os.symlink(outside, talk.path("linked"))
    with talk.open() as memory:
        memory.index()
        assert memory.search("top secret", min_score=0) == []
        with pytest.raises(PathNotAllowedError, match=r"sessions/\*\*"):
            memory.get(path)


def test_a_session_that_is_not_there_is_not_found(talk):
    with talk.open() as memory:
        assert memory.get("sessions/none.jsonl").status == "not_found"


def test_lines_are_read_from_the_disk_and_past_the_end_there_are_none(talk):
    talk.say(user("one"), *tool_noise(1), assistant("two"))
    with talk.open() as memory:
        part = memory.get("sessions/a.jsonl", from_line=1, lines=3)
        assert (part.text, part.lines, part.truncated, part.next_from) == (
            "User: one\n\n", 3, True, 4,
        )  # fmt: skip
        rest = memory.get("sessions/a.jsonl", from_line=part.next_from)
        assert (rest.text, rest.lines, rest.next_from) == ("Assistant: two\n", 1, None)
        assert memory.get("sessions/a.jsonl", from_line=9).text == ""
        assert memory.get("./sessions/a.jsonl").lines == 4


# Days.


def test_messages_age_one_by_one(talk):
    talk.say(user("The cat was in the garden.", days_ago(40)))
    talk.say(user("The cat was in the kitchen.", days_ago(2)), assistant("Poor cat.", None))
    with talk.open() as memory:
        memory.index()
        ages = {
            hit.start_line: hit.explanation.age_days
            for hit in memory.search("cat", explain=True, sources=["sessions"])
        }
        assert ages == {1: 40.5, 2: 2.5}


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ({"after": "2026-11-18"}, [2, 3]),
        ({"before": "2026-11-17"}, [1]),
        ({"after": "2026-11-18", "before": "2026-11-18"}, [2]),
        ({"after": "2027-01-01"}, []),
        ({}, [1, 2, 3]),
    ],
)
def test_days_are_those_of_the_messages(talk, options, lines):
    for days in (10, 2, 0):
        talk.say(user(f"The cat was fed, said {days}.", days_ago(days)))
    with talk.open() as memory:
        memory.index()
        hits = memory.search("cat fed", sources=["sessions"], **options)
        assert sorted(hit.start_line for hit in hits) == lines


def test_messages_without_a_time_are_of_the_day_in_the_files_name(talk):
    talk.say(user("The cat was fed.", None), name="2026-11-03-chat.jsonl")
    talk.say(user("The cat was fed.", None), name="chat.jsonl")
    with talk.open() as memory:
        memory.index()
        hits = memory.search("cat fed", sources=["sessions"], after="2026-11-03")
        assert [hit.path for hit in hits] == ["sessions/2026-11-03-chat.jsonl"]


# What waits.


def test_little_news_wait_and_status_says_so(tmp_path):
    talk = Talk(tmp_path, delta_bytes=100_000)
    talk.say(user("The cat is in the garden."))
    with talk.open() as memory:
        assert memory.index().added == 3  # a new file is read at once
        talk.say(*[user("The dog is in the kitchen.")] * 12)
        report = memory.index()
        assert (report.updated, report.unchanged) == (0, 3)
        why = "12 messages wait for sessions.delta_messages (50)"
        assert memory.status().stale == (("sessions/a.jsonl", why),)
        assert memory.search("dog kitchen", sources=["sessions"]) == []
        talk.say(*[user("The dog is in the kitchen.")] * 38)
        assert memory.index().updated == 1
        assert memory.status().stale == ()


def test_many_bytes_are_read_though_they_are_few_messages(tmp_path):
    talk = Talk(tmp_path, delta_bytes=2000)
    talk.say(user("The cat is in the garden."))
    with talk.open() as memory:
        memory.index()
        talk.say(user("dog " * 100))
        assert memory.index().updated == 0
        talk.say(user("dog " * 500))
        assert memory.index().updated == 1


@pytest.mark.parametrize("none", [{"delta_bytes": 0}, {"delta_messages": 0, "delta_bytes": 10**6}])
def test_without_a_threshold_any_change_is_read(tmp_path, none):
    talk = Talk(tmp_path, **none)
    talk.say(user("The cat is in the garden."))
    with talk.open() as memory:
        memory.index()
        talk.say(user("The dog is in the kitchen."))
        assert memory.index().updated == 1


def test_a_forced_run_and_the_end_read_everything(tmp_path):
    talk = Talk(tmp_path, delta_bytes=100_000)
    talk.say(user("The cat is in the garden."))
    embedder = HashedWords()
    with talk.open(embedder) as memory:
        memory.index()
        talk.say(user("The dog is in the kitchen."))
        memory.index(force=True)
        assert memory.search("dog kitchen")[0].source == "sessions"
        talk.say(user("The bird is on the roof."))
    assert found_by(20.0, lambda: at_once(talk, embedder, "bird roof"))


def at_once(talk, embedder, query):
    """Search a memory that indexes nothing before it is closed."""
    with talk.open(embedder) as memory:
        hits = memory.search(query, sources=["sessions"])
        return bool(hits) and memory.status().stale == ()


def found_by(seconds, look):
    """Look again until there is something: a memory is closed in time, whatever is left."""
    until = time.monotonic() + seconds
    while not look():
        if time.monotonic() > until:
            return False
    return True


def test_the_end_creates_no_index(talk):
    talk.say(user("The cat is in the garden."))
    with talk.open():
        pass
    with talk.store() as store:
        assert not store.exists()


def test_invalid_lines_of_a_file_are_reported(talk):
    talk.say(user("one"))
    with talk.path().open("a") as file:
        file.write("no JSON\n")
    talk.say(user("two"))
    with talk.open() as memory:
        report = memory.index()
        assert report.failed == (("sessions/a.jsonl", "line 2 is no JSON, and is left out"),)
        talk.say(user("three"))
        memory.index()
        warnings = [text for text in memory.status().warnings if "a.jsonl" in text]
        assert warnings == ["sessions/a.jsonl: line 2 is no JSON, and is left out."]


def test_a_folder_that_is_a_file_is_reported(talk):
    talk.folder.rmdir()
    talk.folder.write_text("in the way")
    with talk.open() as memory:
        assert memory.index().failed == (("sessions", "Not a directory"),)


# What the flush left.


@pytest.mark.parametrize("enabled", [True, False])
def test_what_no_flush_could_write_down_is_found(tmp_path, enabled):
    chat = Chat(tmp_path)
    with chat.memory(sessions=SessionsSettings(enabled=enabled)) as memory:
        flusher = chat.flusher(FailingAt(1, 2, 3), memory=memory)
        said = [FlushMessage("user", "The cat is in the garden."), FlushMessage("assistant", "Ah.")]
        for _ in range(3):
            flusher.flush(said, thread="t")
        archived = flusher.archive([FlushMessage("user", "The cat is upstairs.")], thread="u")
        memory.index()
        hits = memory.search("cat garden")
        assert hits[0].snippet.startswith("User: The cat is in the garden.")
        assert memory.get(hits[0].path).text.endswith("Assistant: Ah.\n")
        assert bool(memory.search("cat upstairs", min_score=0.5)) == enabled
        assert f"sessions/{archived.name}" not in {hit.path for hit in hits} or enabled


@pytest.mark.parametrize("wrong", [{"delta_bytes": -1}, {"archive_messages": 0}])
def test_settings_are_checked(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        SessionsSettings(**wrong)
