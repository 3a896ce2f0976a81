from __future__ import annotations

import subprocess
import sys
from datetime import date, timedelta
from itertools import combinations

import pytest

from commonplace import Memory
from commonplace.demo import write_repeating_workspace
from commonplace.errors import MissingExtraError
from support.fakes import NOON, HashedWords, clock
from support.sampling import sampled

pytest.importorskip("matplotlib")
pytest.importorskip("vl_convert")

from matplotlib.figure import Figure
from matplotlib.text import Text

from commonplace import explorer
from commonplace.explorer import timelines
from commonplace.explorer.canvas import file_label, label, place_label, wrapped
from commonplace.explorer.palettes import PALETTES

QUERY = "On which port does staging listen now?"
PICTURES = {
    "stages": lambda memory, **look: explorer.stages(memory, QUERY, **look),
    "decay curves": lambda memory, **look: explorer.decay_curves(memory, **look),
    "calendar": lambda memory, **look: explorer.calendar(memory, **look),
    "repeats": lambda memory, **look: explorer.repeats(memory, **look),
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    write_repeating_workspace(folder / "notes", today=NOON.date(), days=90)
    long_ago = NOON.date() - timedelta(500)
    (folder / f"notes/memory/{long_ago}-a-day-with-quite-a-long-name.md").write_text(
        "# x\n\n- y z\n"
    )
    with Memory.open(
        folder / "notes", embedder=HashedWords(), index=folder / "i.sqlite", now=clock()
    ) as memory:
        yield memory


@pytest.fixture(params=PICTURES.values(), ids=PICTURES)
def draw(request):
    return request.param


@pytest.mark.slow
@pytest.mark.parametrize("theme", PALETTES)
def test_a_picture_is_a_figure_that_shows_itself_on_its_own_paper(memory, draw, theme):
    picture = draw(memory, theme=theme)
    assert isinstance(picture, Figure)
    assert picture._repr_png_().startswith(b"\x89PNG")
    assert picture.get_facecolor() == pytest.approx(rgba(PALETTES[theme].paper))


def rgba(colour):
    return (*(int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)), 1.0)


def test_no_two_texts_of_a_picture_overlap(memory, draw):
    picture = draw(memory)
    picture.draw_without_rendering()
    boxes = [
        (text.get_text(), Text.get_window_extent(text))
        for text in picture.findobj(Text)
        if text.get_text().strip() and text.get_visible()
    ]
    # Numbers on the map are told apart by the discs that they stand on.
    for (one, box), (other, its) in combinations(boxes, 2):
        assert not overlap(box, its), (one, other)


def overlap(box, other):
    wide = min(box.x1, other.x1) - max(box.x0, other.x0)
    high = min(box.y1, other.y1) - max(box.y0, other.y0)
    return wide > 1 and high > 2  # boxes have some air


def test_everything_of_a_picture_is_inside_it(memory, draw):
    picture = draw(memory)
    picture.draw_without_rendering()
    box, (width, height) = picture.get_tightbbox(), picture.get_size_inches()
    assert box.x0 > -0.03
    assert box.y0 > -0.03
    assert box.x1 < width + 0.03
    assert box.y1 < height + 0.03


@pytest.mark.slow
def test_the_same_memory_gives_the_same_picture(memory, draw):
    assert draw(memory)._repr_png_() == draw(memory)._repr_png_()


def test_an_empty_workspace_gives_a_message_and_no_error(tmp_path, draw):
    with Memory.open(tmp_path, embedder=None, index=tmp_path / "i.sqlite") as memory:
        picture = draw(memory)
    (text,) = [text.get_text() for text in picture.findobj(Text) if text.get_text()]
    assert text.endswith(".")
    assert picture._repr_png_()


def test_a_theme_or_a_colour_that_does_not_exist_is_named(memory):
    with pytest.raises(ValueError, match="theme is 'blue'; it must be 'light' or 'dark'"):
        explorer.calendar(memory, theme="blue")
    with pytest.raises(ValueError, match="color is 'day'; it must be 'age' or 'file'"):
        explorer.chunk_map(memory, color="day")


def test_the_users_own_style_is_left_alone_and_not_used(memory):
    import matplotlib as mpl

    with mpl.rc_context({"figure.facecolor": "red", "text.usetex": True}):
        picture = explorer.calendar(memory)
        assert mpl.rcParams["figure.facecolor"] == "red"
    assert picture.get_facecolor() == (1.0, 1.0, 1.0, 1.0)


def test_a_calendar_names_no_month_behind_its_last_day():
    last = date(2025, 12, 31)
    mondays = range(date(2024, 12, 30).toordinal(), last.toordinal() + 1, 7)
    names = [name for _, name in timelines._months(mondays, last)]
    assert names[0] == "Feb 2025"
    assert names[-1] == "Dec"
    assert timelines._months(mondays, date(2026, 1, 4))[-1][1] == "Jan 2026"


def test_labels_are_one_line_without_formulas_and_of_signs_there_are():
    assert label("a $x$\nb") == r"a \$x\$ b"
    assert label("a \U000f0000 \U000e0100b") == "a □ b"
    assert len(label("x" * 900)) == 40


def test_a_long_citation_keeps_its_lines():
    shown = place_label("memory/2026-11-20-a-very-long-name-indeed.md#L100-L120")
    assert shown == "memory/2026-11-20-a-ver…#L100-L120"


def test_a_long_path_keeps_its_end_and_a_long_line_all_of_it():
    assert file_label("memory/projects/" + "x" * 40 + "/billing.md", 16) == "…xxxx/billing.md"
    text = "The harbour master asks for two anchors; " * 9
    assert " ".join(wrapped(text, 60)) == text.strip()
    assert max(map(len, wrapped("錨" * 90, 60))) <= 30


@pytest.mark.processes
def test_without_the_plotting_library_the_command_is_named():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from commonplace.errors import CommonplaceError\n"
        "from commonplace.explorer import rows\n"
        "try:\n    from commonplace.explorer import stages\n"
        "except CommonplaceError as error:\n    print(error)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    said = "the pictures need matplotlib, which is not installed: pip install "
    assert result.stdout == f"{said}'commonplace[notebooks]'\n"
    assert issubclass(MissingExtraError, ImportError)


def test_what_is_public_is_listed_and_there():
    names = ["calendar", "chunk_map", "decay_curves", "repeats", "search_box", "stages"]
    assert explorer.__all__ == names
    assert all(callable(getattr(explorer, name)) for name in explorer.__all__)
    with pytest.raises(AttributeError, match="no attribute 'pie_chart'"):
        explorer.pie_chart  # noqa: B018


@pytest.mark.parametrize("day", sampled(["0001-01-01", "0206-11-20", "9999-12-31"], every=2))
def test_a_day_that_is_a_slip_harms_no_picture(tmp_path, draw, day):
    for name in (day, "2026-11-19", "2026-11-20"):
        (tmp_path / "memory").mkdir(exist_ok=True)
        (tmp_path / "memory" / f"{name}.md").write_text(f"- Staging listens on {len(name)}.\n")
    with Memory.open(
        tmp_path, embedder=HashedWords(), index=tmp_path / "i.sqlite", now=clock()
    ) as memory:
        assert draw(memory)._repr_png_().startswith(b"\x89PNG")
