"""Guidelines: a small Markdown, in which nothing can become a script or a request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankdev.errors import DataError
from rankdev.judging._markdown import parsed
from rankdev.judging.page import LONGEST_GUIDELINES, read_guidelines
from tests.raising import raises


def elements(trees):
    for tree in trees:
        if not isinstance(tree, str):
            yield tree
            yield from elements(tree[2])


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
        ("**a** snake_case_name _d_", "<p><strong>a</strong> snake_case_name <em>d</em></p>"),
        ("2 * 3 * 4 and 5*6", "<p>2 * 3 * 4 and 5*6</p>"),
        ("`<b> *x*`", "<p><code><b> *x*</code></p>"),
        ("- a\n- b\n  more\n\nafter", "<ul><li>a</li><li>b more</li></ul><p>after</p>"),
        ("- a\n1. b", "<ul><li>a</li></ul><ol><li>b</li></ol>"),
        (
            "|a|b|\n|-|-|\n|c|`d`|",
            "<table><tr><th>a</th><th>b</th></tr><tr><td>c</td><td><code>d</code></td></tr></table>",
        ),
        ("![alt](https://evil.example/x.png)", "<p><a href=https://evil.example/x.png>alt</a></p>"),
        ("[x](javascript:alert(1)) [y](//evil.example)", "<p>[x](javascript:alert(1)) [y](//evil.example)</p>"),
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
        assert tag in ["h2", "p", "ul", "ol", "li", "code", "strong", "em", "a", "table", "tr", "th", "td"]
        assert attributes.keys() <= ({"href"} if tag == "a" else set())
        assert attributes.get("href", "https://").lower().startswith(("https://", "http://", "mailto:"))


@pytest.mark.parametrize("text", ["- " * 3000 + "x", "[" * 50_000, "*" * 50_000, "`" * 50_000])
def test_depth_is_bounded(text):
    assert len(list(elements(parsed(text)))) < 100


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "empty"),
        (b" \n\n\t", "empty"),
        (b"\xff\xfe", "not-utf8"),
        (b"a\0b", "not-utf8"),
        (b"x" * (LONGEST_GUIDELINES + 1), "too-long"),
        (None, "cannot-open"),
    ],
)
def test_guidelines_that_cannot_be_read(tmp_path, content, kind):
    path = tmp_path / "guide.md"
    if content is not None:
        path.write_bytes(content)
    with raises(kind, DataError, path=str(path)):
        read_guidelines(str(path))
