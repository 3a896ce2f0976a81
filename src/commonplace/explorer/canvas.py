"""Canvas of the figures: themes, fonts, and labels of untrusted text."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, fontManager, get_font

from commonplace.display.facts import clipped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ft2font import FT2Font

__all__ = [
    "PALETTES",
    "Palette",
    "Picture",
    "Theme",
    "drawing",
    "label",
    "message",
    "no_ticks",
    "place_label",
]

Theme = Literal["light", "dark"]

_WIDTH_INCHES = 9.0
_DPI = 100
_FALLBACKS = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Hiragino Sans", "PingFang SC", "Yu Gothic",
    "Microsoft YaHei", "Malgun Gothic", "WenQuanYi Zen Hei", "Noto Sans Arabic", "Noto Sans Thai",
    "Noto Sans Devanagari", "Nirmala UI", "Segoe UI Symbol", "Apple Symbols",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of a theme.

    Attributes:
        paper: Background; it is opaque, so that a picture is readable on any page.
        ink: Texts.
        faint: Secondary texts, and lines.
        grid: Grid lines.
        series: Categories.
        new: New end of the age scale.
        old: Old end of the age scale.
    """

    paper: str
    ink: str
    faint: str
    grid: str
    series: tuple[str, ...]
    new: str
    old: str


PALETTES: dict[Theme, Palette] = {
    "light": Palette(
        "#ffffff", "#1f2328", "#59636e", "#dfe3e8",
        ("#2f6fb5", "#c2528f", "#2e8b57", "#b0791b", "#7a5bc0", "#c4512d", "#1b8a93", "#6b7a1f"),
        new="#1f5fae", old="#d98a1f",
    ),
    "dark": Palette(
        "#16181d", "#e6e8eb", "#a0a9b4", "#343a43",
        ("#5aa2ea", "#e57bb5", "#4cb782", "#d9a03f", "#a78bea", "#ee7d58", "#3fb8c2", "#a9b84a"),
        new="#57a5f5", old="#e8a33a",
    ),
}  # fmt: skip


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
    if theme not in PALETTES:
        raise ValueError(f"theme is {theme!r}; it must be 'light' or 'dark'.")
    palette = PALETTES[theme]
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_style(palette))
        yield Picture(figsize=(_WIDTH_INCHES, height), layout="constrained"), palette


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


def place_label(place: str, most: int = 34) -> str:
    """Sanitize a citation for a figure; a long one is truncated before its line numbers."""
    path, mark, lines = place.rpartition("#")
    return label(path, most - len(lines) - 1) + mark + lines if mark else label(place, most)


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
