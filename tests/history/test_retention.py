"""What goes when the history is too old or too large, and what never does."""

from datetime import UTC, datetime, timedelta

import pytest

from commonplace.history.bodies import rewrite_bodies
from commonplace.history.database import HistoryFile
from commonplace.history.retention import is_too_large, prune
from commonplace.history.versions import VersionLog
from commonplace.settings import HistorySettings

START = datetime(2026, 1, 1, tzinfo=UTC)
AGES = HistorySettings(max_days=100, max_bytes=0)


@pytest.fixture
def log(tmp_path):
    return VersionLog(HistoryFile(tmp_path / "history.sqlite"))


def add(log, path, texts, *, every=timedelta(days=10)):
    """Add texts of a note, one after the other; None deletes it."""
    with log.file.transaction() as connection:
        for number, text in enumerate(texts):
            change = "delete" if text is None else "write"
            data = None if text is None else text.encode()
            log.add(connection, path, data, change=change, at=START + number * every)


def kept(log, path):
    states = reversed(log.states_of(path))
    return [log.text(state).decode() if state.exists else None for state in states]


def day(number):
    return START + timedelta(days=number)


def test_texts_that_were_changed_long_ago_go_and_the_newest_stays(log):
    texts = ["line\n" * 40 + f"{number}\n" for number in range(30)]
    add(log, "a.md", texts)
    add(log, "old.md", ["never changed"])
    prune(log.file, AGES, day(300))
    assert kept(log, "a.md") == texts[19:]  # the text of day 190 was changed on day 200
    assert kept(log, "old.md") == ["never changed"]
    assert [one.change for one in log.history("a.md", limit=99)][-1] == "found"
    prune(log.file, AGES, day(10_000))
    assert kept(log, "a.md") == texts[-1:]


def test_texts_that_were_rewritten_across_a_deletion_stay_readable(log):
    texts = ["line\n" * 40 + f"{number}\n" for number in range(30)]
    texts[18:20] = [None, None]
    add(log, "a.md", texts)
    with log.file.transaction() as connection:
        rewrite_bodies(connection, lambda _, text: text.replace(b"line\n", b"LINE\n", 1))
    prune(log.file, AGES, day(300))
    changed = [text and text.replace("line\n", "LINE\n", 1) for text in texts[19:]]
    assert kept(log, "a.md") == changed


def test_the_last_text_of_a_deleted_note_stays_for_thirty_days(log):
    add(log, "a.md", ["one", "two", None], every=timedelta(days=1))
    for settings in (
        HistorySettings(max_days=1, max_bytes=0),
        HistorySettings(max_days=0, max_bytes=1),
    ):
        prune(log.file, settings, day(31))
        assert kept(log, "a.md") == ["two", None]
    prune(log.file, HistorySettings(max_days=1, max_bytes=0), day(33))
    assert kept(log, "a.md") == []


def test_the_oldest_texts_go_where_all_are_too_large(log):
    for name in ("a", "b"):
        add(log, f"{name}.md", [f"{name} {number} {hash((name, number))}" for number in range(50)])
    settings = HistorySettings(max_days=0, max_bytes=1_000)
    prune(log.file, settings, day(1_000))
    ((size,),) = log.file.rows("SELECT sum(length(body)) FROM version")
    assert 500 < size <= 1_000
    assert kept(log, "a.md")[-1].startswith("a 49")
    assert len(kept(log, "a.md")) < len(kept(log, "b.md"))
    assert is_too_large(log.file, settings)
    assert not is_too_large(log.file, HistorySettings())


def test_limits_of_zero_keep_everything(log):
    add(log, "a.md", [str(number) for number in range(50)])
    prune(log.file, HistorySettings(max_days=0, max_bytes=0), day(10_000))
    assert len(kept(log, "a.md")) == 50
