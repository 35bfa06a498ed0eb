"""The pages of the calibration: one for each topic, whose tables are the data, and a front page made from them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from tests.calibration.claims import CLAIMS
from tests.calibration.simulations import ALPHA, Finding

Found: TypeAlias = Mapping[str, Sequence[Finding]]

FRONT = Path(__file__).parents[2] / "docs/calibration.md"
TOPICS = {
    "one-pair": (
        "Two systems",
        "single tests",
        "skew and single queries",
        "sparse differences",
        "effect sizes",
    ),
    "many-comparisons": (
        "Many comparisons",
        "families",
        "many measures",
        "holm",
        "variants of one system",
    ),
    "equivalence": ("Equivalence and gates", "equivalence", "sparse equivalence", "gates"),
    "leaderboards": ("Leaderboards", "leaderboards", "means", "tasks"),
    "collections": ("Several collections", "collections", "unequal collections"),
    "clusters": (
        "Clusters and segments",
        "clusters",
        "sparse clusters",
        "clusters elsewhere",
        "dependent queries",
    ),
    "runs": ("Repeated runs", "repeated runs"),
    "planning": ("Planning", "plans", "sparse plans", "topic set sizes", "power of topic set sizes"),
    "measures": (
        "Power and agreement of measures",
        "power",
        "stability",
        "pools",
        "agreement",
        "position weights",
    ),
    "people": ("People and models", "humans and a model", "few judgments", "many comparisons with people"),
    "references": (
        "References from preferences",
        "uncertain judgments",
        "ties",
        "tastes",
        "one tier",
        "crowds",
        "more judgments",
        "position bias",
    ),
    "collecting": ("Collecting preferences", "stops", "conclusions", "unlike systems", "decisions", "chosen pairs"),
}
# what is stated where it is neither 95% nor α, nor the goal itself
STATED = {
    "`plan`, enough with 90% certainty": 0.9,
    "power of .8 by `plan`": 0.8,
    "`collect`, probability .9": 0.9,
}
HEAD = """# Calibration

Every interval and every error rate that rankdev reports is a claim. Here each claim is tested by simulation: scores
are drawn repeatedly from a known truth, and the fraction of trials in which the claim held is counted. This page shows
the worst row of every claim, and where claims fall short; the linked pages have all {rows:,} rows.

Intervals are at 95%, tests at α = .05. *normal*, *exponential* (skewed), *discrete* (five values) and *tied* (half of
the differences are zero) are the distributions of per-query differences. Sparse differences, most of which are zero,
are described where they occur. AP@5 and RDQ@5 denote differences between two systems from the simulator of the paper's
POI study. `make calibrate` simulates everything and rewrites these pages; `python -m tests.calibration NAME` repeats
one section. `make test-rest` includes short runs of the same simulations.
"""
SHORT = """
## Where claims fall short

Of {rows:,} rows with a claim, {short:,} miss the stated value by more than three Monte Carlo errors. They belong to
{claims} of {all} claims. The worst row of each:

"""
WORST = """
## The worst row of every claim

*Stated* is the value that rankdev states: 95% for an interval and 5% for an error, or the value named in the claim. A
value is in bold if some row of its claim misses the stated one by more than three Monte Carlo errors.

"""
UNCLAIMED = """
## Not claimed

Some rows are for comparison only, or show settings for which nothing is claimed.

"""
TOPIC = """# Calibration: {title}

*held* is the fraction of trials in which the claim held, and ± its Monte Carlo error; slow settings have fewer trials.
*goal* is the lowest (≥) or highest (≤) fraction that the tests accept: more lenient than the stated value where a
setting is known to be hard, and – where nothing is claimed. A row is in bold if it misses its goal by more than four
errors. [Calibration](../calibration.md) explains the settings, and has the worst row of every claim.
"""


def path_of(name: str) -> Path:
    """Return the page on which a section is."""
    topic = next((topic for topic, (_, *names) in TOPICS.items() if name in names), None)
    if topic is None:
        raise LookupError(f"no topic of tests/calibration/pages.py has the section {name!r}")
    return FRONT.with_suffix("") / f"{topic}.md"


def sections(page: Path) -> dict[str, str]:
    """Return the sections of a page by claim."""
    parts = page.read_text(encoding="utf-8").split("\n## ")[1:] if page.exists() else []
    return {part.partition("\n")[0].lower(): f"\n## {part}" for part in parts}


def found() -> dict[str, list[Finding]]:
    """Return what all pages say, by section."""
    made = {name: text for page in FRONT.with_suffix("").glob("*.md") for name, text in sections(page).items()}
    return {name: findings(made[name]) for _, *names in TOPICS.values() for name in names if name in made}


def findings(text: str) -> list[Finding]:
    """Return the rows of tables."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return [
        Finding(
            claim,
            setting,
            float(held.strip("*")),
            int(trials.replace(",", "")),
            float(goal[1:]) if goal != "–" else 0.0,
            goal[0] == "≤",
        )
        for claim, setting, held, goal, trials, _ in (row for row in cells if len(row) == 6)
        if trials[:1].isdigit()
    ]


def write(name: str, rows: Sequence[Finding]) -> None:
    """Put a section on its page."""
    page = path_of(name)
    title, *names = TOPICS[page.stem]
    written = sections(page) | {name: section(name, rows)}
    text = TOPIC.format(title=title[0].lower() + title[1:]) + "".join(
        written[each] for each in names if each in written
    )
    page.parent.mkdir(exist_ok=True)
    page.write_text(text, encoding="utf-8")


def section(name: str, rows: Sequence[Finding]) -> str:
    return f"\n## {_title(name)}\n\n{inspect.getdoc(CLAIMS[name][0])}\n\n" + _table(
        ("claim", "setting", "held", "goal", "of trials", "±"),
        [
            (one.claim, one.setting, _bold(one.held, not one.fine), _goal(one), f"{one.trials:,}", f"{one.error:.3f}")
            for one in rows
        ],
    )


def front(pages: Found) -> str:
    """Return the front page: the worst row of every claim, and what is not claimed."""
    worst, short, unclaimed, claimed, missed = [], [], [], 0, 0
    for name, rows in pages.items():
        link = f"[{_title(name)}](calibration/{path_of(name).stem}.md#{name.replace(' ', '-')})"
        for claim in dict.fromkeys(row.claim for row in rows):
            free = [row for row in rows if row.claim == claim and not _claimed(row)]
            if free:
                least, most = (f"{end(row.held for row in free):.3f}" for end in (min, max))
                unclaimed.append((claim, least, most, str(len(free)), free[0].setting, link))
            held_to = [row for row in rows if row.claim == claim and _claimed(row)]
            if not held_to:
                continue
            # each row beside what is stated, the worst first
            beside = sorted((replace(row, goal=_stated(row, held_to)) for row in held_to), key=_reserve)
            missing = sum(_reserve(row) < -3 * row.error for row in beside)
            cells = (claim, _goal(beside[0]), _bold(beside[0].held, bool(missing)), beside[0].setting)
            worst.append((*cells, link))
            short += [(*cells, f"{missing} of {len(beside)}", link)] if missing else []
            claimed, missed = claimed + len(beside), missed + missing
    names = ("claim", "stated", "held", "setting")
    return (
        HEAD.format(rows=sum(map(len, pages.values())))
        + SHORT.format(rows=claimed, short=missed, claims=len(short), all=len(worst))
        + _table((*names, "rows that miss it", "section"), short)
        + WORST
        + _table((*names, "section"), worst)
        + UNCLAIMED
        + _table(("what", "lowest", "highest", "rows", "for example", "section"), unclaimed)
    )


def _claimed(row: Finding) -> bool:
    return row.goal != float(row.at_most)


def _reserve(row: Finding) -> float:
    return row.goal - row.held if row.at_most else row.held - row.goal


def _stated(row: Finding, rows: Sequence[Finding]) -> float:
    """Return what is stated in place of a goal that allows for hard settings."""
    if row.claim in STATED:
        return STATED[row.claim]
    goals = [each.goal for each in rows]
    if row.at_most:
        return ALPHA if ALPHA <= min(goals) < 2 * ALPHA else row.goal
    return 1 - ALPHA if min(goals) > 0.75 else row.goal


def _title(name: str) -> str:
    return name[0].upper() + name[1:]


def _goal(row: Finding) -> str:
    return f"{'≤' if row.at_most else '≥'} {row.goal:.3g}" if _claimed(row) else "–"


def _bold(share: float, bold: bool) -> str:
    return f"**{share:.3f}**" if bold else f"{share:.3f}"


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
