"""The quick starts stay quick: the first command prints a number, few follow, and the last ones decide.

That they work and print what the page shows is tested with all examples of the documentation.
"""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/quick-starts.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## )", PAGE, re.DOTALL | re.MULTILINE))


def test_there_are_four():
    assert list(SECTIONS) == ["Search", "Recommendation", "Research", "Judging"]


@pytest.mark.parametrize("name", SECTIONS)
def test_each_leads_from_raw_data_to_a_decision_in_ten_steps(name):
    python, console = (
        re.search(rf"```{kind}\n(.*?)```", SECTIONS[name], re.DOTALL)[1] for kind in ("python", "console")
    )
    commands = [line for line in console.splitlines() if line.startswith("$ ")]
    assert commands[0].startswith("$ rankdev eval ")
    assert re.search(r"\d\.\d{4}", console.split("$ ")[1])
    assert len(commands) + len(re.findall(r"^>>> ", python, re.MULTILINE)) <= 10
    assert re.search(r"^(?:Ship|Don't ship|Cannot tell)", console, re.MULTILINE)
