"""The table of a paper: values, best ones and marks against significance, and every format of it."""

from dataclasses import replace

import numpy as np
import pytest

import rankdev as rd
from rankdev.display.encodings import FORMATS, fragment
from rankdev.display.view import report_of
from rankdev.errors import UsageError
from rankdev.measures.base import MeasureInfo
from rankdev.statistics.design import Design
from tests.raising import raises

SYSTEMS = ("bm25", "old", "new")


def scores(seed=0, measures=("P@5", "RR"), lower=()):
    values = np.random.default_rng(seed).normal([[[0.4]], [[0.41]], [[0.49]]], 0.1, (3, 40, len(measures)))
    kinds = tuple(MeasureInfo(name, higher_is_better=name not in lower) for name in measures)
    return rd.Scores(SYSTEMS, tuple(map(str, range(40))), measures, values, kinds=kinds)


def marks_of(found):
    return {(row["system"], row["measure"]): row["marks"] for row in found.to_polars().iter_rows(named=True)}


@pytest.mark.parametrize("baselines", [["bm25"], ["bm25", "old"], ["new"]])
def test_a_mark_is_a_significant_difference_from_that_baseline(baselines):
    known = scores()
    marks = marks_of(rd.table(known, baselines=baselines))
    tested = rd.significance(known, baselines=baselines)
    expected = dict.fromkeys(marks, "")
    for differs, (measure, a, b) in zip(
        tested.significant, tested.to_polars().select("measure", "a", "b").rows(), strict=True
    ):
        for sign, baseline in zip("†‡", baselines, strict=False):
            if differs and baseline in (a, b):
                expected[b if a == baseline else a, measure] += sign
    assert any(expected.values())
    assert {place: sorted(found) for place, found in marks.items()} == {
        place: sorted(found) for place, found in expected.items()
    }


@pytest.mark.parametrize("lower", [(), ("P@5",)])
def test_letters_name_the_systems_that_are_worse(lower):
    found = rd.table(scores(lower=lower), measures=["P@5"])
    best = "bm25" if lower else "new"
    worst = "c" if lower else "a"
    assert worst in marks_of(found)[best, "P@5"]
    assert marks_of(found)["new" if lower else "bm25", "P@5"] == ""
    shown = found.to_polars()
    assert shown.filter("best")["value"].item() == (shown["value"].min() if lower else shown["value"].max())
    assert ("↓" in str(found)) == bool(lower)


def test_values_that_look_equal_are_equally_good():
    values = np.array([0.50001, 0.50002, 0.4])[:, None, None] + np.zeros((1, 3, 1))
    found = rd.table(rd.Scores(SYSTEMS, tuple("123"), ("RR",), values), digits=2)
    assert found.to_polars()["best"].to_list() == [True, True, False]


def test_collections_stand_side_by_side_and_are_tested_each_by_itself():
    both = {"one": scores(1), "two": scores(2)}
    found = rd.table(both, baselines="bm25")
    for name, part in both.items():
        alone = rd.table(part, baselines="bm25").to_polars()
        assert found.to_polars().filter(collection=name).drop("collection").equals(alone.drop("collection"))
    assert "Paired t-tests, Holm over 2 pairs, α = 0.05." in found.caption
    assert "one P@5" in str(found)
    assert "two RR" in str(found)


def test_every_format_has_the_marks_and_latex_and_pages_no_star():
    report = report_of(rd.table(scores(), baselines="bm25"))
    latex, markdown, text = (FORMATS[name].encode(report).decode() for name in ("latex", "markdown", "table"))
    html = fragment(report)
    assert r"\textsuperscript{\dag{}}" in latex
    assert r"\caption{Means over" in latex
    assert "<sup>†</sup>" in html
    assert "**<sup>†</sup>" in markdown
    assert "* †" in text
    assert "*" not in latex + html
    assert "\\*" not in markdown


def test_one_system_has_no_marks_and_too_many_are_refused():
    alone = rd.table(scores().select(systems=["bm25"]))
    assert marks_of(alone) == {("bm25", "P@5"): "", ("bm25", "RR"): ""}
    assert report_of(alone).text()
    many = rd.Scores(tuple(f"s{i}" for i in range(27)), ("1", "2"), ("RR",), np.zeros((27, 2, 1)))
    for baselines, most in ((None, 26), ([f"s{i}" for i in range(5)], 4)):
        with raises("too-many-marks", UsageError, most=most):
            rd.table(many, baselines=baselines)
    assert rd.table(many, baselines="s0")


def test_intervals_follow_the_values():
    found = rd.table(scores(), baselines="bm25", digits=3, intervals=True, alpha=0.1)
    low, high = Design.of(scores()).mean_limits(0.1)
    rows = found.to_polars()
    assert rows["low"].to_list() == pytest.approx(low.T.ravel())
    assert rows["high"].to_list() == pytest.approx(high.T.ravel())
    assert f"{rows['value'][0]:.3f} [{rows['low'][0]:.3f}, {rows['high'][0]:.3f}]" in str(found)
    assert "Brackets: 90% intervals of the means over queries" in " ".join(str(found).split())
    plain = rd.table(scores(), baselines="bm25", digits=3, alpha=0.1).to_polars()
    assert rows.drop("low", "high").equals(plain)
    added = rd.Scores(
        ("a", "b"), ("1", "2", "3"), ("NumRet",), np.array([[[1.0], [2.0], [6.0]], [[1.0], [2.0], [3.0]]])
    )
    row = rd.table(added, intervals=True).to_polars().row(0, named=True)
    ends = [float(end[0, 0]) for end in Design.of(added, least=1).mean_limits()]
    assert [row["low"], row["value"], row["high"]] == pytest.approx([3 * ends[0], 9, 3 * ends[1]])


def test_seeds_have_means_and_deviations():
    values = np.random.default_rng(0).normal(0.5, 0.1, (6, 40, 1))
    names = ("bm25", *(f"bert-{i}" for i in range(5)))
    known = rd.Scores(names, tuple(map(str, range(40))), ("AP",), values)
    found = rd.table(known, baselines="bm25", replicates={"bert": list(names[1:])})
    means = values[1:, :, 0].mean(axis=1)
    (single, several) = found.to_polars().to_dicts()
    assert (single["deviation"], single["runs"]) == (None, 1)
    assert several["value"] == pytest.approx(means.mean())
    assert (several["deviation"], several["runs"]) == (pytest.approx(means.std(ddof=1)), 5)
    text = " ".join(str(found).split())
    assert f"{means.mean():.4f} ± {means.std(ddof=1):.4f}" in text.replace("*", "")
    assert "Means ± standard deviations over runs: bm25 1, bert 5;" in text
    assert "Paired t-test, α = 0.05." in text
    alike = rd.Scores(tuple(f"{name}-{i}" for name in "ab" for i in range(3)), known.queries, ("AP",), values)
    both = rd.table(alike, replicates={name: [f"{name}-{i}" for i in range(3)] for name in "ab"})
    assert "over runs: 3 of each system" in both.caption
    with raises("not-together", UsageError, name="intervals", other="replicates"):
        rd.table(known, intervals=True, replicates={"bert": list(names[1:])})


def test_collections_stand_below_their_names_in_latex_and_labels_name_what_is_shown():
    both = {"x": scores(), "y": scores()}
    table = rd.table(both, baselines="bm25", labels={"x": "DL 2019", "bm25": "BM_25"})
    text = FORMATS["latex"].encode(report_of(table)).decode()
    lines = text.splitlines()
    head = lines.index(r"\toprule")
    assert lines[head + 1] == r" & \multicolumn{2}{c}{DL 2019} & \multicolumn{2}{c}{y} \\"
    assert lines[head + 2] == r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}"
    assert lines[head + 3] == r"system & P@5 & RR & P@5 & RR \\"
    assert r"\label{tab:dl-2019-y}" in text
    assert r"from BM\_25." in text
    assert table.to_polars()["system"][0] == "bm25"
    assert all(note.fields["collection"] in both for note in table.remarks)


def test_means_are_over_the_queries_that_are_tested():
    known = scores(measures=("Tau@5",))
    values = known.values.copy()
    values[0, :10], values[1, :10] = np.nan, 0.9  # old is best where bm25 has no value
    with pytest.warns(rd.RankdevWarning):
        found = rd.table(replace(known, values=values), intervals=True)
    rows = found.to_polars()
    assert rows["value"].to_list() == pytest.approx(values[:, 10:, 0].mean(axis=1))
    assert ((rows["low"] < rows["value"]) & (rows["value"] < rows["high"])).all()
    assert found.queries == {"": 30}
