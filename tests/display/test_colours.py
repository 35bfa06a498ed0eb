"""Colours of measures differ to everybody, as far as colours go; markers and dashes differ beyond."""

import random
from itertools import combinations

import numpy as np
import pytest

from rankdev.display.style import FAMILIES, MEASURES, VARIANTS, looks
from rankdev.measures.base import REGISTRY
from rankdev.measures.syntax import parse_all

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

# Machado, Oliveira and Fernandes 2009, full severity, on linear RGB
SIGHT = {
    "usual": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
TO_XYZ = np.array([[0.41246, 0.35758, 0.18044], [0.21267, 0.71515, 0.07218], [0.01933, 0.11919, 0.9503]])


def lab(colour, sight):
    """CIELAB of a colour as people with this sight see it."""
    code = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(code <= 0.04045, code / 12.92, ((code + 0.055) / 1.055) ** 2.4)
    seen = TO_XYZ @ np.clip(np.asarray(SIGHT[sight]) @ linear, 0, 1) / TO_XYZ.sum(axis=1)
    f = np.where(seen > 216 / 24389, np.cbrt(seen), (24389 / 27 * seen + 16) / 116)
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def distance(one, other):
    """CIEDE2000 (Sharma, Wu and Dalal 2005)."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    a1, a2 = (a * (1.5 - 0.5 * np.sqrt(mean**7 / (mean**7 + 25**7))) for a in (a1, a2))
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a)) % 360 if a or b else 0.0 for a, b in ((a1, b1), (a2, b2)))
    turn = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    hue = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    middle = h1 + h2 if c1 * c2 == 0 else (h1 + turn / 2) % 360
    t = 1 + sum(
        weight * np.cos(np.radians(times * middle + shift))
        for weight, times, shift in ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.2, 4, -63))
    )
    by_light = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))
    by_chroma, by_hue = (c2 - c1) / (1 + 0.045 * chroma), hue / (1 + 0.015 * chroma * t)
    angle = np.radians(60 * np.exp(-(((middle - 275) / 25) ** 2)))
    rotation = 2 * np.sqrt(chroma**7 / (chroma**7 + 25**7)) * np.sin(angle)
    return np.sqrt(by_light**2 + by_chroma**2 + by_hue**2 - rotation * by_chroma * by_hue)


SEEN_TOGETHER = ["paper@5", "Tau@5", "Rho@5", "nDCG(dcg=exp-log2)@5"]


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("measures", [list(FAMILIES), [str(measure) for measure in parse_all(SEEN_TOGETHER)]])
def test_measures_have_their_own_colours_to_everybody(measures, sight):
    assert len(measures) >= 14
    look = looks(measures)
    seen = {measure: lab(look[measure]["color"], sight) for measure in measures}
    near = {pair: distance(seen[pair[0]], seen[pair[1]]) for pair in combinations(measures, 2)}
    assert min(near.values()) > 9, min(near, key=near.get)
    assert all(light < 80 for light, _, _ in seen.values())  # visible on white


def test_any_fourteen_measures_have_their_own_colours_markers_and_dashes():
    rng = random.Random(0)
    texts = [*REGISTRY, *MEASURES, *(f"RBP(p=0.{p})" for p in range(1, 10)), "mine", "theirs"]
    for _ in range(200):
        chosen = [f"{text}@{rng.choice([5, 10])}" for text in rng.sample(sorted(set(texts)), 14)]
        look = looks(chosen).values()
        assert len({entry["color"] for entry in look}) == 14
        assert len({(entry["marker"], entry["linestyle"]) for entry in look}) == 14
    assert len(set(VARIANTS)) == 40
