from dataclasses import dataclass

import numpy as np
import pytest

from rankdev.errors import UsageError
from rankdev.evaluation.scores import Scores
from rankdev.statistics import sensitivity as module
from rankdev.statistics.power import power
from rankdev.statistics.sensitivity import grid_measures, sensitivity
from tests.raising import raises


@dataclass(frozen=True)
class Stand:
    """A measure with two parameters, in place of a real one."""

    alpha: float = 1
    lam: float = 0.2

    def __str__(self):
        return f"Stand({self.alpha},{self.lam})"


@pytest.fixture
def calls(monkeypatch):
    """Replace evaluate and parse, so that this is about the grid alone; return the measures of each call."""
    seen = []

    def evaluate(refs, runs, measures, **reading):
        seen.append(list(measures))
        values = np.random.default_rng(0).random((3, 30, len(measures))) + np.arange(3)[:, None, None] / 5
        return Scores(("a", "b", "c"), tuple(map(str, range(30))), tuple(measures), values)

    monkeypatch.setattr("rankdev.statistics.sensitivity.evaluate", evaluate)
    monkeypatch.setattr("rankdev.statistics.sensitivity.parse", lambda text: Stand())
    return seen


def test_one_evaluation_serves_all_cells(calls):
    options = {"subsamples": 8, "permutations": 99}
    found = sensitivity(None, None, measure="Stand", grid={"alpha": [1, 4], "lam": [0, 0.2]}, n=10, **options)
    texts = ["Stand(1,0)", "Stand(1,0.2)", "Stand(4,0)", "Stand(4,0.2)"]
    assert calls == [texts]
    frame = found.to_polars()
    assert frame.columns == ["alpha", "lam", "n", "power"]
    assert frame.select("alpha", "lam", "n").rows() == [
        (1, 0.0, 10),
        (1, 0.2, 10),
        (4, 0.0, 10),
        (4, 0.2, 10),
    ]
    expected = power(module.evaluate(None, None, texts), sizes=[10], **options)
    assert frame["power"].to_list() == np.median(expected.power[:, :, 0], axis=1).tolist()
    assert len(found.to_pandas()) == 4


def test_the_default_grid_is_the_paper_s(calls):
    found = sensitivity(None, None, measure="Stand", n=10, subsamples=2, permutations=19)
    table = found.to_polars()
    assert table["alpha"].unique(maintain_order=True).to_list() == [0.5, 1, 2, 4, 8]
    assert table["lam"].unique(maintain_order=True).to_list() == [0, 0.05, 0.1, 0.2, 0.4]
    assert table.height == len(set(found.measures)) == 25


def test_unknown_parameters_and_empty_grids_are_refused(calls):
    with raises("not-a-choice", UsageError, name="parameter", value="alpa", near="alpha"):
        grid_measures("Stand", {"alpa": [1]})
    with raises("bad-value", UsageError, name="grid"):
        grid_measures("Stand", {"alpha": []})
