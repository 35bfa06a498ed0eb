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

from rankdev.core.references import References
from rankdev.core.runs import Run
from rankdev.display.style import save
from rankdev.errors import RankdevWarning
from rankdev.evaluation.bounds import bounds
from rankdev.evaluation.evaluate import evaluate
from rankdev.evaluation.explain import explain
from rankdev.evaluation.losses import losses
from rankdev.evaluation.scores import Scores
from rankdev.io import read_references, read_run
from rankdev.io.preferences import read_preferences
from rankdev.learning.position_weights import weights_from_clicks
from rankdev.preferences import strengths, tiers
from rankdev.statistics.agreement import agreement
from rankdev.statistics.equivalence import equivalence
from rankdev.statistics.parameters import tune
from rankdev.statistics.planning import plan
from rankdev.statistics.power import power
from rankdev.statistics.side_by_side import agreement_with_people
from rankdev.statistics.significance import significance
from rankdev.statistics.stability import stability
from rankdev.statistics.variance import variance
from rankdev.studies._plots import plot_judgments
from rankdev.studies._published import published
from rankdev.studies.simulation import simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEMO = files("rankdev").joinpath("data/demo")
MEASURES = ("RDQ@5", "AP@5", "Compat(p=0.95)@5", "nDCG(gains=linear,dcg=exp-log2)@5")


class Data:
    """What the figures are drawn from, each made when it is first asked for."""

    @cached_property
    def references(self) -> References:
        """What is right in the demo."""
        return read_references(str(DEMO.joinpath("places.jsonl")))

    @cached_property
    def runs(self) -> dict[str, Run]:
        """The demo's three rankers."""
        return {name: read_run(str(DEMO.joinpath(f"{name}.run"))) for name in ("nearest", "popular", "blended")}

    @cached_property
    def scores(self) -> Scores:
        """The demo's scores."""
        return evaluate(self.references, self.runs, MEASURES[:3])

    @cached_property
    def verdicts(self) -> Any:
        """Which of two lists people prefer."""
        return pl.read_csv(DEMO.joinpath("verdicts.csv").read_bytes())

    @cached_property
    def simulated(self) -> Scores:
        """Twelve related systems on 1,500 queries."""
        made = simulate(1500, seed=1)
        return evaluate(made.references, made.runs, MEASURES)

    @cached_property
    def collections(self) -> dict[str, Scores]:
        """Three systems on four collections of different sizes."""
        made = {f"{size} queries": simulate(size, seed=size) for size in (40, 80, 160, 320)}
        names = ("v72-mp3", "v75-mp4", "v81-mp5")
        return {
            name: evaluate(part.references, {run: part.runs[run] for run in names}, "RDQ@5")
            for name, part in made.items()
        }


SMALL: Mapping[str, Any] = {"sizes": (50, 100, 200, 500, 1000), "subsamples": 60}
FIGURES: Mapping[str, Callable[[Data], Figure]] = {
    "scores": lambda data: data.scores.plot(),
    "losses": lambda data: losses(data.references, data.runs, "RDQ@5").plot(),
    "explanation": lambda data: explain(data.references["museums"], data.runs["nearest"]["museums"], k=5).plot(),
    "differences": lambda data: data.scores.differences("popular", "nearest").plot(),
    "pairs": lambda data: significance(data.scores).plot(),
    "groups": lambda data: significance(data.simulated).plot(show="groups"),
    "equivalence": lambda data: equivalence(data.collections["320 queries"], margin=0.05).plot(),
    "collections": lambda data: significance(data.collections).plot(),
    "power": lambda data: power(data.simulated, **SMALL, permutations=200).plot(),
    "stability": lambda data: stability(data.simulated, **SMALL).plot(),
    "discrimination": lambda data: significance(data.simulated, correction="none").discriminative_power().plot(),
    "variance": lambda data: variance(data.simulated).plot(),
    "agreement": lambda data: agreement(data.simulated).plot(),
    "plan": lambda data: plan(data.scores, "popular", "blended", "RDQ@5", difference=0.1).plot(),
    "bounds": lambda data: bounds(_judged(), data.runs, ("RDQ@5", "RBP(p=0.8)@5")).plot(),
    "people": lambda data: agreement_with_people(data.scores, data.verdicts).plot(),
    "tuning": lambda data: tune("RDQ@5", data.references, data.runs, data.verdicts).plot(),
    "tiers": lambda data: tiers(strengths(read_preferences(str(DEMO.joinpath("judgments.csv"))))).plot(),
    "weights": lambda data: weights_from_clicks(pl.read_csv(DEMO.joinpath("clicks.csv").read_bytes())).plot(),
    "next-pairs": lambda data: plot_judgments(published("next-pairs")),
}


def _judged() -> References:
    return read_references(str(DEMO.joinpath("judged.jsonl")))


def draw(folder: Path, names: Iterable[str] = (), kind: str = "png", dpi: int = 110) -> list[Path]:
    """Draw figures into a folder, all unless named; the same versions of rankdev and matplotlib give the same bytes."""
    data = Data()
    drawn = []
    for name in names or FIGURES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankdevWarning)  # examples are small
            drawn.append(save(FIGURES[name](data), folder / f"{name}.{kind}", dpi=dpi))
    return drawn


if __name__ == "__main__":  # python docs/images/figures.py [NAME ...]
    for path in draw(Path(__file__).parent, sys.argv[1:]):
        print(path)
