"""QMD as the search backend, against a program that stands in for it and does all kinds of wrong.

`tests/qmd/test_real_qmd.py` runs the same against QMD itself.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from commonplace import Memory, Settings, SettingsError
from commonplace.agent.visibility import visible_memory
from commonplace.cli.app import app
from commonplace.settings import QmdSettings, SearchSettings, SyncSettings

pytestmark = pytest.mark.processes

STAND_IN = Path(__file__).parents[1] / "support" / "qmd_stand_in.py"
COMMAND = shlex.join([sys.executable, "-S", "-E", str(STAND_IN)])


@pytest.fixture
def fault(tmp_path, monkeypatch):
    """The file that says what QMD does wrong."""
    path = tmp_path / "fault"
    monkeypatch.setenv("STAND_IN", str(path))
    return path


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Memory\n\n- The VPN listens on port 51820.\n")
    filler = "".join(f"- We spoke of boats, {i} of them.\n" for i in range(120))
    log = f"# 2026-11-20\n\n{filler}- The printer is on port 9100.\n"
    (folder / "memory" / "2026-11-20.md").write_text(log)
    (folder / "memory" / "garden.md").write_text("# Garden\n\n- Roses by the gate.\n")
    (tmp_path / "secret.md").write_text("- The port of the vault is 666.\n")
    return folder


def open_memory(folder, *, profile="default", **qmd):
    return Memory.open(
        folder,
        settings=Settings(
            profile=profile,
            search=SearchSettings(
                backend="qmd", **({"unit": "chunk"} if profile == "openclaw" else {})
            ),
            qmd=QmdSettings(**{"command": COMMAND, "timeout_s": 20.0, "refresh": 0} | qmd),
            sync=SyncSettings(on_open=False, on_search=False),
        ),
        embedder=None,
    )


def asked(fault):
    """What QMD was asked, by its server and by its command line."""
    log = fault.with_suffix(".log")
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def cited(results):
    return [hit.citation for hit in results]


def notice(results):
    """What an answer says besides that it is by words."""
    return results.fallback.partition("; ")[2]


def test_places_come_from_qmd_and_lines_and_filters_from_the_index(notes, fault):
    with open_memory(notes) as memory:
        assert (
            "its index is not made yet: run 'commonplace index'" in memory.search("port").fallback
        )
        assert "its index is not made yet" in "\n".join(memory.status().warnings)
        memory.index()
        found = memory.search("which port does the printer use?")
        assert notice(found) == ""
        assert found[0].path == "memory/2026-11-20.md"
        assert "The printer is on port 9100." in found[0].snippet
        assert found[0].start_line <= 123 <= found[0].end_line
        assert 0 < found[0].score <= 1
        (question,) = [it[0] for it in asked(fault) if isinstance(it[0], dict)]
        assert question["rerank"] is False
        assert {it["type"] for it in question["searches"]} == {"lex"}
        assert question["searches"][0]["query"] == "printer"  # the rarest word, first
        assert question["limit"] == 20
        # What QMD has not read yet is found by the index.
        memory.append("- A giraffe uses port 7.")
        assert "giraffe" in memory.search("giraffe port")[0].snippet
        # Filters hold over its places.
        assert {hit.path for hit in memory.search("port", paths=["memory/2026-11-20.md"])} == {
            "memory/2026-11-20.md"
        }
        assert memory.search("port", exclude=["MEMORY.md"], paths=["MEMORY.md"]) == []
        assert all(hit.path != "MEMORY.md" for hit in memory.search("port", after="2026-11-01"))
        shared = visible_memory(memory, private=False).search("port VPN")
        assert shared
        assert "51820" not in "".join(hit.snippet for hit in shared)
        assert "it knows no past" in memory.search("port", as_of="2999-01-01").fallback
        before = len(asked(fault))
        assert memory.search("port", sources=["sessions"]) == []
        assert len(asked(fault)) == before
        assert "server 2.8.3, 2 collections" in memory.status().details["qmd"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("garbage", "QMD answered 'not JSON', which is not the form of QMD 2.8.3"),
        ("dies", "'qmd query' failed with 1: Segmentation fault"),
        ("dies in the middle", 'QMD answered \'{"jsonrpc": "2.0", "id"\', which is not the form'),
        ("refuses", "QMD refused the question: Lex query has an unmatched double quote"),
        ("another version", "which is not the form of QMD 2.8.3; install that version"),
        ("another form", "which is not the form of QMD 2.8.3; install that version"),
        ("odd values", "which is not the form of QMD 2.8.3; install that version"),
        ("odd types", "which is not the form of QMD 2.8.3; install that version"),
    ],
)
def test_a_failure_is_answered_by_the_own_index_aloud_and_qmd_is_tried_again(
    notes, fault, wrong, said
):
    with open_memory(notes) as memory:
        memory.index()
        fault.write_text(wrong)
        found = memory.search("which port does the VPN use?")
        assert cited(found)[0] == "MEMORY.md#L1-L3"
        assert notice(found).startswith("the own index answered, not QMD: ")
        assert said in found.fallback
        assert "it is tried again in 5 s" in found.fallback
        assert said in "\n".join(memory.status().warnings)
        # The circuit is open: QMD is left alone, and each answer still says why.
        fault.write_text("")
        before = len(asked(fault))
        assert said in memory.search("port").fallback
        assert len(asked(fault)) == before
        memory._qmd._retry_at = memory._qmd._no_server_until = 0
        assert notice(memory.search("which port does the VPN use?")) == ""
        assert "not QMD" not in "\n".join(memory.status().warnings)


@pytest.mark.slow
def test_the_delay_before_qmd_is_tried_again_doubles_up_to_five_minutes(notes, fault):
    with open_memory(notes) as memory:
        memory.index()
        fault.write_text("refuses")
        delays = []
        for _ in range(8):
            memory._qmd._retry_at = 0
            delays.append(memory.search("port").fallback.rpartition(" in ")[2])
        assert delays == ["5 s", "10 s", "20 s", "40 s", "80 s", "160 s", "300 s", "300 s"]


@pytest.mark.slow
def test_a_server_that_hangs_takes_the_deadline_once_and_is_used_when_it_answers(notes, fault):
    with open_memory(notes) as memory:
        memory.index()
        memory.search("port")  # it runs
        fault.write_text("hangs on questions")
        memory._qmd._settings = QmdSettings(command=COMMAND, timeout_s=0.5, refresh=0)
        began = time.monotonic()
        assert "it did not answer within 0.5 s" in memory.search("VPN port").fallback
        waited = time.monotonic() - began
        assert waited < 4
        began = time.monotonic()
        assert cited(memory.search("VPN port"))[0] == "MEMORY.md#L1-L3"
        assert time.monotonic() - began < max(0.4, waited)  # nobody waits for it a second time
        process = memory._qmd._server.process
        memory._qmd._settings = QmdSettings(command=COMMAND, timeout_s=20, refresh=0)
        fault.write_text("")
        deadline = time.monotonic() + 20
        while notice(memory.search("VPN port")) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert notice(memory.search("VPN port")) == ""
        assert memory._qmd._server.process is process
        # One that hangs for good is ended.
        fault.write_text("hangs on questions")
        memory._qmd._settings = QmdSettings(command=COMMAND, timeout_s=0.2, refresh=0)
        memory.search("VPN port")
        number, since = memory._qmd._server._open
        memory._qmd._server._open = number, since - 31
        assert "and was ended; it is tried again in 5 s" in memory.search("VPN port").fallback
        assert process.wait(5) is not None


def test_without_a_server_its_command_line_answers(notes, fault):
    fault.write_text("no server")
    with open_memory(notes) as memory:
        memory.index()
        found = memory.search("which port does the printer use?")
        assert (found[0].path, notice(found)) == ("memory/2026-11-20.md", "")
        assert memory.search("printer")[0].path == "memory/2026-11-20.md"
        commands = [it[0] for it in asked(fault)]
        assert commands.count("mcp") == 1  # it is not started for each search
        (first, _) = [it for it in asked(fault) if it[0] == "query"]
        assert first[1].startswith("lex: printer\nlex: ")
        assert "--no-rerank" in first


@pytest.mark.parametrize("profile", ["default", "openclaw"])
def test_places_outside_of_the_memory_and_wrong_lines_are_dropped(notes, fault, profile):
    with open_memory(notes, profile=profile) as memory:
        memory.index()
        fault.write_text("lies")
        found = memory.search("VPN")
        assert notice(found) == ""
        assert [hit.path for hit in found] == ["MEMORY.md"]
        assert "51820" in found[0].snippet
        assert "666" not in "".join(hit.snippet for hit in memory.search("port"))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/nowhere/qmd", "there is no program '/nowhere/qmd' (qmd.command): install QMD with 'npm"),
        ("qmd 'x", "which no shell reads: No closing quotation"),
        ("{script}", "'qmd collection' failed with 127"),  # a script whose interpreter is missing
    ],
)
def test_a_program_that_is_not_there_or_has_no_node_is_said_and_the_own_index_answers(
    notes, fault, tmp_path, command, said
):
    script = tmp_path / "qmd"
    script.write_text("#!/usr/bin/env no-node-here\n")
    script.chmod(0o755)
    with open_memory(notes, command=command.format(script=script)) as memory:
        memory.index()
        found = memory.search("VPN port")
        assert cited(found)[0] == "MEMORY.md#L1-L3"
        assert said in found.fallback
        assert said in "\n".join(memory.status().warnings)


def test_a_program_that_is_not_there_is_said_before_anything_about_its_index(notes, fault):
    with open_memory(notes, command="no-such-qmd", refresh=5) as memory:
        for _ in range(2):
            said = notice(memory.search("VPN port"))
            assert said.startswith("the own index answered, not QMD: there is no program")
            assert "npm install -g @tobilu/qmd" in said


@pytest.mark.slow
def test_an_update_runs_in_the_background_and_ends_with_the_memory(notes, fault):
    fault.write_text("update hangs")
    with open_memory(notes, refresh=5) as memory:
        assert "its index is being made" in memory.search("VPN port").fallback
        deadline = time.monotonic() + 20
        while not any(it[0] == "update" for it in asked(fault)) and time.monotonic() < deadline:
            time.sleep(0.02)
        process = memory._qmd.index._process
        began = time.monotonic()
    assert time.monotonic() - began < 3
    assert process.wait(5) is not None
    fault.write_text("")
    with open_memory(notes, refresh=5) as memory:
        memory.search("VPN port")
        memory._qmd.index._thread.join(20)
        assert notice(memory.search("VPN port")) == ""


@pytest.mark.slow
def test_what_is_forgotten_leaves_qmds_index_too(notes, fault):
    with open_memory(notes) as memory:
        memory.index()
        memory.search("printer")
        home = memory.state.qmd
        assert any(b"9100" in path.read_bytes() for path in home.rglob("*") if path.is_file())
        memory.forget(text="The printer is on port 9100.")
        assert not any(b"9100" in path.read_bytes() for path in home.rglob("*") if path.is_file())
        memory.index()
        assert notice(memory.search("VPN port")) == ""


def test_the_command_line_says_who_answered_and_searches_without_an_update(
    notes, fault, tmp_path, monkeypatch
):
    file = tmp_path / "commonplace.toml"
    file.write_text(f'[search]\nbackend = "qmd"\n[qmd]\nrefresh = 0\ncommand = {COMMAND!r}\n')
    monkeypatch.setenv("COMMONPLACE_CONFIG", str(file))

    def run(*command):
        done = CliRunner().invoke(app, ["-w", str(notes), "--embedder", "none", *command])
        assert done.exit_code == 0, done.output
        return done

    shown = run("search", "VPN port")
    assert "MEMORY.md#L1-L3" in shown.stdout
    said = "the own index answered, not QMD: its index is not made yet"
    assert " ".join(shown.stderr.split()).count(said) == 1
    assert asked(fault) == []
    run("index")
    assert "QMD" not in run("search", "VPN port").stderr
    assert "2 collections, updated 0 min ago" in run("status").stdout


def test_collections_are_files_and_folders_of_the_memory(notes, fault):
    with open_memory(notes, collections=("memory/garden.md",)) as memory:
        memory.index()
        (added,) = [it for it in asked(fault) if it[:2] == ["collection", "add"]]
        assert added[2:] == [str(notes / "memory"), "--name", "1-garden", "--mask", "garden.md"]
        found = memory.search("roses")
        assert (cited(found), notice(found)) == (["memory/garden.md#L1-L3"], "")
        assert any("51820" in hit.snippet for hit in memory.search("roses VPN"))
    with pytest.raises(SettingsError, match=r"'\.\./secret\.md', which is not of the memory"):
        open_memory(notes, collections=("../secret.md",))
