"""Plain, slow twins: one test at a time, in exact fractions."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from rankdev.statistics.flips import draw, flip_words, stream_keys


def extremes(apart: Sequence[Fraction], words: np.ndarray) -> int:
    """Count the permutations whose flipped sum is at least as far from zero as the observed one."""
    observed, count = abs(sum(apart)), 0
    for row in words:
        signs = [-1 if int(row[q // 64]) >> (q % 64) & 1 else 1 for q in range(len(apart))]
        count += abs(sum(sign * d for sign, d in zip(signs, apart, strict=True))) >= observed
    return count


def all_extremes(values: Sequence[Sequence[Fraction]], n: int, seed: int, subsamples: int, permutations: int):
    """Count for ``values[system][query]``: one list of pairs (in dictionary order) a subsample."""
    found = []
    for draw_key, flip_key in stream_keys(seed, n, subsamples):
        pick = draw(np.array([draw_key]), len(values[0]), n)[0]
        words = flip_words(flip_key, n, 0, permutations)
        found.append([extremes([a[q] - b[q] for q in pick], words) for a, b in combinations(values, 2)])
    return np.array(found)


def exact_p(apart: Sequence[Fraction]) -> Fraction:
    observed = abs(sum(apart))
    flips = list(product([1, -1], repeat=len(apart)))
    hits = sum(abs(sum(s * d for s, d in zip(signs, apart, strict=True))) >= observed for signs in flips)
    return Fraction(hits, len(flips))
