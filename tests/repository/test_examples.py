"""The tool that rewrites the outputs of examples changes those, where they differ, and nothing else."""

from tests.examples import rerun

PAGE = """Text with >>> 1 + 1 in it.

```python
>>> 1 + 1
{sum}
>>> print("a\\n\\nb")  # two lines
{lines}
>>> [0.123, 4]
[0.1..., 4]
>>> nothing = 3
{nothing}>>> int("x")
Traceback (most recent call last):
{error}

```

```console
$ echo one; echo; echo two
{console}
```

<!-- skip: next -->

```python
>>> 1 / 0
7
```
"""
OLD = {"sum": "3", "lines": "a", "nothing": "4\n", "error": "TypeError: x", "console": "one"}
NEW = {
    "sum": "2",
    "lines": "a\n<BLANKLINE>\nb",
    "nothing": "",
    "error": "ValueError: invalid literal for int() with base 10: 'x'",
    "console": "one\n\ntwo",
}


def test_outputs_that_changed_are_rewritten(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(**OLD))
    assert rerun(page) == (PAGE.format(**NEW), [])


def test_a_page_that_is_right_stays_as_it_is(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(**NEW))
    assert rerun(page) == (PAGE.format(**NEW), [])


def test_an_example_that_breaks_is_reported_with_its_place(tmp_path):
    page = tmp_path / "page.md"
    text = "```python\n>>> 1\n1\n>>> unknown\n3\n```\n"
    page.write_text(text)
    assert rerun(page) == (text, [f"{page}:4: NameError: name 'unknown' is not defined"])
