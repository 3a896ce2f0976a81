"""Style sheet of values in a notebook, with class names that collide with no other."""

from __future__ import annotations

__all__ = ["COLOURS", "STYLE"]

COLOURS = {
    "score": "#2f80c8",
    "vector": "#2f80c8",
    "keyword": "#c2700c",
    "decay": "#808080",
    "good": "#2f80c8",
    "care": "#c2700c",
}
"""Accent colours, with a contrast of 3 to 1 on white and on black pages (WCAG 1.4.11); blue and
orange differ with any kind of colour blindness."""

_OWN = ".commonplace" * 4
"""Selector, repeated for a specificity above the page's rules for lists and tables."""

_RULES = f"""
& {{ font-size: 13px; line-height: 1.5; max-width: 60em; color: inherit }}
& p {{ margin: .3em 0 }}
& .cp-hits {{ list-style: none; margin: .3em 0; padding: 0 }}
& .cp-hits > li {{ margin: 0 0 .9em }}
& .cp-notes {{ margin: .3em 0; padding-inline-start: 1.4em }}
& .cp-head {{ display: flex; flex-wrap: wrap; align-items: center; gap: .1em .7em }}
& .cp-dim {{ opacity: .75 }}
& code {{ background: none; color: inherit; padding: 0; overflow-wrap: anywhere }}
& .cp-place {{ font-weight: 600 }}
& .cp-bar {{ display: inline-flex; width: 8em; height: .7em; overflow: hidden;
  border-radius: 2px; background: rgba(128,128,128,.28) }}
& .cp-score {{ background: {COLOURS["score"]} }}
& .cp-vector {{ background: {COLOURS["vector"]} }}
& .cp-keyword {{ background: {COLOURS["keyword"]} }}
& .cp-decay {{ background: repeating-linear-gradient(135deg,
  {COLOURS["decay"]} 0 2px, transparent 2px 4px) }}
& .cp-key {{ display: inline-block; width: .7em; height: .7em; margin-inline-end: .35em;
  border-radius: 2px }}
& .cp-text {{ margin: .3em 0; padding: .45em .8em; max-height: none; overflow: visible;
  white-space: pre-wrap; word-break: normal; overflow-wrap: anywhere; color: inherit;
  unicode-bidi: plaintext;
  font-family: var(--jp-code-font-family, ui-monospace, monospace); font-size: 12px;
  background: rgba(128,128,128,.09); border: 0;
  border-inline-start: 3px solid rgba(128,128,128,.45) }}
& .cp-best {{ display: block; margin: 0 -.8em 0 calc(-.8em - 3px); padding: .1em .8em;
  font-weight: 600; background: rgba(47,128,200,.16);
  border-inline-start: 3px solid {COLOURS["score"]} }}
& summary {{ cursor: pointer; font-size: 12px }}
& mark {{ background: rgba(255,196,0,.38); color: inherit; padding: 0 .1em;
  border-radius: 2px; font-weight: 600 }}
& .cp-legend {{ font-size: 12px; overflow-wrap: anywhere }}
& .cp-title {{ font-weight: 600 }}
& .cp-good, & .cp-care {{ display: inline-block; width: 1.4em; text-align: center;
  border-radius: 2px; border: 2px solid }}
& .cp-good {{ border-color: {COLOURS["good"]} }}
& .cp-care {{ border-color: {COLOURS["care"]} }}
& .cp-origin {{ border-bottom: 2px solid {COLOURS["care"]} }}
& .cp-section {{ margin-top: .7em }}
& table {{ border-collapse: collapse; margin: .3em 0; font-size: inherit }}
& tr, & th, & td {{ background: none; border: 0; text-align: start; vertical-align: top;
  padding: .1em 1.2em .1em 0; color: inherit; max-width: 48em; overflow-wrap: anywhere;
  white-space: normal }}
& th {{ min-width: 6.5em }}
"""
"""Rules, with ``&`` for the element of a value."""

STYLE = " ".join(_RULES.split()).replace("&", _OWN)
