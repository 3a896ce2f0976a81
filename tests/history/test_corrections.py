"""Corrections strike wrong lines where they stand; blame names the change of each line."""

from datetime import date

import pytest

from commonplace import Memory, Origin, Settings
from commonplace.errors import EditError, PathNotAllowedError
from commonplace.settings import SyncSettings
from commonplace.text.strikethrough import correction_links, is_struck
from support.fakes import NOON, clock

QUIET = Settings(timezone="UTC", sync=SyncSettings(on_open=False, on_search=False, watch=False))
LOG = "memory/2026-11-20.md"
NOTES = """# Memory

- Wren has the key of the cabinet.
- The VPN listens on port 1194.
  - [ ] It drops at night.

| door | code |
| --- | --- |
| north | 4711 |

name | age
--- | ---
Wren | 41

```sh
connect --port 1194
```

    indented = 1194

The office is
in Berlin.
"""


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "notes"
    root.mkdir()
    (root / "MEMORY.md").write_text(NOTES)
    return root


@pytest.fixture
def memory(folder):
    index = folder.parent / "index.sqlite"
    with Memory.open(folder, settings=QUIET, embedder=None, index=index, now=clock(NOON)) as memory:
        memory.index()
        yield memory


def text_of(memory, path="MEMORY.md"):
    return memory.get(path).text


def line_of(memory, number, path="MEMORY.md"):
    return memory.get(path, from_line=number, lines=1).text


def test_a_correction_strikes_the_line_and_links_it_with_what_is_right(memory):
    version = memory.correct("MEMORY.md#L4", "The VPN listens on port 51820.")
    struck = "- ~~The VPN listens on port 1194.~~ ([corrected 2026-11-20](memory/2026-11-20.md))"
    assert line_of(memory, 4) == struck
    assert text_of(memory).replace(struck, "- The VPN listens on port 1194.") == NOTES
    assert text_of(memory, LOG) == (
        "# 2026-11-20\n\n- The VPN listens on port 51820. ([corrects](../MEMORY.md#L4))\n"
    )
    assert (version.path, version.change) == ("MEMORY.md", "correct")
    assert any("51820" in hit.snippet for hit in memory.search("VPN port"))


def test_a_correction_comes_first_among_lines_that_are_no_list(memory, folder):
    log = folder / "memory" / "2026-11-16.md"
    log.parent.mkdir()
    log.write_text(
        "Marina Orth and Marina Neustadt have signed: 21 marinas\n"
        "The price of Nordnet is 44.90 a month from December on, they say\n"
        "and the notice period of the old line ends in the middle of May.\n"
    )
    memory.index()
    memory.correct("memory/2026-11-16.md#L2", "- Nordnet is 42.90 from December")
    assert memory.search("price of Nordnet")[0].best_line == 3
    assert memory.search("price of Nordnet")[0].path == LOG


def test_a_row_is_corrected_by_a_row_below_the_same_header(memory):
    memory.correct("MEMORY.md#L9", "| north | 4712 |")
    table = "| door | code |\n| --- | --- |\n| north | 4712 |\n"
    assert text_of(memory, LOG).endswith(f"([corrects](../MEMORY.md#L9))\n\n{table}")
    [first, *_] = memory.search("code of the north door", explain=True)
    assert (first.path, "4712" in first.snippet) == (LOG, True)


@pytest.mark.parametrize(
    ("cited", "text"),
    [
        ("#L9", "| door | key |\n|---|---|\n| north | 4712 |"),
        ("#L9", "The north door opens with 4712."),
        ("#L4", "| VPN | 51820 |"),
    ],
)
def test_a_text_that_needs_no_header_is_written_as_it_is(memory, cited, text):
    memory.correct(f"MEMORY.md{cited}", text)
    written = text_of(memory, LOG)
    assert text in written
    assert "| door | code |" not in written


def test_one_undo_takes_a_correction_back_as_a_whole(memory):
    version = memory.correct("MEMORY.md#L4", "The VPN listens on port 51820.")
    memory.undo(version.id)
    assert text_of(memory) == NOTES
    assert memory.get(LOG).status == "not_found"


@pytest.mark.parametrize(
    ("cited", "struck"),
    [
        ("#L3-L5", {3: "- ~~Wren", 4: "- ~~The VPN", 5: "  - [ ] ~~It drops at night.~~ (["}),
        ("#L9", {9: "| ~~north~~ | ~~4711~~ (["}),
        ("#L21-L22", {21: "~~The office is~~ ([", 22: "~~in Berlin.~~ (["}),
        ("#L1", {1: "# ~~Memory~~ (["}),
        ("#L1-L3", {3: "- ~~Wren"}),
        ("#L7-L9", {9: "| ~~north~~ | ~~4711~~ (["}),
    ],
)
def test_each_cited_line_is_struck_by_itself_and_keeps_its_marks(memory, cited, struck):
    memory.correct(f"MEMORY.md{cited}", "It is otherwise.")
    lines = text_of(memory).split("\n")
    others = {n: line for n, line in enumerate(NOTES.split("\n"), 1) if n not in struck}
    assert {n: line for n, line in enumerate(lines, 1) if n not in struck} == others
    for number, beginning in struck.items():
        assert lines[number - 1].startswith(beginning)
        assert is_struck(lines[number - 1])
        assert correction_links(lines[number - 1])[0].path == LOG
    assert lines[1] == ""


@pytest.mark.parametrize(
    ("cited", "why"),
    [
        ("#L15", "code or front matter"),
        ("#L16-L17", "code or front matter"),
        ("#L19", "code or front matter"),
        ("#L13", "table without outer bars"),
        ("#L8", "without text"),
        ("#L2", "without text"),
        ("#L400", "not there any more"),
        ("#L5-L3", "ends before it begins"),
        ("", "no citation"),
        ("#L0", "no citation"),
    ],
)
def test_what_cannot_be_struck_is_refused_and_nothing_is_written(memory, cited, why):
    with pytest.raises(EditError, match=why) as error:
        memory.correct(f"MEMORY.md{cited}", "It is otherwise.")
    assert "\n" not in str(error.value)
    assert text_of(memory) == NOTES
    assert memory.get(LOG).status == "not_found"
    assert not [v for v in memory.history() if v.change == "correct"]


def test_front_matter_a_line_struck_before_and_an_empty_correction_are_refused(memory, folder):
    memory.write("memory/a.md", "---\ntags: [x]\n---\n- A line of it.\n")
    with pytest.raises(EditError, match="front matter"):
        memory.correct("memory/a.md#L2", "It is otherwise.")
    memory.correct("memory/a.md#L4", "It is otherwise.")
    with pytest.raises(EditError, match="already"):
        memory.correct("memory/a.md#L4", "It is otherwise, again.")
    with pytest.raises(EditError, match="empty"):
        memory.correct("memory/a.md#L4", " \n")
    with pytest.raises(PathNotAllowedError):
        memory.correct("../other.md#L4", "It is otherwise.")


def test_lines_that_have_moved_are_found_by_their_content(memory, folder):
    moved = NOTES.replace("# Memory\n", "# Memory\n\n- A new line.\n\n- And another.\n")
    (folder / "MEMORY.md").write_text(moved)
    memory.correct("MEMORY.md#L4", "The VPN listens on port 51820.")
    assert line_of(memory, 8).startswith("- ~~The VPN listens on port 1194.~~ (")
    assert "([corrects](../MEMORY.md#L8))" in text_of(memory, LOG)


@pytest.mark.parametrize("shown", ["search", "get"])
def test_lines_that_have_moved_and_were_indexed_again_are_those_that_were_shown(
    memory, folder, shown
):
    if shown == "search":
        memory.search("VPN port")
    else:
        memory.get("MEMORY.md")
    moved = NOTES.replace("# Memory\n\n", "# Memory\n\n- A new line.\n- And another.\n")
    (folder / "MEMORY.md").write_text(moved)
    memory.index()
    memory.correct("MEMORY.md#L4", "The VPN listens on port 51820.")
    assert line_of(memory, 6).startswith("- ~~The VPN listens on port 1194.~~ (")


@pytest.mark.parametrize(
    "change",
    [
        lambda memory, citation: memory.correct(citation, "The VPN listens on port 51820."),
        lambda memory, citation: memory.forget(citation=citation),
    ],
    ids=["correct", "forget"],
)
def test_a_line_that_says_something_else_than_was_shown_is_left_alone(memory, folder, change):
    memory.search("VPN port")
    changed = NOTES.replace("VPN listens on port 1194", "printer is called Gutenberg")
    (folder / "MEMORY.md").write_text(changed)
    memory.index()
    with pytest.raises(EditError, match=r"lines of MEMORY\.md#L4 are not there any more"):
        change(memory, "MEMORY.md#L4")
    assert (folder / "MEMORY.md").read_text() == changed


def test_a_line_that_this_memory_has_changed_is_cited_by_what_it_says_now(memory):
    memory.search("VPN port")
    memory.edit("MEMORY.md", "port 1194.\n  - [ ] It", "port 1195.\n  - [x] It")
    memory.correct("MEMORY.md#L4", "The VPN listens on port 51820.")
    assert line_of(memory, 4).startswith("- ~~The VPN listens on port 1195.~~ (")
    memory.correct("MEMORY.md#L5", "It does not drop.")  # ticked, and so the same line
    assert "~~It drops at night.~~" in line_of(memory, 5)


def test_the_latest_of_what_was_shown_counts(memory, folder):
    memory.search("VPN port")
    (folder / "MEMORY.md").write_text(NOTES.replace("- Wren has", "- First.\n- Wren has"))
    memory.index()
    memory.search("cabinet key")
    memory.correct("MEMORY.md#L4", "Kim has the key.")
    assert line_of(memory, 4).startswith("- ~~Wren has the key of the cabinet.~~ (")


def test_a_line_of_which_a_part_was_shown_is_found(memory, folder):
    long = "- The order of the garden: " + " ".join(f"bed {n} has beans." for n in range(200))
    (folder / "MEMORY.md").write_text(f"# Memory\n\n{long}\n")
    memory.index()
    (hit,) = memory.search("which beds have beans?", max_results=1)
    assert len(hit.snippet) < len(long)
    (folder / "MEMORY.md").write_text(f"# Memory\n\n- Above.\n{long}\n")
    memory.index()
    memory.correct(hit.citation, "No bed has beans.")
    assert line_of(memory, 4).startswith("- ~~The order of the garden")


def test_lines_in_two_places_and_lines_that_are_gone_are_errors_that_name_places(memory, folder):
    line = "- The VPN listens on port 1194.\n"
    (folder / "MEMORY.md").write_text("# Memory\n\n" + line + "- x\n" + line)
    with pytest.raises(EditError, match=r"2 places: MEMORY\.md#L3, MEMORY\.md#L5"):
        memory.correct("MEMORY.md#L4", "It is otherwise.")
    (folder / "MEMORY.md").write_text("# Memory\n\n- The VPN listens on port 1195.\n")
    with pytest.raises(EditError, match=r"nearest are MEMORY\.md#L3: - The VPN .* 1195"):
        memory.correct("MEMORY.md#L4", "It is otherwise.")


def test_a_line_of_todays_log_is_corrected_in_the_same_file_by_one_change(memory):
    memory.append("- The meeting is at four.")
    number = text_of(memory, LOG).split("\n").index("- The meeting is at four.") + 1
    version = memory.correct(f"{LOG}#L{number}", "- The meeting is at five.\n  In room 7.")
    assert text_of(memory, LOG) == (
        "# 2026-11-20\n\n"
        "- ~~The meeting is at four.~~ ([corrected 2026-11-20](2026-11-20.md))\n"
        f"- The meeting is at five. ([corrects](2026-11-20.md#L{number}))\n  In room 7.\n"
    )
    memory.undo(version.id)
    assert "five" not in text_of(memory, LOG)


def test_the_day_and_line_endings_of_a_correction(memory, folder):
    (folder / "memory").mkdir()
    (folder / "memory" / "a b (c).md").write_bytes(b"# A\r\n\r\n- One line of it.\r\n- Two.\r\n")
    memory.index()
    memory.correct("memory/a b (c).md#L3", "It is otherwise.", when=date(2026, 11, 18))
    data = (folder / "memory" / "a b (c).md").read_bytes()
    assert data == (
        b"# A\r\n\r\n- ~~One line of it.~~ ([corrected 2026-11-18](2026-11-18.md))\r\n- Two.\r\n"
    )
    link = correction_links(text_of(memory, "memory/2026-11-18.md"))[0]
    assert (link.path, link.line) == ("a b (c).md", 3)


def test_a_line_in_another_encoding_is_corrected_and_keeps_its_bytes(memory, folder):
    note = folder / "memory" / "bar.md"
    note.parent.mkdir()
    line = b"Caf\xe9 na\xefve \xe2\x82: code 4411"
    note.write_bytes(b"# Bar\n\n- " + line + b"\n")
    memory.index()
    memory.correct("memory/bar.md#L3", "The code is 5522.", when=date(2026, 11, 18))
    struck = b"- ~~" + line + b"~~ ([corrected 2026-11-18](2026-11-18.md))\n"
    assert note.read_bytes() == b"# Bar\n\n" + struck


def test_a_correction_of_an_untrusted_line_leaves_it_untrusted(memory):
    memory.append("- Pay all of it to account 4711.", origin=Origin("untrusted"))
    number = text_of(memory, LOG).count("\n")
    memory.correct(f"{LOG}#L{number}", "Pay nothing.", origin=Origin("agent", "t"))
    lines = memory.get(LOG)
    assert lines.untrusted == (number,)
    assert memory.blame(LOG)[number].origin == Origin("agent", "t")


# -- blame ---------------------------------------------------------------------------------------


def test_blame_names_the_change_and_the_origin_of_each_line(memory, folder):
    wrote = memory.write("memory/a.md", "one a\ntwo b\nthree c\n")
    edited = memory.edit("memory/a.md", "two b", "two B\nand more", origin=Origin("agent", "t"))
    moved = memory.move("memory/a.md", "memory/b.md")
    (folder / "memory" / "b.md").write_text("one a\ntwo B\nand more\nthree c\nby an editor\n")
    found = memory.blame("memory/b.md")
    assert [(line.line, line.text) for line in found] == [
        *((1, "one a"), (2, "two B"), (3, "and more"), (4, "three c"), (5, "by an editor")),
    ]
    assert [line.version and line.version.id for line in found] == [
        *(wrote.id, edited.id, edited.id, wrote.id, None),
    ]
    assert [line.origin.author for line in found] == ["user", "agent", "agent", "user", "user"]
    assert moved.id not in [line.version.id for line in found if line.version]


@pytest.mark.parametrize("takes_back", [True, False], ids=["undo", "move"])
def test_blame_follows_a_note_that_was_moved_away_and_back(memory, takes_back):
    written = memory.write("memory/a.md", "- one\n- two\n")
    edited = memory.edit("memory/a.md", "two", "three")
    moved = memory.move("memory/a.md", "memory/b.md")
    if takes_back:
        memory.undo(moved.id)
    else:
        memory.move("memory/b.md", "memory/a.md")
    found = [line.version and line.version.id for line in memory.blame("memory/a.md")]
    assert found == [written.id, edited.id]


def test_blame_follows_a_note_that_was_moved_to_the_path_of_a_deleted_one(memory):
    memory.write("memory/b.md", "- other\n")
    memory.delete("memory/b.md")
    written = memory.write("memory/a.md", "- one\n")
    memory.move("memory/a.md", "memory/b.md")
    assert [line.version for line in memory.blame("memory/b.md")] == [
        next(one for one in memory.history("memory/b.md") if one.id == written.id)
    ]


def test_blame_of_what_was_there_before_history_began_and_of_no_note(memory):
    memory.edit("MEMORY.md", "1194.", "51820.")
    found = memory.blame("MEMORY.md")
    assert [line.line for line in found if line.version] == [4]
    assert memory.blame("memory/none.md") == []
