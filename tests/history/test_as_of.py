"""Searches as of a time: what the files said then."""

from datetime import UTC, date, datetime, timedelta

import pytest

from commonplace.memory import Memory
from commonplace.settings import Settings, SyncSettings
from support.fakes import HashedWords

SETTINGS = Settings(sync=SyncSettings(on_open=False, on_search=False), timezone="UTC")


class Clock:
    def __init__(self):
        self.now = datetime(2026, 11, 1, 12, tzinfo=UTC)

    def __call__(self):
        return self.now


@pytest.fixture
def time():
    return Clock()


@pytest.fixture(params=[None, HashedWords()], ids=["words", "vectors"])
def memory(request, notes, time):
    with Memory.open(
        notes.root, settings=SETTINGS, embedder=request.param, index=notes.index, now=time
    ) as memory:
        memory.index()
        yield memory


def said(memory, query, as_of=None):
    found = memory.search(query, as_of=as_of, min_score=0, max_results=1)
    return [(hit.path, hit.snippet.strip()) for hit in found]


def test_a_search_as_of_a_time_answers_from_what_the_files_said_then(notes, memory, time):
    time.now += timedelta(days=1)
    memory.edit("MEMORY.md", "51820", "1194")
    time.now += timedelta(days=1)
    memory.delete("MEMORY.md")
    memory.write("memory/net.md", "# Network\n\n- The VPN listens on port 7.\n")
    listens = "which port does the VPN listen on?"
    assert "port 7" in said(memory, listens)[0][1]
    for as_of, port in {
        "2026-10-01": "port 51820",  # as it was when history began
        date(2026, 11, 1): "port 51820",
        "2026-11-02": "port 1194",
        datetime(2026, 11, 2, 11, tzinfo=UTC): "port 51820",
        datetime(2026, 11, 2, 13, tzinfo=UTC): "port 1194",
        "2026-11-03": "port 7",
    }.items():
        ((path, snippet),) = said(memory, listens, as_of)
        assert port in snippet, as_of
        assert path == ("memory/net.md" if port == "port 7" else "MEMORY.md")
    assert "port 7" in said(memory, listens)[0][1]


def test_notes_of_later_days_and_later_notes_are_not_there_yet(notes, memory, time):
    memory.append("- The heron moved to rack 9.", when=date(2026, 11, 5))
    time.now += timedelta(days=9)
    memory.write("memory/birds.md", "- The heron lives in rack 12.\n")
    paths = {"2026-11-04": [], "2026-11-05": ["memory/2026-11-05.md"]}
    for as_of, expected in paths.items():
        found = memory.search("heron rack", as_of=as_of, min_score=0)
        assert [hit.path for hit in found if "heron" in hit.snippet] == expected
    later = memory.search("heron rack", as_of="2026-11-10", min_score=0)
    assert len([hit for hit in later if "heron" in hit.snippet]) == 2


def test_a_log_counts_by_its_day_and_its_edits_by_their_time(notes, memory, time):
    notes.write("memory/2026-10-01.md", "# 2026-10-01\n\n- The heron moved to rack 3.\n")
    memory.index()
    time.now += timedelta(days=1)
    memory.append("- The otter moved to rack 4.", when=date(2026, 10, 1))
    time.now += timedelta(days=1)
    memory.edit("memory/2026-10-01.md", "rack 3", "rack 5")
    assert "rack 3" in said(memory, "where did the heron move?", "2026-10-02")[0][1]
    assert "rack 4" in said(memory, "where did the otter move?", "2026-10-02")[0][1]
    assert "rack 5" in said(memory, "where did the heron move?", "2026-11-09")[0][1]


def test_paths_and_days_narrow_a_search_as_of_a_time(notes, memory, time):
    time.now += timedelta(days=1)
    memory.edit("MEMORY.md", "51820", "1194")
    assert memory.search("VPN port", as_of="2026-11-01", paths=["memory/"], min_score=0) == []
    only = memory.search("VPN port", as_of="2026-11-01", paths=["MEMORY.md"], min_score=0)
    assert {hit.path for hit in only} == {"MEMORY.md"}
    assert "51820" in only[0].snippet
    assert memory.search("VPN", as_of="2026-11-01", after="2027-01-01", min_score=0) == []
    with pytest.raises(ValueError, match="as_of"):
        memory.search("VPN", as_of="then")
    with pytest.raises(ValueError, match="a time without a zone"):
        memory.search("VPN", as_of=datetime(2026, 11, 1))  # noqa: DTZ001


def test_the_old_texts_go_when_the_memory_is_closed(notes, time):
    with Memory.open(
        notes.root, settings=SETTINGS, embedder=None, index=notes.index, now=time
    ) as memory:
        memory.index()
        time.now += timedelta(days=1)
        memory.edit("MEMORY.md", "51820", "1194")
        folder = memory.state.history.parent
        assert said(memory, "VPN port", "2026-11-01")
        assert list(folder.glob("past-*"))
        other = memory.with_search_settings(mmr=False)
        assert said(other, "VPN port", "2026-11-01")
        assert len(list(folder.glob("past-*"))) == 1
    assert not list(folder.glob("past-*"))


async def test_the_async_twin_takes_a_time(memory, time):
    time.now += timedelta(days=1)
    await memory.aedit("MEMORY.md", "51820", "1194")
    (hit, *_) = await memory.asearch("VPN port", as_of="2026-11-01", min_score=0)
    assert "51820" in hit.snippet


def test_a_search_of_now_is_as_of_now(memory, time):
    time.now += timedelta(days=20)
    found = memory.search("VPN printer", explain=True)
    then = memory.search("VPN printer", as_of=time.now, explain=True)
    assert list(then) == list(found)
