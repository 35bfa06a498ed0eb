"""One colour a measure, the same in every figure: a hue for each family, a shade for each configuration."""

from __future__ import annotations

from zlib import crc32

from rankdev.measures import Measure, parse

COLOURS = {
    "RDQ": "#b3001b",
    "RDQ(alpha=4)": "#e4572e",
    "RDQ(penalty=m1)": "#8c1c5a",
    "RBP(p=0.9)": "#0b3c8c",
    "RBP(p=0.8)": "#2f74c9",
    "RBP(p=0.5)": "#6fa8dc",
    "nDCG(dcg=exp-log2)": "#132a13",
    "nDCG(gains=inverse,dcg=exp-log2)": "#00664f",
    "nDCG(gains=linear,dcg=exp-log2)": "#2a9d8f",
    "nDCG(gains=binary)": "#6a994e",
    "Compat(p=0.95)": "#4b1488",
    "Compat(p=0.9)": "#8338c4",
    "Compat(p=0.8)": "#b47ae0",
    "AP": "#5c6670",
    "Tau": "#a1662f",
    "Rho": "#5d4037",
}
_OTHERS = ("#b58900", "#007a87", "#9c27b0", "#455a64", "#827717", "#ad1457")


def colour_of(measure: str | Measure) -> str:
    """Give the colour of a measure at any cutoff.

    >>> colour_of("RDQ@5") == colour_of("RDQ(alpha=1)@10")
    True
    """
    text = str(parse(measure)).partition("@")[0]
    return COLOURS.get(text) or _OTHERS[crc32(text.encode()) % len(_OTHERS)]
