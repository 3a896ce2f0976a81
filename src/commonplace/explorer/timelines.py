"""Timelines: a calendar of the logs, and repeated lines by day."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, PowerNorm

from commonplace.explorer.canvas import Picture, Theme, drawing, label, message, no_ticks
from commonplace.explorer.rows import days_written, repeat_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from commonplace.explorer.canvas import Palette
    from commonplace.explorer.rows import DayRow, RepeatedLine, RepeatGroup
    from commonplace.memory import Memory

__all__ = ["calendar", "repeats"]

_MOST_YEARS = 8
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WEEKS = 54
_A_DAY = date(2000, 1, 1)
"""Day of the axis when no line has one."""
_EPOCH = date(1970, 1, 1).toordinal()
"""Day 0 of matplotlib."""


def calendar(memory: Memory, *, theme: Theme = "light") -> Picture:
    """Draw a calendar of the daily logs: a square per day, darker for more lines.

    Args:
        memory: Memory with the logs; files without a date are skipped.
        theme: ``light`` or ``dark``.
    """
    days = days_written(memory)
    if not days:
        return message("No dated log is indexed yet: memory.append() begins one.", theme=theme)
    years = sorted({row.day.year for row in days})[-_MOST_YEARS:]
    shown = [row for row in days if row.day.year >= years[0]]
    with drawing(height=1.1 + 1.35 * len(years), theme=theme) as (picture, palette):
        panels = picture.subplots(len(years), 1, squeeze=False)[:, 0]
        shades = LinearSegmentedColormap.from_list("lines", (_tint(palette), palette.new))
        norm = PowerNorm(0.5, vmin=0, vmax=max(row.lines for row in shown))
        for axes, year in zip(panels, years, strict=True):
            mesh = _draw_year(axes, year, shown, palette, shades, norm)
        bar = picture.colorbar(mesh, ax=list(panels), shrink=0.3, aspect=30, pad=0.02,
                               location="bottom", label="lines written on a day")  # fmt: skip
        bar.outline.set_visible(False)
        picture.suptitle(_calendar_title(shown), x=0.01, ha="left", fontsize=11, fontweight="bold")
        return picture


def repeats(
    memory: Memory, *, least: float = 0.7, groups: int = 15, theme: Theme = "light"
) -> Picture:
    """Draw near-duplicate lines: a row for each group, a point for each line.

    `commonplace.explorer.rows.repeat_groups` returns the groups.

    Args:
        memory: Memory with the lines.
        least: Minimum Jaccard similarity of two lines, 0.5 to 1.
        groups: Maximum of groups, the largest first.
        theme: ``light`` or ``dark``.
    """
    found = repeat_groups(memory, least=least)
    if not found:
        return message("No two lines say the same.", theme=theme)
    shown = found[: max(1, groups)]
    with drawing(height=1.5 + 0.34 * len(shown), theme=theme) as (picture, palette):
        axes = picture.subplots()
        at = _date_places(axes, shown)
        for row, group in enumerate(shown):
            _draw_group(axes, row, [at(line) for line in group.lines], palette)
        names = [label(_newest(group).text.lstrip("-*+> "), 44) for group in shown]
        counts = [f"×{len(group.lines)}" for group in shown]
        axes.set_yticks(range(len(shown)), names, color=palette.ink)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        no_ticks(axes)
        right = axes.twinx()
        right.set_yticks(range(len(shown)), counts, color=palette.ink, fontweight="bold")
        right.set_ylim(axes.get_ylim())
        no_ticks(right)
        axes.grid(visible=True, axis="y", linewidth=0.8)
        axes.set_axisbelow(True)
        title = _repeats_title(found, len(shown))
        picture.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        return picture


def _draw_year(
    axes: Axes,
    year: int,
    days: Sequence[DayRow],
    palette: Palette,
    shades: LinearSegmentedColormap,
    norm: PowerNorm,
) -> Any:
    first = date(year, 1, 1)
    cells: NDArray[np.float64] = np.full((7, _WEEKS), np.nan)
    blank = cells.copy()
    for offset in range((date(year, 12, 31) - first).days + 1):
        blank[_cell(first + timedelta(offset))] = 0.0
    for row in days:
        if row.day.year == year:
            cells[_cell(row.day)] = row.lines
    look: dict[str, Any] = {"edgecolors": palette.paper, "linewidth": 1.5}
    axes.pcolormesh(blank, cmap=LinearSegmentedColormap.from_list("", [palette.grid] * 2), **look)
    mesh = axes.pcolormesh(cells, cmap=shades, norm=norm, **look)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.set_yticks([0.5, 2.5, 4.5], ["Mon", "Wed", "Fri"])
    starts = [_cell(date(year, month, 1))[1] + 0.5 for month in range(1, 13)]
    axes.set_xticks(starts, _MONTHS, ha="left", va="baseline")
    axes.tick_params(axis="x", pad=12)
    axes.set_ylabel(str(year), fontsize=10, fontweight="bold", color=palette.ink)
    no_ticks(axes)
    return mesh


def _cell(day: date) -> tuple[int, int]:
    """Return the row, which is the weekday, and the column, which is the week of the year."""
    first = date(day.year, 1, 1)
    return day.weekday(), (day.timetuple().tm_yday - 1 + first.weekday()) // 7


def _tint(palette: Palette) -> str:
    """Return the lightest shade of a day with lines, darker than that of an empty day."""
    return {"#ffffff": "#b5d0f0"}.get(palette.paper, "#2b4a70")


def _calendar_title(days: Sequence[DayRow]) -> str:
    lines = sum(row.lines for row in days)
    return f"{lines} lines on {len(days)} days, {days[0].day} to {days[-1].day}"


def _date_places(axes: Axes, groups: Sequence[RepeatGroup]) -> Callable[[RepeatedLine], float]:
    """Set up the axis of dates with a column for undated lines; return the mapping."""
    days = [line.day for group in groups for line in group.lines if line.day]
    axes.xaxis_date()
    ends = [_place(day) for day in (min(days, default=_A_DAY), max(days, default=_A_DAY))]
    first, width = ends[0], max(ends[1] - ends[0], 10.0)
    nowhere = first - 0.1 * width
    has_undated = len(days) < _count(groups)
    left = first - (0.17 if has_undated else 0.05) * width
    # The axis supports years 1 to 9999.
    axes.set_xlim(max(left, _place(date.min)), min(first + 1.05 * width, _place(date.max)))
    if not days:
        axes.set_xticks([])
    if has_undated:
        axes.annotate(
            "undated", (nowhere, 1.0), (0, 2), xycoords=("data", "axes fraction"),
            textcoords="offset points", ha="center", fontsize=8.5,
        )  # fmt: skip
    return lambda line: _place(line.day) if line.day else nowhere


def _place(day: date) -> float:
    return float(day.toordinal() - _EPOCH)


def _count(groups: Sequence[RepeatGroup]) -> int:
    return sum(len(group.lines) for group in groups)


def _draw_group(axes: Axes, row: int, places: Any, palette: Palette) -> None:
    colour = palette.series[row % len(palette.series)]
    axes.plot([min(places), max(places)], [row, row], color=colour, alpha=0.35, linewidth=2)
    axes.scatter(places, [row] * len(places), s=42, color=colour, alpha=0.9, zorder=3,
                 edgecolor=palette.paper, linewidth=0.8)  # fmt: skip


def _repeats_title(groups: Sequence[RepeatGroup], shown: int) -> str:
    of = f"{len(groups)} groups" if len(groups) > 1 else "1 group"
    more = f"; the largest {shown} are shown" if shown < len(groups) else ""
    return f"{_count(groups)} lines in {of} say nearly the same{more}"


def _newest(group: RepeatGroup) -> RepeatedLine:
    return max(group.lines, key=lambda line: line.day or date.min)
