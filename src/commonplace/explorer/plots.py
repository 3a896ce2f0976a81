"""Plots of a ranking: stages and decay. Their rows are in `commonplace.explorer.rows`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from commonplace.explorer.canvas import (
    Picture,
    Theme,
    drawing,
    label,
    message,
    no_ticks,
    place_label,
)
from commonplace.explorer.rows import STAGES, decay_rows, left_at, stage_tracks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from commonplace.explorer.canvas import Palette
    from commonplace.explorer.rows import DecayRow, StageTrack
    from commonplace.memory import Memory

__all__ = ["decay_curves", "stages"]

_EMPTY = "Nothing is indexed yet: write a note, and call memory.index()."
_MOST_POINTS = 400
"""Points of a curve: more would not be visible, and the ranking computes each."""
_NAMED_FILES = 6
"""Files with a label on the curve; the others are points only."""
_NAME_WIDTH = 0.2
"""Width of a file's label, as a share of the axis."""


def stages(memory: Memory, query: str, *, candidates: int = 12, theme: Theme = "light") -> Picture:
    """Draw the ranks of a query's candidates after each stage: merge, decay, MMR.

    Each line is a candidate. Candidates of the answer are coloured; a line ends at the stage that
    drops its candidate.

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
    with drawing(height=1.3 + 0.36 * most, theme=theme) as (picture, palette):
        axes = picture.subplots()
        answer = len(memory.search(query))
        for at, track in enumerate(tracks):
            _draw_track(axes, track, palette, colour=_track_colour(track, at, answer, palette))
        if answer < most:
            axes.axhline(answer + 0.5, color=palette.faint, linewidth=1, linestyle=(0, (2, 3)))
        axes.set_ylim(most + 0.6, 0.4)
        axes.set_xlim(-1.15, len(STAGES) - 1 + 1.3)
        axes.set_xticks(range(len(STAGES)), _stage_names(memory))
        axes.xaxis.tick_top()
        axes.set_yticks([])
        no_ticks(axes)
        axes.set_title(label(query, 80), pad=14)
        note = (
            f"below the dotted line: not among the {answer} of the answer" if answer < most else ""
        )
        axes.set_xlabel(note, fontsize=9)
        return picture


def decay_curves(memory: Memory, *, theme: Theme = "light") -> Picture:
    """Draw the decay factor of each file on the curve of the settings, and a histogram of ages.

    Curves of half and of twice the half-life are drawn for comparison.

    Args:
        memory: Memory with the files.
        theme: ``light`` or ``dark``.
    """
    rows = decay_rows(memory)
    if not rows:
        return message(_EMPTY, theme=theme)
    dated = [row for row in rows if row.age_days is not None]
    ages = [row.age_days or 0.0 for row in dated]
    end = max([*ages, 2 * memory.settings.search.half_life_days]) * 1.08
    with drawing(height=5.2, theme=theme) as (picture, palette):
        upper, lower = picture.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        upper.set_xlim(-0.02 * end, end)
        _draw_curves(upper, memory, palette, end=end)
        upper.scatter(ages, [row.left for row in dated], s=26, color=palette.series[0], zorder=3,
                      edgecolor=palette.paper, linewidth=0.8)  # fmt: skip
        _name_files(upper, dated, palette)
        _draw_ageless(upper, [row for row in rows if row.age_days is None], palette)
        what = memory.profile.ranker().decays
        upper.set_title(
            "What is left of a line once a note of today says it again"
            if what == "evidence"
            else "What age leaves of a chunk's score"
        )
        upper.set_ylabel(f"share of the {what}")
        upper.set_ylim(0, 1.12)
        upper.set_yticks(np.linspace(0, 1, 6))
        upper.grid(visible=True, axis="y")
        lower.hist(ages, bins=30, range=(0, end), color=palette.series[0], alpha=0.75)
        lower.set_ylabel("files")
        lower.set_xlabel("age in days")
        lower.yaxis.get_major_locator().set_params(integer=True, nbins=3)
        return picture


def _track_colour(track: StageTrack, at: int, answer: int, palette: Palette) -> str | None:
    last = track.ranks[-1]
    return palette.series[at % len(palette.series)] if last and last <= answer else None


def _draw_track(axes: Axes, track: StageTrack, palette: Palette, *, colour: str | None) -> None:
    known = [(stage, rank) for stage, rank in enumerate(track.ranks) if rank]
    look: dict[str, Any] = {"color": colour or palette.faint, "alpha": 1.0 if colour else 0.55}
    axes.plot(*zip(*known, strict=True), marker="o", markersize=6, linewidth=2.2, **look,
              solid_capstyle="round", zorder=3 if colour else 2)  # fmt: skip
    name, ink = place_label(track.citation), palette.ink if colour else palette.faint
    if track.origin.author != "user":
        name += f" ({track.origin.author})"
    text: dict[str, Any] = {"va": "center", "fontsize": 8.5, "color": ink}
    first, rank = known[0]
    if first == 0:
        axes.text(-0.07, rank, name, ha="right", **text)
    last, rank = known[-1]
    if last == len(track.ranks) - 1:
        axes.text(last + 0.07, rank, f"{rank}  {name}  {track.scores[-1]:.2f}", **text)


def _stage_names(memory: Memory) -> list[str]:
    search = memory.settings.search
    on = (True, search.decay, search.mmr)
    return [name if is_on else f"{name} (off)" for name, is_on in zip(STAGES, on, strict=True)]


def _draw_curves(axes: Axes, memory: Memory, palette: Palette, *, end: float) -> None:
    ages = np.unique(np.linspace(0, end, _MOST_POINTS).round())
    half_life = memory.settings.search.half_life_days
    for factor, style in ((0.5, ":"), (2.0, "--"), (1.0, "-")):
        left = left_at(memory, ages.tolist(), half_life_days=factor * half_life)
        main = factor == 1.0
        name = f"half-life {factor * half_life:g} days" + (" (the settings)" if main else "")
        axes.plot(ages, left, style, label=name, linewidth=2.2 if main else 1.4,
                  color=palette.series[0] if main else palette.faint)  # fmt: skip
    axes.legend(loc="upper right", bbox_to_anchor=(1.0, 0.9))


def _name_files(axes: Axes, dated: Sequence[DecayRow], palette: Palette) -> None:
    """Label a few files, spaced along the curve."""
    end = axes.get_xlim()[1]
    oldest = max((row.age_days or 0.0 for row in dated), default=0.0)
    free = float("-inf")
    for target in np.linspace(0, oldest, _NAMED_FILES) if dated else ():
        row = min(dated, key=lambda row: abs((row.age_days or 0.0) - target))
        at, width = row.age_days or 0.0, _NAME_WIDTH * end
        is_far = at + width > end
        left = at - width if is_far else at
        if left < free:
            continue
        free = left + width
        axes.annotate(
            label(row.path, 26), (at, row.left), (-7 if is_far else 7, 9),
            textcoords="offset points", ha="right" if is_far else "left",
            fontsize=8, color=palette.ink, zorder=4,
            bbox={"facecolor": palette.paper, "edgecolor": "none", "alpha": 0.8, "pad": 1},
        )  # fmt: skip


def _draw_ageless(axes: Axes, ageless: Sequence[DecayRow], palette: Palette) -> None:
    if not ageless:
        return
    axes.axhline(1.0, color=palette.series[2], linewidth=1.6)
    count = f"{len(ageless)} file{'s do' if len(ageless) > 1 else ' does'} not age"
    names = ", ".join(label(row.path, 26) for row in ageless[:3]) + ", …" * (len(ageless) > 3)
    axes.annotate(
        f"{count}: {names}", (1.0, 1.0), (0, 5), xycoords=("axes fraction", "data"),
        textcoords="offset points", ha="right", fontsize=8.5, color=palette.ink,
    )  # fmt: skip
