"""Search box: a widget that answers while a question is typed and settings are slid."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import ipywidgets

from commonplace.display import as_html, best_text, html_box, html_table, one_line
from commonplace.errors import CommonplaceError
from commonplace.explorer.comparison import compare_results
from commonplace.text.lookalikes import shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.memory import Memory
    from commonplace.types import SearchResult, SearchResults

__all__ = ["SearchBox", "search_box"]

_OFF = "off"
_HALF_LIVES = (1, 3, 7, 14, 30, 60, 90, 180, 365, 1_000)
_LAMBDAS = tuple(round(0.1 * step, 1) for step in range(11))
_BUDGETS = (300, 12_000, 100)
_MOST_COMPARED = 30
_NAME_CHARS = 90
_WIDE = {"width": "100%"}
_LABELS = {"description_width": "9.5em"}
_GRID = {"grid_template_columns": "repeat(auto-fit, minmax(25em, 1fr))", **_WIDE}


def search_box(memory: Memory, query: str = "") -> SearchBox:
    """Return a box to type questions into, with sliders for the settings of the ranking.

    The answer changes with each key and slide. In it, the line that answers stands out. Below it,
    two results are compared: why this one, why not that one, which may be behind the answer. The
    memory's own settings stay as they are.

    Args:
        memory: Memory to search; it must stay open.
        query: Question to begin with.
    """
    return SearchBox(memory, query)


class SearchBox(ipywidgets.VBox):  # type: ignore[misc]  # it has no types
    """Widget for notebooks, tried in JupyterLab; without a kernel, a page shows its last answer.

    Attributes:
        query: Field of the question.
        vectors: Weight of the vectors; the words have the rest.
        half_life: Half-life of decay in days, or ``off``.
        mmr: Balance of relevance and variety, or ``off``.
        budget: Characters of the answer.
        days: First and last day of the notes, or None where fewer than two days have notes.
        this: Result to explain.
        that: Result to compare it with.
    """

    def __init__(self, memory: Memory, query: str = "") -> None:
        asked = memory.settings.search
        self._memory = memory
        self._found: list[SearchResult] = []
        self.query = ipywidgets.Text(
            value=query, placeholder="Type a question", layout=_WIDE, continuous_update=True
        )
        self.vectors = ipywidgets.FloatSlider(
            value=round(asked.vector_weight / (asked.vector_weight + asked.text_weight), 2),
            min=0, max=1, step=0.05, **_look("weight of vectors"),
        )  # fmt: skip
        self.half_life = _choice(
            "half-life in days", _HALF_LIVES, asked.half_life_days if asked.decay else None
        )
        self.mmr = _choice("MMR lambda", _LAMBDAS, asked.mmr_lambda if asked.mmr else None)
        least, most, step = _BUDGETS
        self.budget = ipywidgets.IntSlider(
            value=asked.max_chars, min=min(least, asked.max_chars),
            max=max(most, asked.max_chars), step=step, **_look("characters"),
        )  # fmt: skip
        self.days = _day_slider(_days(memory))
        self.this = ipywidgets.Dropdown(options=[], **_look("why this"))
        self.that = ipywidgets.Dropdown(options=[], **_look("why not that"))
        self._answer, self._why = ipywidgets.HTML(layout=_WIDE), ipywidgets.HTML(layout=_WIDE)
        self._days = ipywidgets.Label()
        self._sliders = [self.vectors, self.half_life, self.mmr, self.budget]
        self._sliders += [self.days] if self.days else []
        for control in (self.query, *self._sliders):
            control.observe(self._search, "value")
        for control in (self.this, self.that):
            control.observe(self._explain, "value")
        grid = ipywidgets.GridBox([*self._sliders, self._days], layout=_GRID)
        super().__init__([self.query, grid, self._answer, self.this, self.that, self._why])
        self._search()

    @property
    def results(self) -> SearchResults:
        """Answer to the question, by the settings of the sliders."""
        after, before = self._between()
        return self._tuned().search(self.query.value, after=after, before=before, explain=True)

    def _tuned(self, **changes: Any) -> Memory:
        vectors = self.vectors.value
        if self.half_life.value != _OFF:
            changes["half_life_days"] = self.half_life.value
        if self.mmr.value != _OFF:
            changes["mmr_lambda"] = self.mmr.value
        return self._memory.with_search_settings(
            vector_weight=vectors, text_weight=round(1 - vectors, 2),
            decay=self.half_life.value != _OFF, mmr=self.mmr.value != _OFF,
            **{"max_chars": self.budget.value, **changes},
        )  # fmt: skip

    def _between(self) -> tuple[date | None, date | None]:
        """Return the days of the slider; None where all notes count."""
        if self.days is None or self.days.index == (0, len(self.days.options) - 1):
            return None, None
        return self.days.value  # type: ignore[no-any-return]

    def _shown_days(self) -> str:
        if self.days is None:
            return "all notes"
        shown = " to ".join(map(str, self.days.value))
        return shown if any(self._between()) else f"{shown}, and notes without a date"

    def _search(self, _change: object = None) -> None:
        self._days.value = self._shown_days()
        if not self.query.value.strip():
            self._found, self._answer.value = [], ""
        else:
            try:
                results = self.results
            except CommonplaceError as error:
                self._found, self._answer.value = [], html_box(html_table([("error", str(error))]))
            else:
                self._answer.value = as_html(results)
                self._found = self._candidates()
                self._shown = results
        self._offer()

    def _candidates(self) -> list[SearchResult]:
        """Return the results of a wide answer: scores are comparable within one answer only."""
        after, before = self._between()
        wide = self._tuned(max_chars=_MOST_COMPARED * 700, max_results=_MOST_COMPARED, min_score=0)
        return wide.search(self.query.value, after=after, before=before, explain=True)

    def _offer(self) -> None:
        """Offer the results for comparison: the first two, to begin with."""
        names = [(self._name(at), at) for at in range(len(self._found))]
        for control, at in ((self.this, 0), (self.that, 1)):
            control.options = names
            control.value = at if at < len(names) else None
            control.layout.display = "" if len(names) > 1 else "none"
        self._explain()

    def _name(self, at: int) -> str:
        result = self._found[at]
        is_shown = any(_overlap(result, shown) for shown in self._shown)
        place = f"{at + 1}" + " (behind)" * (not is_shown)
        return one_line(f"{place} · {shown_path(result.citation)} · {best_text(result)}")[
            :_NAME_CHARS
        ]

    def _explain(self, _change: object = None) -> None:
        chosen = self.this.value, self.that.value
        if None in chosen or chosen[0] == chosen[1] or max(chosen) >= len(self._found):
            self._why.value = ""
        else:
            one, other = (self._found[at] for at in chosen)
            self._why.value = compare_results(one, other)._repr_html_()

    def _repr_html_(self) -> str:
        """Return the question, the settings and the answer as they are now, as a still page."""
        settings = [("question", self.query.value)] if self.query.value else []
        sliders = [slider for slider in self._sliders if slider is not self.days]
        settings += [(slider.description, str(slider.value)) for slider in sliders]
        settings.append(("days", self._shown_days()))
        return f"{html_box(html_table(settings))}{self._answer.value}{self._why.value}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = dict(super()._repr_mimebundle_(**kwargs))
        return bundle | {"text/html": self._repr_html_()}


def _look(name: str) -> dict[str, Any]:
    return {"description": name, "style": _LABELS, "layout": _WIDE}


def _choice(name: str, values: Sequence[float], own: float | None) -> Any:
    """Return a slider over values, ``off`` and the setting of the memory."""
    known = sorted({*values, *([] if own is None else [own])})
    options = [(_OFF, _OFF), *((f"{value:g}", value) for value in known)]
    return ipywidgets.SelectionSlider(
        options=options, value=_OFF if own is None else own, **_look(name)
    )


def _days(memory: Memory) -> list[date]:
    with memory.snapshot() as snapshot:
        days = {record.day for record in snapshot.files().values() if record.day is not None}
    return [date.fromordinal(day) for day in sorted(days)]


def _day_slider(days: Sequence[date]) -> Any:
    if len(days) < 2:
        return None
    return ipywidgets.SelectionRangeSlider(
        options=[(str(day), day) for day in days], index=(0, len(days) - 1), readout=False,
        **_look("days"),
    )  # fmt: skip


def _overlap(one: SearchResult, other: SearchResult) -> bool:
    return (
        one.path == other.path
        and one.start_line <= other.end_line
        and other.start_line <= one.end_line
    )
