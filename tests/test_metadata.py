"""Front matter of notes in an index: metadata, expiry, tags and aliases; and searches by path."""

from __future__ import annotations

import json
import os
import random
import shutil
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from commonplace import Memory, Settings
from commonplace.errors import CommonplaceError
from commonplace.explorer.rows import repeat_groups
from commonplace.settings import HistorySettings, SearchSettings, SessionsSettings, SyncSettings
from support.engines import index_at
from support.fakes import HashedWords

QUIET = Settings(sync=SyncSettings(on_open=False, on_search=False), timezone="UTC")
VPN = """---
tags: [wireguard, work/network]
aliases:
  - Zugangstunnel
owner: Quentin
since: 2026-01-02
---
# Tunnel

- It listens on port 51820.
- The key is with Wren.
"""


class Moment:
    """A clock that a test sets."""

    def __init__(self, text):
        self.set(text)

    def set(self, text):
        self.time = datetime.fromisoformat(text).replace(tzinfo=UTC)

    def __call__(self):
        return self.time


@pytest.fixture
def place(tmp_path, engine):
    """Return a function that writes notes and opens them, with vectors or without."""
    opened = []

    def open_notes(files, *, embedder=None, settings=QUIET, now=None, index="index.sqlite"):
        for path, text in files.items():
            file = tmp_path / "notes" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
            os.utime(file, (1_700_000_000, 1_700_000_000))  # not a moment ago
        memory = Memory.open(
            tmp_path / "notes",
            settings=settings,
            embedder=embedder,
            index=index_at(engine, tmp_path, index),
            now=now or Moment("2026-11-22T12:00:00"),
        )
        opened.append(memory)
        return memory

    yield open_notes
    for memory in opened:
        memory.close()


def cited(results):
    return [result.citation for result in results]


# -- front matter ----------------------------------------------------------------------------------


@pytest.mark.parametrize("embedder", [None, HashedWords()], ids=["keywords", "vectors"])
def test_front_matter_is_metadata_and_no_text(place, embedder):
    memory = place({"memory/vpn.md": VPN, "MEMORY.md": "# Memory\n\n- Plain.\n"}, embedder=embedder)
    (hit,) = memory.search("It listens on port 51820", max_results=1)
    assert hit.citation == "memory/vpn.md#L8-L11"  # lines are those of the file
    assert hit.snippet == "# Tunnel\n\n- It listens on port 51820.\n- The key is with Wren."
    assert hit.metadata == {
        "tags": ["wireguard", "work/network"],
        "aliases": ["Zugangstunnel"],
        "owner": "Quentin",
        "since": "2026-01-02",
    }
    assert not any("Quentin" in found.snippet for found in memory.search("Quentin", min_score=0))
    (plain,) = memory.search("Plain", max_results=1)
    assert plain.metadata == {}
    hash(hit)


def test_get_returns_the_file_as_it_is_and_its_metadata(place):
    memory = place({"memory/vpn.md": VPN})
    excerpt = memory.get("memory/vpn.md")
    assert excerpt.text == VPN
    assert excerpt.metadata["owner"] == "Quentin"
    part = memory.get("memory/vpn.md", from_line=10, lines=1)
    assert (part.text, part.metadata) == ("- It listens on port 51820.", excerpt.metadata)
    assert memory.get("memory/none.md").metadata == {}


@pytest.mark.parametrize("embedder", [None, HashedWords()], ids=["keywords", "vectors"])
@pytest.mark.parametrize(
    "query", ["wireguard", "#wireguard", "Zugangstunnel", "#work/network", "tags: network"]
)
def test_tags_and_aliases_are_found_and_not_shown(place, embedder, query):
    others = {f"memory/{n}.md": f"# Note {n}\n\n- Something else, {n}.\n" for n in range(20)}
    memory = place({"memory/vpn.md": VPN, **others}, embedder=embedder)
    best = memory.search(query)[0]
    assert best.path == "memory/vpn.md"
    assert best.start_line == 8
    assert best.snippet.startswith("# Tunnel")
    assert "wireguard" not in best.snippet
    assert "Zugangstunnel" not in best.snippet


def test_tags_and_aliases_take_part_in_vectors(place):
    embedder = HashedWords()
    memory = place({"memory/vpn.md": VPN}, embedder=embedder)
    memory.index()
    assert "wireguard, work/network, Zugangstunnel." in embedder.texts
    assert not any("Quentin" in text for text in embedder.texts)


def test_tags_are_no_repeated_line(place):
    text = "---\ntags: [wireguard, a longer tag, network]\n---\n- {} is another line.\n"
    memory = place({f"memory/{name}.md": text.format(name) for name in ("heron", "marsh", "lake")})
    memory.index()
    assert repeat_groups(memory, least=0.99) == []


def test_a_chunk_that_is_embedded_as_a_whole_shows_no_labels(place):
    settings = replace(QUIET, search=SearchSettings(unit="chunk"))
    memory = place({"memory/vpn.md": VPN}, embedder=HashedWords(), settings=settings)
    (hit,) = memory.search("which port for wireguard?")
    assert hit.snippet.startswith("# Tunnel")
    assert hit.start_line == 8


def test_a_note_of_front_matter_alone_is_no_error(place):
    memory = place({"memory/a.md": "---\ntags: [vpn]\n---\n", "memory/b.md": "---\n---\n"})
    report = memory.index()
    assert (report.added, report.chunks, report.failed) == (2, 0, ())
    assert memory.search("vpn") == []


@pytest.mark.parametrize(
    "block",
    [
        "tags: [unclosed",
        "a: " + "[" * 1000 + "]" * 1000,
        "a: &x [1]\nb: *x",
        "a:\n" + "- x\n" * 20_000,
    ],
    ids=["broken", "deep", "alias", "long"],
)
def test_bad_front_matter_is_text_and_said_in_failed(place, block):
    memory = place({"memory/a.md": f"---\nwhere: Timbuktu\n{block}\n---\nIn town.\n"})
    report = memory.index()
    ((path, reason),) = report.failed
    assert path == "memory/a.md"
    assert reason.startswith("its front matter ")
    assert reason.endswith(": it is indexed as text")
    (hit,) = memory.search("Timbuktu", max_results=1)
    assert (hit.path, hit.metadata) == ("memory/a.md", {})
    assert "Timbuktu" in hit.snippet
    assert any(reason in warning for warning in memory.status().warnings)
    assert memory.status().stale == ()


def test_an_expiry_that_is_no_day_is_said_and_does_not_hide_the_note(place):
    memory = place({"memory/a.md": "---\nexpires: soon\n---\nThe code is 4711.\n"})
    report = memory.index()
    assert report.failed[0][1].startswith("expires is 'soon' in its front matter; a day such as")
    (hit,) = memory.search("code")
    assert hit.metadata == {"expires": "soon"}


def test_openclaw_indexes_front_matter_as_text(place):
    settings = replace(Settings.openclaw(), sync=QUIET.sync)
    memory = place({"memory/vpn.md": VPN}, settings=settings)
    (hit,) = memory.search("Quentin", min_score=0)
    assert hit.snippet == VPN
    assert hit.metadata == {}
    assert memory.get("memory/vpn.md").metadata == {}


def test_a_new_tag_is_found_by_the_next_search_after_a_run(place, tmp_path):
    memory = place({"memory/vpn.md": VPN})
    assert memory.search("gatehouse") == []
    (tmp_path / "notes/memory/vpn.md").write_text(VPN.replace("[wireguard", "[gatehouse, wire"))
    memory.index()
    assert memory.search("gatehouse")[0].metadata["tags"][0] == "gatehouse"


# -- expires ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("embedder", [None, HashedWords()], ids=["keywords", "vectors"])
def test_a_note_is_not_found_from_the_moment_on_at_which_it_expires(place, embedder):
    now = Moment("2026-11-20T23:59:59")
    memory = place(
        {
            "memory/day.md": "---\nexpires: 2026-11-20\n---\nThe guest code is 4711.\n",
            "memory/time.md": "---\nexpires: 2026-11-21T12:00:00Z\n---\nThe guest floor is 3.\n",
            "memory/never.md": "The guest wing is north.\n",
        },
        embedder=embedder,
        now=now,
    )
    memory.index()
    names = ["memory/day.md", "memory/never.md", "memory/time.md"]
    assert sorted(hit.path for hit in memory.search("guest")) == names
    now.set("2026-11-21T00:00:00")  # no index run comes since
    assert sorted(hit.path for hit in memory.search("guest")) == names[1:]
    now.set("2026-11-21T12:00:00")
    assert [hit.path for hit in memory.search("guest", min_score=0)] == ["memory/never.md"]
    assert memory.search("guest", paths=["memory/day.md"]) == []


def test_an_expired_note_is_no_part_of_the_startup_context(place):
    now = Moment("2026-11-20T12:00:00")
    text = "---\nexpires: 2026-11-20\n---\nThe code is 4711.\n"
    memory = place({"MEMORY.md": text, "memory/2026-11-20.md": text}, now=now)
    assert memory.startup_context().count("4711") == 2
    now.set("2026-11-21T12:00:00")
    assert "4711" not in memory.startup_context()


def test_an_index_run_sweeps_expired_notes_into_the_history(place, tmp_path):
    now = Moment("2026-11-20T12:00:00")
    guest = "---\nexpires: 2026-11-20\n---\nThe guest code is 4711.\n"
    memory = place({"memory/guest.md": guest, "memory/other.md": "Other.\n"}, now=now)
    memory.index()
    file = tmp_path / "notes/memory/guest.md"
    assert file.exists()
    now.set("2026-11-21T00:00:00")
    report = memory.index()
    assert (report.removed, report.failed, report.chunks) == (1, (), 1)
    assert not file.exists()
    swept = memory.history("memory/guest.md")[0]
    assert (swept.change, swept.origin) == ("expire", None)
    memory.undo(swept.id)
    assert file.read_text() == guest
    assert memory.search("guest code", min_score=0, paths=["memory/guest.md"]) == []


def test_a_note_that_is_written_after_it_expired_is_swept_by_the_same_run(place, tmp_path):
    memory = place({"memory/guest.md": "---\nexpires: 2026-11-20\n---\nThe code is 4711.\n"})
    report = memory.index()
    assert (report.added, report.removed, report.chunks) == (1, 1, 0)
    assert not (tmp_path / "notes/memory/guest.md").exists()
    assert memory.status().stale == ()


def test_a_note_whose_expiry_was_put_off_is_not_swept(place, tmp_path):
    now = Moment("2026-11-20T12:00:00")
    memory = place(
        {"memory/guest.md": "---\nexpires: 2026-11-20\n---\nThe code is 4711.\n"}, now=now
    )
    memory.index()
    now.set("2026-11-22T12:00:00")
    file = tmp_path / "notes/memory/guest.md"
    file.write_text("---\nexpires: 2026-11-29\n---\nThe code is 4711.\n")
    assert memory._index.runner.due() == ["memory/guest.md"]
    assert memory._index.runner.sweeper.sweep(["memory/guest.md"]) == []
    assert file.exists()
    assert memory.index().updated == 1
    assert [hit.path for hit in memory.search("code")] == ["memory/guest.md"]


def test_only_notes_below_memory_are_swept(place, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more/a.md").write_text("---\nexpires: 2026-11-20\n---\nThe code is 4711.\n")
    settings = replace(QUIET, extra_paths=(str(tmp_path / "more"),))
    text = "---\nexpires: 2026-11-20\n---\nThe code is 4712.\n"
    memory = place({"MEMORY.md": text}, settings=settings)
    for _ in range(2):
        report = memory.index()
        assert (report.removed, report.failed) == (0, ())
    assert (tmp_path / "notes/MEMORY.md").exists()
    assert (tmp_path / "more/a.md").exists()
    assert memory.search("code", min_score=0) == []


def test_without_a_history_nothing_is_swept(place, tmp_path):
    settings = replace(QUIET, history=HistorySettings(enabled=False))
    text = "---\nexpires: 2026-11-20\n---\nThe code is 4711.\n"
    memory = place({"memory/guest.md": text}, settings=settings)
    memory.index()
    memory.index()
    assert (tmp_path / "notes/memory/guest.md").exists()
    assert memory.search("code", min_score=0) == []


def test_a_note_that_cannot_be_swept_is_said_in_failed(place, tmp_path):
    now = Moment("2026-11-20T12:00:00")
    text = "---\nexpires: 2026-11-20\n---\nThe code is 4711.\n"
    memory = place({"memory/guest.md": text, "elsewhere.md": text}, now=now)
    memory.index()
    now.set("2026-11-22T12:00:00")
    file = tmp_path / "notes/memory/guest.md"
    file.unlink()
    file.symlink_to(tmp_path / "notes/elsewhere.md")
    ((path, reason),) = memory._index.runner.sweeper.sweep(["memory/guest.md"])
    assert path == "memory/guest.md"
    assert reason.startswith("it is expired and could not be deleted: ")
    assert (tmp_path / "notes/elsewhere.md").read_text() == text


def test_background_runs_sweep_as_well(place, tmp_path):
    now = Moment("2026-11-20T12:00:00")
    memory = place(
        {"memory/guest.md": "---\nexpires: 2026-11-20\n---\nThe code is 4711.\n"}, now=now
    )
    memory.index()
    assert memory._index.refresh() is None
    now.set("2026-11-22T12:00:00")
    assert memory._index.refresh().removed == 1
    assert memory._index.refresh() is None
    assert not (tmp_path / "notes/memory/guest.md").exists()


def test_a_note_that_expired_since_answers_about_then(place):
    now = Moment("2026-11-20T12:00:00")
    memory = place({"MEMORY.md": "- The house is blue.\n"}, now=now)
    note = "---\nexpires: 2026-11-21\ntags: [wifi]\n---\n- The guest code is 4711.\n"
    memory.write("memory/guest.md", note)
    memory.index()
    now.set("2026-11-25T12:00:00")
    for _ in ("before the sweep", "after it"):
        (then,) = memory.search("wifi", as_of="2026-11-20", paths=["memory/"])
        assert (then.path, then.metadata["tags"]) == ("memory/guest.md", ["wifi"])
        assert memory.search("wifi", as_of="2026-11-22", paths=["memory/"], min_score=0) == []
        assert memory.search("wifi", paths=["memory/"], min_score=0) == []
        memory.index()
    assert memory.history("memory/guest.md")[0].change == "expire"


# -- paths -----------------------------------------------------------------------------------------

FILES = {
    "MEMORY.md": "# Memory\n\n- The harbour is in town.\n",
    "memory/2026-11-20.md": "# 2026-11-20\n\n- Saw the harbour.\n",
    "memory/work/ports.md": "# Ports\n\n- The harbour has two gates.\n- Gate A is red.\n",
    "memory/work/old/ports.md": "# Ports\n\n- The harbour had one gate.\n",
    "memory/workshop.md": "# Workshop\n\n- Tools for the harbour.\n",
}


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["MEMORY.md"], ["MEMORY.md"]),
        (["memory/workshop", "MEMORY", "memory/work/port"], []),
        (["memory/work*"], ["memory/workshop.md"]),
        (
            ["memory/work"],
            ["memory/work/old/ports.md", "memory/work/ports.md"],
        ),
        (["./memory/work/"], ["memory/work/old/ports.md", "memory/work/ports.md"]),
        (["memory/*.md"], ["memory/2026-11-20.md", "memory/workshop.md"]),
        (["memory/**/ports.md"], ["memory/work/old/ports.md", "memory/work/ports.md"]),
        (("memory/2026-*", "MEMORY.md"), ["MEMORY.md", "memory/2026-11-20.md"]),
        ({"sessions/"}, []),
        ([], []),
    ],
)
@pytest.mark.parametrize("embedder", [None, HashedWords()], ids=["keywords", "vectors"])
def test_paths_are_files_folders_and_globs(place, embedder, patterns, expected):
    memory = place(FILES, embedder=embedder)
    found = memory.search("harbour", paths=patterns, min_score=0)
    assert sorted({hit.path for hit in found}) == expected


@pytest.mark.parametrize("embedder", [None, HashedWords()], ids=["keywords", "vectors"])
def test_a_search_within_paths_is_that_of_a_memory_with_these_files_alone(
    place, tmp_path, embedder
):
    noise = {f"memory/x{n}.md": f"# {n}\n\n- The gate of the harbour, {n}.\n" for n in range(40)}
    memory = place(FILES | noise, embedder=embedder)
    memory.index()
    within = memory.search("which gate has the harbour?", paths=["memory/work/"], explain=True)
    for path in [*noise, *FILES]:
        if not path.startswith("memory/work/"):
            (tmp_path / "notes" / path).unlink()
    alone = place({}, embedder=embedder, index="other.sqlite")
    assert list(within) == list(alone.search("which gate has the harbour?", explain=True))
    assert within


@pytest.mark.slow
def test_terms_weigh_what_they_weigh_within_the_paths(place, tmp_path):
    draw = random.Random(3)
    words = [f"w{one}{two}" for one in "abcdefghijklmnop" for two in "xyz"]
    common = [1 / (at + 1) for at in range(len(words))]

    def note(weights, most):
        lines = (
            "- " + " ".join(draw.choices(words, weights, k=draw.randrange(5, 60))) + "\n\n"
            for _ in range(draw.randrange(most // 8, most))
        )
        return "# Words\n\n" + "".join(lines)

    inside = {f"memory/in/{number}.md": note(common, 40) for number in range(60)}
    outside = {f"memory/out/{number}.md": note(common[::-1], 9) for number in range(120)}
    questions = [" ".join(draw.choices(words, common, k=4)) for _ in range(8)]
    memory = place(inside | outside)
    within = [list(memory.search(question, paths=["memory/in"])) for question in questions]
    shutil.rmtree(tmp_path / "notes/memory/out")
    alone = place({}, index="other.sqlite")
    assert within == [list(alone.search(question)) for question in questions]
    assert all(within)


def test_paths_select_among_sessions(place, tmp_path):
    settings = replace(QUIET, sessions=SessionsSettings(enabled=True, path=str(tmp_path / "talks")))
    (tmp_path / "talks").mkdir()
    for name in "ab":
        said = {"role": "user", "content": f"The harbour of {name}."}
        (tmp_path / "talks" / f"{name}.jsonl").write_text(json.dumps(said) + "\n")
    memory = place(FILES, settings=settings)
    found = {hit.path for hit in memory.search("harbour", paths=["sessions/"])}
    assert found == {"sessions/a.jsonl", "sessions/b.jsonl"}
    both = memory.search("harbour", paths=["sessions/a*", "MEMORY.md"])
    assert {hit.path for hit in both} == {"sessions/a.jsonl", "MEMORY.md"}
    assert memory.search("harbour", paths=["sessions/"], sources=["memory"]) == []


def test_many_wildcards_are_matched_at_once(place):
    deep = "memory/" + "d/" * 40
    memory = place({deep + "ports.md": "The harbour.\n", deep + "a" * 200 + ".md": "A harbour.\n"})
    for pattern, name in [
        ("memory/" + "**/" * 60 + "x.md", None),
        ("memory/" + "**/" * 60 + "ports.md", "ports.md"),
        ("**d" * 60 + "**", None),
        ("**d" * 30 + "**/ports.md", "ports.md"),
        ("memory/**/" + "*a" * 60 + "b.md", None),
        ("memory/**/" + "*a" * 60 + "*.md", "a" * 200 + ".md"),
    ]:
        found = {hit.path for hit in memory.search("harbour", paths=[pattern], min_score=0)}
        assert found == ({deep + name} if name else set()), pattern


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("memory/", "paths is 'memory/'; it takes a list of files, folders or globs"),
        ([b"memory/"], "it takes a list of files, folders or globs"),
        ([""], "paths holds ''; paths are relative to the workspace"),
        (["/etc/"], "paths holds '/etc/'; paths are relative to the workspace"),
        (["memory\\work"], "have forward slashes"),
        (["memory/[z-a].md"], r"paths holds 'memory/\[z-a\].md', which is no glob: bad char"),
    ],
)
def test_a_path_that_can_match_nothing_is_an_error(place, wrong, reason):
    memory = place(FILES)
    with pytest.raises(ValueError, match=reason) as caught:
        memory.search("harbour", paths=wrong)
    assert not isinstance(caught.value, CommonplaceError)
