"""Timelines: a calendar of the logs, and repeated lines by day."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, PowerNorm

from commonplace.explorer.canvas import (
    TOP,
    WIDTH,
    Picture,
    dot_edge,
    drawing,
    headline,
    message,
    panel,
    wrapped,
)
from commonplace.explorer.rows import days_written, repeat_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from commonplace.explorer.palettes import Palette, Theme
    from commonplace.explorer.rows import DayRow, RepeatedLine, RepeatGroup
    from commonplace.memory import Memory

__all__ = ["calendar", "repeats"]

_WEEK = timedelta(7)
_MOST_WEEKS = 53
"""Weeks of a band: a longer range has one band a year."""
_MOST_BANDS = 8
_LEFT = 0.62
"""Room for the names of days and years, in inches."""
_LARGEST_CELL = 0.34
_NUMBERED_CELL = 0.26
"""Size of a cell that has room for its number, in inches."""
_YEAR_WEEKS = 5
"""Columns that the name of a month with its year takes."""
_LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)

_TEXT_CHARS = 124
_LINE = 0.165
"""Height of a line of text, in inches."""
_TRACK = 0.34
"""Height of a group's timeline, in inches."""


def calendar(memory: Memory, *, theme: Theme = "light") -> Picture:
    """Draw a calendar of the daily logs: a square per day, darker for more lines.

    It shows the range from the first log to the last one; a range of more than a year has a band
    for each year with logs, the latest eight.

    Args:
        memory: Memory with the logs; files without a date are skipped.
        theme: ``light`` or ``dark``.
    """
    days = days_written(memory)
    if not days:
        return message("No dated log is indexed yet: memory.append() begins one.", theme=theme)
    bands = _bands(days)
    weeks = max(len(_mondays(band)) for band in bands)
    cell = min(_LARGEST_CELL, (WIDTH - _LEFT - 0.4) / weeks)
    band_height = 7 * cell + 0.3
    with drawing(height=TOP + band_height * len(bands) + 0.05, theme=theme) as (picture, palette):
        shades = LinearSegmentedColormap.from_list("lines", (palette.tint, palette.accent))
        norm = PowerNorm(0.5, vmin=0, vmax=max(row.lines for band in bands for row in band))
        for at, band in enumerate(bands):
            axes = panel(
                picture, top=TOP + at * band_height + 0.2, height=band_height - 0.3, left=_LEFT
            )
            axes.set_xlim(0, axes.get_window_extent().width / picture.dpi / cell)
            axes.set_ylim(7, 0)
            _draw_band(axes, band, palette, (shades, norm), numbered=cell >= _NUMBERED_CELL)
        headline(picture, *_calendar_title(days, bands), palette=palette)
        _draw_scale(picture, palette, shades, norm)
        return picture


def repeats(
    memory: Memory, *, least: float = 0.7, groups: int = 15, theme: Theme = "light"
) -> Picture:
    """Draw near-duplicate lines: of each group the newest one in full, and a point for each.

    Points of lines with the words of the newest one are blue, those of lines with other words
    orange; the latest other line is written out, too. `commonplace.explorer.rows.repeat_groups`
    returns the groups.

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
    texts = [_group_texts(group) for group in shown]
    heights = [_LINE * sum(map(len, text)) + _TRACK for text in texts]
    height = sum(heights)
    with drawing(height=TOP + 0.2 + height + 0.1, theme=theme) as (picture, palette):
        axes = panel(picture, top=TOP + 0.2, height=height)
        axes.set_ylim(height, 0)
        place = _date_places(axes, shown, palette)
        top = 0.0
        for group, text, tall in zip(shown, texts, heights, strict=True):
            _draw_group(axes, top, group, text, place, palette)
            top += tall
        headline(picture, *_repeats_title(found, len(shown)), palette=palette)
        return picture


def _bands(days: Sequence[DayRow]) -> list[list[DayRow]]:
    """Return the days as one band, or as one for each of the latest years."""
    if len(_mondays(days)) <= _MOST_WEEKS:
        return [list(days)]
    years = [list(band) for _, band in groupby(days, key=lambda row: row.day.year)]
    return years[-_MOST_BANDS:]


def _mondays(band: Sequence[DayRow]) -> range:
    """Return the ordinals of the Mondays from the first to the last day of a band."""
    first, last = (row.day.toordinal() - row.day.weekday() for row in (band[0], band[-1]))
    return range(first, last + 1, 7)


def _draw_band(
    axes: Axes,
    band: Sequence[DayRow],
    palette: Palette,
    scale: tuple[LinearSegmentedColormap, PowerNorm],
    *,
    numbered: bool,
) -> None:
    mondays = _mondays(band)
    cells: NDArray[np.float64] = np.full((7, len(mondays)), np.nan)
    for row in band:
        week = (row.day.toordinal() - mondays[0]) // 7
        cells[row.day.weekday(), week] = row.lines
        if numbered:
            dark = scale[1](row.lines) > 0.45
            axes.text(week + 0.5, row.day.weekday() + 0.5, str(row.lines), fontsize=7, ha="center",
                      va="center", color=palette.paper if dark else palette.ink)  # fmt: skip
    blank = [
        [
            0.0 if band[0].day.toordinal() <= monday + day <= band[-1].day.toordinal() else np.nan
            for monday in mondays
        ]
        for day in range(7)
    ]
    look: dict[str, Any] = {"edgecolors": palette.paper, "linewidth": 1.5}
    grey = LinearSegmentedColormap.from_list("", [palette.grid] * 2)
    axes.pcolormesh(np.array(blank), cmap=grey, **look)
    axes.pcolormesh(cells, cmap=scale[0], norm=scale[1], **look)
    side: dict[str, Any] = {"ha": "right", "va": "center", "color": palette.faint}
    for day, name in ((0, "Mon"), (2, "Wed"), (4, "Fri"), (6, "Sun")):
        axes.text(-0.15, day + 0.5, name, fontsize=8, **side)
    for week, name in _months(mondays, band[-1].day):
        axes.text(week, -0.15, name, fontsize=8, color=palette.faint, va="bottom")


def _months(mondays: range, last: date) -> list[tuple[int, str]]:
    """Return the weeks in which months begin, with their names, some of them with the year.

    Args:
        mondays: Ordinals of the Mondays.
        last: Last day; a month that begins behind it has no name.
    """
    starts = [
        (week, day)
        for week, monday in enumerate(mondays)
        if (day := date.fromordinal(max(1, min(monday + 6, date.max.toordinal())))).day <= 7
        or not week
    ]
    starts = [start for start in starts if not start[0] or start[1].replace(day=1) <= last]
    if len(starts) > 1 and starts[1][0] < _YEAR_WEEKS:  # no room for a name before that one
        del starts[0]
    names = [(week, f"{day:%b}" + f" {day.year}" * (day.month == 1)) for week, day in starts]
    return [(starts[0][0], f"{starts[0][1]:%b} {starts[0][1].year}"), *names[1:]]


def _draw_scale(
    picture: Picture, palette: Palette, shades: LinearSegmentedColormap, norm: PowerNorm
) -> None:
    """Draw the shades with their numbers of lines at the right of the headline."""
    most = int(norm.vmax or 1)
    steps = sorted({max(1, round(most * level)) for level in _LEVELS})
    axes = panel(picture, top=0.42, height=0.16, left=WIDTH - 0.45 * len(steps) - 1.2)
    axes.set_xlim(0, axes.get_window_extent().width / picture.dpi / 0.16)
    axes.set_ylim(1, 0)
    for at, lines in enumerate(steps):
        left = at * 0.45 / 0.16
        axes.add_patch(_square(left, shades(norm(lines))))
        axes.text(left + 1.3, 0.5, str(lines), va="center", fontsize=8, color=palette.faint)
    axes.text(len(steps) * 0.45 / 0.16, 0.5, "lines a day", va="center", fontsize=8,
              color=palette.faint)  # fmt: skip


def _square(left: float, colour: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((left, 0), 1, 1, facecolor=colour, edgecolor="none")


def _calendar_title(days: Sequence[DayRow], bands: Sequence[Sequence[DayRow]]) -> tuple[str, str]:
    shown = [row for band in bands for row in band]
    lines = sum(row.lines for row in shown)
    span = (shown[-1].day - shown[0].day).days + 1
    title = f"{lines:,} lines on {len(shown):,} days" + f" of {span:,}" * (span > len(shown))
    earlier = len(days) - len(shown)
    return title, f"{shown[0].day} to {shown[-1].day}" + (
        f"; {earlier} earlier days are not shown" if earlier else ""
    )


def _group_texts(group: RepeatGroup) -> tuple[list[str], list[str]]:
    """Return the newest line, and the latest one with other words, each in full."""
    newest = _newest(group)
    other = next((line for line in _by_day(group) if line.text != newest.text), None)
    head = wrapped(f"{len(group.lines)}× {_plain(newest)}", _TEXT_CHARS)
    if other is None:
        return head, []
    word = "before" if other.day and other.day != newest.day else "also"
    return head, wrapped(f"{word}: {_plain(other)}", _TEXT_CHARS)


def _plain(line: RepeatedLine) -> str:
    return line.text.lstrip("-*+> ")


def _by_day(group: RepeatGroup) -> list[RepeatedLine]:
    return sorted(group.lines, key=lambda line: line.day or date.min, reverse=True)


def _newest(group: RepeatGroup) -> RepeatedLine:
    return _by_day(group)[0]


def _date_places(
    axes: Axes, groups: Sequence[RepeatGroup], palette: Palette
) -> Callable[[RepeatedLine], float]:
    """Set up the axis of dates with a column for undated lines; return the mapping to it."""
    days = [line.day.toordinal() for group in groups for line in group.lines if line.day]
    first, last = min(days, default=0), max(days, default=0)
    has_undated = any(line.day is None for group in groups for line in group.lines)
    left = 0.13 if has_undated else 0.02
    axes.set_xlim(0, 1)
    look: dict[str, Any] = {"va": "bottom", "fontsize": 8.5, "color": palette.faint}
    if has_undated:
        axes.text(0.02, -0.05, "no date", **look)
    if days:
        axes.text(left, -0.05, f"{date.fromordinal(first)}", ha="left", **look)
    if last > first:
        axes.text(0.99, -0.05, f"{date.fromordinal(last)}", ha="right", **look)
    width = (0.98 - left) / max(1, last - first)
    return lambda line: left + 0.005 + width * (line.day.toordinal() - first) if line.day else 0.03


def _draw_group(
    axes: Axes,
    top: float,
    group: RepeatGroup,
    texts: tuple[list[str], list[str]],
    place: Callable[[RepeatedLine], float],
    palette: Palette,
) -> None:
    for lines, colour in zip(texts, (palette.ink, palette.other), strict=True):
        for line in lines:
            axes.text(0.002, top, line, va="top", fontsize=8.5, color=colour)
            top += _LINE
    row, newest = top + 0.1, _newest(group).text
    axes.axhline(row, color=palette.grid, linewidth=0.8, zorder=0)
    for is_same, colour in ((True, palette.accent), (False, palette.other)):
        places = [
            place(line) if line.day or is_same else place(line) + 0.025
            for line in group.lines
            if (line.text == newest) is is_same
        ]
        look: dict[str, Any] = {
            "marker": "o" if is_same else "D",
            "zorder": 4 if is_same else 3,
            **dot_edge(len(group.lines), palette),
        }
        axes.scatter(places, [row] * len(places), s=30, color=colour, **look)


def _repeats_title(groups: Sequence[RepeatGroup], shown: int) -> tuple[str, str]:
    lines = sum(len(group.lines) for group in groups)
    of = f"{len(groups)} groups" if len(groups) > 1 else "1 group"
    more = f"; the largest {shown} are shown" if shown < len(groups) else ""
    return (
        f"{lines} lines in {of} say nearly the same{more}",
        "blue dots: lines as the newest one; orange diamonds: lines with other words",
    )
