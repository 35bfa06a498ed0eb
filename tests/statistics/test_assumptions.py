"""Remarks where assumptions fail, each with its number; and none where they hold."""

import numpy as np
import pytest

import rankdev as rd


def remarks_on(apart, measure="P@5", test=rd.significance, **options):
    """Test two systems whose differences are these, by query and measure."""
    apart = np.atleast_2d(np.asarray(apart).T).T
    names = (measure,) if apart.shape[1] == 1 else tuple(f"P@{m + 1}" for m in range(apart.shape[1]))
    values = np.stack([0.5 + apart / 2, 0.5 - apart / 2])
    scores = rd.Scores(("a", "b"), tuple(f"q{i}" for i in range(len(apart))), names, values)
    return test(scores, **options).remarks


def test_well_behaved_differences_have_no_remark():
    rng = np.random.default_rng(1)
    assert remarks_on(rng.normal(0.3, 0.3, 40)) == ()
    assert remarks_on(rng.normal(0, 0.3, 40)) == ()


def test_small_wins_that_a_rare_loss_would_undo():
    """A mean of .02 is undone by a loss of 1 on 2% of queries, which 50 queries do not show in .98^50 = .36."""
    apart = np.tile([0.01, 0.03], 25)
    (remark,) = remarks_on(apart)
    assert remark == (
        "P@5: a and b differ significantly, but by little on every query (at most 0.03 of 1): a loss of 1 on 2% of"
        " queries would cancel that, and a sample of 50 queries would miss them all with probability 0.36; look for"
        " rare failures"
    )
    assert remarks_on(apart, "mine") == ()  # of a measure without a known range, nothing is known
    for largest, little in ((0.25, True), (0.26, False)):  # a quarter of the range
        said = remarks_on(np.tile([0.05, 0.1, 0.15, largest, -0.1], 4))
        assert any("by little on every query (at most 0.25 of 1)" in remark for remark in said) == little


def test_skewness_that_makes_a_difference_significant():
    """Small wins and two larger losses, of which a sample may show too few."""
    apart = np.append(np.linspace(0.02, 0.16, 18), [-0.24, -0.2])
    (remark,) = (line for line in remarks_on(apart) if "skew" in line)
    assert remark.startswith(
        "P@5: a and b are significant only if differences are symmetric, and they are skewed (skewness -1.9): an"
        " interval that allows for it is [-0.13"
    )


def test_one_query_that_dominates():
    apart = np.append(np.tile([0.02, -0.02], 10), -0.9)
    (remark,) = remarks_on(apart)
    assert remark == (
        "P@5: query q20 alone contributes 99% of the squared differences of a and b: without it their difference is +0"
        " instead of -0.0429; inspect it, and report both"
    )


def test_several_measures_without_a_correction_over_them():
    rng = np.random.default_rng(5)
    apart = rng.normal(0, 0.3, (40, 6))
    apart[:, 0] += 0.11 - apart[:, 0].mean()
    (remark,) = remarks_on(apart)
    assert remark == (
        "6 measures are tested separately: if no system differs, the probability of some significant difference is"
        " up to 0.30, not 0.05; corrected over all of them (family='all'), 0 differences of 1 would remain significant"
    )
    assert remarks_on(apart, test=rd.table) == (remark.replace(" (family='all')", ""),)  # which it cannot be given
    assert remarks_on(apart, family="all") == ()
    assert remarks_on(apart, correction="none") == ()
    apart[:, 0] += 1
    assert not any("measures are tested" in line for line in remarks_on(apart))
    few = [line for line in remarks_on(apart, permutations=100) if "measures are tested" in line]
    assert [line.partition("(family='all'), ")[2] for line in few] == [
        "100 flips are too few to tell how many of the 1 remain"  # 6 × 1/101 > .05: not that none would
    ]


def test_exact_p_values_of_several_measures_are_not_called_too_few_flips():
    apart = np.tile([0.1, -0.1, 0.2, -0.2], 2)[:, None] * np.ones(12)
    apart[:, 0] = 0.1  # p = 2/2⁸, and 12 × 2/2⁸ > .05
    (remark,) = (line for line in remarks_on(apart) if "measures are tested" in line)
    assert remark.endswith("(family='all'), 0 differences of 1 would remain significant")


@pytest.mark.parametrize("form", ["table", "json"])
def test_remarks_are_printed_and_in_json(form, rng_scores, capsys):
    from rankdev.display.dispatch import report_of
    from rankdev.display.encodings import choose_format

    text = choose_format(form, None).encode(report_of(rd.significance(rng_scores))).decode()
    assert "look for rare failures" in " ".join(text.split())


@pytest.fixture
def rng_scores():
    apart = np.tile([0.01, 0.03], 25)[:, None]
    values = np.stack([0.5 + apart / 2, 0.5 - apart / 2])
    return rd.Scores(("a", "b"), tuple(map(str, range(50))), ("P@5",), values)
