"""Plots of a ranking: stages and decay. Their rows are in `commonplace.explorer.rows`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from commonplace.explorer.canvas import (
    TOP,
    Picture,
    dot_edge,
    drawing,
    file_label,
    headline,
    label,
    message,
    panel,
    place_label,
)
from commonplace.explorer.rows import (
    AGE_SPANS,
    NO_DATE,
    STAGES,
    age_span,
    decay_rows,
    kept_part,
    stage_tracks,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from commonplace.explorer.palettes import Palette, Theme
    from commonplace.explorer.rows import DecayRow, StageTrack
    from commonplace.memory import Memory

__all__ = ["decay_curves", "stages"]

_EMPTY = "Nothing is indexed yet: write a note, and call memory.index()."
_ROW = 0.47
"""Height of a candidate, in inches."""
_LINE_CHARS = 78
_MOST_POINTS = 400
"""Points of a curve: more would not be visible, and the ranking computes each."""
_NAMED = 7
"""Files that a column names; of the others, the number is shown."""


def stages(memory: Memory, query: str, *, candidates: int = 12, theme: Theme = "light") -> Picture:
    """Draw the ranks of a query's candidates after each stage: merge, decay, MMR.

    Each row is a candidate with its line that answers. A thick track is in the answer, and the
    others are behind it; a track that ends has lost its place among the candidates.

    Args:
        memory: Memory to search.
        query: Question.
        candidates: Number of candidates.
        theme: ``light`` or ``dark``.
    """
    tracks = stage_tracks(memory, query, candidates=candidates)
    if not tracks:
        return message(f"No candidates for {query!r}.", theme=theme)
    most = max(rank for track in tracks for rank in track.ranks if rank)
    height = _ROW * most
    with drawing(height=TOP + 0.3 + height + 0.1, theme=theme) as (picture, palette):
        axes = panel(picture, top=TOP + 0.3, height=height)
        axes.set_ylim(most + 0.5, 0.5)
        axes.set_xlim(-0.2, 6.35)
        answer = len(memory.search(query))
        for track in tracks:
            _draw_track(axes, track, answer, palette)
        for stage, name in enumerate(_stage_names(memory)):
            axes.text(stage, 0.42, name, ha="center", va="bottom", fontsize=9, color=palette.faint)
        axes.text(2.3, 0.42, "line that answers", va="bottom", fontsize=9, color=palette.faint)
        if answer < most:
            axes.axhline(answer + 0.5, color=palette.faint, linewidth=1, linestyle=(0, (2, 3)))
        headline(picture, label(query, 80), _stages_note(tracks, answer, most), palette=palette)
        return picture


def decay_curves(memory: Memory, *, theme: Theme = "light") -> Picture:
    """Draw what age takes: the curve of the settings, and the files by name below it.

    At the half-life, half of what a file can lose to age is lost. Spans of age have columns of
    equal width.

    Args:
        memory: Memory with the files.
        theme: ``light`` or ``dark``.
    """
    rows = decay_rows(memory)
    if not rows:
        return message(_EMPTY, theme=theme)
    columns = _by_span(rows)
    listed = max(min(len(found), _NAMED + 1) for found in columns)
    below = 0.5 + 0.19 * listed
    with drawing(height=TOP + 2.9 + below + 0.1, theme=theme) as (picture, palette):
        upper = panel(picture, top=TOP, height=2.9, left=0.65)
        lower = panel(picture, top=TOP + 2.9, height=below, left=0.65)
        for axes in (upper, lower):
            axes.set_xlim(0, len(columns) + 0.1)
        _draw_curve(upper, memory, palette)
        _draw_files(upper, rows, palette)
        _name_files(lower, columns, below, palette)
        headline(picture, *_decay_title(memory, rows), palette=palette)
        return picture


def _draw_track(axes: Axes, track: StageTrack, answer: int, palette: Palette) -> None:
    known = [(stage, rank) for stage, rank in enumerate(track.ranks) if rank]
    last, rank = known[-1]
    is_last = last == len(track.ranks) - 1
    is_shown = is_last and rank <= answer
    colour = palette.faint
    if is_shown:
        moved = (track.ranks[0] or answer + 1) - rank
        colour = palette.accent if moved > 0 else palette.other if moved < 0 else palette.ink
    axes.plot(*zip(*known, strict=True), marker="o", markersize=6 if is_shown else 4, color=colour,
              linewidth=2.6 if is_shown else 1.2, alpha=1.0 if is_shown else 0.5,
              solid_capstyle="round", zorder=3 if is_shown else 2)  # fmt: skip
    if not is_last:
        axes.plot(last, rank, marker="x", markersize=8, color=palette.faint)
        return
    place = f"{place_label(track.citation, 60)}   {track.scores[-1]:.2f}"
    if track.origin.author != "user":
        place += f"   {track.origin.author}"
    text: dict[str, Any] = {"va": "center", "ha": "left"}
    axes.text(2.13, rank, str(rank), fontsize=9, color=colour, fontweight="bold", **text)
    axes.text(2.35, rank - 0.19, label(track.line.lstrip("-*+> "), _LINE_CHARS), fontsize=9,
              color=palette.ink if is_shown else palette.faint, **text)  # fmt: skip
    axes.text(2.35, rank + 0.21, place, fontsize=7.5, color=palette.faint, **text)


def _stage_names(memory: Memory) -> list[str]:
    search = memory.settings.search
    on = (True, search.decay, search.mmr)
    return [name if is_on else f"{name} (off)" for name, is_on in zip(STAGES, on, strict=True)]


def _stages_note(tracks: Sequence[StageTrack], answer: int, most: int) -> str:
    ends = [(track.ranks[0], track.ranks[-1]) for track in tracks]
    up = sum(1 for first, last in ends if last and last <= answer and last < (first or answer + 1))
    down = sum(1 for first, last in ends if first and last and first < last <= answer)
    note = "age and repetition leave the order of the answer as it is"
    if up or down:
        note = f"age and repetition: {up} up (blue), {down} down (orange)"
    if lost := sum(1 for _, last in ends if last is None):
        note += f", {lost} out (×)"
    return note + (f"; below the dotted line: not in the answer of {answer}" * (answer < most))


def _by_span(rows: Sequence[DecayRow]) -> list[list[DecayRow]]:
    """Return the files of each span, and last those that do not age."""
    spans = [age_span(row.age_days) for row in rows]
    return [
        [row for row, its in zip(rows, spans, strict=True) if its == span]
        for span in range(len(AGE_SPANS) + 1)
    ]


def _place(ages: Any) -> Any:
    """Return the places of ages on the axis: spans are of equal width, and logarithmic within."""
    ends = [least for _, least in AGE_SPANS] + [10 * AGE_SPANS[-1][1]]
    return np.interp(np.log1p(ages), np.log1p(ends), range(len(ends)))


def _draw_curve(axes: Axes, memory: Memory, palette: Palette) -> None:
    half_life = memory.settings.search.half_life_days
    ages = np.unique(np.expm1(np.linspace(0, np.log1p(3_650), _MOST_POINTS)).round())
    axes.plot(_place(ages), kept_part(memory, ages.tolist()), color=palette.accent, linewidth=2.4)
    axes.set_ylim(-0.04, 1.14)
    axes.set_yticks([0, 0.5, 1], ["none left", "half left", "all left"])
    axes.tick_params(axis="y", length=0)
    axes.hlines([0, 0.5, 1], 0, len(AGE_SPANS), color=palette.grid, linewidth=0.8, zorder=0)
    axes.vlines(range(len(AGE_SPANS) + 1), -0.04, 1.14, color=palette.grid, linewidth=0.8, zorder=0)
    if memory.settings.search.decay:
        at, left = float(_place(half_life)), kept_part(memory, [half_life])[0]
        axes.plot(
            [0, at, at], [left, left, -0.04], color=palette.other, linestyle=":", linewidth=1.4
        )
        axes.plot(at, left, "o", color=palette.other, markersize=8, zorder=4)
        axes.annotate(
            f"half-life: {half_life:g} days", (at, left), (9, 5), textcoords="offset points",
            color=palette.other, fontweight="bold", fontsize=9,
        )  # fmt: skip


def _draw_files(axes: Axes, rows: Sequence[DecayRow], palette: Palette) -> None:
    dated = [row for row in rows if row.age_days is not None]
    look: dict[str, Any] = {"zorder": 3, **dot_edge(len(dated), palette)}
    axes.scatter(_place([row.age_days for row in dated]), [row.kept for row in dated], s=30,
                 color=palette.accent, **look)  # fmt: skip
    if len(dated) < len(rows):
        axes.scatter([len(AGE_SPANS) + 0.5], [1], s=42, marker="D", color=palette.ink, **look)


def _name_files(
    axes: Axes, columns: Sequence[Sequence[DecayRow]], height: float, palette: Palette
) -> None:
    """Write the number and the names of the files of each column below it."""
    axes.set_ylim(height, 0)
    names = [*(name for name, _ in AGE_SPANS), NO_DATE]
    for at, (name, found) in enumerate(zip(names, columns, strict=True)):
        count = f"{len(found)} file{'s' * (len(found) != 1)}" if found else ""
        axes.text(at + 0.05, 0.08, name, va="top", fontsize=8.5, fontweight="bold")
        axes.text(at + 0.05, 0.27, count, va="top", fontsize=8, color=palette.faint)
        fits = len(found) <= _NAMED + 1
        shown = found if fits else found[:_NAMED]
        lines = [file_label(row.path, 19) for row in shown]
        lines += [] if fits else [f"and {len(found) - len(shown)} more"]
        for row, line in enumerate(lines):
            axes.text(at + 0.05, 0.46 + 0.19 * row, line, va="top", fontsize=7.5)


def _decay_title(memory: Memory, rows: Sequence[DecayRow]) -> tuple[str, str]:
    search, what = memory.settings.search, memory.profile.ranker().decays
    if not search.decay:
        return "Age takes nothing: decay is off", "files by age"
    title = f"Half of what age can take is gone after {search.half_life_days:g} days"
    if what != "evidence":
        return title, "of the score of each chunk, by the age of its file"
    least = min(row.left for row in rows)
    return title, (
        "of a line that a newer one restates or corrects; the others lose nothing. "
        f"The oldest file here keeps {least:.0%} of such a line's evidence."
    )
