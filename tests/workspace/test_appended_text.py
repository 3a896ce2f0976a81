import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.workspace import appended_text
from commonplace.workspace.appended_text import added_text
from commonplace.workspace.notes import append_note

TEXTS = st.text("ab-#1. \n\r\t\u2003", max_size=60)
LINES = st.lists(
    st.sampled_from(
        ["- a", "- b", "- a b", "  b", "a", "a  b", "# a", "b # a", "", " ", "1. a", "-"]
    ),
    max_size=8,
).map("\n".join)
ITEM = "- item {} of the log about boats and keys, words and words, in a line of a hundred\n"


def blocks(text):
    """Paragraphs, headings and items of a text, each with single spaces."""
    found, block = [], []
    for line in text.split("\n"):
        heading = line.lstrip().startswith("#")
        if block and (not line.strip() or heading or appended_text._ITEM.match(line)):
            found.append(block)
            block = []
        if heading:
            found.append([line])
        elif line.strip():
            block.append(line)
    return [" ".join(" ".join(lines).split()) for lines in (*found, block) if lines]


def holds(text, piece):
    """Whether blocks that follow each other are the piece: all runs of them are compared."""
    held = blocks(text)
    runs = (held[first : last + 1] for first in range(len(held)) for last in range(len(held)))
    return " ".join(piece.split()) in {" ".join(run) for run in runs}


@given(held=TEXTS | LINES, piece=TEXTS | LINES)
@example(held="ab\n", piece="a\nb")
@example(held="- a\n  b b\n", piece="- a b\n b")
def test_a_piece_is_held_where_blocks_in_a_row_have_its_words(held, piece):
    if piece.strip():
        known = holds(held, piece)
        assert appended_text._holds(held, piece) == known
        assert appended_text._BlockIndex(held).holds(piece) == known


@given(held=LINES, notes=st.lists(LINES, max_size=4))
def test_many_pieces_are_compared_as_few_are(held, notes):
    note = "\n".join(notes)
    few = added_text(held, note, title=None) if note.strip() else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(appended_text, "_MOST_SOUGHT", -1)
        assert few == (added_text(held, note, title=None) if note.strip() else None)


@pytest.mark.slow
@given(held=TEXTS | LINES, note=TEXTS | LINES)
@example(held="- a\n  b b\n", note="- a b\n b")
@example(held="1", note="- 1\n- 1")
@example(held="-\n\n1", note="\n- 1\n- 1")
def test_the_bytes_of_a_long_text_tell_that_it_lacks_a_note(held, note):
    if note.strip() and not appended_text.may_hold(held.encode(), note):
        end = held[held.rfind("\n\n") + 1 :]
        assert not appended_text._holds(held, note)
        added = added_text(held, note, title=None)
        assert not end.strip() or added == added_text(end, note, title=None)


@pytest.mark.parametrize("places", [3, 300], ids=["few places", "many places"])
def test_a_long_log_is_searched_for_a_note_in_other_white_space(tmp_path, places):
    log = tmp_path / "log.md"
    held = "".join(map(ITEM.format, range(2_000)))
    log.write_text(f"{held}- tea at\u2003 *four* é\n" + "- tea at five\n" * places + held)
    assert append_note(log, "- tea  at\n  *four* é", title=None) is None
    assert append_note(log, "- tea at", title=None).added == b"- tea at\n"
    assert append_note(log, "- tea at four", title=None).added == b"- tea at four\n"


@pytest.mark.timing
@pytest.mark.slow
@pytest.mark.parametrize(("items", "ratio"), [(1, 0.5), (1_000, 9)])  # 0.06 and 3
def test_a_log_of_ten_megabytes_is_locked_for_a_moment(tmp_path, items, ratio):
    """The floor is to take the words of each line, in this run: a machine may be busy or slow."""
    log = tmp_path / "log.md"
    log.write_text("# Log\n\n" + "".join(map(ITEM.format, range(120_000))))
    note = "".join(ITEM.format(f"{number} again") for number in range(items))
    started = time.process_time()
    assert len([" ".join(line.split()) for line in log.read_text().split("\n")]) == 120_003
    floor = time.process_time() - started
    started = time.process_time()
    appended = append_note(log, note, title=None)
    took = time.process_time() - started
    assert appended
    assert len(appended.added) == len(note)
    assert len(appended.before) > 10_000_000
    assert took < ratio * floor
