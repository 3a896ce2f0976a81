"""Long notes that change: the index is that of the whole text, and little of it is written."""

import hashlib
import random
import time

import pytest

from commonplace.indexing import grown_note
from commonplace.store.memory.store import MemoryStore
from commonplace.workspace import notes as workspace_notes
from support.fakes import HashedWords
from support.notes import CHUNKS, LINES
from support.sampling import sampled

LOG = "memory/log.md"
WORDS = ("boat", "harbour", "key", "Ann", "paid", "forty", "rope", "tide", "engine", "paint")
EXTRA = [
    *("", "", "# Harbour", "## Keys", "```py", "```", "| a | b |", "|---|---|", "| 1 | 2 |"),
    *("word " * 900, "A paragraph that goes on and on about the boat, the harbour and the keys,"),
]
FRONT = "---\ntags: [boats, harbour]\n---\n"


def some_lines(draw, count, *, plain=0.9):
    return [
        f"- {draw.randrange(10_000)} {' '.join(draw.choices(WORDS, k=8))}"
        if draw.random() < plain
        else draw.choice(EXTRA)
        for _ in range(count)
    ]


def changed(draw, lines):
    """A text with some lines replaced, inserted, removed or moved."""
    lines = list(lines)
    at, count = draw.randrange(len(lines) + 1), draw.choice([0, 1, 1, 1, 3, 30])
    moved = lines[at : at + count] if draw.random() < 0.2 else []
    lines[at : at + count] = some_lines(draw, draw.choice([0, 1, 1, 1, 2, 20]), plain=0.6)
    to = draw.randrange(len(lines) + 1)
    return [*lines[:to], *moved, *lines[to:]]


@pytest.mark.slow
@pytest.mark.parametrize("settings", [LINES, CHUNKS], ids=["default", "openclaw"])
@pytest.mark.parametrize("seed", sampled(range(1, 5), every=4))
def test_an_index_that_followed_changes_is_that_of_the_last_text(notes, settings, seed):
    draw = random.Random(seed)
    lines = some_lines(draw, 300)
    notes.write(LOG, FRONT + "\n".join(lines))
    with notes.open(HashedWords(), settings) as memory:
        memory.index()
    for number in range(4):
        with notes.open(HashedWords(), settings) as memory:
            for item in range(3):
                lines = changed(draw, lines)
                front = draw.choice([FRONT, FRONT, "", "---\ntags: [ropes]\n---\n"])
                notes.write(LOG, front + "\n".join(lines))
                if item % 2:
                    memory.append(f"- new item {number}", path=LOG)
                    lines.append(f"- new item {number}")
                else:
                    memory.index()
        fresh = notes.index_at(f"fresh-{number}")
        with notes.open(HashedWords(), settings, fresh) as other:
            other.index()
        assert notes.rows() == notes.rows(fresh)


def store_class(notes):
    if notes.engine == "memory":
        return MemoryStore  # what tests share wraps it
    with notes.store() as store:
        return type(store)


def test_an_engine_without_windows_writes_whole_files(notes, monkeypatch):
    windows = []

    def noted(write):
        def note(store, files, removed=()):
            windows.extend(file.window for file in files)
            return write(store, files, removed)

        return note

    store = store_class(notes)
    monkeypatch.setattr(store, "capabilities", frozenset({"exact-fts5-bm25"}))
    monkeypatch.setattr(store, "write", noted(store.write))
    draw = random.Random(9)
    lines = some_lines(draw, 200)
    with notes.open(HashedWords(), LINES) as memory:
        for _ in range(3):
            lines = changed(draw, lines)
            notes.write(LOG, "\n".join(lines))
            memory.index()
    with notes.open(HashedWords(), LINES, notes.index_at("fresh")) as memory:
        memory.index()
    assert notes.rows() == notes.rows(notes.index_at("fresh"))
    assert set(windows) == {None}
    assert len(windows) > 3


def test_front_matter_that_changes_alone_is_noticed(notes):
    text = "\n".join(some_lines(random.Random(1), 200, plain=1))
    with notes.open(HashedWords(), LINES) as memory:
        for mood in ("calm", "rough"):
            memory.write(LOG, f"---\nmood: {mood}\n---\n{text}")
            memory.index()
            found = memory.search("boat harbour", paths=[LOG])
            assert {one.metadata["mood"] for one in found} == {mood}


def test_what_changed_without_an_embedder_is_completed_by_one(notes):
    draw = random.Random(5)
    lines = some_lines(draw, 300)
    for embedder in (None, HashedWords(), None, None):
        notes.write(LOG, "\n".join(lines))
        with notes.open(embedder, LINES) as memory:
            memory.index()
            lines = changed(draw, lines)
            notes.write(LOG, "\n".join(lines))
            memory.index()
            memory.append("- the end", path=LOG)
            lines.append("- the end")
    with notes.open(HashedWords(), LINES) as memory:
        memory.index()
        assert memory.status().stale == ()
    with notes.open(HashedWords(), LINES, notes.index_at("fresh")) as memory:
        memory.index()
    assert notes.rows() == notes.rows(notes.index_at("fresh"))


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3, 4))])
def test_appends_in_a_row_leave_the_index_and_the_history_of_the_whole_text(
    notes, monkeypatch, seed
):
    monkeypatch.setattr(grown_note, "_LONG_BYTES", 1_000)
    monkeypatch.setattr(workspace_notes, "_LONG_BYTES", 1_000)
    after, grown = grown_note.GrownNote.after, []
    monkeypatch.setattr(
        grown_note.GrownNote, "after", lambda *args: (grown.append(after(*args)), grown[-1])[1]
    )
    draw = random.Random(seed)
    text = "# Log\n\n" + "\n".join(some_lines(draw, 300, plain=1)) + "\n"
    notes.write(LOG, text)
    with notes.open(HashedWords(), LINES) as memory:
        memory.index()
        for number in range(30):
            if number % 12 == 11:  # another program
                text = text.replace("boat", "ship", 1) if number % 24 == 11 else text[:-40]
                notes.write(LOG, text)
            new = "\n".join(
                [f"- number {number}", *some_lines(draw, draw.randrange(3), plain=0.97)]
            )
            memory.append(new, path=LOG)
            before, text = text, (notes.root / LOG).read_text("utf-8")
            assert text.startswith(before)
            assert f"\n- number {number}\n" in text[len(before) - 1 :]
            assert memory.append(new, path=LOG) == LOG
            assert (notes.root / LOG).read_text("utf-8") == text
            newest = memory.history(LOG, limit=1)[0]
            assert newest.hash == hashlib.sha256(text.encode()).hexdigest()
        texts = [memory.get(LOG, as_of=one.when).text for one in memory.history(LOG, limit=1)]
        assert texts == [text]
        assert memory.verify().problems == ()
    with notes.open(HashedWords(), LINES, notes.index_at("fresh")) as memory:
        memory.index()
    assert notes.rows() == notes.rows(notes.index_at("fresh"))
    assert sum(one is not None for one in grown) > 10


@pytest.mark.slow
@pytest.mark.timing
@pytest.mark.sqlite("time of the default engine")
def test_an_append_to_ten_megabytes_takes_little_work(notes):
    draw = random.Random(1)
    lines = (f"- {n}: {' '.join(draw.choices(WORDS, k=15))}" for n in range(120_000))
    notes.write(LOG, "# Log\n\n" + "\n".join(lines))
    with notes.open(None, LINES) as memory:
        memory.index()
        took = []
        for number in range(8):
            started = time.process_time()
            memory.append(f"- The heron number {number} moved to another rack.", path=LOG)
            took.append(time.process_time() - started)
    # 0.01 on a quiet machine, 0.11 for the whole file; the first ones read it.
    assert min(took) < 0.04, took


@pytest.mark.slow
@pytest.mark.timing
@pytest.mark.sqlite("time of the default engine")
def test_an_edit_in_ten_thousand_lines_takes_little_work(notes):
    draw = random.Random(1)
    lines = [f"- {n}: {' '.join(draw.choices(WORDS, k=9))}" for n in range(10_000)]
    notes.write(LOG, "\n".join(lines))
    with notes.open("bundled", LINES) as memory:
        memory.index()
        memory.edit(LOG, "- 77:", "- 77 once:")
        for new in ("- {} then:", "- one more\n- {} then:"):
            for place in (10, 5_000, 9_900):
                took = []
                for line in range(place + len(new), place + len(new) + 5):
                    started = time.process_time()
                    memory.edit(LOG, f"- {line}:", new.format(line))
                    took.append(time.process_time() - started)
                assert min(took) < 0.06, took  # 0.02 on a quiet machine, 0.26 for the whole file
