"""The playground computes what Python computes, and can be used with a pointer and with keys."""

import random
from urllib.parse import quote

import pytest

import rankdev as rd
from rankdev.html_report.playground import playground
from rankdev.measures.rdq import PRESETS
from tests.common.one_ranking import rdq


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


MUSEUMS = [
    *(["maritime-museum"], ["art-hall"], ["city-museum", "design-museum"]),
    *(["tram-museum"], ["toy-museum"], ["mint-museum"]),
]
ANSWER = ["art-hall", "maritime-museum", "design-museum", "gift-shop", "city-museum"]


def score(ranking, text):
    return rd.score(rd.References.from_tiers({"q": MUSEUMS})["q"], ranking, text)


def readings(page):
    return [page.inner_text(f"#score-{penalty}").replace("\xa0", " ") for penalty in ("m2", "m1")]


def test_it_opens_on_a_list_that_every_control_changes(opened):
    first = [score(ANSWER, text) for text in ("RDQ@5", "RDQ(penalty=m1)@5")]
    assert readings(opened) == [f"{value:.4f}" for value in first]
    for control, value in (("#alpha", "3"), ("#lam", "1"), ("#k", "3"), ("#weights", "uniform")):
        opened.click("#again")
        if control == "#weights":
            opened.select_option(control, value)
        else:
            opened.fill(control, value)
        assert readings(opened)[0].startswith(f"{first[0]:.4f} → "), control


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


DOTS = """id => [...document.querySelectorAll(`#${id} circle`)].map(dot => {
    const axis = [...document.querySelectorAll(`#${id} .axis`)].map(line => line.y1.baseVal.value);
    const [top, bottom] = [axis[2], axis[0]]; // the lines of credit 1 and 0
    return [dot.dataset.drawn, (bottom - dot.cy.baseVal.value) / (bottom - top)];
})"""


@pytest.mark.parametrize(("alpha", "lam"), [(1, 0.2), (4, 0), (0.5, 2)])
def test_each_item_has_a_dot_at_its_credit(opened, alpha, lam):
    before = opened.get_attribute("#curves-m2 .curve.picked", "points")
    opened.fill("#alpha", str(alpha))
    opened.fill("#lam", str(lam))
    assert (opened.get_attribute("#curves-m2 .curve.picked", "points") != before) == ((alpha, lam) != (1, 0.2))
    assert opened.locator("#curves-m2 .curve").count() == 4  # the gift shop has none
    reference = rd.References.from_tiers({"q": MUSEUMS})["q"]
    for penalty, options in (("m2", {"alpha": alpha, "lam": lam}), ("m1", {})):
        explained = rd.explain(reference, ANSWER, 5, penalty=penalty, **options)
        expected = {entry.item: entry.credit for entry in explained.positions}
        assert dict(opened.evaluate(DOTS, f"curves-{penalty}")) == pytest.approx(expected, abs=1e-3)


def test_an_item_that_is_pointed_at_stands_out(opened):
    assert opened.inner_text("#picked").startswith("art-hall has rank 2; rank 1 belongs at position 1")
    opened.locator("#reference .item", has_text="city-museum").hover()
    assert opened.inner_text("#picked").startswith("city-museum has rank 3")
    assert opened.locator(".item.picked").count() == 3  # in the ranking, in the reference, among all items
    opened.locator("#curves-m1 circle").first.hover()
    assert opened.inner_text("#picked").startswith("art-hall")
    opened.locator("#ranking .item", has_text="gift-shop").focus()
    assert opened.inner_text("#picked").startswith("gift-shop is not in the reference")


def test_weights_are_bars_to_drag(opened):
    opened.locator("[data-weight='1']").press("ArrowDown")
    assert opened.input_value("#weights") == "own"
    assert opened.input_value("#own").startswith("1,0.85,0.8,0.8,0.7,")
    opened.locator("[data-weight='3']").press("End")  # the ones before it follow
    assert opened.input_value("#own").startswith("1,1,1,1,0.7,0.6,")
    assert opened.evaluate("document.activeElement.dataset.weight") == "3"
    opened.locator("[data-weight='0']").press("Home")
    assert opened.input_value("#own") == "0.01"
    opened.click("#again")
    opened.locator("#bars").scroll_into_view_if_needed()
    grip = opened.locator("[data-weight='2']").bounding_box()
    column = opened.locator("#bars > div").nth(2).bounding_box()
    opened.mouse.move(grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2)
    opened.mouse.down()
    opened.mouse.move(grip["x"] + grip["width"] / 2, column["y"] + column["height"] * 0.75, steps=4)
    opened.mouse.up()
    opened.mouse.move(0, 0)
    assert opened.input_value("#own").startswith("1,0.9,0.2")
    own = [float(weight) for weight in opened.input_value("#own").split(",")]
    text = f"RDQ(weights={own},tail={own[-1]})@5".replace(" ", "")
    assert readings(opened)[0].startswith(f"{score(ANSWER, 'RDQ@5'):.4f} → {score(ANSWER, text):.4f}")


def test_dragged_weights_never_increase(opened):
    rng = random.Random(1)
    cases = []
    for _ in range(300):
        head = sorted((round(rng.uniform(0.05, 1), 2) for _ in range(rng.randint(1, 8))), reverse=True)
        cases.append(
            [{"head": head, "tail": round(rng.uniform(0.01, head[-1]), 2)}, rng.randint(0, 12), rng.uniform(-1, 2)]
        )
    made = opened.evaluate("cases => cases.map(([weights, i, asked]) => reweighted(weights, i, asked))", cases)
    for (weights, i, asked), now in zip(cases, made, strict=True):

        def at(values, place, last):
            return values[place] if place < len(values) else last

        wanted = min(1, max(0.01, asked))
        assert at(now, i, now[-1]) == pytest.approx(wanted, abs=1e-4)
        assert now == sorted(now, reverse=True)
        assert now[-1] > 0
        for place in range(20):  # the others move only as far as they must
            was, got = at(weights["head"], place, weights["tail"]), at(now, place, now[-1])
            if place != i:
                expected = max(was, wanted) if place < i else min(was, wanted)
                assert got == pytest.approx(expected, abs=1e-4)


def test_the_tour_has_five_steps_and_comes_once(browser, tmp_path):
    path = tmp_path / "playground.html"
    path.write_text(playground(), encoding="utf-8")
    context = browser.new_context(reduced_motion="reduce", viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(path.as_uri())
    page.evaluate(
        "Element.prototype.scrollIntoView = function (how) { (window.scrolled ??= []).push(how.behavior) }; 0"
    )
    assert page.evaluate("document.activeElement === document.body")  # it does not take the focus by itself
    for number in range(1, 6):
        assert page.text_content("#tour-title").startswith(f"{number} of 5: ")
        assert page.locator(".toured").count() == 1
        page.focus("#next")
        page.keyboard.press("Enter")
    assert page.is_hidden("#tour")
    assert page.locator(".toured").count() == 0
    assert page.evaluate("window.scrolled") == ["auto"] * 4
    page.goto(path.as_uri())
    page.reload()
    assert page.is_hidden("#tour")
    page.select_option("#example", "3")
    page.locator("#guide").press("Enter")  # begins with the list that it is about
    assert page.locator("#ranking .item").all_text_contents() == ANSWER
    page.keyboard.press("Escape")
    assert page.is_hidden("#tour")
    assert page.evaluate("document.activeElement.id") == "guide"
    context.close()


def test_a_link_brings_its_list_and_no_tour(browser, tmp_path):
    path = tmp_path / "playground.html"
    path.write_text(playground(), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{path.as_uri()}#reference=d1;d2&ranking=d2")
    assert page.locator("#ranking .item").all_text_contents() == ["d2"]
    assert page.locator("#nonrelevant .item").count() == 0
    assert page.is_hidden("#tour")
    context.close()


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


def test_no_number_stays_that_is_not_of_this_list(opened):
    opened.select_option("#weights", "own")
    opened.fill("#own", "1,2")
    assert readings(opened) == ["", ""]
    assert opened.locator("#positions tbody tr, #peers tbody tr, #curves-m2 circle").count() == 0
    opened.fill("#own", "1")
    assert readings(opened)[0]
    for _ in range(7):
        opened.locator("#reference .item").first.press("Delete")
    assert "reference is empty" in opened.text_content("#problem")
    assert readings(opened) == ["", ""]


def test_keys_move_items(opened):
    opened.select_option("#example", label="Paper, Exp1: positional sensitivity")
    assert opened.text_content("#score-m2 strong") == "1.0000"
    opened.locator("#ranking .item").first.press("ArrowDown")
    assert (
        opened.text_content("#score-m2 strong")
        == f"{rdq(['d1', 'd2', 'd3', 'd4', 'd5'], ['d2', 'd1', 'd3', 'd4', 'd5'], k=5):.4f}"
    )
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
    assert opened.text_content("#score-m2 strong") == f"{expected:.4f}"


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
