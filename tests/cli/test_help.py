from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from commonplace.cli.app import app
from commonplace.cli.completion import complete_note
from commonplace.cli.examples import EXAMPLES, epilog


def test_every_command_has_examples_and_every_example_a_command():
    assert set(EXAMPLES) == {"", *app.commands}


@pytest.mark.parametrize("name", EXAMPLES, ids=lambda name: name or "commonplace")
def test_help_shows_the_examples_as_they_are_typed(name):
    shown = CliRunner().invoke(app, [*name.split(), "--help"]).output
    assert "  Examples:\n" in shown
    for line, what in EXAMPLES[name]:
        assert f"    {line}" in shown
        assert not what or f"  # {what}\n" in shown


@pytest.mark.parametrize("name", EXAMPLES, ids=lambda name: name or "commonplace")
def test_help_fits_a_terminal_of_eighty_columns(name):
    assert all(len(line) + 2 <= 80 for line in epilog(name).splitlines())


def lines():
    for examples in EXAMPLES.values():
        for line, _ in examples:
            for part in line.replace('eval "$(', "").replace(')"', "").split("|"):
                if part.split()[0] == "commonplace":
                    yield part.strip()


@pytest.mark.parametrize("line", list(lines()))
def test_examples_are_right_usage(line):
    words = shlex.split(line)
    at = next(at for at, word in enumerate(words) if word in app.commands)
    with app.make_context("commonplace", words[1 : at + 1]) as context:
        app.commands[words[at]].make_context(words[at], words[at + 1 :], parent=context)


# ---------------------------------------------------------------- completion


def completed(*words, at=None, **environment):
    """Ask the command as a shell does, and return what it offers."""
    asked = {
        "_COMMONPLACE_COMPLETE": "bash_complete",
        "COMP_WORDS": shlex.join(("commonplace", *words)),
        "COMP_CWORD": str(at or len(words)),
    }
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", "from commonplace.cli import main; main()"],
        env={**os.environ, **asked, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.stderr == ""
    return [line.partition(",")[2] for line in result.stdout.splitlines() if line]


@pytest.mark.processes
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_the_command(shell):
    result = CliRunner().invoke(app, ["completion", shell])
    assert result.exit_code == 0
    assert f"_COMMONPLACE_COMPLETE={shell}_complete" in result.stdout


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_takes_the_script():
    script = CliRunner().invoke(app, ["completion", "bash"]).stdout
    lines = f"{script}\ncomplete -p commonplace"
    result = subprocess.run(["bash", "-c", lines], capture_output=True, text=True, check=False)
    assert "_commonplace_completion" in result.stdout
    assert result.stderr == ""


def test_an_unknown_shell_is_wrong_usage():
    result = CliRunner().invoke(app, ["completion", "tcsh"])
    assert result.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in result.stderr


@pytest.mark.slow
@pytest.mark.processes
def test_commands_and_options_are_completed():
    assert completed("sea") == ["search"]
    assert completed("search", "--ex") == ["--explain"]
    assert set(app.commands) == set(completed("", at=1))


@pytest.mark.slow
@pytest.mark.processes
def test_notes_are_completed_from_the_workspace_that_is_named(tmp_path):
    (tmp_path / "memory").mkdir()
    for name in ("MEMORY.md", "memory/2026-11-19.md", "memory/2026-11-20.md"):
        (tmp_path / name).write_text("a note\n")
    where = ("-w", str(tmp_path), "get")
    assert completed(*where, "ME") == ["MEMORY.md"]
    assert completed("get", "memory/", COMMONPLACE_WORKSPACE=str(tmp_path)) == [
        "memory/2026-11-19.md",
        "memory/2026-11-20.md",
    ]
    assert completed("-w", str(tmp_path / "none"), "get", "ME") == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_names_that_a_terminal_would_act_on_are_not_offered(tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/\x1b[31m.md").write_text("a note\n")
    (tmp_path / "memory/a\nb.md").write_text("a note\n")
    context = click.Context(app)
    context.params = {"workspace": tmp_path}
    assert complete_note(context, click.Argument(["path"]), "memory/") == []


@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_names_that_a_shell_would_act_on_are_not_offered(tmp_path):
    (tmp_path / "memory").mkdir()
    for name in ("$(touch x)", "a;b", "a b", "`id`", "a'b", "straße", "2026-11-20"):
        (tmp_path / "memory" / f"{name}.md").write_text("a note\n")
    offered = completed("-w", str(tmp_path), "get", "memory/")
    assert sorted(offered) == ["memory/2026-11-20.md", "memory/straße.md"]
