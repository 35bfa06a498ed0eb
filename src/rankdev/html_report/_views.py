"""What the page states of each measure and of all of them: the parts of ``assets/report_parts.html``, filled in."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from typing import Any

import numpy as np

from rankdev.display.cells import interval, number, ranks, signed
from rankdev.display.layout import apart
from rankdev.errors import counted, printable
from rankdev.html_report._arrays import SHOWN
from rankdev.html_report._findings import Comparison
from rankdev.html_report._html import asset
from rankdev.statistics.design import replicated
from rankdev.statistics.inputs import complete
from rankdev.statistics.judgment_uncertainty import UncertainScores

LONGEST_NAME = 40  # characters of a name; others are shortened, and never to the same text
MOST_QUERIES = 250  # that stand without scripts and on paper; of more, those at both ends
LEVELS = {  # the sign of each level of a verdict or a check, and what it is called: colour is never alone
    "winner": ("✓", "Clear winner"),
    "open": ("≈", "No clear winner"),
    "single": ("•", "One system"),
    "problem": ("✗", "Problem with the data"),
    "good": ("✓", "fine"),
    "unknown": ("?", "unknown"),
    "caution": ("!", "look at this"),
}


class Html(str):
    """Text that is HTML already; all other text is escaped."""

    __slots__ = ()


class _Filler(string.Formatter):
    def format_field(self, value: Any, form: str) -> str:
        """Escape a text, or write a number with so many decimals."""
        return value if isinstance(value, Html) else number(float(value), int(form)) if form else escape(str(value))


@cache
def _parts() -> dict[str, str]:
    return dict(re.findall(r'<template id="(.+?)">(.*)</template>', asset("report_parts.html")))


def filled(part: str, *fields: Any) -> Html:
    """Fill in a part of the page, field by field; a sequence of parts is put one after the other.

    >>> filled("term", "a < b", [Html("<b>c</b>"), Html("d")])
    '<dt>a &lt; b</dt><dd><b>c</b>d</dd>'
    """
    write = _Filler().format_field
    texts = [
        field if isinstance(field, str | float | int) else Html("".join(write(each, "") for each in field))
        for field in fields
    ]
    return Html(
        re.sub(r' (?:class|title)=""|<small>(?:<bdi></bdi>)?</small>', "", _Filler().vformat(_parts()[part], texts, {}))
    )


def short_names(*groups: Sequence[str]) -> dict[str, str]:
    """Return the short forms of names that are too long, different within each group."""
    found: dict[str, str] = {}
    for names in groups:
        shown = {name: printable(name) for name in names}
        short = apart([*shown.values()], LONGEST_NAME)
        found |= {name: short[text] for name, text in shown.items() if short[text] != name}
    return found


def views(found: Comparison, header: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return, for each measure, the parts that are about one, by where they stand."""
    return [
        {
            "card": _card(header, m),
            "health": filled("all", (_check(header, *check) for check in header["checks"][m])),
            "board": _board(found, header, m),
            "runs": _runs(found, header, m),
        }
        for m in range(len(header["measures"]))
    ]


def others(found: Comparison, header: Mapping[str, Any], uncertain: UncertainScores | None) -> dict[str, str]:
    """Return the parts that are about all measures."""
    full = [(f"{short} is", printable(name)) for name, short in header["short"].items() if name in header["systems"]]
    several, about = len(header["measures"]) > 1, [*header["facts"], *full]
    return {
        **{name: escape(header[name]) for name in ("title", "subtitle", "explained", "one_order")},
        "chips": _chips(header) if several else "",
        "others": _sentences("p", header, [card["sentence"] for card in header["cards"][1:]]),
        "scores": _scores(found, header) if several else "",
        "uncertain": "" if uncertain is None else _uncertain(uncertain, header),
        "next": _sentences("p", header, header["next"]),
        "notes": _sentences("li", header, header["notes"]),
        "losses": _losses(found, header),
        "agreement": _agreement(found, header),
        "making": filled("all", (filled("term", *one) for one in about)),
        "rows": _rows(found, header),
    }


def _broken(text: str, after: str) -> Html:
    """Let a text break after some characters, where it is narrow."""
    return Html("<wbr>".join(map(escape, re.split(after, text))))


def _named(name: str, header: Mapping[str, Any]) -> str:
    short: str = header["short"].get(name, name)
    return short


def _head(s: int, header: Mapping[str, Any]) -> Html:
    """Return the head of a system's row."""
    name = header["systems"][s]
    short = _named(name, header)
    return filled("system", s, printable(name) if short != name else "", _broken(short, r"(?<=[_/:])(?=\S)"))


def _heads(measures: Iterable[str], scope: str, kind: str = "measure") -> list[Html]:
    return [filled("head", scope, kind, _broken(name, r"(?<=[(,)])")) for name in measures]


def _short(text: str, header: Mapping[str, Any]) -> str:
    """Shorten the long names of systems in a sentence."""
    for name in sorted(header["short"].keys() & {*header["systems"]}, key=len, reverse=True):
        text = text.replace(printable(name), header["short"][name])
    return text


def _sentences(tag: str, header: Mapping[str, Any], texts: Iterable[str]) -> Html:
    return filled("all", (filled("sentence", tag, _short(text, header), tag) for text in texts))


def _leader(header: Mapping[str, Any], m: int) -> str:
    """Add the name of a clear winner to a text."""
    winner = _named(header["systems"][header["orders"][m][0]], header)
    return f": {winner}" if header["cards"][m]["level"] == "winner" else ""


def _card(header: Mapping[str, Any], m: int) -> Html:
    """State the conclusion by a measure, and how it was tested."""
    card = header["cards"][m]
    level, sentence, by, tests = (_short(text, header) for text in (*card.values(), header["tests"]))
    sign, name = LEVELS[level]
    return filled("card", level, sign, name + _leader(header, m), _broken(sentence, r"(?<=\S[_/:])(?=\S)"), by, tests)


def _chips(header: Mapping[str, Any]) -> Html:
    """Return a button for each measure, with the level of its card."""
    levels = [card["level"] for card in header["cards"]]
    clear, measures = levels.count("winner"), counted(len(levels), "measure")
    start = f"A clear winner by {clear} of {measures}: " if clear else f"No clear winner by any of {measures}: "
    buttons = (
        filled("chip", level, LEVELS[level][1], LEVELS[level][0], name + _leader(header, m))
        for m, (level, name) in enumerate(zip(levels, header["measures"], strict=True))
    )
    return filled("all", (start if {*levels} & {"winner", "open"} else "By measure: ", *buttons))


def _check(header: Mapping[str, Any], name: str, level: str, value: str, text: str) -> Html:
    """State what was checked."""
    sign, means = LEVELS[level]
    return filled("check", level, sign, name, means, value, _short(text, header))


def _board(found: Comparison, header: Mapping[str, Any], m: int) -> Html:
    """List the systems by a measure, with the ranks that the decisions leave them, on an axis that all rows share."""
    order, board = header["orders"][m], found.standings[m]
    limits = np.stack([*(limit[order, m] for limit in found.mean_intervals), found.means[order, m]], axis=1)
    known = limits[np.isfinite(limits)]
    start, end = (known.min(), known.max()) if known.size else (0, 0)
    places = np.nan_to_num(3 + 94 * (limits - start) / max(end - start, 1e-6), nan=-9)  # outside
    several = len(order) > 1
    rows = (
        filled("board-row", rank, _head(s, header), mean, *at, _interval(low, high), ranks(first, last), yes)
        for s, at, (low, high, mean), rank, first, last, yes in zip(
            *(order, places, limits.tolist(), board["rank"], board["rank_low"], board["rank_high"]),
            ("yes" if best else "" for best in board["may_be_best"]),
            strict=True,
        )
    )
    below = "; ranks lie below the systems that are better and above those that are worse" if several else ""
    about = header["measures"][m], below, start, end, header["confidence"]
    return filled("board", "" if several else "alone", *about, rows)


def _interval(low: float | None, high: float | None, digits: int = SHOWN) -> str:
    return "" if low is None or not np.isfinite(low) else interval(low, high, digits)


def _scores(found: Comparison, header: Mapping[str, Any]) -> Html:
    """List the means by all measures, the best ones in bold."""
    low, high = (limit.tolist() for limit in found.mean_intervals)
    shown = [[number(mean) for mean in row] for row in found.means.tolist()]
    tops = [shown[order[0]][m] if len(order) > 1 else "" for m, order in enumerate(header["orders"])]

    def cell(s: int, m: int) -> Html:
        best = "best" if shown[s][m] == tops[m] else ""
        return filled("both", best, shown[s][m], _interval(low[s][m], high[s][m], 3))

    rows = (filled("row", _head(s, header), (cell(s, m) for m in range(len(tops)))) for s in header["orders"][0])
    bold = "; the best of each measure in bold" if len(header["systems"]) > 1 else ""
    return filled("scores", header["confidence"], bold, _heads(header["measures"], "col"), rows)


def _runs(found: Comparison, header: Mapping[str, Any], m: int) -> Html:
    """State how far the runs of each system lie apart, where systems have several."""
    if found.single is None or found.replicates is None:
        return Html("")
    of = [*replicated(found.single, found.replicates).members.values()]
    means = [complete(found.single).averages[own, m] for own in of]
    listed = [", ".join(map(printable, found.replicates[name])) for name in header["systems"]]
    rows = (
        filled("runs-row", _head(s, header), len(of[s]), found.means[s, m], means[s].min(), means[s].max(), listed[s])
        for s in header["orders"][m]
    )
    return filled("runs", header["measures"][m], rows)


def _uncertain(found: UncertainScores, header: Mapping[str, Any]) -> Html:
    """List scores against the true order behind judgments."""
    frame = found.to_polars()
    rows = (
        filled("uncertain-row", _head(header["systems"].index(name), header), value, _interval(low, high))
        for name, value, low, high in frame.select("system", "value", "low", "high").rows()
    )
    return filled("uncertain", frame["measure"][0], header["confidence"], rows)


def _losses(found: Comparison, header: Mapping[str, Any]) -> Html:
    """List what each system loses and by what, with a bar that begins with its score."""
    frame = found.losses.to_polars().select("system", "score", "lost_by_order", "lost_by_cutoff", "lost_by_retrieval")
    rows = (
        filled("losses-row", _head(header["systems"].index(name), header), *100 * np.nancumsum(parts[:3])[::-1], *parts)
        for name, *parts in frame.sort("score", descending=True, maintain_order=True).iter_rows()
    )
    return filled("losses", rows)


def _agreement(found: Comparison, header: Mapping[str, Any]) -> Html:
    """State how far the measures rank the systems alike, and in how many pairs each finds one better."""
    measures, tested = header["measures"], found.significance
    if found.agreement is None or tested is None:
        return Html("")
    told = tested.frame["verdict"].is_in(["better", "worse"]).to_numpy().reshape(len(measures), -1)
    tau, r = (
        [[number(x, 3) for x in row] for row in each[0].tolist()] for each in (found.agreement.tau, found.agreement.r)
    )

    def cells(i: int) -> Iterator[Html]:
        yield filled("both", "", f"{told[i].sum():,} of {told.shape[1]:,}", "")
        yield from (filled("both", "", *((tau[i][j], r[i][j]) if i != j else ("–", ""))) for j in range(len(measures)))

    rows = (filled("row", head, cells(i)) for i, head in enumerate(_heads(measures, "row", "text measure")))
    return filled("agreement", _heads(measures, "col"), rows)


def _rows(found: Comparison, header: Mapping[str, Any]) -> Html:
    """List the scores of queries of the systems that are compared first, the largest difference first."""
    systems = [*dict.fromkeys(header["pair"])]
    two, names = len(systems) > 1, [_named(header["systems"][s], header) for s in systems]
    values = found.scores.values[systems][:, found.shown, 0]
    apart = values[0] - values[1] if two else values[0]
    order = np.argsort(-apart, kind="stable").tolist()
    own = [("of-a", f"A: {names[0]}"), ("of-b", f"B: {names[1]}"), ("", "A − B")] if two else [("", names[0])]

    def row(q: int) -> Html:
        name = header["queries"][q]
        numbers = [*map(number, values[:, q].tolist()), *([signed(float(apart[q]))] if two else [])]
        head = filled("query", _named(name, header), printable(" ".join(header["query_texts"].get(name, "").split())))
        cells = (filled("both", "", text, "") for text in numbers)
        return filled("row", head, (*cells, filled("both", "size", int(found.references.sizes[q]), "")))

    shown = dict.fromkeys([*order[: MOST_QUERIES // 2], *order[-(MOST_QUERIES // 2) :]])
    left = f"; {len(order) - len(shown):,} between these are left out" if len(shown) < len(order) else ""
    heads = [("text", "Query"), *own, ("size", "Relevant items")]
    top = [filled("head", "col", kind, _broken(text, r"(?<=[_/:])(?=\S)")) for kind, text in heads]
    return filled("rows", f"Scores on {header['measures'][0]}{left}", top, map(row, shown))
