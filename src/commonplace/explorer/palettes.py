"""Palettes of the pictures: colours that differ for red-green-blind readers, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["PALETTES", "Palette", "Theme", "palette_of"]

Theme = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of a theme.

    Attributes:
        paper: Background; it is opaque, so that a picture is readable on any page.
        ink: Texts.
        faint: Secondary texts, and lines.
        grid: Grid lines.
        accent: What a picture is about.
        other: What differs from that.
        tint: Light end of the scale that ends in the accent.
        series: Categories, after Okabe and Ito (2008).
        ages: Spans of age, the newest first; blue for new, orange for old.
    """

    paper: str
    ink: str
    faint: str
    grid: str
    accent: str
    other: str
    tint: str
    series: tuple[str, ...]
    ages: tuple[str, ...]


PALETTES: dict[Theme, Palette] = {
    "light": Palette(
        "#ffffff", "#1f2328", "#59636e", "#dfe3e8",
        accent="#0065a8", other="#b65a00", tint="#a6c9e6",
        series=("#0072b2", "#d98500", "#00896b", "#c65f99", "#56b4e9", "#a33c00", "#1f2328"),
        ages=("#003f73", "#0072b2", "#5aa5d8", "#d9b06a", "#d98500", "#9a4a00"),
    ),
    "dark": Palette(
        "#16181d", "#e6e8eb", "#a0a9b4", "#343a43",
        accent="#5cb0ee", other="#f0a03c", tint="#1d4569",
        series=("#3f94d6", "#f0a830", "#17b890", "#c64f9c", "#a5dbfa", "#e0672a", "#ffffff"),
        ages=("#b5e0ff", "#5cb0ee", "#2f7ab5", "#a8812f", "#e39a2b", "#ffcf7a"),
    ),
}  # fmt: skip


def palette_of(theme: Theme) -> Palette:
    """Return the colours of a theme.

    Raises:
        ValueError: The theme does not exist.
    """
    if theme not in PALETTES:
        raise ValueError(f"theme is {theme!r}; it must be 'light' or 'dark'.")
    return PALETTES[theme]
