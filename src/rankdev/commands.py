"""The table of commands, and what ``rankdev`` shows without loading any of them."""

from __future__ import annotations

# the only list of commands: adding one is a name NAME_command in a module of cli/ and a line here
GROUPS = {
    "Everyday": {
        "eval": ("everyday", "Score runs against references."),
        "compare": ("everyday", "Test which differences between systems are significant."),
        "leaderboard": ("statistics", "Rank systems, with intervals of their ranks."),
        "explain": ("everyday", "Show where a query's score was lost, position by position."),
        "report": ("everyday", "Write a whole comparison as one HTML page."),
        "gate": ("gate", "Decide whether a candidate may replace a baseline."),
        "table": ("statistics", "Write the results table of a paper, with significance marks."),
    },
    "References": {
        "refs": ("refs", "Build references from grades, lists or preferences."),
        "pool": ("judge", "Pool the top items of runs for judging."),
        "judge": ("judge", "Collect pairwise preferences in the browser."),
    },
    "Statistics": {
        "power": ("statistics", "Estimate statistical power for n queries."),
        "plan": ("statistics", "Estimate how many queries are needed."),
        "stability": ("statistics", "Estimate how stable the ranking of systems is with n queries."),
        "agreement": ("statistics", "Measure how far measures agree on the ranking of systems."),
        "bounds": ("statistics", "Bound scores when some items are unjudged."),
        "ppi": ("statistics", "Combine a few human-judged queries with many LLM-judged ones."),
    },
    "Measures": {
        "measures": ("tools", "List the measures and their parameters."),
        "sensitivity": ("statistics", "Show how a measure's parameters change its power."),
        "weights": ("statistics", "Estimate position weights from clicks."),
    },
    "Studies and tools": {
        "study": ("tools", "Rerun the paper's experiments next to its published numbers."),
        "demo": ("tools", "Walk through the everyday commands on built-in data."),
        "playground": ("tools", "Open a page on which to try RDQ by hand."),
        "help": ("tools", "Explain a topic or a command."),
        "completion": ("tools", "Print the shell completion script."),
    },
}
COMMANDS = {name: entry for commands in GROUPS.values() for name, entry in commands.items()}
GREETED = ("eval", "compare", "explain", "report", "plan", "refs")
GREETING = """\
rankdev scores ranked results against references that order the relevant items,
and tests which differences between systems are significant.

Everyday commands:
{commands}

Next:
  rankdev demo            see them at work on built-in data
  rankdev help            topics, such as runs, references and measures
  rankdev COMMAND --help  the options of a command
  rankdev --help          all commands"""
OVERVIEW = """\
Usage: rankdev [OPTIONS] COMMAND [ARGS]...

  Evaluate ranked results against references that order the relevant items.

Options:
  --version   Show the version.
  -h, --help  Show this message and exit.

{commands}

  Example: rankdev eval qrels.txt bm25.run dense.run -m RDQ@5 -m nDCG@10"""


def greeting() -> str:
    """Return what ``rankdev`` alone shows."""
    return GREETING.format(commands="\n".join(f"  {name:<8}  {COMMANDS[name][1]}" for name in GREETED))


def overview() -> str:
    """Return what ``rankdev --help`` shows: every command."""
    parts = []
    for title, commands in GROUPS.items():
        lines = [f"  {name:<11}  {summary}" for name, (_, summary) in commands.items()]
        parts.append("\n".join([f"{title}:", *lines]))
    return OVERVIEW.format(commands="\n\n".join(parts))
