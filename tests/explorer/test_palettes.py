"""Colours that stand beside each other differ for red-green-blind readers, too."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from commonplace.display.style import COLOURS
from commonplace.explorer.palettes import PALETTES, palette_of

# Machado, Oliveira & Fernandes (2009), severity 1, of linear RGB.
SIGHTS = {
    "all": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
LEAST_APART = 12
"""Distance in CIELAB; 2 is just noticed, and 10 at a glance."""


def seen(colour, sight):
    """Return a colour in CIELAB as it is seen."""
    rgb = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(SIGHTS[sight] @ linear, 0, 1)
    xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    ) @ linear / (0.9505, 1.0, 1.089)  # fmt: skip
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def together(palette):
    """Yield the colours that stand beside each other in one picture."""
    yield [*palette.series, palette.faint]
    yield [*palette.ages, palette.faint]
    yield [palette.accent, palette.other, palette.ink]
    yield [palette.grid, palette.tint, palette.accent]


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("theme", PALETTES)
def test_colours_of_a_picture_differ(theme, sight):
    for colours in together(PALETTES[theme]):
        for one, other in combinations(colours, 2):
            apart = np.linalg.norm(seen(one, sight) - seen(other, sight))
            assert apart >= LEAST_APART, (one, other, apart)


@pytest.mark.parametrize("sight", SIGHTS)
def test_colours_of_a_score_and_of_a_verdict_differ(sight):
    for names in (("vector", "keyword", "decay"), ("good", "care")):
        for one, other in combinations([COLOURS[name] for name in names], 2):
            assert np.linalg.norm(seen(one, sight) - seen(other, sight)) >= LEAST_APART


@pytest.mark.parametrize("theme", PALETTES)
def test_texts_have_contrast(theme):
    palette = palette_of(theme)
    paper = seen(palette.paper, "all")[0]
    for colour in (palette.ink, palette.faint, palette.accent, palette.other):
        assert abs(seen(colour, "all")[0] - paper) > 40
