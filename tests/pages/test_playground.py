"""The playground computes what Python computes, and can be used with a pointer and with keys."""

import random
from urllib.parse import quote

import pytest

import rankdev as rd
from rankdev.html_report.playground import playground
from rankdev.measures.rdq import PRESETS
from tests.common.one_ranking import rdq
from tests.pages.scripts import PAGES, SHARED, WEB


@pytest.fixture
def opened(page, tmp_path):
    path = tmp_path / "playground.html"
    path.write_text(playground(), encoding="utf-8")
    page.goto(path.as_uri())
    page.click("#close")  # the tour
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
        texts = [f"nDCG(gains={gains})@{k}" for gains in ("binary", "inverse,dcg=exp-log2", "linear,dcg=exp-log2")]
        texts += [f"AP@{k}", f"RBP(p={p})@{k}", f"Compat(p={p})@{k}"]
        expected = [explained.score, *(rd.score(reference, case["ranking"], text) for text in texts)]
        assert found[:7] == pytest.approx(expected, abs=1e-12)
        for row, entry in zip(found[7], explained.positions, strict=True):
            assert row[:3] == [entry.item, entry.rank, entry.ideal_rank]
            assert row[3:7] == pytest.approx([entry.weight, entry.credit, entry.gained, entry.lost], abs=1e-12)
            assert row[7] == entry.why or abs(entry.lost) < 1e-12


MUSEUMS = [
    *(["maritime-museum"], ["art-hall"], ["city-museum", "design-museum"]),
    *(["tram-museum"], ["toy-museum"], ["mint-museum"]),
]
ANSWER = ["art-hall", "maritime-museum", "design-museum", "gift-shop", "city-museum"]


def score(ranking, text):
    return rd.score(rd.References.from_tiers({"q": MUSEUMS})["q"], ranking, text)


def readings(page):
    return [page.inner_text(f"#score-{penalty}").replace("\xa0", " ") for penalty in ("m2", "m1")]


def test_the_score_shows_what_the_last_change_did(opened):
    swapped = ["maritime-museum", "art-hall", *ANSWER[2:]]
    opened.locator("#ranking .item").first.press("ArrowDown")
    for shown, text in zip(readings(opened), ("RDQ@5", "RDQ(penalty=m1)@5"), strict=True):
        was, now = f"{score(ANSWER, text):.4f}", f"{score(swapped, text):.4f}"
        assert shown == f"{was} → {now} +{float(now) - float(was):.4f}"
    for alpha in ("2", "4", "8"):  # a slider that goes on moving is one change
        opened.fill("#alpha", alpha)
    now = f"{score(swapped, 'RDQ(alpha=8)@5'):.4f}"
    assert readings(opened)[0].startswith(f"{score(swapped, 'RDQ@5'):.4f} → {now} +")
    assert readings(opened)[1] == f"{score(swapped, 'RDQ(penalty=m1)@5'):.4f}"  # α is M2's alone
    assert now in opened.text_content("#said")


HOSTILE = ["<img src=x onerror=alert(1)>", "a,b;c&d", "%", "\u202egnp.exe", "x" * 500, "日本語 🍣", "__proto__"]


def test_names_in_a_link_are_text(opened):
    twice = [quote(quote(name, safe=""), safe="") for name in HOSTILE]
    opened.check("[value=m1]")
    opened.check("[value=m2]")
    opened.goto(f"{opened.url.partition('#')[0]}#reference={';'.join(twice)}&ranking={','.join(reversed(twice))}&k=7")
    opened.reload()
    shown = opened.locator("#ranking .item").all_text_contents()
    assert shown[::-1][:3] == HOSTILE[:3]
    assert shown[::-1][3] == "\\u202egnp.exe"
    assert len(shown) == len(HOSTILE)
    assert max(map(len, shown)) <= 40
    expected = rdq([name[:60] for name in HOSTILE], [name[:60] for name in HOSTILE[::-1]], k=7)
    assert opened.text_content("#score-m2 strong") == f"{expected:.4f}"
    assert opened.locator("img").count() == 0
    opened.fill("#alpha", "2")
    opened.fill("#alpha", "1")
    opened.reload()  # the page's own link reads back
    assert opened.locator("#ranking .item").all_text_contents() == shown
    opened.fill("#name", "</script><b>")
    opened.locator("#name").press("Enter")
    assert opened.locator("#pool .item").last.text_content() == "</script><b>"


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_it_fits_its_window(opened, width):
    opened.set_viewport_size({"width": width, "height": 844})
    opened.fill("#k", "20")
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    opened.evaluate("scrollTo(0, document.body.scrollHeight)")
    assert opened.locator("#score-m2").bounding_box()["y"] < 80  # the score stays in sight


def test_keys_move_items(opened):
    opened.select_option("#example", label="Paper, Exp1: positional sensitivity")
    assert opened.text_content("#score-m2 strong") == "1.0000"
    opened.locator("#ranking .item").first.press("ArrowDown")
    swapped = rdq(["d1", "d2", "d3", "d4", "d5"], ["d2", "d1", "d3", "d4", "d5"], k=5)
    assert opened.text_content("#score-m2 strong") == f"{swapped:.4f}"
    opened.keyboard.press("ArrowUp")  # the moved item still has the focus
    assert opened.text_content("#score-m2 strong") == "1.0000"
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
    assert opened.text_content("#score-m2 strong") == "1.0000"
    opened.locator("#ranking .item").first.drag_to(opened.locator("#pool"))
    assert opened.locator("#ranking .item").all_text_contents() == ["d2"]
    opened.locator("#pool .item", has_text="d3").first.drag_to(opened.locator("#reference .new"))
    assert opened.locator("#reference .item").all_text_contents() == ["d1", "d2", "d3"]
    opened.locator("#reference .item").last.drag_to(opened.locator("#nonrelevant"))
    assert opened.locator("#nonrelevant .item").all_text_contents() == ["d3"]
    assert opened.locator("#reference .item").all_text_contents() == ["d1", "d2"]


SEEN = """() => {
  const [panel, place] = ['#tour', '.toured'].map(part => document.querySelector(part).getBoundingClientRect());
  const shown = rect => rect.bottom > 0 && rect.top < innerHeight;
  const apart = panel.bottom <= place.top || panel.top >= place.bottom || panel.left >= place.right;
  return [shown(panel), shown(place), apart];
}"""


@pytest.mark.parametrize("width", [1280, 390])
def test_the_tour_stands_next_to_what_it_speaks_of(page, tmp_path, width):
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(reduced_motion="reduce")
    path = tmp_path / "playground.html"
    path.write_text(playground(), encoding="utf-8")
    page.goto(path.as_uri())
    for step in range(1, 6):
        assert page.inner_text("#tour-title").startswith(f"{step} of 5")
        assert page.evaluate(SEEN) == [True, True, True]
        page.click("#next")
    assert page.is_hidden("#tour")


def test_nothing_serious_stands_between_a_person_and_the_page(seen, tmp_path):
    page, found = seen
    path = tmp_path / "playground.html"
    path.write_text(playground(), encoding="utf-8")
    page.goto(path.as_uri())
    assert found() == []  # with the tour
    page.keyboard.press("Escape")
    page.locator("#ranking .item").first.press("ArrowDown")
    assert found() == []
    page.select_option("#weights", "own")
    for wrong, why in (("1,zero", "positive numbers"), ("1,2", "must not increase")):
        page.fill("#own", wrong)
        assert why in page.text_content("#problem")
    assert found() == []


def test_every_script_belongs_to_a_page():  # and is checked by `make check`
    every = {*SHARED.glob("*.js"), *WEB.glob("*.js")}
    assert {path for scripts in PAGES.values() for path in scripts} == every
    assert all(path.read_text(encoding="utf-8").startswith("// @ts-check\n") for path in every)
