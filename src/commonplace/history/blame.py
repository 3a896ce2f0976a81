"""Blame: the change that each line of a note came with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.history.lines import matching_blocks
from commonplace.types import BlameLine
from commonplace.workspace.file_text import decode_text

if TYPE_CHECKING:
    from commonplace.history.ledger import OriginLedger
    from commonplace.history.versions import State, VersionLog
    from commonplace.types import Version

__all__ = ["blame"]


def blame(log: VersionLog, ledger: OriginLedger, path: str, text: str) -> list[BlameLine]:
    """Return the lines of a note with the changes that they came with.

    Args:
        log: The versions.
        ledger: The origins.
        path: The note.
        text: Its text as it is.
    """
    lines: list[str] = []
    versions: list[Version | None] = []
    for state in reversed(_states(log, path)):
        held = decode_text(log.text(state))[0] if state.exists else ""
        after = _lines(held)
        # What was there when history began came before it.
        brought = None if state.version.change == "found" else state.version
        versions = _carried(lines, after, versions, brought)
        lines = after
    current = _lines(text)
    versions = _carried(lines, current, versions, None)
    origins = ledger.of_lines(path, current)
    return [
        BlameLine(number, version, origin, line.rstrip("\r"))
        for number, (line, version, origin) in enumerate(
            zip(current, versions, origins, strict=True), start=1
        )
    ]


def _states(log: VersionLog, path: str) -> list[State]:
    """Return the states of a note, newest first, those under earlier paths included."""
    found: list[State] = []
    states = log.states_of(path)
    while states:
        came = next((at for at, one in enumerate(states) if one.version.moved_from), len(states))
        found += states[: came + 1]
        moved = found[-1]
        name = moved.version.moved_from
        # A move leaves a state without a note under the old path.
        states = log.states_of(name, before=moved.id) if name is not None else []
        states = [one for one in states if one.version.id != moved.version.id]
    return found


def _carried(
    before: list[str], after: list[str], versions: list[Version | None], brought: Version | None
) -> list[Version | None]:
    found = [brought] * len(after)
    for first, to_first, size in matching_blocks(before, after):
        found[to_first : to_first + size] = versions[first : first + size]
    return found


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines
