"""The report shows what Python computed, to a pointer, to keys and to a reader; what comes from outside is text."""

import json
import re
import warnings
import zlib
from base64 import b64decode

import numpy as np
import pytest
from click.testing import CliRunner

import rankdev as rd
from rankdev.cli import cli
from rankdev.html_report._findings import compare
from rankdev.html_report._html import packed
from tests.raising import raises

DEMO = ("nearest", "popular", "blended")
MEASURES = ["RDQ@5", "AP@5", "Compat(p=0.95)@5"]
BEST = "blended is best in RDQ@5: it is better than both others."
# what is far from the screen is laid out when it comes near; here it is read from afar
LAY_OUT = "for (const part of document.querySelectorAll('main > section')) part.style.contentVisibility = 'visible'"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    CliRunner().invoke(cli, ["demo", "--save", str(folder)], catch_exceptions=False)
    return folder


@pytest.fixture(scope="module")
def inputs(demo):
    references = rd.read_references(demo / "places.jsonl")
    return references, {name: rd.read_run(demo / f"{name}.run") for name in DEMO}


@pytest.fixture
def show(page, tmp_path):
    """Open a page, and hold it to asking for nothing and failing at nothing."""

    def opened(html, hash=""):
        path = tmp_path / "report.html"
        path.write_text(html, encoding="utf-8")
        page.goto("about:blank")  # a page that differs in what follows # only is not loaded again
        page.goto(path.as_uri() + hash)
        page.wait_for_selector("body[data-ready]")
        page.evaluate(LAY_OUT)
        return page

    yield opened
    assert page.troubles == []
    assert all(url.startswith(("file:", "about:", "blob:")) for url in page.requests)


@pytest.fixture(scope="module")
def html(inputs):
    return rd.report(*inputs, MEASURES).html


def header_of(html):
    """Names and sentences of a page."""
    return unpacked(re.search(r'id="data">"([^"]+)"', html)[1])[0]


def unpacked(text):
    return json.loads(zlib.decompress(b64decode(text)))


def cells(page, selector):
    return [
        [cell.strip() for cell in row]
        for row in page.eval_on_selector_all(
            f"{selector} tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
        )
    ]


def test_scores_are_those_of_evaluate(show, html, inputs):
    page = show(html)
    scores = rd.evaluate(*inputs, MEASURES)
    shown = {row[0]: [cell.split("\n")[0] for cell in row[1:]] for row in cells(page, "#scores")}
    for s, system in enumerate(scores.systems):
        assert shown[system] == [f"{value:.4f}" for value in scores.means[s]]
    assert page.inner_text("#conclusion") == BEST


def test_the_leaderboard_is_that_of_leaderboard(show, html, inputs):
    page = show(html)
    board = rd.leaderboard(rd.evaluate(*inputs, MEASURES)).to_polars()
    for measure in MEASURES:
        page.select_option("#measure", label=measure)
        rows = board.filter(measure=measure).iter_rows(named=True)
        ends = lambda row: dict.fromkeys([str(row["rank_low"]), str(row["rank_high"])])  # noqa: E731
        assert [row[:3] + row[4:] for row in cells(page, "#board")] == [
            [
                str(row["rank"]),
                row["system"],
                f"{row['mean']:.4f}",
                f"[{row['low']:.4f}, {row['high']:.4f}]",
                "–".join(ends(row)),
                "yes" if row["may_be_best"] else "",
            ]
            for row in rows
        ]


def test_the_card_follows_the_measure_and_its_colour_is_never_alone(show, html, inputs):
    page = show(html)
    header = header_of(html)
    concluded = rd.significance(rd.evaluate(*inputs, MEASURES)).conclusion.splitlines()
    words = {"winner": "Clear winner: blended", "open": "No clear winner"}
    for m, measure in enumerate(MEASURES):
        page.click(f"#chips button:has-text('{measure}')")
        found = header["cards"][m]
        assert page.get_attribute("#card > div", "class") == f"card {found['level']}"
        assert page.inner_text("#card .level").split("\n")[-1].endswith(words[found["level"]])
        assert page.inner_text("#conclusion") == found["sentence"] == concluded[m]
        assert page.input_value("#measure") == str(m)
        shown = page.eval_on_selector_all("#health li", "all => all.map(one => [one.className, one.textContent])")
        for (kind, text), (name, level, value, why) in zip(shown, header["checks"][m], strict=True):
            assert kind == level
            assert all(part in text for part in (name, value, why))
    assert page.inner_text("#tests") == "Paired t-tests, Holm over 3 pairs."


def test_data_with_a_problem_have_a_page_without_a_decision(show, inputs):
    references, runs = inputs
    few = {query: runs["popular"][query] for query in list(references)[:4]}
    scores = rd.evaluate(references, {"few": few, "blended": runs["blended"]}, MEASURES)
    made = rd.report(references, {"few": few, "blended": runs["blended"]}, MEASURES, margin=0.9)
    assert made.verdict == rd.significance(scores).conclusion
    page = show(made.html)
    assert "Problem with the data" in page.inner_text("#card .level")
    assert page.inner_text("#conclusion") == made.verdict
    assert page.inner_text("#health li.problem b") == "6 of 10"
    assert {row[-1] for row in cells(page, "#pair")} == {"cannot tell"}
    assert page.locator("#matrix .better, #matrix .worse, #matrix .same").count() == 0
    assert "Mend the data first" in page.inner_text("#next")


@pytest.mark.parametrize("margin", [None, 0.2])
def test_pairs_are_those_of_significance(show, inputs, margin):
    page = show(rd.report(*inputs, MEASURES, margin=margin).html)
    found = rd.significance(rd.evaluate(*inputs, MEASURES), margin=margin)
    assert {one.verdict for one in found.decisions} > {"better"}
    for row, one in zip(found.to_polars().iter_rows(named=True), found.decisions, strict=True):
        for each, counts in ((one, ["wins", "ties", "losses"]), (one.turned, ["losses", "ties", "wins"])):
            page.goto(page.url.partition("#")[0] + f"#a={each.a}&b={each.b}&measure={each.measure}")
            shown = {line[0]: line for line in cells(page, "#pair")}[each.measure]
            assert shown[3:] == [
                f"{each.difference:+.4f}",
                f"[{each.low:.4f}, {each.high:.4f}]",
                " / ".join(str(row[name]) for name in counts),
                f"{each.p_adjusted:.4f}" if each.p_adjusted >= 0.0001 else "< 0.0001",
                each.verdict,
            ]
            kinds = {each.verdict} & {"better", "worse", "same"}
            assert set(page.get_attribute("#matrix td.chosen", "class").split()) == {*kinds, "chosen"}


def test_of_two_systems_the_first_is_the_baseline(show, inputs):
    references, runs = inputs
    for names, sign in ((("popular", "blended"), "+"), (("blended", "popular"), "-")):
        made = rd.report(references, {name: runs[name] for name in names}, "RDQ@5")
        page = show(made.html)
        assert page.inner_text("#pair-title") == f"{names[1]} minus {names[0]}, by every measure"
        assert cells(page, "#pair")[0][3] == f"{sign}0.1801"
        assert made.verdict == page.inner_text("#conclusion")
        assert made.verdict.startswith(f"{names[1]} is {'better' if sign == '+' else 'worse'} than {names[0]}")


def test_losses_are_those_of_losses(show, html, inputs):
    page = show(html)
    shown = {row[0]: row[2:] for row in cells(page, "#losses")}
    for system, score, retrieval, cutoff, order in rd.losses(*inputs, "RDQ@5").to_polars().iter_rows():
        assert shown[system] == [f"{part:.4f}" for part in (score, order, cutoff, retrieval)]


def test_agreement_is_that_of_agreement(show, html, inputs):
    page = show(html)
    shown = {row[0]: row[2:] for row in cells(page, "#agreement")}
    found = rd.agreement(rd.evaluate(*inputs, MEASURES))
    for i, measure in enumerate(MEASURES):
        pairs = zip(found.tau[0, i], found.r[0, i], strict=True)
        assert shown[measure] == ["–" if i == j else f"{tau:.3f}\n{r:.3f}" for j, (tau, r) in enumerate(pairs)]


def test_lists_are_those_of_explain(show, html, inputs):
    references, runs = inputs
    page = show(html, "#query=museums&a=nearest&b=blended")
    scores = rd.evaluate(*inputs, MEASURES).of("RDQ@5")[:, list(references).index("museums")]
    head = page.inner_text("#query-scores")
    assert page.inner_text("#query-title") == "museums"
    assert [f"{scores[s]:.4f}" in head for s in (0, 2)] == [True, True]
    assert f"A − B {scores[0] - scores[2]:+.4f}" in head
    returned = {system: runs[system]["museums"] for system in ("nearest", "blended")}
    missed = set()
    for section, system in enumerate(returned):
        explained = rd.explain(references["museums"], returned[system], k=5)
        other = [item for name, items in returned.items() if name != system for item in items]
        rows = page.locator("#lists section").nth(section).locator("li")
        assert rows.count() == len(explained.positions)
        missed |= {item for item, _ in explained.not_returned}
        for i, entry in enumerate(explained.positions):
            text = rows.nth(i).inner_text()
            assert entry.item in text
            assert (f"rank {entry.rank}" if entry.rank else entry.why) in text
            at = other.index(entry.item) + 1 if entry.item in other else 0
            moved = f"only in {'AB'[section]}" if not at else f"{'↑' if i + 1 < at else '↓'}{abs(at - i - 1)}"
            assert at == i + 1 or moved in text
    page.click("#elsewhere summary")
    assert missed <= {line.split("\t")[0].split()[-1] for line in page.inner_text("#elsewhere tbody").splitlines()}


@pytest.mark.parametrize(("most", "said"), [(1_000_000, "↑24\n25 in B"), (0, "not in B's 20")])
def test_positions_in_the_other_list_are_known_or_said_not_to_be(show, monkeypatch, most, said):
    monkeypatch.setattr("rankdev.html_report._arrays.MOST_PLACES", most)
    runs = {"b": {"q": ["x", "y", *map(str, range(22)), "z"]}, "a": {"q": ["z", "x", "w"]}}
    page = show(rd.report({"q": ["x", "y"]}, runs, "RDQ@2").html, "#query=q")
    assert said in page.locator("#lists section.a li").first.inner_text()
    assert "↑1" in page.locator("#lists section.b li").first.inner_text()
    assert "only in B" in page.locator("#lists section.b li").nth(1).inner_text()  # y is nowhere in a


def test_back_returns_to_where_one_was(show, html):
    page = show(html, "#a=blended&b=nearest")
    row = page.locator("#rows tbody button").nth(4)
    row.scroll_into_view_if_needed()
    before, place = page.evaluate("scrollY"), row.bounding_box()
    row.click()
    opened = page.inner_text("#query-title")
    assert page.is_visible("#query")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#query-title") != opened
    page.keyboard.press("k")
    assert page.inner_text("#query-title") == opened
    page.locator("#lists li p").first.click()
    assert "open" in page.locator("#lists li").first.get_attribute("class")
    page.go_back()
    page.wait_for_selector("#query", state="hidden")
    assert (page.evaluate("scrollY"), row.bounding_box()) == (before, place)
    assert page.inner_text(":focus") == opened
    page.go_forward()
    page.wait_for_selector("#query:not([hidden])")
    assert page.inner_text("#query-title") == opened


def test_back_returns_to_the_pair_that_the_page_opened_with(show, html):
    page = show(html)
    first = page.inner_text("#pair-title")
    cell = page.locator("#matrix tbody tr").nth(2).locator("td").nth(1)
    cell.click()
    assert page.inner_text("#pair-title") != first
    assert page.inner_text("#tip").startswith(page.inner_text("#pair-title").partition(",")[0].replace("minus", "−"))
    page.go_back()
    page.wait_for_function("first => byId('pair-title').innerText === first", arg=first)


def test_what_matters_first_stands_without_scripts(browser, html, inputs, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(html, encoding="utf-8")
    context, other = browser.new_context(java_script_enabled=False), browser.new_page()
    page = context.new_page()
    for each in (page, other):
        each.goto(path.as_uri())
    other.wait_for_selector("body[data-ready]")
    assert cells(page, "#rows") == cells(other, "#rows")
    assert page.inner_text("#rows thead") == other.inner_text("#rows thead")
    other.close()
    text = page.inner_text("body")
    board = rd.leaderboard(rd.evaluate(*inputs, MEASURES))
    assert all(line in text for line in board.conclusion.splitlines())
    assert all(name in text and value in text for name, _, value, _ in header_of(html)["checks"][0])
    for system, mean in board.to_polars().filter(measure=MEASURES[0]).select("system", "mean").iter_rows():
        assert f"{system}\t{mean:.4f}" in text
    context.close()


def test_many_systems_are_folded_to_the_best(show):
    rng = np.random.default_rng(0)
    references = {f"q{i}": list("abcd") for i in range(8)}
    runs = {f"s{i}": {q: rng.permutation(list("abcdxy")).tolist() for q in references} for i in range(14)}
    page = show(rd.report(references, runs, "RDQ@4").html)
    assert page.locator("#board tbody tr:visible").count() == 10
    page.locator("#glance button.all").first.click()
    assert page.locator("#board tbody tr:visible").count() == 14


def test_the_playground_opens_with_a_list_and_scores_it_alike(show):
    tiers = {"q": [["a", "b"], ["c,d"], ["é&x=1"]], "r": [["a"], ["b"]]}
    references = rd.References.from_tiers(tiers, nonrelevant={"q": ["n;1"], "r": ["n"]})
    runs = {"x": {"q": ["c,d", "n;1", "u", "a"], "r": ["b"]}, "y": {"q": ["b", "a", "c,d"], "r": ["n", "a"]}}
    for text in ("RDQ@3", "RDQ(penalty=m1,weights=carousel)@2", "RDQ(alpha=0.25,weights=[1,0.5],tail=0.25)@4"):
        scores = rd.evaluate(references, runs, text).values[:, :, 0]
        page = show(rd.report(references, runs, text).html)
        for query, system in ((0, 0), (0, 1), (1, 0), (1, 1)):
            page.evaluate(f"choose({{ a: {system}, b: {1 - system} }}), openQuery({query})")
            with page.expect_popup() as opened:
                page.locator("#lists button", has_text="playground").first.click()
            other = opened.value
            penalty = rd.parse(text).penalty
            other.wait_for_selector(f"#score-{penalty} >> text={scores[system, query]:.4f}")
            assert other.locator(f"input[value={penalty}]").is_checked()
            assert other.locator("#ranking li").count() == len(runs["xy"[system]]["qr"[query]][: rd.parse(text).cutoff])
            other.close()


def changed(one, other):
    depths = range(1, 1 + max(len(one[:5]), len(other[:5])))
    return 1 - np.mean([len({*one[:d]} & {*other[:d]}) / d for d in depths])


def test_queries_are_sorted_searched_and_filtered(show, html, inputs):
    page = show(html, "#a=popular&b=nearest")
    scores, runs = rd.evaluate(*inputs, MEASURES), inputs[1]
    apart = dict(zip(scores.queries, scores.of("RDQ@5")[1] - scores.of("RDQ@5")[0], strict=True))
    shown = cells(page, "#rows")
    assert [row[3] for row in shown] == [f"{value:+.4f}" for value in sorted(apart.values(), reverse=True)]
    page.click("#rows th:has-text('A − B') button")
    assert page.get_attribute("#rows th:has-text('A − B')", "aria-sort") == "ascending"
    assert [row[0] for row in cells(page, "#rows")] == [row[0] for row in reversed(shown)]
    page.click("#rows th:has-text('Query') button")
    assert [row[0] for row in cells(page, "#rows")] == sorted(apart)
    page.select_option("#side", label="biggest losses of A")
    assert {row[0] for row in cells(page, "#rows")} == {query for query, value in apart.items() if value < 0}
    page.select_option("#side", label="most changed lists")
    by_change = {query: changed(runs["popular"][query], runs["nearest"][query]) for query in apart}
    assert cells(page, "#rows")[0][0] == max(by_change, key=by_change.get)
    page.select_option("#side", label="all queries")
    page.fill("#search", "bike")
    assert [row[0] for row in cells(page, "#rows")] == ["bike-repair"]
    assert page.inner_text("#found") == "1 of 10 queries"
    assert "search=bike" in page.url
    page.locator("#rows tbody button").click()
    page.fill("#query #search", "ferry")  # filters in the view of a query lead to the first that they find
    assert (page.inner_text("#query-title"), page.inner_text("#query-at")) == ("ferry-tickets", "1 of 1")


def test_all_of_it_can_be_reached_by_keys(show, html):
    page = show(html)
    page.focus("#matrix td[tabindex='0']")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.inner_text("#pair-title") == "blended minus nearest, by every measure"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.inner_text("#pair-title") == "popular minus nearest, by every measure"
    page.focus("#rows tbody tr:first-child button")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "query-title"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") in ("query-before", "query-after")
    page.keyboard.press("Escape")
    page.wait_for_selector("#query", state="hidden")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    reachable = "[...document.querySelectorAll('a, button, select, input')].every(made => made.tabIndex >= 0)"
    assert page.evaluate(reachable)


HOSTILE = [
    "<script>window.hurt = 1</script>",
    "<img src=x onerror='window.hurt = 1'>",
    "</script><script>window.hurt = 1</script>",
    "\u202egnp.exe\u202c",
    "x" * 10_000,
    "__proto__",
    "constructor",
    "<!--<script>",
    "a&amp;b\u2028c",
]


def test_hostile_names_are_text(show):
    lists = {name: [*HOSTILE[i:], *HOSTILE[:i]] for i, name in enumerate(HOSTILE)}
    runs = {
        name: {query: items[::step] for query, items in lists.items()}
        for name, step in zip(HOSTILE, [1, -1, 1] * 3, strict=True)
    }
    texts = {name: name for name in HOSTILE} | {"__proto__": "two\nlines\x80"}
    segments = {name: [name] for name in HOSTILE}
    html = rd.report(lists, runs, ["RDQ@5", "AP@5"], query_texts=texts, item_texts=texts, segments=segments).html
    assert "\u202e" not in html  # of which scripts and their data are ASCII
    page = show(html)
    for query in range(len(HOSTILE)):
        page.evaluate(f"openQuery({query})")
    assert page.evaluate("window.hurt") is None
    assert page.locator("main img, main script, main iframe, #query img, #query script").count() == 0
    shown = page.inner_text("main") + page.inner_text("#query")
    assert all(name in shown for name in HOSTILE[:2])
    assert "\\u202egnp.exe\\u202c" in shown
    assert "\u202e" not in page.inner_text("body")
    assert "__proto__" in page.inner_text("#lists")
    assert "two lines\ufffd" in page.inner_text("#lists")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1100


def test_nothing_serious_stands_between_a_person_and_the_page(seen, html, tmp_path):
    page, found = seen
    path = tmp_path / "report.html"
    path.write_text(html, encoding="utf-8")
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready]")
    page.evaluate(LAY_OUT)
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    for level in ("winner", "open", "problem", "single"):  # colours of every card
        page.evaluate("level => { byId('card').firstChild.className = `card ${level}` }", level)
        page.evaluate(
            "level => { byId('health').firstChild.className = level }", "problem" if level == "problem" else "caution"
        )
        assert found() == []
    page.evaluate("document.getElementById('pairs-hint').style.color = 'var(--line)'")  # what is too faint is found
    assert {rule for rule, _ in found()} == {"color-contrast"}
    page.evaluate("openQuery(4)")
    page.click("#elsewhere summary")
    page.hover("#lists li >> nth=0")
    assert found() == []


PAPER = 673  # pixels between the margins of A4
WIDE = """() => [...document.querySelectorAll('table, .figure svg, li, p')].filter(part =>
    part.getBoundingClientRect().right > document.body.getBoundingClientRect().right + 1)
    .map(part => part.id || part.className || part.tagName)"""


def test_nothing_is_cut_off_on_paper(show, page):
    rng = np.random.default_rng(0)
    queries = [f"q{i}" for i in range(28)] + ["Q" * 200, "<b>bold</b>"]
    items = [*"abcdef", "a long id " * 9, "I" * 90]
    names = [f"{'a long name of a system ' * 4}{i}" for i in range(8)]
    runs = {name: {query: rng.permutation(items).tolist() for query in queries} for name in names}
    measures = [
        "RDQ@5",
        "RDQ(weights=[1,0.9,0.8,0.7,0.6,0.5,0.4],tail=0.1,alpha=2)@7",
        "nDCG(gains=inverse,dcg=exp-log2)@5",
        *(f"RBP(p=0.{p})@100" for p in range(1, 10)),
    ]
    texts = {"query_texts": {query: f"What is {query}?" for query in queries}, "item_texts": {"a": "T" * 200}}
    references = dict.fromkeys(queries, items[:5])
    show(rd.report(references, runs, measures, command=f"rankdev report {' '.join(names)}", **texts).html, "#query=q3")
    page.set_viewport_size({"width": PAPER, "height": 980})
    page.evaluate("() => new Promise(requestAnimationFrame)")  # the page has seen its new width
    assert len(cells(page, "#rows")) == 25
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate(WIDE) == []
    assert len(cells(page, "#rows")) == len(queries)  # paper has no next page of a table
    assert "What is q" in page.locator("#contrasts").text_content()
    assert page.locator("#making").inner_text().count(names[-1]) == 2  # in the command, and in full for its short form
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert len(cells(page, "#rows")) == 25


def test_numbers_are_unpacked_as_they_were():
    values = np.array([[0.1234, -1.0, np.nan], [np.inf, -np.inf, 1e300]])
    header, found = unpacked(packed({"name": "é</script>"}, {"x": values, "whole": [1, 2]}))
    assert header == {"name": "é</script>"}
    assert found == {"x": [[0.1234, -1, None], [np.inf, -np.inf, 1e300]], "whole": [1, 2]}


def test_one_system_is_a_report_too(show, inputs):
    references, runs = inputs
    with raises("not-a-number", rd.UsageError, name="margin"):
        rd.report(references, {"blended": runs["blended"]}, "AP@5", margin=-1)
    page = show(rd.report(references, {"blended": runs["blended"]}, "AP@5").html)
    assert not page.is_visible("#pairs")
    links = page.eval_on_selector_all(".toolbar nav a", "all => all.filter(a => a.offsetParent).map(a => a.hash)")
    assert links == ["#glance", "#loss", "#queries", "#made"]  # to what is there
    assert page.inner_text("#health li:last-child b") == "10"
    assert "needs a second system" in page.inner_text("#conclusion")
    assert len(cells(page, "#rows")) == 10
    page.locator("#rows tbody button").first.click()
    assert page.locator("#lists section").count() == 1


def test_a_page_is_small_enough_to_send():
    rng, systems, queries = np.random.default_rng(0), 12, 200
    ids = rng.integers(10**6, 10**7, (queries, 30)).astype(str).tolist()
    grades = {f"q{q}": {item: 3 - i // 3 for i, item in enumerate(row[:9])} for q, row in enumerate(ids)}
    runs = {}
    for s in range(systems):
        order = np.argsort(np.arange(30) + rng.normal(0, 3 + s, (queries, 30)), axis=1)[:, :10].tolist()
        runs[f"system-{s}"] = {f"q{q}": [ids[q][i] for i in row] for q, row in enumerate(order)}
    html = rd.report(rd.References.from_grades(grades), runs, ["RDQ@10", "AP@10"]).html
    assert len(html.encode()) < 300_000
    header = header_of(html)
    assert (len(header["systems"]), len(header["queries"])) == (systems, queries)  # nothing was left out


def test_scores_have_the_uncertainty_of_judgments(show, tmp_path):
    lists = {"q1": ["x", "y", "z"], "q2": ["u", "v", "w"]}
    runs = {"good": lists, "bad": {query: items[::-1] for query, items in lists.items()}}
    judged = [(query, a, b) for query, (x, y, z) in lists.items() for a, b in ((x, y), (y, z), (x, z))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.RankdevWarning)
        uncertain = rd.evaluate_with_uncertainty(judged, runs, "RDQ@3", disconnected="largest")
    path = tmp_path / "judged.csv"
    path.write_text("\n".join(["query,winner,loser", *map(",".join, judged)]))
    pages = [rd.report(lists, runs, ["RDQ@3", "AP@3"], judgments=given).html for given in (judged, str(path))]
    assert pages[0] == pages[1]
    page = show(pages[0])
    assert cells(page, "#uncertain") == [
        [row["system"], f"{row['value']:.4f}", f"[{row['low']:.4f}, {row['high']:.4f}]"]
        for row in uncertain.to_polars().iter_rows(named=True)
    ]
    _, better, other, fraction = uncertain.beats().row(0)
    assert page.inner_text("#beats") == f"{better} beats {other} in {fraction:.0%} of the draws."
    assert set(uncertain.remarks) <= set(header_of(pages[0])["notes"])
    assert not show(rd.report(lists, runs, "RDQ@3").html).is_visible("#uncertain")


def test_segments_are_tested(show):
    rng = np.random.default_rng(0)
    references = {f"q{i}": list("abcd") for i in range(24)}
    runs = {name: {q: rng.permutation(list("abcdxy"))[:4].tolist() for q in references} for name in ("one", "other")}
    runs["best"] = references
    segments = {query: "even" if int(query[1:]) % 2 else "odd" for query in references}
    measures = ["RDQ@4", "AP@4"]
    page = show(rd.report(references, runs, measures, segments=segments).html)
    found = rd.significance(rd.evaluate(references, runs, measures), segments=segments)
    for name, part in found.segments.items():
        for one in part.decisions:
            for each in (one, one.turned):
                page.goto(page.url.partition("#")[0] + f"#a={each.a}&b={each.b}&measure={each.measure}")
                shown = {line[0]: line for line in cells(page, "#segments")}[name]
                p = "< 0.0001" if each.p_adjusted < 0.0001 else f"{each.p_adjusted:.4f}"
                ends = f"[{each.low:.4f}, {each.high:.4f}]"
                assert shown[-4:] == [f"{each.difference:+.4f}", ends, p, each.verdict]


def test_what_no_page_can_hold_is_refused():
    with raises("many-systems", rd.UsageError, systems=151):
        rd.report({"q": ["a"]}, {f"s{i}": {"q": ["a"]} for i in range(151)})
    references = {f"q{i}": ["a"] for i in range(20_001)}
    runs = {f"s{i}": {"q0": ["a"]} for i in range(100)}
    with raises("many-lists", rd.UsageError, systems=100, queries=20_001):
        rd.report(references, runs)


def test_the_command(show, demo, tmp_path):
    (tmp_path / "queries.tsv").write_text("museums\tWhere is a museum?\n", encoding="utf-8")
    (tmp_path / "items.jsonl").write_text(
        '{"item": "art-hall", "text": "' + "far off " * 20 + 'Paintings <b>and</b> more: the museums"}\n',
        encoding="utf-8",
    )
    (tmp_path / "by.csv").write_text("query,segment\nmuseums,sights\nsauna,body\nbookshops,sights\n", encoding="utf-8")
    target = tmp_path / "out.html"
    arguments = [
        *("report", str(demo / "places.jsonl"), *(str(demo / f"{name}.run") for name in DEMO), "-m", "RDQ@5"),
        *("--query-texts", str(tmp_path / "queries.tsv"), "--item-texts", str(tmp_path / "items.jsonl")),
        *("--segments", str(tmp_path / "by.csv"), "-o", str(target)),
    ]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert " ".join(result.output.split()) == f"{target}: 3 systems on 10 queries. {BEST}"
    html = target.read_text(encoding="utf-8")
    page = show(html, "#query=museums")
    assert page.inner_text("#query-title") == "Where is a museum? museums"
    item = page.locator("#lists li p", has_text="Paintings").first
    assert item.locator("mark").inner_text() == "museums"  # the query has museum
    assert item.inner_text().startswith("… ")
    assert item.inner_text().endswith("Paintings <b>and</b> more: the museums")
    item.click()
    assert item.inner_text().startswith("far off")
    assert [row[:2] for row in cells(page, "#segments")] == [["sights", "2"], ["body", "1"]]
    page.select_option("#segment", label="sights")
    assert {row[0].split("\n")[0] for row in cells(page, "#rows")} == {"museums", "bookshops"}
    CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert target.read_text(encoding="utf-8") == html
    assert str(tmp_path) not in page.inner_text("#making")
    assert "places.jsonl nearest.run popular.run" in page.inner_text("#making")


ITEMS = list("abcdef")
REFERENCES = {f"q{i}": ITEMS[:3] for i in range(24)}
RNG = np.random.default_rng(0)
RUNS = {
    name: {q: RNG.permutation(ITEMS).tolist() for q in REFERENCES}
    for name in ("x-1", "x-2", "x-3", "y-1", "y-2", "y-3")
}
REPLICATES = {"x": ["x-1", "x-2", "x-3"], "y": ["y-1", "y-2", "y-3"]}
CLUSTERS = {query: int(query[1:]) // 3 for query in REFERENCES}
USUAL = dict.fromkeys(("margin", "segments", "progress", "clusters", "replicates", "weights"))
USUAL |= {"empty": "zero", "alpha": 0.05, "seed": 0}


def compared(**given):
    return compare(REFERENCES, RUNS, ["RDQ@3", "P@3"], **{**USUAL, **given})


def test_tests_intervals_and_losses_are_those_of_systems():
    found = compared(replicates=REPLICATES)
    scores = rd.evaluate(REFERENCES, RUNS, ["RDQ@3", "P@3"])
    assert found.scores.systems == ("x", "y")
    assert found.scores.values[0] == pytest.approx(scores.values[:3].mean(axis=0))
    expected = rd.significance(scores, replicates=REPLICATES)
    assert found.significance.frame["p"].to_list() == pytest.approx(expected.frame["p"].to_list())
    board = (
        rd.leaderboard(scores, replicates=REPLICATES).to_polars().sort("measure", "system", descending=[True, False])
    )
    low, high = found.mean_intervals
    assert low.T.ravel() == pytest.approx(board["low"].to_numpy())
    assert high.T.ravel() == pytest.approx(board["high"].to_numpy())
    lost = rd.losses(REFERENCES, RUNS, "RDQ@3").to_polars()["lost_by_order"].to_numpy()
    assert found.losses.to_polars()["lost_by_order"].to_numpy() == pytest.approx([lost[:3].mean(), lost[3:].mean()])
    assert found.lists.names[int(found.lists.items[1, 0, 0])] == RUNS["y-1"]["q0"][0]


def test_clusters_are_in_every_number():
    found = compared(clusters=CLUSTERS, margin=0.1)
    scores = rd.evaluate(REFERENCES, RUNS, ["RDQ@3", "P@3"])
    expected = rd.significance(scores, clusters=CLUSTERS, margin=0.1)
    for name in ("p", "low", "high"):
        assert found.significance.frame[name].to_list() == pytest.approx(expected.frame[name].to_list())
    assert found.significance.conclusion == expected.conclusion
    board = rd.leaderboard(scores, clusters=CLUSTERS).to_polars().filter(measure="RDQ@3").sort("system")
    assert found.mean_intervals[0][:, 0] == pytest.approx(board["low"].to_numpy())


def test_means_are_over_the_queries_that_are_tested():
    runs = {"x": {**dict.fromkeys(REFERENCES, ITEMS[:3]), "q0": ITEMS[2::-1]}}
    runs["y"] = {q: ["b", "a", "c"] if q in ("q1", "q2") else ["d", "e", "f"] for q in REFERENCES}  # no tau elsewhere
    with pytest.warns(rd.RankdevWarning):
        found = compare(REFERENCES, runs, ["Tau@3"], **USUAL)
    assert found.means[:, 0].tolist() == pytest.approx([1, 1 / 3])  # without q0
    assert found.means == pytest.approx(found.significance.means)


def test_the_page_has_the_runs_of_each_system(show):
    page = show(rd.report(REFERENCES, RUNS, ["RDQ@3", "P@3"], replicates=REPLICATES).html)
    means = dict(rd.evaluate(REFERENCES, RUNS, "RDQ@3").mean().iter_rows())
    rows = page.eval_on_selector_all(
        "#runs tbody tr", "rows => rows.map(row => [...row.cells].map(c => c.textContent))"
    )
    for system, count, mean, low, high, names in rows:
        own = [means[run] for run in REPLICATES[system]]
        assert [count, low, high] == [str(len(own)), f"{min(own):.4f}", f"{max(own):.4f}"]
        assert mean == f"{np.mean(own):.4f}"
        assert names == ", ".join(REPLICATES[system])
    assert {row[0] for row in rows} == set(REPLICATES)


def test_the_page_states_what_its_tests_could_find():
    found = compared()
    low, high = (found.significance.frame[name][: found.significance.pairs] for name in ("low", "high"))
    header = header_of(rd.report(REFERENCES, RUNS, ["RDQ@3", "P@3"]).html)
    name, _, value, text = header["checks"][0][-1]
    size = float(re.search(r"a difference of ([\d.]+)", text)[1])
    assert (name, value) == ("Number of queries", "24")
    assert 0.6 * (high - low).min() < size < 0.75 * (high - low).max()  # 1.96 + 0.84 of 1.96, and more where Holm asks


def test_weights_of_queries_count_in_means_intervals_tests_and_losses(inputs):
    references, runs = inputs
    weights = {query: place + 1 for place, query in enumerate(references)}
    found = compare(references, runs, MEASURES, **{**USUAL, "weights": weights})
    scores = rd.evaluate(references, runs, MEASURES, weights=weights)
    board = rd.leaderboard(scores).to_polars().sort("measure", "system")
    np.testing.assert_array_equal(found.scores.averages, scores.averages)
    expected = scores.of("RDQ@5") @ found.scores.weights / len(weights)
    np.testing.assert_allclose(found.losses.to_polars()["score"], expected)
    assert found.significance.to_polars().equals(rd.significance(scores).to_polars())
    for low, mine in zip(found.mean_intervals[0].T, MEASURES, strict=True):
        known = board.filter(measure=mine).sort("system")
        np.testing.assert_allclose(sorted(low), sorted(known["low"]))
    with raises("not-together", rd.UsageError, name="judgments", other="weights"):
        rd.report(references, runs, weights=weights, judgments=[("q", "a", "b")])
