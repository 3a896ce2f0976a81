import asyncio
import contextlib
import copy
import gc
import hashlib
import os
import pickle
import subprocess
import sys
import weakref
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from commonplace import MemoryPool, evaluation
from commonplace.errors import (
    CommonplaceError,
    PathNotAllowedError,
    StoreError,
    WorkspaceNotFoundError,
)
from commonplace.memory import Memory
from commonplace.settings import Settings, SyncSettings
from commonplace.types import Excerpt, Origin, is_url
from support.fakes import NOON, HashedWords, Raising, clock
from support.notes import CHUNKS, LINES, find, paths
from support.reference import vectors


def open_at(notes, now, *, timezone=None):
    settings = Settings(timezone=timezone)
    return Memory.open(
        notes.root, settings=settings, embedder=None, index=notes.index, now=clock(now)
    )


# Opening.


def loaded_by(code):
    code += "; import sys; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


HEAVY = {"numpy", "wordllama", "tokenizers", "safetensors", "tiktoken", "langchain_core"}
HEAVY |= {"llama_index", "rich", "watchdog", "sentence_transformers", "asyncio"}


@pytest.mark.processes
def test_importing_the_package_loads_nothing_heavy():
    assert not loaded_by("import commonplace") & (HEAVY | {"apsw"})


@pytest.mark.processes
def test_opening_and_getting_load_no_numpy(notes):
    code = f"from commonplace import Memory; memory = Memory.open({str(notes.root)!r})"
    assert not loaded_by(code + "; memory.get('MEMORY.md')") & (HEAVY - {"apsw"})


def test_opening_creates_nothing_and_needs_no_files(tmp_path):
    (tmp_path / "empty").mkdir()
    with Memory.open(tmp_path / "empty", index=tmp_path / "index") as memory:
        assert memory.get("MEMORY.md").status == "not_found"
        assert memory.startup_context() == memory.startup_context(private=False)
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_missing_workspace_is_told(tmp_path):
    with pytest.raises(WorkspaceNotFoundError, match="commonplace init"):
        Memory.open(tmp_path / "nowhere")


URL = "postgresql://ann:s3cret@host/notes"


@pytest.mark.parametrize("given", [URL, Path(URL), URL.replace("//", "/")])
@pytest.mark.parametrize("opened_by", [Memory.open, evaluation.open_at, MemoryPool])
def test_a_url_in_place_of_a_folder_is_refused_and_its_password_not_shown(given, opened_by):
    with pytest.raises(WorkspaceNotFoundError, match="is a URL; a folder was expected") as caught:
        opened_by(given)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("name", ["a:b", "a_b:/c", "C:/notes"])
def test_a_path_with_a_colon_is_no_url(name):
    assert not is_url(name)


def test_each_workspace_has_an_index_of_its_own_in_the_state_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_STATE_DIR", str(tmp_path / "state"))
    for name in ("a/notes", "b/notes", "c/ umlaut ä"):
        (tmp_path / name).mkdir(parents=True)
    opened = [Memory.open(tmp_path / name) for name in ("a/notes", "b/notes", "c/ umlaut ä")]
    again = Memory.open(tmp_path / "a" / ".." / "a" / "notes")
    indexes = [memory.index_location for memory in opened]
    assert len(set(indexes)) == 3
    assert again.index_location == indexes[0]
    assert all(Path(index).is_relative_to(tmp_path / "state") for index in indexes)
    assert all(str(index).isascii() for index in indexes)


def test_a_closed_memory_says_so(notes):
    memory = notes.open()
    memory.index()
    memory.close()
    memory.close()
    with pytest.raises(StoreError, match="closed"):
        memory.search("x")
    assert memory.get("MEMORY.md").status == "ok"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors in /proc")
def test_a_note_that_comes_late_is_kept_and_leaves_no_open_files(notes):
    memory = notes.open()
    memory.index()
    memory.write("memory/early.md", "- Early.\n")
    memory.close()
    before = len(os.listdir("/proc/self/fd"))
    memory.append("- The heron came late.", origin=Origin("agent", "s"))
    memory.undo(memory.write("memory/late.md", "- Late.\n").id)
    assert memory.blame("memory/early.md")
    assert len(os.listdir("/proc/self/fd")) <= before
    with notes.open() as memory:
        memory.index()
        assert find(memory, "heron")
        assert {one.change for one in memory.history()} >= {"append", "write", "undo"}


# Searching.


def test_the_first_search_indexes_and_later_ones_do_not(notes):
    with notes.open(HashedWords(), LINES) as memory:
        assert "MEMORY.md" in paths(find(memory, "Gutenberg"))
        notes.write("memory/new.md", "- the heron")
        assert "memory/new.md" not in paths(find(memory, "heron"))
        memory.index()
        assert paths(find(memory, "heron"))[0] == "memory/new.md"


def test_a_result_is_a_verbatim_part_of_its_file(notes):
    with notes.open(HashedWords(), LINES) as memory:
        for hit in find(memory, "VPN port printer tea"):
            lines = (notes.root / hit.path).read_text().split("\n")
            shown = "\n".join(lines[hit.start_line - 1 : hit.end_line])
            assert hit.snippet in shown
            assert 0.0 <= hit.score <= 1.0
            assert hit.citation.startswith(f"{hit.path}#L{hit.start_line}")
            assert hit.explanation is None


def test_results_say_how_they_were_found(notes):
    with notes.open(HashedWords(), LINES) as memory:
        results = memory.search("printer", explain=True)
        assert (results.mode, results.fallback) == ("hybrid", None)
        assert (results.provider, results.model) == ("fake", "hashed-words")
        assert results[0].explanation is not None
    with notes.open(Raising(), LINES) as memory:
        results = memory.search("printer")
        assert results.mode == "keyword"
        assert "the provider is down" in results.fallback
        assert (results.provider, results.model) == (None, None)


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        "\0",
        '"',
        "NEAR(",
        "*",
        "a:b",
        "don't",
        "🎉",
        "\ud800",
        "AND OR NOT",
        "-",
        "x" * 10**6,
    ],
    ids=lambda query: repr(query[:9]),
)
@pytest.mark.parametrize("settings", [CHUNKS, LINES], ids=["chunks", "lines"])
def test_any_text_is_a_query(notes, settings, query):
    with notes.open(HashedWords(), settings) as memory:
        for hit in find(memory, query):
            assert hit.snippet
    with notes.open(None, settings) as memory:
        find(memory, query)


def test_days_and_sources_narrow_a_search(notes):
    notes.write("memory/2026-11-01.md", "- printer in early November")
    with notes.open(HashedWords(), LINES) as memory:

        def dated(**days):
            return sorted(set(paths(memory.search("printer", min_score=0, **days))))

        assert dated(after="2026-11-20") == ["memory/2026-11-20.md"]
        assert dated(before=date(2026, 11, 19)) == ["memory/2026-11-01.md"]
        assert dated(after="2026-11-01", before="2026-11-20") == [
            "memory/2026-11-01.md",
            "memory/2026-11-20.md",
        ]
        assert dated(after="2026-11-21") == []
        assert dated(sources=["sessions"]) == []
        assert "MEMORY.md" in dated(sources=["memory"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_results": 0},
        {"min_score": 1.1},
        {"min_score": -0.1},
        {"sources": "memory"},
        {"sources": ["memories"]},
        {"after": "yesterday"},
        {"before": "2026-13-01"},
    ],
)
def test_wrong_arguments_of_a_search_are_told(notes, wrong):
    with notes.open() as memory, pytest.raises(ValueError, match=next(iter(wrong))):
        memory.search("x", **wrong)


# Reading.


@pytest.mark.parametrize(("given", "expected"), vectors("readMemoryFile.range"))
def test_ranges_are_those_of_the_reference(notes, given, expected):
    notes.write("memory/lines.md", given["content"])
    with notes.open() as memory:
        excerpt = memory.get(
            expected["path"], from_line=given.get("from"), lines=given.get("lines")
        )
    assert (excerpt.path, excerpt.text) == (expected["path"], expected["text"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ("a\nb\nc\n", 1, 3, False, None)),
        ({"lines": 3}, ("a\nb\nc", 1, 3, False, None)),
        ({"lines": 2}, ("a\nb", 1, 2, True, 3)),
        ({"from_line": 3}, ("c\n", 3, 1, False, None)),
        ({"from_line": 2, "lines": 1}, ("b", 2, 1, True, 3)),
        ({"from_line": 3, "lines": 9}, ("c\n", 3, 1, False, None)),
        ({"from_line": 4}, ("", 4, 0, False, None)),
        ({"from_line": 99}, ("", 99, 0, False, None)),
        ({"from_line": -5, "lines": 0}, ("a", 1, 1, True, 2)),
    ],
    ids=str,
)
def test_an_excerpt_says_what_it_shows_and_where_it_goes_on(notes, arguments, expected):
    notes.write("memory/a.md", "a\nb\nc\n")
    with notes.open() as memory:
        version = hashlib.sha256(b"a\nb\nc\n").hexdigest()
        shown = Excerpt("memory/a.md", *expected, version=version)
        assert memory.get("memory/a.md", **arguments) == shown


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\r\nb\r\n", "\n\n", "\ufeffa\n", "a\n\nb"])
def test_parts_read_one_after_the_other_are_the_whole_file(notes, text):
    notes.write("memory/a.md", text)
    with notes.open() as memory:
        assert memory.get("memory/a.md").text == text
        parts, line = [], 1
        while line:
            excerpt = memory.get("memory/a.md", from_line=line, lines=1)
            parts.append(excerpt.text)
            line = excerpt.next_from
    assert "\n".join(parts) == text.removesuffix("\n")


def test_files_are_read_from_the_disk_and_not_from_the_index(notes):
    with notes.open() as memory:
        memory.index()
        notes.write("MEMORY.md", "another text")
        assert memory.get(" ./MEMORY.md ").text == "another text"
        assert memory.get(" ./MEMORY.md ").path == "MEMORY.md"
        (notes.root / "MEMORY.md").unlink()
        assert memory.get("MEMORY.md", from_line=3) == Excerpt(
            "MEMORY.md", "", 3, 0, False, None, "not_found"
        )


# Appending.


def test_a_note_goes_to_the_log_of_today(notes):
    with notes.open() as memory:
        assert memory.append("- Decided: port 51820") == "memory/2026-11-20.md"
        assert memory.append("- A new year", when=date(2027, 1, 1)) == "memory/2027-01-01.md"
    assert (
        (notes.root / "memory" / "2026-11-20.md")
        .read_text()
        .endswith("another port.\n- Decided: port 51820\n")
    )
    assert (notes.root / "memory" / "2027-01-01.md").read_text() == "# 2027-01-01\n\n- A new year\n"


def test_the_first_note_makes_the_folder(tmp_path):
    (tmp_path / "empty").mkdir()
    with Memory.open(tmp_path / "empty", embedder=None, index=tmp_path / "i") as memory:
        path = memory.append("note", when=date(2026, 1, 2))
        assert paths(find(memory, "note")) == [path]


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("UTC", "2026-11-20"),
        ("Pacific/Kiritimati", "2026-11-21"),
        ("Pacific/Pago_Pago", "2026-11-20"),
    ],
)
def test_days_are_those_of_the_zone_in_the_settings(notes, zone, day):
    with open_at(notes, NOON, timezone=zone) as memory:
        assert memory.append("note") == f"memory/{day}.md"
        assert memory.append("other", when=NOON) == f"memory/{day}.md"


def test_a_time_counts_on_the_day_that_it_is_in_the_zone_of_the_settings(notes):
    late = datetime(2026, 11, 20, 23, 30, tzinfo=timezone(timedelta(hours=-12)))
    with open_at(notes, NOON, timezone="Pacific/Kiritimati") as memory:
        assert memory.append("late", when=late) == "memory/2026-11-22.md"
    with open_at(notes, NOON, timezone="UTC") as memory:
        assert memory.append("late", when=late) == "memory/2026-11-21.md"


def test_days_are_those_of_the_machine_without_a_zone(notes):
    with open_at(notes, NOON) as memory:
        local = NOON.astimezone().date()
        assert memory.append("note") == f"memory/{local}.md"
        assert memory.append("other", when=NOON) == f"memory/{local}.md"


def test_the_day_of_a_time_is_the_same_when_it_is_searched_for_as_when_it_is_written(notes):
    late = datetime(2026, 11, 20, 23, 30, tzinfo=timezone(timedelta(hours=-11)))
    with open_at(notes, NOON) as memory:
        path = memory.append("a lamp for the hall", when=late)
        memory.index()
        assert [hit.path for hit in memory.search("lamp", after=late, before=late)] == [path]
        with pytest.raises(ValueError, match=r"^after is '', which is not a day"):
            memory.search("lamp", after="")  # a variable that nothing filled must not widen it


def test_a_snippet_of_a_file_with_windows_line_endings_ends_with_its_text(notes):
    with open_at(notes, NOON) as memory:
        text = b"# Rooms\r\n\r\n- The printer is in room 3.\r\n- Ada moved it.\r\n"
        (notes.root / "memory" / "rooms.md").write_bytes(text)
        memory.index()
        [hit] = [hit for hit in find(memory, "printer room Ada") if "rooms" in hit.path]
        assert hit.snippet.endswith("Ada moved it.")
        memory.edit(hit.path, "- Ada moved it.", "- Ben moved it.")
        assert (notes.root / hit.path).read_bytes().endswith(b"3.\r\n- Ben moved it.\r\n")


def test_a_time_without_a_zone_is_refused(notes):
    with notes.open() as memory, pytest.raises(ValueError, match="aware datetime"):
        memory.append("note", when=datetime(2026, 11, 20))  # noqa: DTZ001 - that is the point


@pytest.mark.parametrize("text", ["", " ", "\n\t\n"])
def test_empty_text_is_refused_and_creates_nothing(tmp_path, text):
    (tmp_path / "empty").mkdir()
    with Memory.open(tmp_path / "empty", index=tmp_path / "i") as memory:
        with pytest.raises(ValueError, match="empty"):
            memory.append(text)
        with pytest.raises(ValueError, match="empty"):
            memory.append(text, path="MEMORY.md")
    assert list((tmp_path / "empty").iterdir()) == []


def test_what_lasts_goes_to_the_end_of_the_long_term_file(notes):
    with notes.open() as memory:
        assert memory.append("- Bob is left-handed.", path="MEMORY.md") == "MEMORY.md"
        assert memory.append("- Bob is left-handed.", path="MEMORY.md") == "MEMORY.md"
        assert paths(find(memory, "Bob")) == ["MEMORY.md"]
    text = (notes.root / "MEMORY.md").read_text()
    assert text.endswith("- Ann prefers tea.\n- Bob is left-handed.\n")
    assert text.count("Bob") == 1


def test_a_note_is_appended_to_a_named_file_which_is_created(notes):
    with notes.open() as memory:
        assert memory.append("- Oak, ash.", path="memory/trees.md") == "memory/trees.md"
        assert memory.append("- Elm.", path="./memory/trees.md") == "memory/trees.md"
        assert memory.append("- Late.", path="memory/2026-01-02.md") == "memory/2026-01-02.md"
        assert paths(find(memory, "ash elm"))[0] == "memory/trees.md"
    assert (notes.root / "memory/trees.md").read_text() == "- Oak, ash.\n- Elm.\n"
    assert (notes.root / "memory/2026-01-02.md").read_text() == "# 2026-01-02\n\n- Late.\n"


@pytest.mark.parametrize(
    "path", ["notes.md", "memory/trees.txt", "memory/../x.md", "../x.md", "/tmp/x.md", "sessions/x"]
)
def test_a_path_that_is_no_note_is_not_appended_to(notes, path):
    with notes.open() as memory, pytest.raises(PathNotAllowedError):
        memory.append("note", path=path)


def test_a_named_note_has_no_day(notes):
    with notes.open() as memory, pytest.raises(ValueError, match="path and when"):
        memory.append("note", path="MEMORY.md", when=date(2026, 11, 20))


def test_the_day_of_a_note_may_be_a_text(notes):
    with notes.open(settings=Settings(timezone="UTC")) as memory:
        assert memory.append("- Oak.", when="2026-11-02") == "memory/2026-11-02.md"
        assert memory.append("- Ash.", when="2026-11-02T23:30-05:00") == "memory/2026-11-03.md"
        with pytest.raises(ValueError, match="when is '2 November'"):
            memory.append("- Elm.", when="2 November")
        with pytest.raises(TypeError, match=r"text is None; a text was expected\."):
            memory.append(None)


@pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
def test_notes_are_not_written_through_links(notes, tmp_path):
    (notes.root / "memory" / "2026-11-20.md").unlink()
    (tmp_path / "secret").write_text("secret\n")
    (notes.root / "memory" / "2026-11-20.md").symlink_to(tmp_path / "secret")
    with notes.open() as memory:
        with pytest.raises(PathNotAllowedError):
            memory.append("note")
        (notes.root / "memory" / "2026-11-20.md").unlink()
        (notes.root / "memory").rmdir()
        (notes.root / "memory").symlink_to(tmp_path)
        with pytest.raises(PathNotAllowedError):
            memory.append("note")
    assert (tmp_path / "secret").read_text() == "secret\n"


@pytest.mark.parametrize(
    "embedder",
    [HashedWords(), None, Raising(), "voyage"],
    ids=["local", "none", "failing", "without a key"],
)
def test_a_note_is_indexed_before_append_returns_at_least_by_its_words(notes, embedder):
    with notes.open() as memory:
        memory.index()
    with notes.open(embedder) as memory:
        path = memory.append("- Saw a kingfisher.")
    with notes.open() as other:
        assert paths(find(other, "kingfisher")) == [path]


def test_a_note_is_found_by_its_vector_at_once_where_the_embedder_is_local(notes):
    embedder = HashedWords()
    with notes.open(embedder, LINES) as memory:
        memory.index()
        embedder.texts.clear()
        memory.append("- Saw a kingfisher.")
        assert embedder.texts == ["Saw a kingfisher."]
        best = memory.search("kingfisher", explain=True)[0]
        assert best.explanation.vector is not None
    embedder.is_local = False
    quiet = replace(LINES, sync=SyncSettings(on_open=False))
    with notes.open(embedder, quiet) as memory:
        memory.append("- Saw a heron.")
        assert embedder.texts == ["Saw a kingfisher."]
        assert "memory/2026-11-20.md" in paths(find(memory, "heron"))
        memory.index()
        assert embedder.texts == ["Saw a kingfisher.", "Saw a heron."]


def changed(path):
    """What tells a file that was written to; to have read it is no change."""
    info = path.stat()
    return info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def test_a_note_that_the_day_holds_already_is_not_indexed_again(notes):
    with notes.open() as memory:
        memory.append("- a note")
        before = changed(notes.root / "memory/2026-11-20.md")
        memory.append("-  a   note")
        assert changed(notes.root / "memory/2026-11-20.md") == before


# The rest.


def test_watching_indexes_what_changes(notes):
    settings = Settings.from_mapping({"sync": {"debounce_ms": 50}})
    with notes.open(HashedWords(), settings) as memory:
        memory.index()
        with memory.watch():
            notes.write("memory/deep/new.md", "- the heron is back")
            assert eventually(lambda: "memory/deep/new.md" in paths(find(memory, "heron")))
            (notes.root / "memory" / "deep" / "new.md").unlink()
            assert eventually(lambda: "memory/deep/new.md" not in paths(find(memory, "heron")))


def eventually(condition, *, deadline_s=20.0):
    import time

    until = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def test_async_twins_do_the_same_and_leave_the_loop_free(notes):
    async def use():
        with notes.open(HashedWords(), LINES) as memory:
            report = await memory.aindex()
            path = await memory.aappend("- the heron", when=date(2026, 11, 20))
            hits = await memory.asearch("heron", max_results=3)
            excerpt = await memory.aget(path, lines=1)
            status = await memory.astatus(deep=True)
            assert await memory.astartup_context() == memory.startup_context()
            return report.added, paths(hits)[0], excerpt.text, status.files

    assert asyncio.run(use()) == (2, "memory/2026-11-20.md", "# 2026-11-20", 2)


def test_each_verb_that_touches_a_disk_has_an_async_twin():
    """The rest are blocks of code, look at the clock, or copy the memory."""
    verbs = {name for name in vars(Memory) if not name.startswith(("_", "a"))}
    twins = {name for name in dir(Memory) if f"a{name}" in dir(Memory)}
    values = {name for name in verbs if not callable(getattr(Memory, name))}
    blocks = {"change_group", "snapshot", "watch"}
    assert verbs - twins - values == blocks | {"now", "recall_instructions", "with_search_settings"}


def test_a_copy_of_a_memory_is_the_memory_and_no_process_takes_it_with_it(notes):
    with open_at(notes, NOON) as memory:
        parts = {"memory": memory}
        assert copy.deepcopy(parts)["memory"] is copy.copy(memory) is memory
        for refuses in (pickle.dumps, lambda it: pickle.dumps(it, protocol=0)):
            with pytest.raises(TypeError, match=r"cannot be pickled: .*Memory\.open") as caught:
                refuses(parts)
            assert "\n" not in str(caught.value)
        other = memory.with_search_settings(mmr=False)
        assert (other.settings.search.mmr, memory.settings.search.mmr) == (False, True)


def test_a_context_tells_the_long_term_file_to_private_readers_only(notes):
    with open_at(notes, datetime(2026, 11, 21, 9, tzinfo=UTC), timezone="UTC") as memory:
        private, public = memory.startup_context(), memory.startup_context(private=False)
    assert "Gutenberg" in private
    assert "Gutenberg" not in public
    assert "Met Ann" in private
    assert "Met Ann" in public


def test_errors_never_leave_the_tree(notes):
    with pytest.raises(CommonplaceError, match="embed_documents"):
        notes.open(object())
    with contextlib.suppress(CommonplaceError), notes.open("none") as memory:
        assert memory.search("x").mode == "keyword"


def test_a_memory_that_was_not_closed_is_freed_at_once(notes):
    memory = notes.open()
    memory.append("- One.")
    gone = weakref.ref(memory)
    gc.disable()
    try:
        del memory
        assert gone() is None
    finally:
        gc.enable()


async def test_a_memory_is_opened_without_blocking_the_event_loop(notes):
    with await Memory.aopen(notes.root, embedder=None, index=notes.index) as memory:
        assert type(memory) is Memory
        assert (await memory.astatus()).provider is None
    with pytest.raises(WorkspaceNotFoundError):
        await Memory.aopen(notes.root / "nowhere")
    async with await Memory.aopen(notes.root, embedder=None, index=notes.index) as memory:
        pass
    with pytest.raises(StoreError, match="closed"):
        await memory.asearch("tea")


WRONG = {
    "path": lambda memory: memory.get(Path("MEMORY.md")),
    "path of a note": lambda memory: memory.delete(Path("MEMORY.md")),
    "path of versions": lambda memory: memory.history(Path("MEMORY.md")),
    "old": lambda memory: memory.edit("MEMORY.md", None, "x"),
    "new": lambda memory: memory.edit("MEMORY.md", "x", None),
    "text": lambda memory: memory.write("memory/x.md", None),
    "text of a correction": lambda memory: memory.correct("MEMORY.md#L1", None),
    "citation": lambda memory: memory.forget(citation=5),
    "version_id": lambda memory: memory.undo(memory),
    "version_id that is a truth value": lambda memory: memory.undo(True),
    "exclude": lambda memory: memory.search("x", exclude="memory/x.md"),
    "origin": lambda memory: memory.append("- x", origin="agent"),
    "settings": lambda memory: Memory.open(memory.workspace.root, settings={"timezone": "UTC"}),
}


@pytest.mark.parametrize("argument", WRONG)
def test_an_argument_of_another_type_is_named(notes, argument):
    with notes.open() as memory:
        before = memory.paths()
        with pytest.raises(TypeError, match="was expected") as raised:
            WRONG[argument](memory)
        name = argument.partition(" ")[0]
        assert str(raised.value).startswith(f"{name} is ")
        assert memory.paths() == before
