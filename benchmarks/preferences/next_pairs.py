"""How many judgments each strategy needs: `python -m benchmarks.preferences.next_pairs docs/images/next-pairs.png`.

Queries of 16 items with normal strengths (standard deviation 1.5) are judged in batches chosen by each strategy;
quality is Kendall's τ-b between the fitted and the true order, and the same over the true best five items.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import kendalltau

from rankdev.preferences import Preferences, next_pairs
from rankdev.preferences.models import Options
from rankdev.preferences.strengths import fit_model

ITEMS, QUERIES, BATCH, BATCHES, SPREAD = 16, 40, 8, 24, 1.5
STRATEGIES = ("information", "top-heavy", "grade-prior", "random")
COLOURS = dict(zip(STRATEGIES, ("#0072b2", "#d55e00", "#009e73", "#7f7f7f"), strict=True))


def simulate(strategy: str, seed: int) -> list[tuple[float, float]]:
    """Judge one query batch by batch; τ over all items and over the best five, after each batch."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(size=ITEMS) * SPREAD
    names = [f"d{k}" for k in range(ITEMS)]
    # grades as a first assessor gives them: right up to noise, four levels
    noisy = strength + rng.normal(size=ITEMS) * 0.75
    grades = {"q": dict(zip(names, np.digitize(noisy, [-1.5, 0.0, 1.5]).tolist(), strict=True))}
    best = np.argsort(-strength)[:5]
    rows: list[tuple[str, str, str]] = []
    quality = []
    for batch in range(BATCHES):
        judged = Preferences.from_rows(rows, items={"q": names})
        for _, a, b in next_pairs(judged, BATCH, strategy, grades=grades, seed=seed + batch):
            chance = 1 / (1 + np.exp(strength[names.index(b)] - strength[names.index(a)]))
            rows.append(("q", a, b) if rng.random() < chance else ("q", b, a))
        judged = Preferences.from_rows(rows, items={"q": names})
        fitted = fit_model(judged, "bradley-terry", Options(ties="half")).values
        quality.append(
            (kendalltau(fitted, strength).statistic, np.nan_to_num(kendalltau(fitted[best], strength[best]).statistic))
        )
    return quality


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    judgments = np.arange(1, BATCHES + 1) * BATCH
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for strategy in STRATEGIES:
        mean = np.mean([simulate(strategy, seed) for seed in range(QUERIES)], axis=0)
        for axis, column, levels in zip(axes, mean.T, ((0.7, 0.8), (0.5, 0.6)), strict=True):
            axis.plot(judgments, column, label=strategy, color=COLOURS[strategy], lw=1.8)
            reached = [int(judgments[np.argmax(column >= t)]) if column.max() >= t else None for t in levels]
            which = "all items" if axis is axes[0] else "best five"
            print(f"{strategy}, {which}: judgments until τ ≥ {levels}: {reached}; at the end {column[-1]:.3f}")
    for axis, title in zip(axes, ("order of all 16 items", "order of the best five"), strict=True):
        axis.set(title=title, xlabel="judgments", ylabel="Kendall τ with the truth")
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, loc="lower right")
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "next-pairs.png", dpi=130)


if __name__ == "__main__":
    main()
