"""Map of chunks by their vectors. Its rows are in `commonplace.explorer.rows`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from commonplace.explorer.canvas import Picture, Theme, drawing, label, message, no_ticks
from commonplace.explorer.layout import spread
from commonplace.explorer.rows import chunk_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from commonplace.explorer.canvas import Palette
    from commonplace.explorer.rows import ChunkPoint
    from commonplace.memory import Memory

__all__ = ["chunk_map"]

_COLOURED_FILES = 8
_MARK_APART = 17.0
"""Distance between the centres of two ranks on the map, in points of 1/72 inch."""


def chunk_map(
    memory: Memory,
    *,
    query: str | None = None,
    color: Literal["age", "file"] = "age",
    theme: Theme = "light",
) -> Picture:
    """Draw the chunks on a plane, so that similar vectors lie close together.

    The axes are the first two principal components of the vectors. They explain a small part of the
    variance, so that close points may still differ.

    Args:
        memory: Memory with the chunks.
        query: Question whose results are marked with their ranks.
        color: Meaning of colours: ``age``, or ``file`` for the largest files.
        theme: ``light`` or ``dark``.
    """
    if color not in ("age", "file"):
        raise ValueError(f"color is {color!r}; it must be 'age' or 'file'.")
    points = chunk_points(memory, query=query)
    if not points:
        return message(
            "No chunk has a vector: index some notes with an embedder to see their map.",
            theme=theme,
        )
    with drawing(height=6.2, theme=theme) as (picture, palette):
        axes = picture.subplots()
        size = float(np.clip(9_000 / len(points), 5, 42))
        draw = _by_age if color == "age" else _by_file
        draw(picture, axes, points, palette, size)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.margins(0.07)
        no_ticks(axes)
        axes.set_title(f"{len(points)} chunks: what says alike lies together")
        if query:
            axes.set_xlabel(f"numbers: results for {label(repr(query), 70)}")
            picture.draw_without_rendering()  # marks are placed in the final size
            _mark_hits(axes, points, palette)
        return picture


def _by_age(
    picture: Picture, axes: Axes, points: Sequence[ChunkPoint], palette: Palette, size: float
) -> None:
    ageless = [point for point in points if point.age_days is None]
    dated = [point for point in points if point.age_days is not None]
    if ageless:
        axes.scatter(*_places(ageless), s=size, marker="D", color=palette.faint, linewidth=0,
                     label="does not age")  # fmt: skip
        axes.legend(loc="lower right")
    if dated:
        shades = LinearSegmentedColormap.from_list("age", (palette.new, palette.old))
        dots = axes.scatter(*_places(dated), s=size, c=[point.age_days or 0.0 for point in dated],
                            cmap=shades, alpha=0.85, linewidth=0)  # fmt: skip
        bar = picture.colorbar(dots, ax=axes, shrink=0.6, label="age in days")
        bar.outline.set_visible(False)


def _by_file(
    picture: Picture, axes: Axes, points: Sequence[ChunkPoint], palette: Palette, size: float
) -> None:
    count = Counter(point.path for point in points)
    largest = [path for path, _ in sorted(count.items(), key=lambda item: (-item[1], item[0]))]
    named = largest[:_COLOURED_FILES]
    others = [point for point in points if point.path not in named]
    if others:
        axes.scatter(*_places(others), s=size, color=palette.faint, alpha=0.5, linewidth=0,
                     label=f"{len(largest) - len(named)} other files")  # fmt: skip
    for path, colour in zip(named, palette.series, strict=False):
        mine = [point for point in points if point.path == path]
        axes.scatter(*_places(mine), s=size, color=colour, alpha=0.85, linewidth=0,
                     label=label(path, 30))  # fmt: skip
    picture.legend(loc="outside lower center", ncols=3, markerscale=max(1.0, 5 / size**0.5))


def _places(points: Sequence[ChunkPoint]) -> tuple[list[float], list[float]]:
    return [point.x for point in points], [point.y for point in points]


def _mark_hits(axes: Axes, points: Sequence[ChunkPoint], palette: Palette) -> None:
    """Draw rings around the chunks of the results, and their ranks without overlaps."""
    hits = [(rank, point) for point in points for rank in point.ranks]
    if not hits:
        return
    axes.scatter(*_places([point for _, point in hits]), s=60, facecolor="none",
                 edgecolor=palette.ink, linewidth=1.3, zorder=4)  # fmt: skip
    scale = axes.figure.dpi / 72
    true = axes.transData.transform([(point.x, point.y) for _, point in hits]) / scale
    moved = spread(true + np.array([0, 12]), apart=_MARK_APART)
    for (rank, point), offset in zip(hits, moved - true, strict=True):
        axes.annotate(
            str(rank), (point.x, point.y), tuple(offset), textcoords="offset points", zorder=5,
            ha="center", va="center", fontsize=8, fontweight="bold", color=palette.paper,
            bbox={"boxstyle": "circle,pad=0.25", "facecolor": palette.ink, "edgecolor": "none"},
            arrowprops={"arrowstyle": "-", "color": palette.ink, "linewidth": 0.8},
        )  # fmt: skip
