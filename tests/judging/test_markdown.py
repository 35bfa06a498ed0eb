"""Guidelines: a small Markdown, in which nothing can become a script or a request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankdev.errors import DataError
from rankdev.judging._markdown import TAGS, parsed
from rankdev.judging.page import LONGEST_GUIDELINES, read_guidelines


def elements(trees):
    for tree in trees:
        if not isinstance(tree, str):
            yield tree
            yield from elements(tree[2])


def words(trees):
    return "".join(tree if isinstance(tree, str) else words(tree[2]) for tree in trees)


def simple(trees):
    """A tree as a short text."""
    return "".join(
        tree
        if isinstance(tree, str)
        else f"<{tree[0]}{''.join(f' {k}={v}' for k, v in tree[1].items())}>{simple(tree[2])}</{tree[0]}>"
        for tree in trees
    )


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("# A *b*", "<h2>A <em>b</em></h2>"),
        ("####### seven", "<p>####### seven</p>"),
        ("one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>"),
        (
            "**a *b* c** snake_case_name __d__",
            "<p><strong>a <em>b</em> c</strong> snake_case_name <strong>d</strong></p>",
        ),
        ("2 * 3 * 4 and 5*6", "<p>2 * 3 * 4 and 5*6</p>"),
        ("`<b> *x*`", "<p><code><b> *x*</code></p>"),
        (r"\*not\* \[a\](b)", "<p>*not* [a](b)</p>"),
        ("a  \nb", "<p>a<br></br>b</p>"),
        ("- a\n- b\n  - c\n\nafter", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><p>after</p>"),
        ("3. a\n4. b", "<ol start=3><li>a</li><li>b</li></ol>"),
        ("- a\n1. b", "<ul><li>a</li></ul><ol><li>b</li></ol>"),
        ("> a\n> - b", "<blockquote><p>a</p><ul><li>b</li></ul></blockquote>"),
        ("---", "<hr></hr>"),
        (
            "a|b\n-|-\nc|`d`",
            "<table><thead><tr><th>a</th><th>b</th></tr></thead>"
            "<tbody><tr><td>c</td><td><code>d</code></td></tr></tbody></table>",
        ),
        ("```html\n<script>\n*x*", "<pre><code><script>\n*x*</code></pre>"),  # never closed
        ("~~~\n```\n~~~\nafter", "<pre><code>```</code></pre><p>after</p>"),
        ('[page](https://a.example/b_(c)?d=1 "title")', "<p><a href=https://a.example/b_(c)?d=1>page</a></p>"),
        ("![alt](https://evil.example/x.png)", "<p><a href=https://evil.example/x.png>alt</a></p>"),
        ("<mailto:a@b.example>", "<p><a href=mailto:a@b.example>mailto:a@b.example</a></p>"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        ("[x](JAVASCRIPT&#58;alert)", "<p>[x](JAVASCRIPT&#58;alert)</p>"),
        (
            "[x](data:text/html,x) [y](//evil.example) [z](/etc)",
            "<p>[x](data:text/html,x) [y](//evil.example) [z](/etc)</p>",
        ),
        ("<javascript:alert(1)>", "<p><javascript:alert(1)></p>"),
        ("<img src=x onerror=alert(1)>", "<p><img src=x onerror=alert(1)></p>"),
        ("\ufeff# a\r\nb", "<h2>a</h2><p>b</p>"),
        (" \n\n", ""),
    ],
)
def test_what_is_understood(text, made):
    assert simple(parsed(text)) == made


MARKUP = st.text(alphabet="ab*_`[]()<>!#|-+>1.~\\:/ \n\"'&", max_size=80)
PARTS = st.lists(
    st.sampled_from(
        [
            *("- ", "1. ", "> ", "```\n", "\n", "\n\n", "    ", "**", "_", "`", "[a](", ")", "![", "# ", "|", "|-|\n"),
            *("javascript:alert(1)", "<script>", "https://x.example", "data:text/html,x", "word"),
        ]
    ),
    max_size=30,
).map("".join)


@given(MARKUP | PARTS | st.text(max_size=60))
def test_nothing_but_known_elements_and_safe_addresses(text):
    trees = parsed(text)
    for tag, attributes, _ in elements(trees):
        assert tag in TAGS
        assert attributes.keys() <= ({"href"} if tag == "a" else {"start"} if tag == "ol" else set())
        assert attributes.get("href", "https://").lower().startswith(("https://", "http://", "mailto:"))
        assert attributes.get("start", "0").isdigit()
    letters = [letter for letter in text if letter.isalpha() and letter.isascii()]
    addresses = [letter for _, attributes, _ in elements(trees) for letter in attributes.get("href", "")]
    shown = sorted([*words(trees), *addresses])
    if "```" not in text and "~~~" not in text and '"' not in text:  # what follows a fence, and titles, are not shown
        assert not [letter for letter in set(letters) if shown.count(letter) < letters.count(letter)]


@pytest.mark.parametrize("text", ["> " * 3000, "- " * 3000 + "x", "[" * 50_000, "*" * 50_000, "`" * 50_000])
def test_depth_is_bounded(text):
    assert len(list(elements(parsed(text)))) < 100


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "the file is empty"),
        (b" \n\n\t", "the file is empty"),
        (b"\xff\xfe", "expected UTF-8"),
        (b"a\0b", "expected text"),
        (b"x" * (LONGEST_GUIDELINES + 1), "at most 100,000 characters"),
        (None, "No such file"),
    ],
)
def test_guidelines_that_cannot_be_read(tmp_path, content, complaint):
    path = tmp_path / "guide.md"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=complaint) as error:
        read_guidelines(str(path))
    assert str(error.value).startswith(f"--guidelines {path}: ")
