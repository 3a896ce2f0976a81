"""Commands that change notes, and those that show what they were: `history`, `blame`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import date

import pytest

MEMORY = "# Memory\n\n- The VPN listens on port 1194.\n- Ada prefers tea.\n- Ada prefers tea.\n"
TODAY = date.today().isoformat()  # noqa: DTZ011 - as the command line does


def done(result):
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def failed(result):
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


def in_terminal(notes, *arguments):
    """Run the command with a pseudo-terminal as its output; return what it shows."""
    import pty

    leader, follower = pty.openpty()
    line = [sys.executable, "-m", "commonplace", "-w", str(notes), "--embedder", "none", *arguments]
    with subprocess.Popen(line, stdout=follower, stderr=follower, stdin=follower) as process:
        os.close(follower)
        shown = b""
        try:
            while part := os.read(leader, 65_536):
                shown += part
        except OSError:  # Linux says so that the other end is closed
            pass
        assert process.wait(timeout=60) == 0, shown.decode()
    os.close(leader)
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).replace("\r\n", "\n")


def test_a_passage_is_replaced_and_taken_back(run, notes):
    assert (
        done(run("edit", "MEMORY.md", "port 1194", "port 51820")) == "MEMORY.md  edit  version 2\n"
    )
    assert "port 51820" in (notes / "MEMORY.md").read_text()
    assert "51820" in run("search", "VPN").stdout
    assert done(run("undo", "2")) == "MEMORY.md  undo  version 3\n"
    assert (notes / "MEMORY.md").read_text() == MEMORY


def test_a_passage_from_standard_input_has_no_line_end_of_its_own(run, notes):
    done(run("edit", "MEMORY.md", "port 1194", "-", stdin=b"port 51820\n"))
    assert (notes / "MEMORY.md").read_text() == MEMORY.replace("port 1194", "port 51820")
    told = failed(run("edit", "MEMORY.md", "port 51820", "-", stdin=b""))
    assert "standard input is empty" in told


def test_passages_may_begin_with_a_dash_and_come_from_standard_input(run, notes):
    done(run("edit", "MEMORY.md", "- The VPN listens on port 1194.\n", ""))
    assert "VPN" not in (notes / "MEMORY.md").read_text()
    done(run("edit", "MEMORY.md", "# Memory\n", "-", stdin="# Memory\r\n\n- The VPN: 51820.\n"))
    assert (notes / "MEMORY.md").read_text().startswith("# Memory\n\n- The VPN: 51820.\n")


def test_a_wrong_line_is_corrected_with_a_link_each_way(run, notes):
    payload = json.loads(done(run("correct", "MEMORY.md#L3", "The VPN listens on 51820", "--json")))
    assert payload["change"] == "correct"
    assert "- ~~The VPN listens on port 1194.~~" in (notes / "MEMORY.md").read_text()
    log = (notes / f"memory/{TODAY}.md").read_text()
    assert "- The VPN listens on 51820" in log
    assert "../MEMORY.md#L3" in log
    done(run("undo", str(payload["id"])))
    assert (notes / "MEMORY.md").read_text() == MEMORY
    assert not (notes / f"memory/{TODAY}.md").exists()


def test_a_note_is_moved_deleted_and_brought_back(run, notes):
    moved = json.loads(done(run("mv", "MEMORY.md", "memory/all.md", "--json")))
    assert (moved["path"], moved["moved_from"]) == ("memory/all.md", "MEMORY.md")
    assert not (notes / "MEMORY.md").exists()
    deleted = json.loads(done(run("rm", "memory/all.md", "--json")))
    assert (deleted["change"], deleted["hash"], deleted["size"]) == ("delete", "", 0)
    done(run("undo", str(deleted["id"])))
    done(run("undo", str(moved["id"])))
    assert (notes / "MEMORY.md").read_text() == MEMORY


def test_the_history_is_listed_newest_first(run):
    done(run("edit", "MEMORY.md", "port 1194", "port 51820"))
    done(run("mv", "MEMORY.md", "memory/all.md"))
    lines = done(run("history")).splitlines()
    two = done(run("history", "--limit", "2")).splitlines()
    assert [line.split() for line in two] == [line.split() for line in lines[:2]]
    assert [line.split()[0] for line in lines] == ["3", "2", "1"]
    assert lines[0].endswith("move   user  MEMORY.md -> memory/all.md")
    assert re.fullmatch(r"2  \d{4}-\d\d-\d\d \d\d:\d\d  edit   user  MEMORY\.md", lines[1])
    assert re.fullmatch(r"1  \d{4}-\d\d-\d\d \d\d:\d\d  found        MEMORY\.md", lines[2])
    assert len(done(run("history", "memory/all.md", "--limit", "1")).splitlines()) == 1
    versions = json.loads(done(run("history", "memory/all.md", "--json")))["versions"]
    assert versions[0]["change"] == "move"
    assert set(versions[0]) >= {"id", "path", "when", "change", "origin", "size", "hash"}


def test_blame_says_which_change_each_line_came_with(run):
    done(run("edit", "MEMORY.md", "port 1194", "port 51820"))
    lines = done(run("blame", "MEMORY.md")).splitlines()
    assert re.fullmatch(r"3  2  \d{4}-\d\d-\d\d  user  - The VPN listens on port 51820\.", lines[2])
    found = json.loads(done(run("blame", "MEMORY.md", "--json")))
    assert found["path"] == "MEMORY.md"
    assert found["lines"][2]["version"]["id"] == 2
    assert found["lines"][2]["text"] == "- The VPN listens on port 51820."


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["edit", "MEMORY.md", "port 51820", "x"], "MEMORY.md#L3: - The VPN listens on port 1194."),
        (
            ["edit", "MEMORY.md", "tea", "x"],
            "stands 2 times in MEMORY.md: MEMORY.md#L4, MEMORY.md#L5",
        ),
        (["edit", "memory/none.md", "a", "b"], "there is no note memory/none.md"),
        (["correct", "MEMORY.md", "x"], "no citation"),
        (["correct", "MEMORY.md#L9", "x"], "MEMORY.md"),
        (["rm", "memory/none.md"], "there is no note memory/none.md"),
        (["rm", "../x.md"], "Allowed are MEMORY.md and memory/**/*.md"),
        (["mv", "MEMORY.md", "MEMORY.md"], "is there already"),
        (["undo", "77"], "there is no version 77"),
        (["blame", "memory/none.md"], "memory/none.md"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_and_changes_nothing(run, notes, arguments, reason):
    assert reason in failed(run(*arguments))
    assert [path.name for path in notes.rglob("*.md")] == ["MEMORY.md"]
    assert (notes / "MEMORY.md").read_text() == MEMORY


def test_blame_of_a_note_that_cannot_be_read_says_why(run, notes):
    (notes / "memory" / "large.md").write_bytes(b"x" * ((32 << 20) + 1))
    told = failed(run("blame", "memory/large.md"))
    assert "it has 32 MiB" in told
    assert "is empty" not in told


def test_without_a_history_nothing_is_said_of_taking_back(run, tmp_path):
    (tmp_path / "s.toml").write_text("[history]\nenabled = false\n")
    settings = ("--settings", str(tmp_path / "s.toml"))
    assert done(run(*settings, "edit", "MEMORY.md", "1194", "443")) == "MEMORY.md  edit\n"
    assert "there is no version" in failed(run(*settings, "undo", "1"))


def test_no_history_is_no_error(run):
    result = run("history", "MEMORY.md")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "commonplace: no changes of MEMORY.md are known\n"


def test_numbers_of_any_size_are_taken(run):
    done(run("edit", "MEMORY.md", "1194", "443"))
    every = done(run("history"))
    assert len(every.splitlines()) == 2
    assert done(run("history", "--limit", "9" * 20)) == every
    assert done(run("history", "MEMORY.md", "--limit", "9" * 20)) == every
    assert "there is no version 999" in failed(run("undo", "9" * 23))
    assert "there is no version -999" in failed(run("undo", "--", "-" + "9" * 23))


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_on_a_terminal_each_change_is_a_difference(notes):
    shown = in_terminal(notes, "edit", "MEMORY.md", "port 1194", "port 51820")
    assert "--- MEMORY.md\n+++ MEMORY.md\n@@ " in shown
    assert "\n-- The VPN listens on port 1194.\n+- The VPN listens on port 51820.\n" in shown
    assert "edit of MEMORY.md; 'commonplace undo 2' takes it back\n" in shown
    shown = in_terminal(notes, "correct", "MEMORY.md#L3", "The VPN listens on 443")
    assert "+- ~~The VPN listens on port 51820.~~" in shown
    assert f"+++ memory/{TODAY}.md\n" in shown
    assert "+- The VPN listens on 443" in shown
    number = re.search(r"undo (\d+)' takes it back", shown)[1]
    shown = in_terminal(notes, "undo", number)
    assert "\n+- The VPN listens on port 51820.\n" in shown
    assert "-- The VPN listens on 443" in shown
    shown = in_terminal(notes, "mv", "MEMORY.md", "memory/all.md")
    assert "MEMORY.md is memory/all.md now; 'commonplace undo" in shown
    assert "Ada prefers tea" not in shown
    shown = in_terminal(notes, "rm", "memory/all.md")
    assert "\n-- Ada prefers tea.\n" in shown
    assert "delete of memory/all.md; 'commonplace undo" in shown
