"""What judges should know, beside what they judge: guidelines and descriptions of queries."""

from tests.judging.serving import ROWS, serving
from tests.pages.test_judge import begin, press

HOSTILE = """# What counts

The **better** item answers the query. <script>document.title = 'owned'</script>
<img src=x onerror="document.title = 'owned'"> [click](javascript:document.title='owned')
![a picture](https://evil.example/x.png) [a page](https://example.org/a)

| grade | means |
|---|---|
| 0 | <b>not</b> relevant |

1. first

```
<style>body { display: none }</style>
"""
ABOUT = {
    "query_description": "Which bridges did the Romans build?",
    "query_narrative": "Roads <b>are</b> not relevant.",
}


def test_guidelines_are_beside_the_pair_and_only_text(page, tmp_path):
    with serving(tmp_path, guidelines=HOSTILE) as server:
        begin(page, server, server.tokens.judge)
        guide = page.locator("#guidelines")
        assert guide.is_visible()
        box, pair = page.locator("#guide").bounding_box(), page.locator("#second").bounding_box()
        assert box["x"] >= pair["x"] + pair["width"]
        assert guide.locator("h1").text_content() == "What counts"
        assert guide.locator("script, img, style, b, iframe").count() == 0
        assert guide.locator("a").evaluate_all("all => all.map((a) => [a.textContent, a.href, a.rel])") == [
            ["a picture", "https://evil.example/x.png", "noopener noreferrer"],
            ["a page", "https://example.org/a", "noopener noreferrer"],
        ]
        assert "<img src=x onerror=" in guide.text_content()
        press(page, "ArrowLeft")
        assert page.title() == "Which is better?"
        assert not [url for url in page.requests if "evil" in url]
        page.click("#guide summary")
        page.wait_for_function("() => localStorage.getItem('guide') === 'folded'")
        page.reload()
        begin(page, server, server.tokens.judge)
        assert not page.locator("#guidelines").is_visible()
        assert page.troubles == []


def test_a_query_says_what_it_is_about(page, tmp_path):
    with serving(tmp_path, [{**row, **ABOUT} for row in ROWS]) as server:
        begin(page, server, server.tokens.judge)
        assert page.locator("#query .about").all_text_contents() == list(ABOUT.values())
        assert page.locator("#query b").count() == 0
