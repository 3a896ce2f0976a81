"""Hook through which values show themselves in notebooks, terminals and logs.

A value looks its renderers up when it is shown. Values therefore import no renderer, and a process
that shows none loads none.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import fields
from reprlib import Repr
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from rich.console import RenderableType

__all__ = ["Displayed", "DisplayedDataclass", "Renderers", "brief", "register", "registered"]


class Renderers(NamedTuple):
    """Functions that show a value: as HTML, as a rich renderable, as one line of text."""

    html: Callable[[Any], str]
    rich: Callable[[Any], RenderableType]
    line: Callable[[Any], str]


_DEFAULT = "commonplace.display"
"""Module whose ``install`` registers the renderers; imported when the first value is shown."""
_renderers: Renderers | None = None


def register(renderers: Renderers) -> None:
    """Set the renderers of all values."""
    global _renderers
    _renderers = renderers


def registered() -> Renderers:
    """Return the renderers; the first call imports the default ones if none are registered."""
    if _renderers is None:
        importlib.import_module(_DEFAULT).install()
    assert _renderers is not None
    return _renderers


_MOST_BITS = 1_000
"""Length of an integer that is written out. A longer one cannot be, or takes long."""


class _BriefRepr(Repr):
    """Formatter of a `repr` in which long and deep parts are truncated."""

    def repr_int(self, value: int, level: int) -> str:
        if value.bit_length() > _MOST_BITS:
            return f"<integer of {value.bit_length()} bits>"
        return super().repr_int(value, level)


brief = _BriefRepr()
brief.maxstring = brief.maxother = 60
brief.maxtuple = brief.maxlist = brief.maxdict = 2


class Displayed:
    """Mixin that shows a value in a notebook and, through rich, in a terminal."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return registered().html(self)

    def __rich__(self) -> RenderableType:
        return registered().rich(self)


class DisplayedDataclass(Displayed):
    """Mixin of dataclasses with a short `repr`: default fields left out, long ones truncated."""

    __slots__ = ()

    def __repr__(self: DataclassInstance) -> str:
        shown = (
            f"{each.name}={brief.repr(value)}"
            for each in fields(self)
            if (value := getattr(self, each.name)) != each.default and value not in ((), {})
        )
        return f"{type(self).__name__}({', '.join(shown)})"
