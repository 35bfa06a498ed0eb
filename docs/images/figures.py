"""The figures of the documentation: on the demo's data, on simulated ones, or from stored numbers."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import rankdev as rd
from rankdev.display.style import save
from rankdev.studies import simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEMO = files("rankdev").joinpath("data/demo")
MEASURES = ("RDQ@5", "AP@5", "Compat(p=0.95)@5", "nDCG(gains=linear,dcg=exp-log2)@5")


class Data:
    """Data of the figures, each computed on first use."""

    @cached_property
    def references(self) -> rd.References:
        """The demo's references."""
        return rd.read_references(str(DEMO.joinpath("places.jsonl")))

    @cached_property
    def runs(self) -> dict[str, rd.Run]:
        """The demo's three rankers."""
        return {name: rd.read_run(str(DEMO.joinpath(f"{name}.run"))) for name in ("nearest", "popular", "blended")}

    @cached_property
    def scores(self) -> rd.Scores:
        """The demo's scores."""
        return rd.evaluate(self.references, self.runs, MEASURES[:3])

    @cached_property
    def verdicts(self) -> Any:
        """Which of two rankings users prefer."""
        return pl.read_csv(DEMO.joinpath("verdicts.csv").read_bytes())

    @cached_property
    def simulated(self) -> rd.Scores:
        """Twelve related systems on 1,500 queries."""
        data = simulate(1500, seed=1)
        return rd.evaluate(data.references, data.runs, MEASURES)

    @cached_property
    def collections(self) -> dict[str, rd.Scores]:
        """Three systems on four collections of different sizes."""
        data = {f"{size} queries": simulate(size, seed=size) for size in (40, 80, 160, 320)}
        names = ("v72-mp3", "v75-mp4", "v81-mp5")
        return {
            name: rd.evaluate(part.references, {run: part.runs[run] for run in names}, "RDQ@5")
            for name, part in data.items()
        }


SMALL: Mapping[str, Any] = {"sizes": (50, 100, 200, 500, 1000), "subsamples": 60}
FIGURES: Mapping[str, Callable[[Data], Figure]] = {
    "scores": lambda data: data.scores.plot(),
    "losses": lambda data: rd.losses(data.references, data.runs, "RDQ@3").plot(),
    "explanation": lambda data: rd.explain(data.references["museums"], data.runs["nearest"]["museums"], k=5).plot(),
    "differences": lambda data: data.scores.differences("popular", "nearest").plot(),
    "pairs": lambda data: rd.significance(data.scores).plot(),
    "leaderboard": lambda data: rd.leaderboard(data.simulated).plot(),
    "collections": lambda data: rd.meta_analysis(data.collections).plot(),
    "power": lambda data: rd.power(data.simulated, **SMALL, permutations=200).plot(),
    "stability": lambda data: rd.stability(data.simulated, **SMALL).plot(),
    "discrimination": lambda data: (
        rd.significance(data.simulated, test="randomization", correction="none").discriminative_power().plot()
    ),
    "agreement": lambda data: rd.agreement(data.simulated).plot(),
    "plan": lambda data: rd.plan(data.scores, "blended", "popular", "RDQ@5", difference=0.1).plot(),
    "bounds": lambda data: rd.bounds(_judged(), data.runs, ("RDQ@5", "RBP(p=0.8)@5")).plot(),
    "people": lambda data: rd.agreement_with_people(data.scores, data.verdicts).plot(),
    "tiers": lambda data: rd.tiers(rd.strengths(rd.read_preferences(str(DEMO.joinpath("judgments.csv"))))).plot(),
    "weights": lambda data: rd.weights_from_clicks(pl.read_csv(DEMO.joinpath("clicks.csv").read_bytes())).plot(),
}


def _judged() -> rd.References:
    return rd.read_references(str(DEMO.joinpath("judged.jsonl")))


def draw(folder: Path, names: Iterable[str] = (), kind: str = "png", dpi: int = 110) -> list[Path]:
    """Draw figures into a folder, all unless named; the same versions of both libraries produce the same bytes."""
    data = Data()
    drawn = []
    for name in names or FIGURES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rd.RankdevWarning)  # examples are small
            drawn.append(save(FIGURES[name](data), folder / f"{name}.{kind}", dpi=dpi))
    return drawn


if __name__ == "__main__":  # python docs/images/figures.py [NAME ...]
    for path in draw(Path(__file__).parent, sys.argv[1:]):
        print(path)
