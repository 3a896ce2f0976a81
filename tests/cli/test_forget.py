"""The command that forgets for good: it shows what would go, and asks."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

MEMORY = "# Memory\n\n- The VPN listens on 51820.\n- Ann lives at 12 Elm Street.\n"


def holding(folder, text):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if text.encode() in path.read_bytes()]


def test_a_dry_run_lists_what_would_go_and_leaves_it(run, notes):
    result = run("forget", "--text", "12 Elm Street", "--dry-run")
    assert result.exit_code == 0, result.stderr
    assert "lines would go: 1\n" in result.stdout
    assert "\n  MEMORY.md#L4\n" in result.stdout
    assert "Elm" not in result.stdout
    assert (notes / "MEMORY.md").read_text() == MEMORY
    payload = json.loads(run("forget", "--citation", "MEMORY.md#L4", "--dry-run", "--json").stdout)
    assert payload["dry_run"] is True
    assert payload["places"] == ["MEMORY.md#L4"]


def test_what_is_forgotten_is_in_no_file_any_more(run, notes, tmp_path):
    run("edit", "MEMORY.md", "12 Elm Street.", "12 Elm Street, Otterbach.")
    assert run("index").exit_code == 0
    assert holding(tmp_path, "12 Elm Street")
    payload = json.loads(run("forget", "--text", "12 Elm Street", "--yes", "--json").stdout)
    assert payload["dry_run"] is False
    assert payload["removed"]["lines"] == 1
    assert holding(tmp_path, "12 Elm Street") == []
    assert (notes / "MEMORY.md").read_text() == "# Memory\n\n- The VPN listens on 51820.\n"


def test_a_note_is_forgotten_with_its_history(run, notes, tmp_path):
    assert run("index").exit_code == 0
    result = run("forget", "--path", "MEMORY.md", "--yes")
    assert result.exit_code == 0, result.stderr
    assert "forgotten" in result.stdout
    assert holding(tmp_path, "51820") == []


def test_without_a_terminal_it_asks_for_yes(run, notes):
    result = run("forget", "--text", "12 Elm Street")
    assert result.exit_code == 1
    assert result.stderr.startswith("commonplace: nothing was forgotten: give --yes to forget")
    assert (notes / "MEMORY.md").read_text() == MEMORY


@pytest.mark.parametrize("arguments", [[], ["--path", "MEMORY.md", "--text", "x"]])
def test_one_thing_is_forgotten_at_a_time(run, notes, arguments):
    result = run("forget", *arguments, "--yes")
    assert result.exit_code == 2
    assert "give one of --path, --citation, --text, --session." in result.stderr
    assert (notes / "MEMORY.md").read_text() == MEMORY


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--text", ""], "not an empty one"),
        (["--citation", "MEMORY.md#L99"], "MEMORY.md"),
        (["--citation", "MEMORY.md"], "no citation"),
        (["--path", "../x.md"], "Allowed are MEMORY.md and memory/**/*.md"),
    ],
)
def test_what_cannot_be_forgotten_is_said_in_one_line(run, notes, arguments, reason):
    result = run("forget", *arguments, "--yes")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert reason in result.stderr
    assert (notes / "MEMORY.md").read_text() == MEMORY


def test_what_is_nowhere_is_no_error(run):
    result = run("forget", "--text", "no such text", "--yes")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "commonplace: nothing was found to forget\n"


@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("said", "remains"), [("n", True), ("y", False)])
def test_on_a_terminal_it_shows_what_would_go_and_asks(notes, said, remains):
    import pty

    leader, follower = pty.openpty()
    line = [sys.executable, "-m", "commonplace", "-w", str(notes), "--embedder", "none"]
    line += ["forget", "--text", "12 Elm Street"]
    shown = b""
    with subprocess.Popen(line, stdout=follower, stderr=follower, stdin=follower) as process:
        os.close(follower)
        try:
            while part := os.read(leader, 65_536):
                shown += part
                if part.rstrip().endswith(b"[y/N]:"):
                    os.write(leader, said.encode() + b"\n")
        except OSError:  # Linux says so that the other end is closed
            pass
        status = process.wait(timeout=60)
    os.close(leader)
    text = shown.decode()
    assert text.index("MEMORY.md#L4") < text.index("Forget this for good? [y/N]:")
    assert status == (1 if remains else 0)
    assert ("12 Elm Street" in (notes / "MEMORY.md").read_text()) is remains
