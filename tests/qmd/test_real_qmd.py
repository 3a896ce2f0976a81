"""QMD itself as the search backend, where ``QMD_COMMAND`` names it: `.ci/full` installs 2.8.3.

Its vectors are those of a GGUF file of fixed random weights: the way is tried, not the quality.
"""

from __future__ import annotations

import os
import signal
import time

import pytest

from commonplace import Memory, Settings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.processes,
    pytest.mark.timeout(300),
    pytest.mark.skipif("QMD_COMMAND" not in os.environ, reason="QMD_COMMAND names no QMD"),
]


def settings(mode="search", *, timeout_s=4.0):
    return Settings.from_mapping(
        {
            "search": {"backend": "qmd"},
            "qmd": {"command": os.environ["QMD_COMMAND"], "mode": mode, "timeout_s": timeout_s},
            "sync": {"on_open": False, "on_search": False},
        }
    )


@pytest.fixture(autouse=True)
def outside_ci(monkeypatch):
    """QMD answers no question of its models where it takes the machine for one of a CI."""
    monkeypatch.delenv("CI", raising=False)


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    (folder / "memory" / "Größe (v1)").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Memory\n\n- The VPN listens on port 51820.\n")
    (folder / "USER.md").write_text("- Ines drinks tea.\n")
    filler = "".join(f"- We spoke of boats, {i} of them.\n" for i in range(120))
    log = f"# 2026-11-20\n\n{filler}- The printer is on port 9100.\n"
    (folder / "memory" / "2026-11-20.md").write_text(log)
    (folder / "memory" / "Größe (v1)" / "名前 – x.md").write_text("- 金曜日の会議は十時に。\n")
    (folder / "memory" / ".hidden.md").write_text("- A walrus hides.\n")
    return folder


def notice(results):
    return (results.fallback or "").partition("; ")[2]


def answered(memory, question, *, deadline_s=60):
    """Search until QMD has answered: it may start slowly on a machine with much to do."""
    until = time.monotonic() + deadline_s
    while True:
        began = time.monotonic()
        found = memory.search(question)
        assert time.monotonic() - began < 8, "a search spends at most 4 s on QMD"
        if not notice(found) or time.monotonic() > until:
            return found
        memory._qmd._retry_at = 0
        time.sleep(0.2)


def test_qmd_finds_places_and_is_used_again_after_it_was_killed_and_hung(notes):
    with Memory.open(notes, settings=settings(), embedder=None) as memory:
        memory.index()
        assert "QMD" not in "\n".join(memory.status().warnings)
        found = answered(memory, "which port does the printer use?")
        assert (found[0].path, notice(found)) == ("memory/2026-11-20.md", "")
        assert "9100" in found[0].snippet
        for question, path in (
            ("VPN", "MEMORY.md"),
            ("what does Ines drink?", "USER.md"),
            ("金曜日の会議", "memory/Größe (v1)/名前 – x.md"),
        ):
            found = answered(memory, question)
            assert (found[0].path, notice(found)) == (path, "")
        assert "server 2.8.3" in memory.status().details["qmd"]
        assert memory.search("walrus")[0].path == "memory/.hidden.md"  # QMD skips it
        assert memory.search('"unbalanced -VPN "quote')[0].path == "MEMORY.md"
        (notes / "memory" / "new.md").write_text("- The giraffe has a port.\n")
        memory.index()
        found = answered(memory, "giraffe")
        assert (found[0].path, notice(found)) == ("memory/new.md", "")
        # Killed: the next answer is the own index's, and says so; the one after a while is QMD's.
        process = memory._qmd._server.process
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
        found = memory.search("VPN")
        assert found[0].path == "MEMORY.md"
        assert "'qmd mcp' ended (-9)" in found.fallback
        assert notice(answered(memory, "VPN")) == ""
        # Hung: 4 s, once; it is used again when it goes on.
        group = memory._qmd._server.process.pid
        os.killpg(group, signal.SIGSTOP)
        began = time.monotonic()
        assert "did not answer within 4 s" in memory.search("VPN port").fallback
        first = time.monotonic() - began
        began = time.monotonic()
        memory.search("VPN port")
        assert time.monotonic() - began < first
        os.killpg(group, signal.SIGCONT)
        assert notice(answered(memory, "VPN")) == ""
        assert memory._qmd._server.process.pid == group


def test_qmd_finds_by_vectors_and_says_that_it_has_none_without_its_model(notes, monkeypatch):
    tiny_gguf = pytest.importorskip("support.tiny_gguf")
    model = tiny_gguf.write_model(notes.parent / "tiny.gguf")
    monkeypatch.setenv("QMD_EMBED_MODEL", str(model))
    with Memory.open(notes, settings=settings("query"), embedder=None) as memory:
        memory.index()
        assert memory._qmd.index.state.note is None
        found = answered(memory, "which port does the printer use?", deadline_s=120)
        assert (found[0].path, notice(found)) == ("memory/2026-11-20.md", "")
    with Memory.open(notes, settings=settings("vsearch"), embedder=None) as memory:
        found = answered(memory, "VPN port", deadline_s=120)
        assert notice(found) == ""
        assert found
    model.unlink()
    with Memory.open(notes, settings=settings("vsearch"), embedder=None) as memory:
        began = time.monotonic()
        found = memory.search("VPN port")
        assert time.monotonic() - began < 8
        assert found[0].path == "MEMORY.md"
        assert "the own index answered, not QMD" in found.fallback


def test_the_command_line_answers_the_same(notes):
    with Memory.open(notes, settings=settings(), embedder=None) as memory:
        memory.index()
        by_server = [hit.citation for hit in answered(memory, "which port does the VPN use?")]
        memory._qmd.close()
        memory._qmd._no_server_until = float("inf")
        found = answered(memory, "which port does the VPN use?")
        assert [hit.citation for hit in found] == by_server
        assert memory._qmd._server is None
