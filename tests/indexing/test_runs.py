"""What index runs do to the index, and what they cost."""

import os
import shutil
import time
from dataclasses import replace

import pytest

from commonplace.errors import EmbedderError, StoreError
from commonplace.indexing import chunk_embedder, pipeline, runner
from commonplace.memory import Memory
from commonplace.settings import CacheSettings, ChunkingSettings, SearchSettings
from commonplace.text.line_units import whole_unit
from support.engines import index_at
from support.fakes import NONSENSE, HashedWords, Nonsense, Raising
from support.notes import CHUNKS, LINES, MEMORY, find, paths

GRAINS = pytest.mark.parametrize("settings", [CHUNKS, LINES], ids=["chunks", "lines"])


# Counts.


def test_a_report_counts_files_and_texts(notes):
    embedder = HashedWords()
    with notes.open(embedder) as memory:
        first = memory.index()
        assert (first.added, first.updated, first.removed, first.unchanged) == (2, 0, 0, 0)
        assert (first.chunks, first.embedded, first.cached, first.failed) == (2, 2, 0, ())
        notes.write("memory/new.md", "new")
        notes.write("MEMORY.md", MEMORY + "- More.\n")
        (notes.root / "memory" / "2026-11-20.md").unlink()
        second = memory.index()
        assert (second.added, second.updated, second.removed, second.unchanged) == (1, 1, 1, 0)
        assert (second.chunks, second.embedded) == (2, 2)
        third = memory.index()
        assert (third.added, third.updated, third.removed, third.unchanged) == (0, 0, 0, 2)


def test_progress_is_told_up_to_the_last_file(notes):
    for number in range(30):
        notes.write(f"memory/{number:02}.md", f"word {number}\n" * 5000)
    told = []
    with notes.open() as memory:
        memory.index(progress=lambda *call: told.append(call))
        assert [total for _, total, _ in told] == [32] * len(told)
        done = [done for done, _, _ in told]
        assert len(done) > 2
        assert done == sorted(set(done))
        assert told[-1] == (32, 32, "memory/29.md")
        told.clear()
        memory.index(progress=lambda *call: told.append(call))
        assert told == []


def test_the_first_note_of_a_memory_without_one_is_found_by_the_next_search(notes):
    (notes.root / "MEMORY.md").unlink()
    (notes.root / "memory/2026-11-20.md").unlink()
    notes.write("house/plants.md", "- Ben waters the plants.\n")
    with notes.open(HashedWords()) as memory:
        assert find(memory, "who waters the plants?") == []
        notes.write("MEMORY.md", "- Ann prefers tea.\n")
        assert paths(find(memory, "tea")) == ["MEMORY.md"]
    (notes.root / "MEMORY.md").unlink()
    with notes.open(HashedWords(), index=notes.index_at("other")) as memory:
        assert find(memory, "plants") == []
    wider = replace(CHUNKS, extra_paths=(".",))
    with notes.open(HashedWords(), wider, notes.index_at("other")) as memory:
        assert paths(find(memory, "plants")) == ["house/plants.md"]


# What a run costs.


@GRAINS
def test_an_unchanged_folder_is_neither_read_nor_embedded(notes, monkeypatch, settings):
    embedder = HashedWords()
    with notes.open(embedder, settings) as memory:
        for path in ("MEMORY.md", "memory/2026-11-20.md"):
            notes.age(path)
        memory.index()
    embedder.texts.clear()
    before = notes.rows()
    monkeypatch.setattr(pipeline, "read_text", lambda path: pytest.fail(f"{path} was read"))
    with notes.open(embedder, settings) as memory:
        report = memory.index()
    assert (report.unchanged, report.embedded, report.failed) == (2, 0, ())
    assert embedder.texts == []
    assert notes.rows() == before


@GRAINS
def test_a_touched_file_is_read_and_not_embedded(notes, settings):
    embedder = HashedWords()
    with notes.open(embedder, settings) as memory:
        memory.index()
        embedder.texts.clear()
        notes.age("MEMORY.md", 500)
        report = memory.index()
        assert (report.unchanged, report.updated, report.embedded) == (2, 0, 0)
        assert embedder.texts == []


def test_only_new_lines_of_an_edited_file_are_embedded(notes):
    embedder = HashedWords()
    with notes.open(embedder, LINES) as memory:
        memory.index()
        embedder.texts.clear()
        notes.write("MEMORY.md", MEMORY.replace("tea", "coffee") + "- Bob is on leave.\n")
        report = memory.index()
        assert embedder.texts == ["Ann prefers coffee.", "Bob is on leave."]
        assert (report.embedded, report.updated) == (2, 1)
        assert report.cached >= 4


@GRAINS
def test_a_renamed_file_is_not_embedded(notes, settings):
    embedder = HashedWords()
    with notes.open(embedder, settings) as memory:
        memory.index()
        embedder.texts.clear()
        (notes.root / "memory" / "2026-11-20.md").rename(notes.root / "memory" / "a.md")
        report = memory.index()
        assert (report.added, report.removed) == (1, 1)
        assert embedder.texts == []
        assert report.cached > 0


@pytest.mark.parametrize("name", ["memory/0.md", "memory/z.md"])
@pytest.mark.parametrize("rest", ["", "# What stays\n"])
def test_a_section_that_moves_to_another_file_is_not_embedded(notes, name, rest):
    section = "".join(f"- Item {number} of the section.\n" for number in range(40))
    notes.write("memory/1.md", rest + section)
    embedder = HashedWords()
    with notes.open(embedder, LINES) as memory:
        memory.index()
        embedder.texts.clear()
        notes.write("memory/1.md", rest)
        notes.write(name, "# Elsewhere\n" + section)
        for number in range(300):  # several batches between the two
            notes.write(f"memory/5-{number}.md", f"filler {number}\n" * 10)
        memory.index()
        assert [text for text in embedder.texts if "filler" not in text] == ["Elsewhere"]


@GRAINS
@pytest.mark.parametrize("embeds", [True, False])
def test_a_forced_run_embeds_nothing_that_is_there(notes, settings, embeds):
    embedder = HashedWords()
    with notes.open(embedder, settings) as memory:
        memory.index()
    before = notes.rows()
    embedder.texts.clear()
    with notes.open(embedder if embeds else None, settings) as memory:
        report = memory.index(force=True)
        assert (report.updated, report.added, report.unchanged) == (2, 0, 0)
        assert report.embedded == 0
        assert report.cached > 0
    assert embedder.texts == []
    assert notes.rows() == before


@GRAINS
def test_a_model_that_comes_back_finds_its_vectors(notes, settings):
    first, second = HashedWords(), HashedWords(32, model_id="other")
    for embedder in (first, second):
        with notes.open(embedder, settings) as memory:
            assert memory.index().embedded > 0
            assert memory.status().model == embedder.model_id
            assert find(memory, "vpn port").mode == "hybrid"
    first.texts.clear()
    with notes.open(first, settings) as memory:
        report = memory.index()
        assert (report.embedded, first.texts) == (0, [])
        assert report.cached > 0
        assert find(memory, "vpn port").mode == "hybrid"


def test_without_a_cache_a_forced_run_embeds_again(notes):
    embedder = HashedWords()
    settings = replace(CHUNKS, cache=CacheSettings(enabled=False))
    with notes.open(embedder, settings) as memory:
        memory.index()
        assert memory.index(force=True).embedded == 2
        assert notes.cached_texts() == 0


@pytest.mark.parametrize(
    "changed",
    [
        replace(CHUNKS, chunking=ChunkingSettings(tokens=20, overlap=0)),
        replace(CHUNKS, search=SearchSettings(unit="chunk", tokenizer="porter")),
        replace(CHUNKS, profile="default"),
        LINES,
    ],
    ids=["chunking", "tokenizer", "profile", "unit"],
)
def test_settings_that_shape_the_index_rebuild_it(notes, changed):
    with notes.open(HashedWords()) as memory:
        memory.index()
    with notes.open(HashedWords(), changed) as memory:
        assert any("other settings" in warning for warning in memory.status().warnings)
        report = memory.index()
        assert (report.updated, report.added) == (2, 0)
        assert memory.status().warnings == ()
    with notes.open(HashedWords(), changed, notes.index_at("fresh")) as memory:
        memory.index()
    assert notes.rows() == notes.rows(notes.index_at("fresh"))


@pytest.mark.timing
@pytest.mark.slow
@pytest.mark.full
@pytest.mark.sqlite("time and room of the default engine")
def test_ten_thousand_unchanged_files_take_half_a_second(notes):
    for month in range(100):
        (notes.root / "memory" / f"{month}").mkdir()
        for day in range(100):
            notes.write(f"memory/{month}/{day}.md", f"- note {day} of {month}\n")
    with notes.open() as memory:
        memory.index()
        report = memory.index()
    assert report.unchanged == 10_002
    assert report.seconds < 0.5
    with notes.open() as memory:
        started = time.perf_counter()
        memory.index()
        took = time.perf_counter() - started
    assert took < 1.5, took  # half a second on a quiet machine; tests run on busy ones


# Embedders that come, go, and fail.


@GRAINS
def test_what_was_indexed_without_an_embedder_is_completed_by_one(notes, settings):
    with notes.open(None, settings) as memory:
        report = memory.index()
        assert (report.embedded, report.failed) == (0, ())
        assert memory.status().stale == ()
        found = find(memory, "printer")
        assert found.mode == "keyword"
        assert found
    with notes.open(HashedWords(), settings) as memory:
        assert find(memory, "printer").mode == "keyword"
        assert all("no vectors yet" in reason for _, reason in memory.status().stale)
        report = memory.index()
        assert report.updated == 2
        assert find(memory, "printer").mode == "hybrid"
        assert memory.status().stale == ()
    with notes.open(HashedWords(), settings, notes.index_at("fresh")) as memory:
        memory.index()
    assert notes.rows() == notes.rows(notes.index_at("fresh"))


@GRAINS
def test_vectors_stay_while_there_is_no_embedder(notes, settings):
    embedder = HashedWords()
    with notes.open(embedder, settings) as memory:
        memory.index()
    with notes.open(None, settings) as memory:
        assert find(memory, "printer").mode == "keyword"
        (notes.root / "memory" / "2026-11-20.md").rename(notes.root / "memory" / "b.md")
        notes.write("memory/new.md", "a new note")
        memory.index()
    embedder.texts.clear()
    with notes.open(embedder, settings) as memory:
        assert find(memory, "printer").mode == "hybrid"
        assert memory.index().updated == 1
    assert embedder.texts == ["a new note"]


@GRAINS
@pytest.mark.parametrize("kind", ["raises", *NONSENSE])
def test_an_embedder_that_fails_leaves_the_words_and_is_asked_again(notes, settings, kind):
    embedder = Raising() if kind == "raises" else Nonsense(NONSENSE[kind])
    with notes.open(embedder, settings) as memory:
        report = memory.index()
        assert report.added == 2
        assert [path for path, _ in report.failed] == ["MEMORY.md", "memory/2026-11-20.md"]
        assert all("found by keywords only" in reason for _, reason in report.failed)
        hits = find(memory, "printer")
        assert hits
        assert hits.mode == "keyword"
        assert hits.fallback
        assert "\n" not in hits.fallback
        again = memory.index()
        assert (again.updated, again.unchanged, len(again.failed)) == (0, 2, 2)
        embedder.broken, embedder.answer = False, None
        report = memory.index()
        assert (report.updated, report.failed) == (2, ())
        hits = find(memory, "printer")
        assert (hits.mode, hits.fallback) == ("hybrid", None)


@pytest.mark.slow
def test_an_embedder_that_fails_now_and_then_is_asked_for_what_is_missing_only(notes):
    for number in range(1500):
        notes.write(f"memory/{number}.md", f"note {number}")

    class Flaky(HashedWords):
        def embed_documents(self, texts):
            if self.calls % 2:
                self.calls += 1
                raise TimeoutError
            return super().embed_documents(texts)

    embedder = Flaky()
    with notes.open(embedder) as memory:
        runs = 0
        while memory.index().failed:
            runs += 1
            assert runs < 20
        assert len(embedder.texts) == len(set(embedder.texts)) == 1502


@pytest.mark.slow
def test_an_embedder_that_is_down_is_not_asked_for_every_batch(notes):
    for number in range(1500):
        notes.write(f"memory/{number}.md", f"note {number}")
    embedder = Raising()
    with notes.open(embedder) as memory:
        report = memory.index()
    assert len(report.failed) == 1502
    assert embedder.calls <= 4


@GRAINS
def test_vectors_of_another_length_rebuild_the_index(notes, settings):
    embedder = HashedWords(16)
    with notes.open(embedder, settings) as memory:
        memory.index()
    embedder.length = 32
    with notes.open(embedder, settings) as memory:
        hits = find(memory, "printer")
        assert hits.mode == "keyword"
        assert "16 dimensions" in hits.fallback
        assert "index again" in hits.fallback
        report = memory.index()
        assert report.updated == 2
        assert memory.status().dimension == 32
        assert find(memory, "printer").mode == "hybrid"


def test_an_unknown_embedder_is_told_and_the_index_stays(notes):
    with notes.open() as memory:
        memory.index()
    before = notes.rows()
    with pytest.raises(EmbedderError, match="no embedder 'nonsense'"):
        notes.open("nonsense")
    assert notes.rows() == before


# Files.


def test_odd_files_are_told_and_never_stop_the_others(notes):
    notes.write("memory/latin.md", "café printer\n".encode("latin-1"))
    notes.write("memory/nul.md", b"nul\0printer\n")
    notes.write("memory/utf16.md", "utf16 printer\n".encode("utf-16"))
    with (notes.root / "memory" / "huge.md").open("wb") as file:
        file.truncate(200 * 2**20)
    with notes.open() as memory:
        report = memory.index()
        failed = dict(report.failed)
        assert sorted(failed) == [f"memory/{n}.md" for n in ("huge", "latin", "nul", "utf16")]
        assert "200 MiB" in failed["memory/huge.md"]
        assert report.added == 5
        found = paths(find(memory, "printer"))
        assert {f"memory/{n}.md" for n in ("latin", "nul", "utf16")} <= set(found)
        warnings = memory.status().warnings
        assert [w for w in warnings if "memory/latin.md: not UTF-8 from line 1" in w]


def test_a_file_that_becomes_unreadable_keeps_its_rows(notes):
    with notes.open() as memory:
        memory.index()
        with (notes.root / "MEMORY.md").open("r+b") as file:
            file.truncate(200 * 2**20)
        report = memory.index()
        assert [path for path, _ in report.failed] == ["MEMORY.md"]
        assert "MEMORY.md" in paths(find(memory, "Gutenberg"))
        assert [path for path, _ in memory.status().stale] == ["MEMORY.md"]


def test_a_change_of_the_same_size_in_the_same_moment_is_noticed(notes):
    file = notes.root / "MEMORY.md"
    with notes.open() as memory:
        file.write_text("- alpha\n")
        info = file.stat()
        memory.index()
        file.write_text("- gamma\n")
        os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
        assert memory.status().stale == (("MEMORY.md", "changed on disk"),)
        assert memory.index().updated == 1
        assert paths(find(memory, "gamma")) == ["MEMORY.md"]


@pytest.mark.slow
def test_files_that_vanish_and_appear_during_a_run_leave_it_whole(notes):
    for number in range(600):
        notes.write(f"memory/{number:03}.md", f"note {number} printer\n" * 30)

    def meddle(done, total, path):
        for number in range(600):
            file = notes.root / "memory" / f"{number:03}.md"
            if number % 3 == 0:
                file.unlink(missing_ok=True)
            elif number % 3 == 1:
                file.write_text(f"changed {number} at {done}\n")
        notes.write(f"memory/new-{done}.md", "new")

    with notes.open() as memory:
        memory.index(progress=meddle)
        memory.index()
    with notes.open(index=notes.index_at("fresh")) as memory:
        memory.index()
    assert notes.rows() == notes.rows(notes.index_at("fresh"))


def test_an_empty_workspace_is_indexed_and_searched(tmp_path, engine):
    (tmp_path / "empty").mkdir()
    with Memory.open(
        tmp_path / "empty", embedder=HashedWords(), index=index_at(engine, tmp_path), settings=LINES
    ) as memory:
        assert find(memory, "anything") == []
        assert memory.index().chunks == 0
        assert memory.status().stale == ()
        memory.append("- the first note")
        assert paths(find(memory, "first note"))


# Status.


def test_status_names_what_the_index_does_not_show(notes):
    notes.write("memory/gone.md", "gone")
    notes.write("memory/touched.md", "touched")
    with notes.open() as memory:
        assert len(memory.status().stale) == 4
        assert any("never completely indexed" in w for w in memory.status().warnings)
        memory.index()
        assert memory.status().stale == ()
        notes.write("memory/new.md", "new")
        notes.age("memory/touched.md", 77)
        notes.write("MEMORY.md", "changed")
        (notes.root / "memory" / "gone.md").unlink()
        assert memory.status().stale == (
            ("MEMORY.md", "changed on disk"),
            ("memory/new.md", "new"),
            ("memory/gone.md", "gone from the disk"),
        )


@pytest.mark.sqlite("the path of a file")
def test_a_state_folder_in_the_workspace_is_not_indexed(notes):
    index = notes.root / "memory" / ".index" / "index.sqlite"
    with notes.open(index=index) as memory:
        memory.index()
        assert memory.index().unchanged == 2
    shutil.rmtree(index.parent)


@pytest.mark.sqlite("the path of a file")
def test_an_index_path_that_is_a_folder_is_told(notes, tmp_path):
    with notes.open(index=tmp_path) as memory, pytest.raises(StoreError, match="is a folder"):
        find(memory, "x")


@pytest.mark.sqlite("the path of a file")
def test_missing_folders_above_the_index_are_made(notes, tmp_path):
    with notes.open(index=tmp_path / "a" / "b" / "index") as memory:
        assert find(memory, "printer")
    (tmp_path / "file").write_text("")
    with (
        notes.open(index=tmp_path / "file" / "index") as memory,
        pytest.raises(StoreError, match=r"cannot be created .*COMMONPLACE_STATE_DIR"),
    ):
        find(memory, "x")


# Times that say nothing.


@pytest.fixture
def alike(notes):
    """Two files of one size and one time, long ago, indexed."""
    for name, animal in (("one", "heron"), ("two", "otter")):
        notes.write(f"memory/{name}.md", f"- The {animal} came.\n")
        os.utime(notes.root / f"memory/{name}.md", (10**9, 10**9))
    with notes.open() as memory:
        assert memory.index().added == 4
        assert memory.index().unchanged == 4
        yield memory


def exchange(one, other):
    one.rename(one.with_suffix(".x"))
    other.rename(one)
    one.with_suffix(".x").rename(other)


def replaced(one, _):
    """Replace a file as ``rsync -t`` and ``cp -p`` do."""
    beside = one.with_suffix(".tmp")
    overwritten(beside, _)
    beside.replace(one)


def overwritten(one, _):
    one.write_text("- The crane came.\n", encoding="utf-8")
    os.utime(one, (10**9, 10**9))


@pytest.mark.parametrize(
    ("change", "animal", "count"),
    [(exchange, "otter", 2), (replaced, "crane", 1), (overwritten, "crane", 1)],
)
def test_a_file_of_the_same_size_and_time_with_another_text_is_noticed(
    alike, notes, change, animal, count
):
    change(*(notes.root / f"memory/{name}.md" for name in ("one", "two")))
    assert alike.index().updated == count
    assert [hit.path for hit in alike.search(animal)][:1] == ["memory/one.md"]
    assert not [hit for hit in alike.search("heron") if hit.path == "memory/one.md"]


def test_an_index_whose_lines_were_cut_in_another_way_is_as_a_fresh_one(notes, monkeypatch):
    notes.write("memory/2026-11-01.md", "The printer is Gutenberg.\nIt stands on floor 2.\n")
    with monkeypatch.context() as before:
        before.setattr(chunk_embedder, "line_units", whole_unit)
        before.setattr(runner, "_SCHEMA", runner._SCHEMA - 1)
        with notes.open(HashedWords(), LINES) as memory:
            memory.index()
        old = notes.rows()
    fresh = notes.index_at("fresh")
    for index in (None, fresh):
        with notes.open(HashedWords(), LINES, index) as memory:
            memory.index()
    assert notes.rows() != old
    assert notes.rows() == notes.rows(fresh)
