"""The tools by which a model changes notes: edit, correct, delete; over a real workspace."""

from __future__ import annotations

import json

import pytest

from commonplace.errors import CommonplaceError, EditError, PathNotAllowedError, ToolInputError
from commonplace.tools import (
    APPEND_TOOL,
    CORRECT_TOOL,
    DELETE_TOOL,
    EDIT_TOOL,
    FLUSH_APPEND_TOOL,
    answer_json,
    change_tools,
    write_answer,
    write_tools,
)
from commonplace.types import Origin
from support.notes import LINES

CHANGING = [EDIT_TOOL, CORRECT_TOOL, DELETE_TOOL]
LOG = "memory/2026-11-20.md"


@pytest.fixture
def memory(notes):
    with notes.open(settings=LINES) as memory:
        memory.index()
        yield memory


def call(memory, tool, *, private=True, **arguments):
    answer = write_answer(memory, arguments, tool=tool, private=private)
    return json.loads(answer_json(answer))


@pytest.mark.parametrize("tool", CHANGING, ids=lambda tool: tool.name)
def test_a_tool_is_described_briefly_and_takes_nothing_but_its_arguments(tool):
    assert 100 < len(tool.description) < 700
    assert tool.schema["additionalProperties"] is False
    assert tool.schema["required"] == list(tool.schema["properties"])
    json.dumps(tool.schema)


def test_what_an_agent_may_write_is_asked_for():
    assert write_tools(False) == []
    assert write_tools(True) == write_tools("append") == [APPEND_TOOL]
    assert write_tools("edit") == [APPEND_TOOL, *CHANGING]
    for wrong in ("everything", None, 2, "Edit", []):
        with pytest.raises(ValueError, match="it must be False, True, 'append' or 'edit'"):
            write_tools(wrong)


def test_where_others_read_along_each_tool_says_so():
    assert write_tools("edit", private=False)[0] is FLUSH_APPEND_TOOL
    for tool, private in zip(change_tools(private=False), CHANGING, strict=True):
        assert tool.description.startswith(private.description)
        assert "Others read along here: MEMORY.md is the user's alone" in tool.description
        assert len(tool.description) <= 1024


def test_tools_promise_no_undo_without_a_history():
    for tool, kept in zip(write_tools("edit", has_history=False)[1:], CHANGING, strict=True):
        assert "undo" in kept.description
        assert "undo" not in tool.description
    edit, _, delete = change_tools(has_history=False)
    assert "The text of before is not kept." in edit.description
    assert "nothing brings it back" in delete.description


def test_a_passage_is_replaced_and_the_user_can_undo_it(memory, notes):
    before = (notes.root / "MEMORY.md").read_text()
    answer = call(memory, EDIT_TOOL, path="MEMORY.md", old="port 51820", new="port 51821")
    assert answer == {"path": "MEMORY.md", "version": memory.history("MEMORY.md")[0].id}
    assert "port 51821" in (notes.root / "MEMORY.md").read_text()
    assert "port 51821" in memory.search("which port does the VPN use?")[0].snippet
    version = memory.history("MEMORY.md")[0]
    assert version.origin == Origin("agent", tool="memory_edit")
    memory.undo(answer["version"])
    assert (notes.root / "MEMORY.md").read_text() == before


def test_a_passage_can_be_taken_out(memory, notes):
    call(memory, EDIT_TOOL, path=LOG, old="- Met Ann about the printer.\n", new="")
    assert "Met Ann" not in (notes.root / LOG).read_text()


def test_a_wrong_line_is_struck_and_the_right_one_is_in_the_log(memory, notes):
    answer = call(memory, CORRECT_TOOL, citation="MEMORY.md#L4", text="The VPN listens on 51821")
    assert answer["version"] == memory.history()[0].id
    assert "~~The VPN listens on port 51820.~~" in (notes.root / "MEMORY.md").read_text()
    assert "The VPN listens on 51821" in (notes.root / LOG).read_text()
    changed = [version for version in memory.history() if version.id == answer["version"]]
    assert {version.path for version in changed} == {"MEMORY.md", LOG}
    assert {version.origin.tool for version in changed} == {"memory_correct"}
    memory.undo(answer["version"])
    assert "~~" not in (notes.root / "MEMORY.md").read_text()


def test_a_note_is_deleted_and_the_user_can_bring_it_back(memory, notes):
    text = (notes.root / LOG).read_text()
    answer = call(memory, DELETE_TOOL, path=LOG)
    assert answer["path"] == LOG
    assert not (notes.root / LOG).exists()
    assert [hit.path for hit in memory.search("printer", min_score=0)] == ["MEMORY.md"]
    memory.undo(answer["version"])
    assert (notes.root / LOG).read_text() == text


def test_an_old_that_is_not_there_is_answered_with_the_nearest_lines(memory):
    with pytest.raises(EditError) as caught:
        call(memory, EDIT_TOOL, path="MEMORY.md", old="The VPN listens on 51820", new="x")
    assert "old does not stand in MEMORY.md" in str(caught.value)
    assert "MEMORY.md#L4: - The VPN listens on port 51820." in str(caught.value)


def test_an_old_that_is_there_twice_is_answered_with_how_often_and_where(memory, notes):
    notes.write("memory/twice.md", "- Tea at four.\n- Cake.\n- Tea at four.\n")
    with pytest.raises(EditError) as caught:
        call(memory, EDIT_TOOL, path="memory/twice.md", old="Tea at four", new="Tea at five")
    assert "stands 2 times in memory/twice.md" in str(caught.value)
    assert "memory/twice.md#L1, memory/twice.md#L3" in str(caught.value)
    assert (notes.root / "memory/twice.md").read_text().count("four") == 2


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        (EDIT_TOOL, {"path": "MEMORY.md", "old": "x"}, "memory_edit: new is missing"),
        (EDIT_TOOL, {"path": "MEMORY.md", "old": " ", "new": "x"}, "old is empty; it must hold"),
        (EDIT_TOOL, {"path": "MEMORY.md", "old": 1, "new": "x"}, "old is 1; it must be a text"),
        (EDIT_TOOL, {"path": "MEMORY.md", "old": "tea", "new": "tea"}, ""),
        (CORRECT_TOOL, {"citation": "MEMORY.md#L4", "text": "\n"}, "text is empty; it must hold"),
        (CORRECT_TOOL, {"citation": "the VPN line", "text": "x"}, "MEMORY.md#L3"),
        (DELETE_TOOL, {}, "memory_delete: path is missing"),
        (DELETE_TOOL, {"path": "memory/none.md"}, "there is no note memory/none.md"),
        (DELETE_TOOL, {"path": "../x.md"}, "Allowed are MEMORY.md and memory/**/*.md"),
        (DELETE_TOOL, {"path": "MEMORY.md", "sure": True}, "unknown argument 'sure'"),
    ],
)
def test_a_wrong_call_is_an_error_that_says_what_was_expected(
    memory, notes, tool, arguments, reason
):
    before = {path: (notes.root / path).read_bytes() for path in ("MEMORY.md", LOG)}
    with pytest.raises(CommonplaceError) as caught:
        write_answer(memory, arguments, tool=tool)
    assert reason in str(caught.value)
    assert {path: (notes.root / path).read_bytes() for path in before} == before


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (EDIT_TOOL, {"path": "MEMORY.md", "old": "tea", "new": "coffee"}),
        (EDIT_TOOL, {"path": "./memory.md", "old": "tea", "new": "coffee"}),
        (CORRECT_TOOL, {"citation": "MEMORY.md#L8", "text": "Ann prefers coffee"}),
        (DELETE_TOOL, {"path": "MEMORY.md"}),
        (APPEND_TOOL, {"text": "- x", "longTerm": True}),
    ],
)
def test_where_others_read_along_the_long_term_file_stays(memory, notes, tool, arguments):
    before = (notes.root / "MEMORY.md").read_bytes()
    with pytest.raises(PathNotAllowedError, match="is the user's alone, and others read along"):
        write_answer(memory, arguments, tool=tool, private=False)
    assert (notes.root / "MEMORY.md").read_bytes() == before


def test_where_others_read_along_shared_notes_can_be_changed(memory, notes):
    call(memory, EDIT_TOOL, private=False, path=LOG, old="the printer", new="the copier")
    assert "the copier" in (notes.root / LOG).read_text()
    call(memory, CORRECT_TOOL, private=False, citation=f"{LOG}#L4", text="Nothing moved")
    assert "~~" in (notes.root / LOG).read_text()
    call(memory, DELETE_TOOL, private=False, path=LOG)
    assert not (notes.root / LOG).exists()


def test_secrets_that_a_model_writes_are_masked_unless_that_is_off(memory, notes):
    key = "sk-" + "aB3dE6gH9jK2" * 3
    arguments = {"path": "MEMORY.md", "old": "Ann prefers tea.", "new": f"The key is {key}."}
    edited = write_answer(memory, arguments, tool=EDIT_TOOL)
    assert key not in (notes.root / "MEMORY.md").read_text()
    correction = {"citation": "MEMORY.md#L4", "text": f"The key is {key}."}
    corrected = write_answer(memory, correction, tool=CORRECT_TOOL)
    assert key not in (notes.root / LOG).read_text()
    for answer in (edited, corrected):
        assert list(answer) == ["path", "version", "masked"]
    arguments = {"path": LOG, "old": "Met Ann", "new": key}
    answer = write_answer(memory, arguments, tool=EDIT_TOOL, redact=False)
    assert list(answer) == ["path", "version"]
    assert key in (notes.root / LOG).read_text()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_secret_is_masked_where_the_note_has_its_name_already(memory, notes, newline):
    lines = ["- The door code is not set.", "- Wi-Fi password: unknown", "| Host | Password |"]
    lines += ["|---|---|", "| nas | TBD |", "- The boiler is in the hall.", ""]
    notes.write("MEMORY.md", newline.join(lines))
    for old, new in (("not set", "4821"), ("unknown", "sunflower88"), ("TBD", "hunter22")):
        answer = write_answer(memory, {"path": "MEMORY.md", "old": old, "new": new}, tool=EDIT_TOOL)
        assert "masked" in answer
    plain = {"path": "MEMORY.md", "old": "hall", "new": "cellar"}
    assert "masked" not in write_answer(memory, plain, tool=EDIT_TOOL)
    written = (notes.root / "MEMORY.md").read_bytes().decode().split(newline)
    assert written[:2] == ["- The door code is ***.", "- Wi-Fi password: ***"]
    assert written[4:6] == ["| nas | *** |", "- The boiler is in the cellar."]
    named = {"path": "MEMORY.md", "old": "password: ***", "new": "password: moonflower77"}
    write_answer(memory, named, tool=EDIT_TOOL, redact=False)
    beside = {"path": "MEMORY.md", "old": "Wi-Fi", "new": "Guest Wi-Fi"}
    assert "masked" not in write_answer(memory, beside, tool=EDIT_TOOL)
    assert "Guest Wi-Fi password: moonflower77" in (notes.root / "MEMORY.md").read_text()


NAMES_ABOVE = ["- The password for the router is", "## Router password", "- Router password:"]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("last", NAMES_ABOVE)
@pytest.mark.parametrize("is_long_term", [True, False])
def test_a_secret_is_masked_behind_the_line_that_names_it(
    memory, notes, last, newline, is_long_term
):
    path = "MEMORY.md" if is_long_term else LOG
    notes.write(path, f"# Notes{newline}{newline}- Tea at four.{newline}{last}{newline}")
    arguments = {"text": "- hunter2-Xy9"} | ({"longTerm": True} if is_long_term else {})
    for _ in range(2):  # a call that is made again writes it behind its mask
        assert "masked" in write_answer(memory, arguments, tool=APPEND_TOOL)
    plain = write_answer(memory, arguments | {"text": "- Ann likes tea."}, tool=APPEND_TOOL)
    assert "masked" not in plain
    written = (notes.root / path).read_text()
    assert written.rstrip().endswith("- ***\n- Ann likes tea.")
    assert "hunter2" not in written
    write_answer(memory, {"text": "- hunter2-Xy9"}, tool=APPEND_TOOL, redact=False)
    assert "- hunter2-Xy9" in (notes.root / LOG).read_text()


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("- Router password: old-Xy8", "hunter2-Xy9"),
        ("- Router password: an old phrase", "hunter2-Xy9"),
        ("- The password for the router is old-Xy8", "hunter2-Xy9"),
        ("| nas | old-Xy8 |", "| nas | hunter2-Xy9 |"),
    ],
)
def test_a_value_that_corrects_the_value_of_a_secret_is_masked(memory, notes, wrong, right):
    lines = ["| Host | Password |", "|---|---|"] if "|" in wrong else ["# Notes", ""]
    notes.write("MEMORY.md", "\n".join([*lines, wrong, ""]))
    memory.index()
    arguments = {"citation": "MEMORY.md#L3", "text": right}
    assert "masked" in write_answer(memory, arguments, tool=CORRECT_TOOL)
    assert "hunter2" not in (notes.root / LOG).read_text()


def test_a_correction_of_what_is_no_secret_is_written_as_it_is(memory, notes):
    lines = ["- The VPN port: 51820", "- The password is in the safe", "- Boiler: 18:30, hall"]
    notes.write("MEMORY.md", "\n".join([*lines, ""]))
    memory.index()
    for number, right in enumerate(["51821", "- It is in the drawer", "19:45, hall"], start=1):
        arguments = {"citation": f"MEMORY.md#L{number}", "text": right}
        assert "masked" not in write_answer(memory, arguments, tool=CORRECT_TOOL)
    assert "51821" in (notes.root / LOG).read_text()


def test_the_tools_of_a_named_memory_say_whose_the_note_is(memory):
    arguments = {"path": "MEMORY.md", "old": "tea", "new": "coffee"}
    answer = write_answer(memory, arguments, tool=EDIT_TOOL, name="team", session="t1")
    assert answer == {"memory": "team", "path": "MEMORY.md", "version": answer["version"]}
    assert memory.history()[0].origin == Origin("agent", session="t1", tool="memory_edit")
    with pytest.raises(ToolInputError, match=r"team_memory_edit: path is missing"):
        write_answer(memory, {}, tool=EDIT_TOOL, name="team")
