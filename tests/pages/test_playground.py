"""The playground computes what Python computes, and can be used with a pointer and with keys."""

import random

import pytest

import rankdev as rd
from rankdev.html_report.html import playground
from rankdev.measures.rdq import PRESETS
from tests.common.one_ranking import rdq


@pytest.fixture
def opened(page, tmp_path):
    path = tmp_path / "playground.html"
    path.write_text(playground(), encoding="utf-8")
    page.goto(path.as_uri())
    yield page
    assert page.troubles == []
    assert all(url.startswith("file:") for url in page.requests)


SCORE = """cases => cases.map(c => {
    const reference = new Map(Object.entries(c.reference));
    const settings = {penalty: c.penalty, alpha: c.alpha, lam: c.lam, weights: c.head, tail: c.tail, k: c.k};
    const found = rdq(reference, c.ranking, settings, c.nonrelevant ? new Set(c.nonrelevant) : undefined);
    return [found.score, ndcg(reference, c.ranking, c.k, "binary"), ndcg(reference, c.ranking, c.k, "inverse"),
        ndcg(reference, c.ranking, c.k, "linear"), averagePrecision(reference, c.ranking, c.k),
        rbp(reference, c.ranking, c.k, c.p), compat(reference, c.ranking, c.k, c.p),
        found.rows.map(row => [row.item, row.rank, row.ideal, row.weight, row.credit, row.earned, row.lost, row.why])];
})"""


def draw(rng):
    """A random reference with ties, a ranking with outsiders and repeats, and settings."""
    size = rng.randint(1, 12)
    rank, reference = 1, {}
    for i in range(size):
        rank += i > 0 and rng.random() < 0.6
        reference[f"d{i + 1}"] = rank
    ranking = [rng.choice([*reference, "x1", "x2", "x3"]) for _ in range(rng.randint(0, 15))]
    preset = rng.choice(list(PRESETS))
    return {
        "reference": reference,
        "nonrelevant": rng.choice([None, [], ["x1", "x3"]]),
        "ranking": ranking if rng.random() < 0.3 else list(dict.fromkeys(ranking)),
        "k": rng.randint(1, 15),
        "penalty": rng.choice(["m1", "m2"]),
        "alpha": round(rng.uniform(0.1, 8), 2),
        "lam": round(rng.uniform(0, 2), 2),
        "preset": preset,
        "head": list(PRESETS[preset].head),
        "tail": PRESETS[preset].tail,
        "p": rng.choice([0.5, 0.8, 0.95]),
    }


def test_its_arithmetic_is_that_of_the_library(opened):
    rng = random.Random(0)
    cases = [draw(rng) for _ in range(400)]
    for case, found in zip(cases, opened.evaluate(SCORE, cases), strict=True):
        ranks, k, p = case["reference"], case["k"], case["p"]
        reference = rd.Reference(ranks, nonrelevant=case["nonrelevant"])
        options = {"alpha": case["alpha"], "lam": case["lam"]} if case["penalty"] == "m2" else {}
        explained = rd.explain(
            reference, case["ranking"], k, penalty=case["penalty"], weights=case["preset"], **options
        )
        texts = (
            *(
                f"nDCG(gains=binary)@{k}",
                f"nDCG(gains=inverse,dcg=exp-log2)@{k}",
                f"nDCG(gains=linear,dcg=exp-log2)@{k}",
            ),
            *(f"AP@{k}", f"RBP(p={p})@{k}", f"Compat(p={p})@{k}"),
        )
        expected = [explained.score, *(rd.score(reference, case["ranking"], text) for text in texts)]
        assert found[:7] == pytest.approx(expected, abs=1e-12)
        for row, entry in zip(found[7], explained.positions, strict=True):
            assert row[:3] == [entry.item, entry.rank, entry.ideal_rank]
            assert row[3:7] == pytest.approx([entry.weight, entry.credit, entry.earned, entry.lost], abs=1e-12)
            assert row[7] == entry.why or abs(entry.lost) < 1e-12


def test_keys_move_items(opened):
    opened.select_option("#example", label="Paper, Exp1: positional sensitivity")
    assert opened.text_content("#score") == "1.0000"
    opened.locator("#ranking .item").first.press("ArrowDown")
    assert (
        opened.text_content("#score")
        == f"{rdq(['d1', 'd2', 'd3', 'd4', 'd5'], ['d2', 'd1', 'd3', 'd4', 'd5'], k=5):.4f}"
    )
    opened.keyboard.press("ArrowUp")  # the moved item still has the focus
    assert opened.text_content("#score") == "1.0000"
    opened.locator("#reference .item").first.press("ArrowDown")
    assert opened.locator("#reference li").first.locator(".item").all_text_contents() == ["d2", "d1"]
    opened.locator("#pool .item", has_text="x1").press("Enter")
    assert opened.locator("#ranking .item").last.text_content() == "x1"
    assert opened.locator("#nonrelevant .item").count() == 0
    opened.locator("#ranking .item").last.press("ArrowUp")
    assert opened.locator("#positions tbody tr").nth(4).locator("td").last.text_content() == "unjudged"
    opened.locator("#pool .item", has_text="x1").press("n")
    assert opened.locator("#nonrelevant .item").all_text_contents() == ["x1"]
    assert opened.locator("#positions tbody tr").nth(4).locator("td").last.text_content() == "nonrelevant"
    assert "nonrelevant=x1" in opened.url
    opened.locator("#pool .item", has_text="x1").press("r")  # a relevant item is not nonrelevant
    assert opened.locator("#nonrelevant .item").count() == 0
    opened.locator("#reference .item").last.press("Delete")
    opened.locator("#ranking .item", has_text="x1").press("ArrowDown")
    opened.locator("#ranking .item").last.press("Delete")
    assert opened.locator("#ranking .item").count() == 5


def test_a_pointer_drags_items(opened):
    opened.select_option("#example", label="Paper, Exp12: reversed order and tied relevance")
    assert opened.locator("#ranking .item").all_text_contents() == ["d2", "d1"]
    opened.locator("#ranking .item").last.drag_to(opened.locator("#ranking li").first)
    assert opened.locator("#ranking .item").all_text_contents() == ["d1", "d2"]
    assert opened.text_content("#score") == "1.0000"
    opened.locator("#ranking .item").first.drag_to(opened.locator("#pool"))
    assert opened.locator("#ranking .item").all_text_contents() == ["d2"]
    opened.locator("#pool .item", has_text="d3").first.drag_to(opened.locator("#reference .new"))
    assert opened.locator("#reference .item").all_text_contents() == ["d1", "d2", "d3"]
    opened.locator("#reference .item").last.drag_to(opened.locator("#nonrelevant"))
    assert opened.locator("#nonrelevant .item").all_text_contents() == ["d3"]
    assert opened.locator("#reference .item").all_text_contents() == ["d1", "d2"]


def test_a_drag_that_is_broken_off_moves_nothing(opened):
    before = opened.locator("#ranking .item").all_text_contents()
    opened.locator("#ranking .item").last.hover()
    opened.mouse.down()
    opened.locator("#ranking .item").first.hover(force=True)
    assert (opened.locator(".ghost").count(), opened.locator(".over").count()) == (1, 1)
    opened.evaluate("document.dispatchEvent(new PointerEvent('pointercancel'))")
    opened.locator("#pool").hover()
    opened.mouse.up()
    assert opened.locator(".ghost, .over, .dragged").count() == 0
    assert opened.locator("#ranking .item").all_text_contents() == before


def test_a_link_leads_to_a_view(opened):
    opened.goto(opened.url.partition("#")[0] + "#reference=d1,d2;d3&ranking=d3,d1&k=3&alpha=4&weights=uniform")
    opened.reload()
    assert opened.text_content("#text") == "RDQ(alpha=4,weights=uniform)@3"
    expected = rdq(
        rd.References.from_tiers({"q": [["d1", "d2"], ["d3"]]})["q"], ["d3", "d1"], k=3, alpha=4, weights="uniform"
    )
    assert opened.text_content("#score") == f"{expected:.4f}"


def test_nothing_serious_stands_between_a_person_and_the_page(seen, tmp_path):
    page, found = seen
    path = tmp_path / "playground.html"
    path.write_text(playground(), encoding="utf-8")
    page.goto(path.as_uri())
    assert found() == []
    page.select_option("#weights", "own")
    page.fill("#own", "1,2")
    assert found() == []


def test_own_weights_are_checked(opened):
    opened.select_option("#weights", "own")
    opened.fill("#own", "1,2")
    assert opened.text_content("#problem") == "own weights must not increase"
    opened.fill("#own", "1,zero")
    assert "positive numbers" in opened.text_content("#problem")
    opened.fill("#own", "1,0.5")
    assert opened.text_content("#text").startswith("RDQ(weights=[1,0.5],tail=0.5)@")


def test_the_same_page_every_time():
    assert playground() == playground()


def test_the_command_writes_the_page(tmp_path):
    from click.testing import CliRunner

    from rankdev.cli import cli

    path = tmp_path / "page.html"
    assert CliRunner().invoke(cli, ["playground", "-o", str(path)]).exit_code == 0
    assert path.read_text(encoding="utf-8") == playground()
