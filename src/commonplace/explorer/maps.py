"""Map of lines by their meaning, as a Vega-Lite chart. Its rows are in `commonplace.explorer.rows`.

Vega-Lite draws it: JupyterLab brings it along, and vl-convert makes pictures and pages
of it without a browser or a network.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import vl_convert

from commonplace.display.facts import clipped
from commonplace.explorer.line_map import LISTED
from commonplace.explorer.palettes import Palette, Theme, palette_of
from commonplace.explorer.rows import AGE_SPANS, NO_DATE, age_span, line_map
from commonplace.text.lookalikes import shown_path

if TYPE_CHECKING:
    from commonplace.explorer.rows import LineMap, MapGroup
    from commonplace.memory import Memory

__all__ = ["MapPicture", "chunk_map"]

_MIME = "application/vnd.vegalite.v5+json"
_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_VERSION = "5.20"
_WIDTH, _HEIGHT = 740, 560
_PINNED = 62
"""Room below the map for the line that was clicked, in pixels."""
_MOST_CHARS = 300
_NONCHARACTERS = {0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD}
_CHAR_PIXELS = 6.4
_LABEL_PIXELS = 14
_PINNED_CHARS = 105
_HINT = "hint"
"""Layer that a still picture does not have."""
_DOTS = (3.0, 11.0)
"""Smallest and largest diameter of a dot, in pixels."""


class MapPicture:
    """Chart that shows itself in a notebook: interactive where there is Vega, else as a picture.

    Attributes:
        spec: Vega-Lite specification with its data.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec

    def save(self, path: str | Path) -> None:
        """Write a page that works offline (``.html``), or a picture (``.svg``, ``.png``)."""
        path = Path(path)
        if path.suffix == ".png":
            path.write_bytes(self._repr_png_())
        elif path.suffix in (".html", ".svg"):
            draw = self._page if path.suffix == ".html" else self._svg
            path.write_text(draw(), encoding="utf-8")
        else:
            raise ValueError(f"the file is {path.name!r}; it must end in .html, .svg or .png.")

    def _page(self) -> str:
        return str(vl_convert.vegalite_to_html(self.spec, vl_version=_VERSION, bundle=True))

    def _svg(self) -> str:
        return str(vl_convert.vegalite_to_svg(self._still(), vl_version=_VERSION))

    def _repr_png_(self) -> bytes:
        return bytes(vl_convert.vegalite_to_png(self._still(), vl_version=_VERSION))

    def _still(self) -> dict[str, Any]:
        layers = [layer for layer in self.spec["layer"] if layer.get("name") != _HINT]
        return self.spec | {"layer": layers}

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:  # noqa: ARG002
        picture = base64.b64encode(self._repr_png_()).decode("ascii")
        return {_MIME: self.spec, "image/png": picture, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"<MapPicture: {self.spec['title']['text']}>"


def chunk_map(
    memory: Memory,
    *,
    query: str | None = None,
    color: Literal["age", "file"] = "age",
    theme: Theme = "light",
) -> MapPicture:
    """Draw the lines of the notes on a plane, so that lines that speak of one thing are a group.

    A dot is a line: hovering shows it, and a click keeps it with its citation below the map. The
    wheel zooms, and a click on the legend picks out. Groups have words of their own, and the title
    says how much of what is near in meaning is near on the plane, too.

    Args:
        memory: Memory with the lines.
        query: Question whose results are marked with their ranks.
        color: Meaning of colours: ``age``, or ``file`` for the largest files.
        theme: ``light`` or ``dark``.
    """
    if color not in ("age", "file"):
        raise ValueError(f"color is {color!r}; it must be 'age' or 'file'.")
    palette = palette_of(theme)
    found = line_map(memory, query=query, width=_WIDTH, height=_HEIGHT)
    keys = _ages(found, palette) if color == "age" else _files(found, palette)
    return MapPicture(_spec(found, keys, palette, query))


class _Keys:
    """Legend: the key of each point, and the colour of each key."""

    def __init__(self, of: list[str], colours: dict[str, str], title: str) -> None:
        self.of, self.title = of, title
        self.colours = {key: colour for key, colour in colours.items() if key in set(of)}


def _ages(found: LineMap, palette: Palette) -> _Keys:
    names = [*(name for name, _ in AGE_SPANS), NO_DATE]
    of = [names[age_span(point.age_days)] for point in found.points]
    colours = dict(zip(names, (*palette.ages, palette.faint), strict=True))
    return _Keys(of, colours, "age")


def _files(found: LineMap, palette: Palette) -> _Keys:
    count = Counter(point.path for point in found.points)
    largest = sorted(count, key=lambda path: (-count[path], path))
    named = dict(zip(largest, palette.series, strict=False))
    others = f"{len(largest) - len(named)} other files"
    of = [
        _label(shown_path(point.path)) if point.path in named else others for point in found.points
    ]
    colours = {_label(shown_path(path)): colour for path, colour in named.items()}
    return _Keys(of, colours | {others: palette.faint}, "file")


def _spec(found: LineMap, keys: _Keys, palette: Palette, query: str | None) -> dict[str, Any]:
    (left, right), (top, bottom), scale = _frame(found)
    step = min((group.radius / (group.lines + 1) ** 0.5 for group in found.groups), default=0.0)
    dot = min(max(1.45 * (step or _DOTS[1]) / scale, _DOTS[0]), _DOTS[1])
    title, below = _title(found, query)
    place = {
        axis: {"field": axis, "type": "quantitative", "axis": None,
               "scale": {"domain": domain, "nice": False, "zero": False}}
        for axis, domain in (("x", [left, right]), ("y", [bottom, top]))
    }  # fmt: skip
    text = {"type": "text", "fontSize": 11, "fontWeight": "bold"}
    side = {"align": "left", "dx": -5} if _is_small(found) else {}
    halo = {"stroke": palette.paper, "strokeWidth": 4, "strokeJoin": "round", "fill": palette.paper}
    labels = {"values": list(_labels(found, scale))}
    lines = list(_points(found, keys))
    hits = {"values": [row for row in lines if "rank" in row]}
    texts: dict[str, Any] = {"name": "lines"} if _is_small(found) else {"values": []}
    disc = {"type": "point", "filled": True, "opacity": 1, "color": palette.ink, "size": 260}
    return {
        "$schema": _SCHEMA,
        "title": {"text": title, "subtitle": below, "anchor": "start"},
        "width": _WIDTH,
        "height": (bottom - top) / scale,
        "background": palette.paper,
        "datasets": {"lines": lines},
        "encoding": place,
        "layer": [
            {
                "data": {"name": "lines"},
                "params": [
                    {"name": "pan", "select": "interval", "bind": "scales"},
                    {"name": "key", "bind": "legend",
                     "select": {"type": "point", "fields": ["key"]}},
                    {"name": "pin", "select": {"type": "point", "fields": ["citation"]}},
                ],
                "mark": {"type": "point", "filled": True, "size": dot**2, "cursor": "pointer"},
                "encoding": _dots(keys),
            },
            {"data": labels, "mark": text | halo | side, "encoding": {"text": {"field": "words"}}},
            {"data": labels, "mark": text | side | {"color": palette.ink},
             "encoding": {"text": {"field": "words"}}},
            *_pinned(palette, (bottom - top) / scale - _PINNED),
            {"data": texts, "mark": {"type": "text", "fontSize": 11, "align": "left", "dx": 14,
                                     "limit": _WIDTH / max(1, len(found.groups)) - 30,
                                     "color": palette.ink},
             "encoding": {"text": {"field": "line"}}},
            {"data": hits, "mark": disc, "encoding": _dots(keys) | {
                "color": {"value": palette.ink}, "opacity": {"value": 1}}},
            {"data": hits, "mark": text | {"color": palette.paper},
             "encoding": {"text": {"field": "rank"}}},
        ],
        "config": _config(palette),
        "usermeta": {"embedOptions": {"actions": False}},
    }  # fmt: skip


def _pinned(palette: Palette, top: float) -> Iterator[dict[str, Any]]:
    """Yield the layers of the line that was clicked, and of the hint where none was."""
    place = {"x": {"value": 0}, "y": {"value": top}}
    mark = {"type": "text", "align": "left", "baseline": "top", "fontSize": 11, "lineHeight": 15}
    lines = f"replace(datum.line, regexp('(.{{1,{_PINNED_CHARS}}})(\\\\s|$)', 'g'), '$1\\n')"
    yield {
        "data": {"name": "lines"},
        "transform": [
            {"filter": {"param": "pin", "empty": False}},
            {"calculate": f"split(datum.citation + '\\n' + {lines}, '\\n')", "as": "shown"},
        ],
        "mark": mark | {"color": palette.ink},
        "encoding": place | {"text": {"field": "shown"}},
    }
    yield {
        "name": _HINT,
        "data": {"values": [{}]},
        "transform": [{"filter": "length(data('pin_store')) == 0"}],
        "mark": mark | {"color": palette.faint},
        "encoding": place | {"text": {"value": "click a dot to keep its line and citation here"}},
    }


def _is_small(found: LineMap) -> bool:
    return len(found.points) <= LISTED


def _dots(keys: _Keys) -> dict[str, Any]:
    tooltip = ["line", "citation", "group", *([] if keys.title == "file" else [keys.title])]
    names = {keys.title: "key"}
    return {
        "color": {
            "field": "key", "type": "nominal", "title": keys.title,
            "scale": {"domain": list(keys.colours), "range": list(keys.colours.values())},
        },
        "opacity": {"condition": {"param": "key", "value": 0.95}, "value": 0.08},
        "tooltip": [{"field": names.get(name, name), "title": name} for name in tooltip],
    }  # fmt: skip


def _points(found: LineMap, keys: _Keys) -> Iterator[dict[str, Any]]:
    for point, key in zip(found.points, keys.of, strict=True):
        row = {
            "x": point.x, "y": point.y, "key": key,
            "line": _label(point.text.lstrip("-*+> ")),
            "citation": _label(shown_path(point.citation)),
            "group": " · ".join(found.groups[point.group].words) or "no words in common",
        }  # fmt: skip
        yield row if point.rank is None else row | {"rank": str(point.rank)}


def _label(text: str, most: int = _MOST_CHARS) -> str:
    """Sanitize a text from notes for the chart; vl-convert aborts on what XML cannot hold."""
    return clipped(text, most).translate(_NONCHARACTERS)


def _frame(found: LineMap) -> tuple[list[float], list[float], float]:
    """Return the ends of both axes, of equal scale, and the units of a pixel."""
    if _is_small(found):
        return (
            [0.0, _WIDTH],
            [-20.0, max([0.0, *(point.y for point in found.points)]) + 20.0 + _PINNED],
            1.0,
        )
    ends = []
    if found.groups:
        discs = [(group.x, group.y, group.radius) for group in found.groups]
        ends = [
            (
                min(disc[axis] - disc[2] for disc in discs),
                max(disc[axis] + disc[2] for disc in discs),
            )
            for axis in (0, 1)
        ]
    room = (_WIDTH - 30, _HEIGHT - 50)
    scale = max((high - low) / size for (low, high), size in zip(ends, room, strict=True))
    (left, right), (top, bottom) = (
        [(low + high) / 2 - size * scale / 2, (low + high) / 2 + size * scale / 2]
        for (low, high), size in zip(ends, (_WIDTH, _HEIGHT), strict=True)
    )
    return [left, right], [top, bottom + _PINNED * scale], scale


def _labels(found: LineMap, scale: float) -> Iterator[dict[str, Any]]:
    """Yield the labels of groups, the largest first; one that would cover another is left out."""
    if _is_small(found):
        yield from (
            {"x": group.x, "y": group.y, "words": _label(" · ".join(group.words), 30)}
            for group in found.groups
        )
        return
    taken: list[tuple[float, float, float]] = []
    for group in found.groups:
        for words, y in _label_places(group, scale):
            half = 0.5 * len(words) * _CHAR_PIXELS * scale
            high = _LABEL_PIXELS * scale
            if half > 1.6 * group.radius and "·" in words:
                continue
            if all(abs(group.x - x) > half + width or abs(y - at) > high for x, at, width in taken):
                taken.append((group.x, y, half))
                yield {"x": group.x, "y": round(y, 1), "words": words}
                break


def _label_places(group: MapGroup, scale: float) -> Iterator[tuple[str, float]]:
    for count in range(len(group.words), 0, -1):
        words = _label(" · ".join(group.words[:count]), 40)
        for side in (-1, 1):
            yield words, group.y + side * (group.radius + 9 * scale)


def _title(found: LineMap, query: str | None) -> tuple[str, list[str]]:
    if not found.points:
        return "No line has a vector: index some notes with an embedder to see their map.", []
    title = f"{len(found.points):,} lines in {len(found.groups)} groups, by what they speak of"
    below = []
    if not _is_small(found):
        below.append(
            f"Of the ten lines nearest in meaning, {10 * found.together:.1f} are in the same group "
            f"and {10 * found.near:.1f} the nearest on the plane: the rest is lost in flattening."
        )
    if query:
        below.append(f"numbers: results for {_label(query, 90)!r}")
    return title, below


def _config(palette: Palette) -> dict[str, Any]:
    return {
        "font": "DejaVu Sans, Verdana, sans-serif",
        "view": {"stroke": None},
        "title": {"color": palette.ink, "fontSize": 15, "subtitleColor": palette.faint,
                  "subtitleFontSize": 11, "offset": 8},
        "legend": {"labelColor": palette.ink, "titleColor": palette.faint, "orient": "bottom",
                   "direction": "horizontal", "columns": 3, "symbolSize": 90, "labelLimit": 220},
    }  # fmt: skip
