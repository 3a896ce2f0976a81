"""The looks of values in a notebook: one style sheet, of names that nothing else has."""

from __future__ import annotations

__all__ = ["COLOURS", "STYLE"]

COLOURS = {
    "score": "#2e8b57",
    "vector": "#2f80c8",
    "keyword": "#c2528f",
    "decay": "#b0791b",
    "good": "#2e8b57",
    "care": "#b0791b",
}
"""Accents, which stand out 3 to 1 from a white and from a black page alike (WCAG 1.4.11)."""

_FILLS = "".join(
    f".commonplace .cp-{name}{{background:{COLOURS[name]}}}"
    for name in ("score", "vector", "keyword")
)

STYLE = (
    ".commonplace{font-size:13px;line-height:1.5;max-width:60em;color:inherit}"
    ".commonplace p,.commonplace ol,.commonplace ul{margin:.3em 0}"
    ".commonplace .cp-hits{list-style:none;padding:0}"
    ".commonplace .cp-hits>li{margin:0 0 .9em}"
    ".commonplace .cp-notes{padding-left:1.4em}"
    ".commonplace .cp-head{display:flex;flex-wrap:wrap;align-items:center;gap:.1em .7em}"
    ".commonplace .cp-dim{opacity:.75}"
    ".commonplace .cp-place,.commonplace code{background:none;color:inherit;padding:0;"
    "overflow-wrap:anywhere}"
    ".commonplace .cp-place{font-weight:600}"
    ".commonplace .cp-bar{display:inline-flex;width:8em;height:.7em;overflow:hidden;"
    "border-radius:2px;background:rgba(128,128,128,.28)}"
    f"{_FILLS}"
    ".commonplace .cp-decay{background:repeating-linear-gradient(135deg,"
    f"{COLOURS['decay']} 0 2px,transparent 2px 4px)}}"
    ".commonplace .cp-key{display:inline-block;width:.7em;height:.7em;margin-right:.35em;"
    "border-radius:2px}"
    ".commonplace .cp-text{margin:.3em 0;padding:.45em .8em;max-height:20em;overflow:auto;"
    "white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext;color:inherit;"
    "background:rgba(128,128,128,.09);border:0;border-inline-start:3px solid "
    "rgba(128,128,128,.45)}"
    ".commonplace mark{background:rgba(255,196,0,.38);color:inherit;padding:0 .1em;"
    "border-radius:2px;font-weight:600}"
    ".commonplace .cp-legend{font-size:12px;overflow-wrap:anywhere}"
    ".commonplace .cp-title{font-weight:600}"
    ".commonplace .cp-good,.commonplace .cp-care{display:inline-block;width:1.4em;"
    "text-align:center;border-radius:2px;border:2px solid}"
    f".commonplace .cp-good{{border-color:{COLOURS['good']}}}"
    f".commonplace .cp-care{{border-color:{COLOURS['care']}}}"
    ".commonplace .cp-section{margin-top:.7em}"
    ".commonplace table{border-collapse:collapse;margin:.3em 0;font-size:inherit}"
    ".commonplace tr,.commonplace th,.commonplace td{background:none;border:0;"
    "text-align:start;vertical-align:top;padding:.1em 1.2em .1em 0;color:inherit;"
    "max-width:48em;overflow-wrap:anywhere;white-space:normal}"
)
