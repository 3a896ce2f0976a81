"""Figures of a memory: ranking stages, decay, a map of lines, a calendar, repeated lines.

::

    from commonplace import Memory
    from commonplace.explorer import stages

    with Memory.open("notes") as memory:
        stages(memory, "which port does the VPN use?")

Each function takes a `Memory`, and a notebook displays what it returns: a matplotlib figure, which
``figure.savefig("picture.png")`` saves, or the map of lines, a Vega-Lite chart, which
``picture.save("map.html")`` saves as a page to explore. ``theme="dark"`` draws for a dark page. All
need ``pip install 'commonplace[notebooks]'``. The rows behind them, in `commonplace.explorer.rows`,
are plain values without dependencies.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from commonplace.errors import MissingExtraError

if TYPE_CHECKING:
    from commonplace.explorer.maps import chunk_map
    from commonplace.explorer.plots import decay_curves, stages
    from commonplace.explorer.search_widget import search_box
    from commonplace.explorer.timelines import calendar, repeats

__all__ = ["calendar", "chunk_map", "decay_curves", "repeats", "search_box", "stages"]

_HOMES = {
    "calendar": "timelines",
    "chunk_map": "maps",
    "decay_curves": "plots",
    "repeats": "timelines",
    "search_box": "search_widget",
    "stages": "plots",
}

_EXTRA = {"ipywidgets": "ipywidgets", "matplotlib": "matplotlib", "vl_convert": "vl-convert-python"}
"""Packages of the extra by their modules."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        raise MissingExtraError(
            f"the pictures need {_EXTRA[missing]}, which is not installed: "
            "pip install 'commonplace[notebooks]'"
        ) from error
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
