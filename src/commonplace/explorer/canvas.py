"""Canvas of the figures: size, fonts, headline, and labels of untrusted text."""

from __future__ import annotations

import io
import textwrap
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, fontManager, get_font
from rich.cells import cell_len

from commonplace.display.facts import clipped
from commonplace.explorer.palettes import palette_of
from commonplace.text.lookalikes import shown_path
from commonplace.text.printable import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ft2font import FT2Font

    from commonplace.explorer.palettes import Palette, Theme

__all__ = [
    "TOP",
    "WIDTH",
    "Picture",
    "dot_edge",
    "drawing",
    "file_label",
    "headline",
    "label",
    "message",
    "no_ticks",
    "panel",
    "place_label",
    "wrapped",
]

_MOST_EDGED = 150

WIDTH = 9.0
"""Width of every figure, in inches."""
TOP = 0.78
"""Height of the headline, in inches."""
_MARGIN = 0.14
_DPI = 100
_FALLBACKS = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Hiragino Sans", "PingFang SC", "Yu Gothic",
    "Microsoft YaHei", "Malgun Gothic", "WenQuanYi Zen Hei", "Noto Sans Arabic", "Noto Sans Thai",
    "Noto Sans Devanagari", "Nirmala UI", "Segoe UI Symbol", "Apple Symbols",
)  # fmt: skip


class Picture(Figure):
    """Figure that shows itself in a notebook and belongs to no window."""

    def _repr_png_(self) -> bytes:
        data = io.BytesIO()
        self.savefig(data, format="png", dpi=_DPI)
        return data.getvalue()


@contextmanager
def drawing(*, height: float, theme: Theme) -> Iterator[tuple[Picture, Palette]]:
    """Create a figure in a theme; the user's own matplotlib style has no effect.

    Raises:
        ValueError: The theme does not exist.
    """
    palette = palette_of(theme)
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_style(palette))
        yield Picture(figsize=(WIDTH, height)), palette


def message(text: str, *, theme: Theme) -> Picture:
    """Create a figure with a message in place of data."""
    with drawing(height=1.6, theme=theme) as (picture, palette):
        axes = picture.subplots()
        axes.set_axis_off()
        axes.text(0.5, 0.5, label(text, 200), ha="center", va="center", color=palette.faint)
        return picture


def label(text: str, most: int = 40) -> str:
    """Sanitize a text from notes for a figure: one line, no formulas, only available glyphs."""
    shown = "".join(sign if _is_drawn(sign) else _stand_in(sign) for sign in clipped(text, most))
    return shown.replace("$", r"\$")


def file_label(path: str, most: int = 34) -> str:
    """Sanitize a path for a figure; a long one is truncated before its end."""
    shown = shown_path(path.removeprefix("memory/"))
    return label(shown if len(shown) <= most else "…" + shown[1 - most :], most)


def wrapped(text: str, width: int) -> list[str]:
    """Sanitize a text from notes as `label` does, in full, on lines of at most so many cells.

    A character of an East Asian script takes two cells.
    """
    line = one_line(text)
    chars = width * len(line) // max(1, cell_len(line))
    return [label(part, width) for part in textwrap.wrap(line, max(1, chars))] or [""]


def place_label(place: str, most: int = 34) -> str:
    """Sanitize a citation for a figure; a long one is truncated before its line numbers."""
    path, mark, lines = shown_path(place).rpartition("#")
    return label(path, most - len(lines) - 1) + mark + lines if mark else label(place, most)


def headline(picture: Picture, title: str, below: str, *, palette: Palette) -> None:
    """Write what is seen in a figure above it, and below that how to read it."""
    height = float(picture.get_size_inches()[1])
    look: dict[str, Any] = {"va": "top", "ha": "left"}
    at = _MARGIN / WIDTH
    picture.text(at, 1 - 0.14 / height, title, fontsize=12, fontweight="bold", **look)
    picture.text(at, 1 - 0.42 / height, below, fontsize=9, color=palette.faint, **look)


def panel(picture: Picture, *, top: float, height: float, left: float = 0.0) -> Axes:
    """Add axes of the figure's width, without ticks and spines; distances are in inches."""
    whole = float(picture.get_size_inches()[1])
    width = WIDTH - 2 * _MARGIN - left
    place = ((_MARGIN + left) / WIDTH, 1 - (top + height) / whole, width / WIDTH, height / whole)
    axes = picture.add_axes(place)
    axes.set_yticks([])
    axes.set_xticks([])
    no_ticks(axes)
    return axes


def dot_edge(dots: int, palette: Palette) -> dict[str, Any]:
    """Return the edge that sets dots apart; of many dots, edges would cover the colours."""
    return {"edgecolor": palette.paper, "linewidth": 0.7 if dots <= _MOST_EDGED else 0.0}


def no_ticks(axes: Axes) -> None:
    """Remove ticks and spines from axes."""
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _style(palette: Palette) -> dict[Any, Any]:
    return {
        "font.family": _families(),
        "font.size": 10.0,
        "text.color": palette.ink,
        "axes.labelcolor": palette.faint,
        "axes.edgecolor": palette.grid,
        "axes.facecolor": palette.paper,
        "axes.titlesize": 11.0,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "figure.facecolor": palette.paper,
        "date.converter": "concise",
        "grid.color": palette.grid,
        "legend.frameon": False,
        "legend.fontsize": 9.0,
        "xtick.color": palette.faint,
        "ytick.color": palette.faint,
        "xtick.labelsize": 9.0,
        "ytick.labelsize": 9.0,
    }


@cache
def _families() -> list[str]:
    there = {font.name for font in fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _FALLBACKS if name in there)]


@cache
def _fonts() -> list[FT2Font]:
    return [get_font(findfont(name)) for name in _families()]


@cache
def _is_drawn(sign: str) -> bool:
    return any(font.get_char_index(ord(sign)) for font in _fonts())


def _stand_in(sign: str) -> str:
    return "" if unicodedata.category(sign) in ("Mn", "Me", "Cf") else "□"
