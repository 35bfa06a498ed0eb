"""The pages show what the benchmarks and the comparison with other programs found last."""

import re

import pytest
from benchmarks import history
from benchmarks.growth.__main__ import FIXED, GROWTHS
from benchmarks.history import MEASURED, PAGES, ROOT, page, report, shown

from rankdev.cli import COMMANDS
from rankdev.cli.commands.refs import refs_command

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_shows_the_newest_tables_and_numbers(path):
    text = path.read_text(encoding="utf-8")
    assert page(text) == text, "python -m benchmarks brings the pages up to date"


@pytest.mark.parametrize("row", re.findall(r"^\| (?:seconds for|bcai|NLE|\*symptoms).*", README, re.MULTILINE))
def test_every_number_of_the_readme_is_measured(row):
    _, _, *cells = row.split("|")
    assert not re.search(r"\d", MEASURED.sub("", "".join(cells)))


def test_the_readme_says_how_many_values_were_compared():
    together = re.search(
        r"\*\*together\*\* \|  \| ([\d,]+) \| ([\d,]+)", (ROOT / "docs/conformance.md").read_text("utf-8")
    )
    values, differ = (int(number.replace(",", "")) for number in together.groups())
    assert f"{round(values, -4):,} values compared" in README
    assert f"{round(values, -4):,}".replace(",", "%2C") in README  # the badge
    assert f"why {100 * differ / values:.1f}% differ" in README


def test_a_number_is_the_newest_of_its_cell(tmp_path, monkeypatch):
    monkeypatch.setattr(history, "HISTORY", tmp_path / "history.jsonl")
    report("Speed", [{"library": "ours", "seconds": 1.5}, {"library": "theirs", "seconds": 3000.0}], keep=True)
    cell = "<!-- measured: Speed; {}; seconds -->".format
    old = f"9.99{cell('ours')} and 1{cell('theirs')}, 0.5000{cell('theirs ÷ ours')}"
    assert page(old) == f"1.50{cell('ours')} and 3,000{cell('theirs')}, 2,000.0000{cell('theirs ÷ ours')}"


def test_a_number_may_be_an_interval_or_one_of_its_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(history, "HISTORY", tmp_path / "history.jsonl")
    report("Gain", [{"measure": "RDQ", "gain": shown(-0.0331, -0.0612, 0.104), "low": -10.5}], keep=True)
    cell = "<!-- measured: Gain; RDQ; {} -->".format
    found = page(f".000{cell('gain')} [.00{cell('gain low')}, −.00{cell('gain high')}], .0{cell('low')}")
    assert found == f"−.033{cell('gain')} [−.06{cell('gain low')}, .10{cell('gain high')}], −10.5{cell('low')}"
    with pytest.raises(ValueError, match="not in tuple"):
        page(f".1{cell('gain mean')}")


def test_a_table_is_kept_and_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(history, "HISTORY", tmp_path / "history.jsonl")
    rows = [{"library": "ours", "seconds": 1.234, "lines": 6_000_000}, {"library": "theirs", "ratio": 0.1254}]
    report("Speed", rows, keep=False)
    assert not history.HISTORY.exists()
    report("Speed", [], keep=True)
    report("Speed", rows, keep=True)
    table = "| ours | 1.23 | 6,000,000 |  |\n| theirs |  |  | 0.125 |\n"
    assert capsys.readouterr().out.count(table) == 2
    empty = "<!-- table: Not measured yet -->\n<!-- end -->\n"
    other = "<!-- table: of a study -->\n\n| a |\n\n"
    assert page(f"{other}text\n{empty}") == f"{other}text\n{empty}"
    with pytest.raises(KeyError):
        page(empty.replace("<!-- end", "by hand\n<!-- end"))
    made = page("before\n<!-- table: Speed -->\nold\n<!-- end -->\nafter\n")
    assert table in made
    assert "old" not in made
    assert made.startswith("before\n")
    assert made.endswith("<!-- end -->\nafter\n")
    assert page(made) == made


def test_the_growth_of_every_command_is_measured():
    commands = set(COMMANDS) - {"refs"}
    commands |= {f"refs {name}" for name in refs_command.commands}
    measured = {" ".join(word for word in one.command.split() if not word.startswith("-")) for one in GROWTHS}
    assert {name.removesuffix(" trec_eval-10") for name in measured} | set(FIXED) == commands
