"""The page about speed shows what the benchmarks found last."""

from benchmarks import history
from benchmarks.growth.__main__ import FIXED, GROWTHS
from benchmarks.history import PAGE, page, report

from rankdev.cli import COMMANDS
from rankdev.cli.commands.refs import refs_command


def test_the_page_shows_the_newest_tables():
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "python -m benchmarks brings docs/benchmarks.md up to date"


def test_a_table_is_kept_and_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(history, "HISTORY", tmp_path / "history.jsonl")
    rows = [{"library": "ours", "seconds": 1.234, "lines": 6_000_000}, {"library": "theirs", "ratio": 0.1254}]
    report("Speed", rows, keep=False)
    assert not history.HISTORY.exists()
    report("Speed", [], keep=True)
    report("Speed", rows, keep=True)
    table = "| ours | 1.23 | 6,000,000 |  |\n| theirs |  |  | 0.125 |\n"
    assert capsys.readouterr().out.count(table) == 2
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
