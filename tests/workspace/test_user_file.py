"""USER.md is a second long-term file where it exists, the user's alone; DREAMS.md is no note."""

from __future__ import annotations

from commonplace import Memory, PathNotAllowedError, Settings
from commonplace.tools import get_answer, search_answer


def test_user_md_is_a_second_long_term_file_and_dreams_md_is_left_out(tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / "MEMORY.md").write_text("- The whale is blue.\n")
    with Memory.open(tmp_path, embedder=None) as memory:
        assert memory.paths() == ["MEMORY.md"]
        assert memory.get("USER.md").status == "not_found"
        (tmp_path / "USER.md").write_text("- Ines calls the whale Moby.\n")
        for dreams in (tmp_path / "DREAMS.md", tmp_path / "memory" / "dreams.md"):
            dreams.write_text("- A whale dreamt.\n")
        memory.index()
        assert memory.paths() == ["MEMORY.md", "USER.md"]
        assert {hit.path for hit in memory.search("whale")} == {"MEMORY.md", "USER.md"}
        text = memory.startup_context()
        assert text.index("The whale is blue") < text.index("Ines calls the whale Moby")
        assert "dreamt" not in text
        assert "whale" not in memory.startup_context(private=False)
        # It is the user's alone.
        assert search_answer(memory, {"query": "whale"}, private=False)["results"] == []
        for path in ("USER.md", "DREAMS.md", "memory/dreams.md"):
            try:
                get_answer(memory, {"path": path}, private=False)
            except PathNotAllowedError:
                continue
            raise AssertionError(path)
        # An answer that cites it can be corrected.
        memory.correct("USER.md#L1", "- Ines calls it Dick.")
        assert memory.get("USER.md").text.startswith("- ~~Ines calls the whale Moby.~~")
        assert memory.verify().ok


def test_openclaws_build_knows_neither(tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / "USER.md").write_text("- A whale.\n")
    (tmp_path / "memory" / "DREAMS.md").write_text("- A whale dreamt.\n")
    with Memory.open(tmp_path, settings=Settings.openclaw(), embedder=None) as memory:
        memory.index()
        assert memory.paths() == ["memory/DREAMS.md"]
