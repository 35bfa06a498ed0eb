"""What ``like`` sets, and what it refuses."""

import numpy as np
import pytest

import rankdev as rd
from rankdev.errors import DataError, UsageError
from rankdev.evaluation.conventions import CONVENTIONS
from tests.raising import raises

GRADES = rd.References.from_grades({"q1": {"d1": 2, "d2": 1, "d3": 1}, "q2": {"d4": 0}})
RUN = {"q1": {"d1": 5.0, "x": 4.0, "y": 3.0, "d2": 2.0}}


def labels(measures, like):
    return rd.evaluate(GRADES, {"a": RUN}, measures, like=like).measures


@pytest.mark.parametrize(
    ("like", "text", "label"),
    [
        ("trec_eval-10", "iprec_at_recall_0.10", "IPrec(rounding=nearest)@0.1"),
        ("trec_eval-10", "IPrec@0.1", "IPrec(rounding=nearest)@0.1"),
        ("trec_eval-10", "IPrec(rounding=up)@0.1", "IPrec@0.1"),
        ("trec_eval-10", "11pt_avg", "IPrec11(rounding=nearest)"),
        ("trec_eval-9", "iprec_at_recall_0.10", "IPrec@0.1"),
        ("trec_eval-10", "rbp", "RBP(p=0.9,gains=relative)"),
        ("trec_eval-10", "unj_5", "Unjudged@5"),
        ("trec_eval-10", "gm_map", "GMAP"),
        ("gdeval", "ndcg@20", "nDCG(dcg=exp-log2)@20"),
        ("gdeval", "nDCG@20", "nDCG(dcg=exp-log2)@20"),
        ("gdeval", "nDCG(dcg=log2)@20", "nDCG@20"),
        ("gdeval", "err@20", "ERR@20"),
        ("ranx", "ndcg_burges@5", "nDCG(dcg=exp-log2)@5"),
        ("ranx", "r-precision", "Rprec"),
        ("ranx", "hit_rate@3", "Success@3"),
        ("ranx", "f1", "SetF"),
        ("ranx", "f1@3", "F1@3"),
        ("ir_measures", "RR@10", "RR@10"),
    ],
)
def test_names_and_parameters(like, text, label):
    assert labels(text, like) == (label,)


@pytest.mark.parametrize("like", CONVENTIONS)
def test_official_and_set_are_understood(like):
    assert len(labels("official", like)) == 29
    assert len(labels("set", like)) == 9


def test_ties():
    tied = {"q1": {"d1": 1.0, "e": 1.0}, "q2": {}}
    single = {"q1": {"d1": 50.3912010, "e": 50.3912001}, "q2": {}}

    def rr(run, like, text="RR"):
        return rd.evaluate(GRADES, {"a": run}, text, like=like, empty=None).of(text)[0, 0]

    assert {like: rr(tied, like) for like in CONVENTIONS} == {**dict.fromkeys(CONVENTIONS, 0.5), "ranx": 1.0}
    in_single = dict.fromkeys(("pytrec_eval", "ir_measures"), 0.5)
    assert {like: rr(single, like) for like in CONVENTIONS} == {**dict.fromkeys(CONVENTIONS, 1.0), **in_single}
    assert rr(tied, "ir_measures", "RR@10") == 1.0


@pytest.mark.parametrize("source", ["dict", "run", "file"])
def test_measures_with_different_orders_in_one_call(tmp_path, source):
    tied = {"q1": {"d1": 1.0, "e": 1.0, "d2": 0.5}, "q2": {"x": 1.0}}
    run = {"dict": tied, "run": rd.Run.from_scores(tied), "file": tmp_path / "a.run"}[source]
    rd.write_run(rd.Run.from_scores(tied), tmp_path / "a.run")
    texts = ["nDCG@10", "RR@10", "AP", "ERR@5"]
    scores = rd.evaluate(GRADES, {"a": run}, texts, like="ir_measures")
    assert (scores.measures, scores.ties) == (tuple(texts), "ir_measures")
    for text in texts:
        alone = rd.evaluate(GRADES, {"a": run}, text, like="ir_measures")
        np.testing.assert_array_equal(scores.of(text), alone.of(text))
        assert scores.coverage[0].tied_by[text] == alone.coverage[0].tied


def test_fractional_grades_are_refused():
    fractional = rd.References.from_grades({"q1": {"d1": 1.7}})
    assert rd.evaluate(fractional, {"a": RUN}, "nDCG").means.item() == 1.0
    with raises("fractional-grade", DataError, grade=1.7, program="trec_eval 9.0.8"):
        rd.evaluate(fractional, {"a": RUN}, "nDCG", like="trec_eval-9")


QRELS = "q1 0 d1 1\nq1 0 d2 1\n"
LINES = "q1 Q0 d1 1 3 my tag\n  q1\tQ0  x 2 2 my tag\nq1 Q0 d2 3 1 my tag\n"


def written(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_tags_with_blanks(tmp_path):
    qrels, run = written(tmp_path, "qrels", QRELS), written(tmp_path, "run", LINES)
    for like in CONVENTIONS:
        if CONVENTIONS[like].dialect.further_columns:
            assert rd.evaluate(qrels, {"a": run}, "AP", like=like).means.item() == pytest.approx((1 + 2 / 3) / 2)
        else:
            with pytest.raises(DataError, match="run:1: 7 columns"):
                rd.evaluate(qrels, {"a": run}, "AP", like=like)
    five = written(tmp_path, "five", "q1 0 d1 1 x\n")
    with raises("looks-like-run", DataError, line=1):
        rd.evaluate(five, {"a": run}, "AP", like="trec_eval-10")


def test_comments(tmp_path):
    qrels = written(tmp_path, "qrels", f"# made by hand\n{QRELS}# six columns in this one, really\n")
    run = written(tmp_path, "run", f"# a b c 1 2\n{LINES}  # the end\n")
    assert rd.evaluate(qrels, {"a": run}, "AP", like="trec_eval-10").means.item() == pytest.approx((1 + 2 / 3) / 2)
    with raises("several", DataError) as caught:
        rd.evaluate(qrels, {"a": run}, "AP", like="trec_eval-9")
    assert [(error.kind, error.fields["line"]) for error in caught.value.fields["errors"]] == [
        ("comment-line", 1),
        ("comment-line", 5),
    ]
    wrong = written(tmp_path, "wrong", f"# a comment\n{LINES}q1 Q0 d3 4 high t\n")
    with pytest.raises(DataError, match="wrong:5: the score is 'high'"):
        rd.evaluate(qrels, {"a": wrong}, "AP", like="trec_eval-10")


def test_geometric_means_are_not_tested():
    scores = rd.evaluate(GRADES, {"a": RUN, "b": RUN}, ["AP", "GMAP"])
    assert scores.means[0].tolist() == pytest.approx([(1 + 2 / 4) / 3 / 2, (0.5 * 1e-5) ** 0.5])
    for judge in (rd.significance, rd.power, rd.stability):
        with pytest.raises(UsageError, match="GMAP is a geometric mean"):
            judge(scores)
