"""The configuration lines of the documentation, read as the clients read them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from commonplace.cli.app import app
from commonplace.cli.mcp import mcp

PAGE = (Path(__file__).parents[2] / "docs/how-to/mcp.md").read_text("utf-8")
BLOCKS = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
LISTS = {"mcpServers", "servers", "context_servers"}
"""Names of the list of servers: Claude Desktop's and Cursor's, VS Code's, Zed's."""


def command_lines():
    for block in BLOCKS:
        ((_, servers),) = block.items()
        yield from ([one["command"], *one["args"]] for one in servers.values())
    text = PAGE.replace("\\\n", "")
    for line in re.findall(r"^claude mcp add commonplace -- (.*)$", text, re.MULTILINE):
        yield shlex.split(line)


def test_each_client_finds_its_list_of_servers():
    assert {name for block in BLOCKS for name in block} == LISTS
    assert all(list(block[name]) == ["commonplace"] for block in BLOCKS for name in block)
    for client in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Zed"):
        assert f"**{client}**" in PAGE


@pytest.mark.parametrize("line", list(command_lines()), ids=" ".join)
def test_a_command_of_a_configuration_is_one_of_the_command_line(line):
    program, *arguments = line
    assert program == "commonplace"
    at = arguments.index("mcp")
    app.make_context(program, arguments[:at], resilient_parsing=True)
    options = mcp.make_context("mcp", arguments[at + 1 :]).params
    assert options["http"] is None


def test_the_token_reaches_the_client_as_a_header():
    (line,) = re.findall(r"claude mcp add --transport http .*?\n.*$", PAGE, re.MULTILINE)
    words = shlex.split(line.replace("\\\n", ""))
    assert words[5:7] == ["commonplace", "http://127.0.0.1:8765/mcp"]
    assert words[-1].startswith("Authorization: Bearer $COMMONPLACE_MCP_TOKEN")
