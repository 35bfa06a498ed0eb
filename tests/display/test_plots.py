import io
import sys
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from tests.raising import raises

from rankdev.display.style import save
from rankdev.errors import MissingExtraError, UsageError
from rankdev.evaluation.explain import explain
from rankdev.evaluation.losses import losses
from rankdev.evaluation.scores import Scores
from rankdev.statistics.agreement import agreement
from rankdev.statistics.leaderboard import leaderboard
from rankdev.statistics.planning import plan
from rankdev.statistics.power import power
from rankdev.statistics.sensitivity import Sensitivity
from rankdev.statistics.significance import significance
from rankdev.statistics.stability import stability

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
MEASURES = ("RDQ@5", "RDQ(alpha=4)@5", "nDCG@10")


@pytest.fixture
def scores():
    values = np.random.default_rng(0).random((4, 30, 3)) + np.arange(4)[:, None, None] / 4
    return Scores(tuple("abcd"), tuple(f"q{i}" for i in range(30)), MEASURES, values)


@pytest.fixture
def grid():
    cells = tuple(product((0.5, 1, 2), (0, 0.2)))
    names = tuple(f"RDQ(alpha={alpha},lam={lam})@5" for alpha, lam in cells)
    values = np.random.default_rng(0).random((2, 30, 6)) * np.array([0.5, 1.0])[:, None, None]
    scores = Scores(("x", "y"), tuple(f"q{i}" for i in range(30)), names, values)
    simulated = power(scores, sizes=[15], subsamples=20, permutations=99)
    return Sensitivity(measure="RDQ@5", axes=("alpha", "lam"), cells=cells, measures=names, simulated=simulated)


def texts(axis):
    return [text.get_text() for text in axis.texts]


def test_curves_hold_the_medians_and_the_means(scores):
    simulated = power(scores, sizes=[5, 10], subsamples=6, permutations=39)
    sampled = stability(scores, sizes=[5, 10], subsamples=6)
    for found, values in ((simulated, np.median(simulated.power, axis=1)), (sampled, sampled.tau)):
        drawn = {line.get_label(): line.get_ydata() for line in found.plot().axes[0].lines}
        assert all(np.array_equal(drawn[name], values[m]) for m, name in enumerate(MEASURES))


def test_a_heatmap_shows_every_cell_and_frames_the_chosen(grid):
    axis = grid.plot(chosen=[(1, 0.2)]).axes[0]
    assert texts(axis) == [f"{number:.3f}" for number in grid.power]
    (frame,) = axis.patches
    assert (frame.get_x() + 0.47, frame.get_y() + 0.47) == (1, 1)  # second column, second row
    with raises("not-a-cell", UsageError, cell=(3, 3)):
        grid.plot(chosen=[(3, 3)])


def test_one_parameter_is_one_row_and_three_are_refused(grid):
    one = replace(grid, axes=("alpha",), cells=((1,), (2,)), measures=grid.measures[:2])
    axis = one.plot(chosen=[(2,)]).axes[0]
    assert texts(axis) == [f"{number:.3f}" for number in grid.power[:2]]
    assert axis.patches[0].get_x() + 0.47 == 1
    with raises("many-axes", UsageError, axes=("alpha", "lam", "penalty")):
        replace(grid, axes=("alpha", "lam", "penalty")).plot()


def test_agreement_panels_for_each_data_set(scores):
    found = agreement({"x": scores, "y": scores.select(queries=slice(0, 9))})
    axes = found.plot(rows=["RDQ@5"], columns=["nDCG@10"]).axes
    assert [axis.get_title() for axis in axes[:4]] == ["x: τ", "y: τ", "x: r", "y: r"]
    assert texts(axes[1]) == [f"{found.tau[1, 0, 2]:.3f}"]
    with raises("not-a-choice", UsageError, name="measure"):
        found.plot(rows=["P@1"])


def test_differences_are_sorted_and_named(scores):
    axis = scores.differences("a", "d").plot().axes[0]
    heights = [bar.get_width() for bar in axis.patches]
    apart = scores.values[0, :, 0] - scores.values[3, :, 0]
    assert heights == sorted(apart, reverse=True)
    assert axis.get_yticklabels()[0].get_text() == f"q{apart.argmax()}"


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_pictures_are_saved_and_reproducible(grid, tmp_path, ending):
    one, other = (save(grid.plot(), tmp_path / f"{i}.{ending}").read_bytes() for i in range(2))
    assert one == other
    assert len(one) > 1000


def test_without_matplotlib_the_extra_is_named(grid, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with raises("missing-extra", MissingExtraError, extra="plot"):
        grid.plot()


@pytest.fixture(scope="module")
def many():
    """63 systems, some with names too long for any picture."""
    names = [f"s{i}" if i % 4 else f"{i}-{'a-name-with-all-of-its-settings-' * 4}" for i in range(63)]
    values = np.random.default_rng(0).random((63, 30, 2)) + np.linspace(0, 1, 63)[:, None, None]
    return Scores(tuple(names), tuple(f"query-{'so-long-' * 6}{i}" for i in range(30)), ("RDQ@5", "AP@5"), values / 2)


MANY = {
    "scores": lambda many: many,
    "one measure": lambda many: many.select(measures=["AP@5"]),
    "leaderboard": leaderboard,
    "pairs": significance,
    "one pair": lambda many: significance(
        Scores(
            ("a", "b"),
            many.queries,
            tuple(f"nDCG@{k}" for k in range(1, 8)),
            np.repeat(many.values[:2], 4, axis=2)[:, :, :7],
        )
    ),
    "differences": lambda many: many.differences(many.systems[0], many.systems[8]),
    "agreement": agreement,
    "stability": lambda many: stability(many, sizes=[10, 20], subsamples=3),
    "equal systems": lambda many: stability(Scores(("a", "b"), many.queries, ("P@1",), np.ones((2, 30, 1))), sizes=[9]),
    "plan": lambda many: plan(many, many.systems[0], many.systems[60], "AP@5"),
    "losses": lambda many: losses({"q": ["d1", "d2"]}, {name: {"q": ["d2"]} for name in many.systems}, "RDQ@5"),
    "explanation": lambda many: explain(many.systems[:6], many.systems[2:8], k=5),
}


SLOW = {"one measure", "pairs", "plan"}  # drawn as others are


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in MANY]
)
def test_no_label_is_clipped(many, name):
    drawn = MANY[name](many).plot()
    content = io.BytesIO()
    drawn.savefig(content, format="raw", dpi=100)
    width, height = (int(inches * 100) for inches in drawn.get_size_inches())
    picture = np.frombuffer(content.getvalue(), np.uint8).reshape(height, width, 4)[:, :, :3]
    for edge in (picture[:, 0], picture[:, -1], picture[0], picture[-1]):
        assert (edge == 255).all()  # nothing reaches the edge of the paper
    assert len(drawn.get_suptitle()) > 10  # every figure has a title
    labels = [axis.xaxis.label.get_window_extent() for axis in drawn.axes if axis.get_xlabel()]
    assert not any(one.overlaps(other) for one, other in combinations(labels, 2))
    assert all(axis.get_window_extent().height > 0.2 * drawn.dpi for axis in drawn.axes)


def test_pairs_are_filled_where_they_are_told_apart():
    rng = np.random.default_rng(0)
    base, noise = rng.random(40), 0.1 * rng.normal(size=40)
    values = np.stack([base + 0.3, base + 0.28 + noise - noise.mean(), base])[:, :, None]
    found = significance(Scores(tuple("abc"), tuple(f"q{i}" for i in range(40)), ("RDQ@5",), values), margin=0.05)
    drawn = found.plot(measure="RDQ@5")
    dots = [line for line in drawn.axes[0].lines if line.get_marker() == "o"]
    best_first = found.to_polars().sort("difference", descending=True)
    for dot, row in zip(dots, best_first.iter_rows(named=True), strict=True):
        assert dot.get_xdata()[0] == pytest.approx(row["difference"])
        assert (dot.get_markerfacecolor() == "white") == (row["verdict"] not in ("better", "worse"))
    assert drawn.get_suptitle() == "a leads in RDQ@5. b cannot be told from it; both are better than c."


def test_bands_are_the_intervals(scores):
    found = power(scores.select(systems=scores.systems[:2]), sizes=[6, 10], subsamples=10, permutations=99)
    bands = found.plot().axes[0].collections
    assert len(bands) == len(found.measures)
    top = np.max([band.get_paths()[0].vertices[:, 1].max() for band in bands])
    assert top == pytest.approx(found.limits[1].max())
    many = power(scores, sizes=[6, 10], subsamples=10, permutations=99)
    assert not many.plot().axes[0].collections  # no interval of a median over pairs
    texts = [text.get_text() for text in agreement(scores, resamples=20).plot().axes[0].texts]
    assert all("[" in text for text in texts)
