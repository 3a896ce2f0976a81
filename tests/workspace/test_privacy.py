"""What is the user's alone is decided by what a file is, not by its name."""

import os

import pytest

from commonplace.agent.visibility import SharedMemory
from commonplace.errors import PathNotAllowedError
from commonplace.settings import Settings
from commonplace.tools import get_answer, search_answer
from support.notes import Notes

SAID = [{"role": "user", "content": "my zebra is for nobody else"}]


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path)


@pytest.fixture
def memory(notes):
    with notes.open(settings=Settings()) as memory:
        memory.index()
        yield memory


def found(memory, query, **options):
    return [hit.path for hit in SharedMemory(memory).search(query, min_score=0, **options)]


def test_the_note_of_a_session_is_the_users_alone(memory):
    path = memory.write_session_note(SAID, slug="zebra")
    memory.append("- A zebra is striped.")
    assert path in {hit.path for hit in memory.search("zebra", min_score=0)}
    assert found(memory, "zebra") == ["memory/2026-11-20.md"]
    with pytest.raises(PathNotAllowedError, match="the user's alone"):
        get_answer(memory, {"path": path}, private=False)
    with pytest.raises(PathNotAllowedError, match="the user's alone"):
        get_answer(memory, {"path": f"{path}#L1-L3"}, private=False)
    answer = search_answer(memory, {"query": "zebra", "minScore": 0}, private=False)
    assert "nobody else" not in str(answer)


@pytest.mark.slow
def test_notes_of_sessions_never_hide_what_is_shared(memory):
    for number in range(40):
        memory.write_session_note(SAID, slug=f"zebra-{number}")
    memory.append("- The zebra is in the zoo of the city.")
    assert found(memory, "zebra", max_results=3) == ["memory/2026-11-20.md"]


def test_a_note_of_a_session_under_another_name_is_one(memory):
    path = memory.write_session_note(SAID, slug="zebra")
    memory.move(path, "memory/animals/striped.md")
    assert found(memory, "zebra") == []


@pytest.mark.skipif(os.name == "nt", reason="hard links of notes are for POSIX")
def test_a_hard_link_of_the_long_term_file_is_the_users_alone(memory, notes):
    for name in ("linked.md", "2026-11-20-x.md"):
        os.link(notes.root / "MEMORY.md", notes.root / "memory" / name)
        with pytest.raises(PathNotAllowedError, match="the user's alone"):
            get_answer(memory, {"path": f"memory/{name}"}, private=False)
    log = notes.root / "memory/2026-11-20.md"
    log.unlink()
    os.link(notes.root / "MEMORY.md", log)
    memory.index()
    assert "51820" not in memory.startup_context(private=False)
    assert found(memory, "VPN port") == []


def test_a_note_that_is_gone_is_not_shown_from_the_index(memory, notes):
    path = memory.write_session_note(SAID, slug="zebra")
    (notes.root / path).unlink()
    assert found(memory, "zebra") == []


@pytest.mark.slow
def test_a_long_term_file_of_many_lines_hides_no_log(notes):
    text = "".join(f"- The VPN port of part {number} is {number}.\n" for number in range(20_000))
    notes.write("MEMORY.md", "# Long term\n\n" + text)
    notes.write("memory/2026-11-18.md", "# 2026-11-18\n\n- The VPN port is secret.\n")
    with notes.open(settings=Settings()) as memory:
        memory.index()
        shown = found(memory, "VPN port of part 7")
        assert set(shown) == {"memory/2026-11-18.md", "memory/2026-11-20.md"}


def test_files_that_are_excluded_are_neither_counted_nor_shown(memory):
    hits = memory.search("VPN port", exclude=["MEMORY.md"], min_score=0)
    assert {hit.path for hit in hits} == {"memory/2026-11-20.md"}
