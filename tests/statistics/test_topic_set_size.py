"""Sizes of collections: textbook and published tables, a plain loop over SciPy's distributions, what scores say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rankdev as rd
from rankdev.errors import DataError, UsageError
from rankdev.statistics.student import queries_for
from rankdev.statistics.topic_set_size import queries_for_width, queries_to_detect
from tests.raising import raises
from tests.statistics.conftest import scored


def test_textbook_sizes():
    """Cohen (1988), and what G*Power and R's pwr give: 34 pairs, 64 in each of two groups, 45 in each of four."""
    assert queries_to_detect(0.5, 2, 0.5, True, 0.8, 0.05) == 34
    assert queries_to_detect(0.5, 2, 1.0, False, 0.8, 0.05) == 64
    # f² = Σ(μᵢ − μ)²/(kσ²), which is D²/(2kσ²) where all but the best and the worst are in the middle
    assert queries_to_detect(0.25 * np.sqrt(8), 4, 1.0, False, 0.8, 0.05) == 45


# Sakai, "Topic set size design with variance estimates from two-way ANOVA", EVIA 2014: topics for a power of .8 at
# α = .05 with ten systems, where the difference between best and worst is .10, .20, .25 (ad hoc, news, depth 1,000), as
# quoted in a public note: the paper itself was not at hand
PUBLISHED = {"AP": (166, 42, 27), "Q": (168, 43, 28), "nDCG": (176, 45, 29), "nERR": (377, 95, 61)}


@pytest.mark.parametrize("sizes", PUBLISHED.values(), ids=PUBLISHED)
def test_published_sizes(sizes):
    """One variance explains a column of the table, to a query; he takes Nagata's approximation of the power."""

    def column(variance):
        return np.array([queries_to_detect(each, 10, variance, False, 0.8, 0.05) for each in (0.1, 0.2, 0.25)])

    apart = [np.abs(column(variance) - sizes).max() for variance in np.arange(0.05, 0.125, 0.0002)]
    assert min(apart) <= 1


effects, levels = st.floats(0.25, 2.0), st.sampled_from([(0.05, 0.8), (0.01, 0.9), (0.1, 0.5)])


@given(effects, levels, st.integers(2, 30), st.booleans())
def test_sizes_beside_a_plain_loop(effect, level, systems, same):
    alpha, power = level
    for n in range(2, 2000):
        within = (n - 1) * (systems - 1 if same else systems)
        need = stats.f.ppf(1 - alpha, systems - 1, within)
        if stats.ncf.sf(need, systems - 1, within, n * effect**2 / 2) >= power:
            break
    assert queries_to_detect(effect, systems, 1.0, same, power, alpha) == n
    if systems == 2 and same:
        assert abs(queries_for(effect / np.sqrt(2), power, alpha) - n) <= 1  # as plan computes it, by quadrature


@pytest.mark.parametrize("same", [True, False])
def test_the_mean_width_of_simulated_intervals(same):
    n = int(queries_for_width(0.3, 0.05, same, 0.05))
    assert n < 30  # few enough for the correction to matter
    rng = np.random.default_rng(0)
    widths = []
    for size in (n - 1, n):
        a, b = rng.normal(0, np.sqrt(0.05), (2, 40_000, size))
        if same:
            error, freedom = (a - b).std(axis=1, ddof=1) / np.sqrt(size), size - 1
        else:
            error, freedom = np.sqrt((a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)) / size), 2 * size - 2
        widths.append(2 * stats.t.ppf(0.975, freedom) * error.mean())
    assert widths[0] > 0.3 >= widths[1]


def pilot(queries=60, systems=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 0.2, (1, queries)) + rng.normal(0, 0.1, (systems, queries)) + np.arange(systems)[:, None]


def test_the_variance_of_scores_is_that_within_systems():
    values = pilot()
    found = rd.plan(scored(values), difference=0.1)
    row = found.summary().row(0, named=True)
    assert row["variance"] == pytest.approx(values.var(axis=1, ddof=1).mean())
    pairs = [np.var(values[i] - values[j], ddof=1) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert row["variance"] * (1 - row["correlation"]) == pytest.approx(np.mean(pairs) / 2)
    assert row["low"] < row["variance"] < row["high"]
    needed = found.to_polars().row(0, named=True)
    assert needed["same_low"] < needed["same"] < needed["same_high"] < needed["different_low"]
    again = rd.plan(row["variance"], difference=0.1, correlation=row["correlation"]).to_polars().row(0, named=True)
    assert (again["same"], again["different"]) == (needed["same"], needed["different"])
    assert again["same_low"] is None


def test_collections_are_pooled_whatever_their_systems():
    one, other = pilot(20, 3, 1), pilot(50, 5, 2)
    found = rd.plan({"one": scored(one), "other": scored(other)}, width=0.1).summary().row(0, named=True)
    parts = [(len(part[0]) - 1, part.var(axis=1, ddof=1).mean()) for part in (one, other)]
    assert found["variance"] == pytest.approx(sum(n * v for n, v in parts) / sum(n for n, _ in parts))
    assert found["pilot"] == 70


def test_what_cannot_be_answered_is_refused():
    with raises("needed", UsageError, name="difference or width"):
        rd.plan(variance=0.05)
    with raises("too-few", DataError, least=10, count=9):
        rd.plan(scored(pilot(9)), difference=0.1)
    with raises("no-variance", DataError):
        rd.plan(scored(np.ones((2, 20))), difference=0.1)
    with raises("not-whole", UsageError, name="systems", low=2):
        rd.plan(variance=0.05, difference=0.1, systems=1)


def test_the_ends_of_what_can_be_asked():
    assert rd.plan(variance=1e8, difference=1e-8).to_polars()["same"].to_list() == [np.inf]
    assert rd.plan(variance=5e-324, difference=1e8).to_polars()["same"].to_list() == [2.0]
    level = pilot(30)[0]
    table = rd.plan(scored(np.stack([level, level + 1])), difference=0.5).to_polars()
    assert table["same"].to_list() == [2.0]  # nothing but the difference tells the two apart
