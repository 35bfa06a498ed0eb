"""Where do the paper's statements hold? ``python -m experiments.statements DATA docs/data/poi-worlds.csv -o FILE``.

Reads what ``experiments.city`` wrote, runs the simulated study with three seeds and the study of TREC Deep Learning on
public runs (2019 and 2020 pooled, 2021), and writes docs/data/statements.json: a verdict, what was found. A statement
about worlds or simulated data holds, or does not, where all seeds agree and no measures tie. One about TREC holds, or
does not, where 95% intervals over queries show it: that of the difference of two powers, otherwise intervals that do
not overlap. Power is at 25 queries there, and measures are at 10.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import polars as pl

from rankdev.io.tables import runs_in
from rankdev.studies._published import published
from rankdev.studies.poi.output import statements_of
from rankdev.studies.poi.study import run_poi
from rankdev.studies.track.study import Track, run_track

SEEDS = (0, 1, 2)
STRONGEST = {
    "highest median power": ("RDQ@10", ""),
    "strongest RBP (median power)": ("RBP(p=0.9)@10", "RBP"),
    "strongest Compat (median power)": ("Compat(p=0.95)@10", "Compat"),
    "M1 is the strongest RDQ where tiers are large": ("RDQ(penalty=m1)@10", "RDQ"),
}
NATIVE, M1 = "nDCG(dcg=exp-log2)@10", "RDQ(penalty=m1)@10"
Found = dict[str, tuple[str, str]]  # statement: verdict, and what was found


def simulated(quick: bool) -> Found:
    """Return the verdicts on the simulated data."""
    rows: list[tuple[str, str, bool | None]] = []
    for seed in SEEDS:
        study = run_poi(quick=quick, seed=seed)
        rows += [(text, ours, holds) for text, _, ours, holds in statements_of(study)]
    return _by_seed(rows)


def world(facts: pl.DataFrame, name: str) -> Found:
    """Return the verdicts on one world of the study."""
    rows = facts.filter(part="statements", world=name).select("statistic", "measure", "value").iter_rows()
    return _by_seed([(text, ours, None if value is None else value == 1) for text, ours, value in rows])


def _by_seed(rows: Sequence[tuple[str, str, bool | None]]) -> Found:
    found = {}
    for text in dict.fromkeys(row[0] for row in rows):
        mine = [row for row in rows if row[0] == text]
        holds = [row[2] for row in mine]  # None where measures tie
        verdict = "holds" if all(holds) else "cannot tell" if any(one is not False for one in holds) else "fails"
        found[text] = (verdict, "; ".join(dict.fromkeys(row[1] for row in mine)))
    return found


def track(study: Track) -> Found:
    """Return the verdicts on a track: the paper's statements about its points of interest, then those about TREC."""
    summary = {row["measure"]: row for row in study.power.summary(study.n).iter_rows(named=True)}
    names = list(summary)
    found: Found = {}
    needed = {m: [row[column] for column in ("n80", "n80_low", "n80_high")] for m, row in summary.items()}
    found["fewest queries for power .8"] = _extreme("RDQ@10", needed, False)
    assert study.stability is not None
    order = study.stability.to_polars().filter(n=study.n)
    taus = {row["measure"]: [row["tau"], row["low"], row["high"]] for row in order.iter_rows(named=True)}
    found["most stable order (auc)"] = _extreme("RDQ@10", taus, True)
    found["least stable order (auc)"] = _extreme("AP@10", taus, False)
    found["power grows with reference size"] = _growing(study)
    found["above 0 with ≤3 reference items"] = ("cannot tell", "no such references")
    found["most of 25 cells beat the best other measure"] = _cells(study, summary)
    apart = _difference(study, M1, NATIVE)
    found["M1 and native nDCG are alike at 25 queries"] = (
        "holds" if apart[1] <= 0 <= apart[2] else "fails",
        _with(apart),
    )
    found["native nDCG is above M1 at 100 queries"] = ("cannot tell", "fewer than 100 queries")
    for text, (wanted, family) in STRONGEST.items():
        found[text] = _strongest(study, wanted, [name for name in names if name.startswith(family)])
    found["no RBP or Compat beats an RDQ or native nDCG"] = _beaten(study, names)
    return found


def _strongest(study: Track, wanted: str, names: Sequence[str]) -> tuple[str, str]:
    """Return whether a measure has most median power, by intervals of its differences from the others."""
    powers = dict(study.power.summary(study.n).select("measure", "p50").iter_rows())
    first = max(names, key=powers.__getitem__)
    apart = [_difference(study, wanted, name) for name in names if name != wanted]
    above, below = all(low > 0 for _, low, _ in apart), any(high < 0 for _, _, high in apart)
    return ("holds" if above else "fails" if below else "cannot tell", f"{first} {powers[first]:.3f}")


def _extreme(wanted: str, rows: dict[str, list[float]], most: bool) -> tuple[str, str]:
    """Return whether a measure is first, by intervals that do not overlap."""
    sign = 1 if most else -1
    first = max(rows, key=lambda m: sign * rows[m][0])
    _, low, high = rows[wanted]
    others = [row for m, row in rows.items() if m != wanted]
    above = all((low > row[2]) if most else (high < row[1]) for row in others)
    below = any((high < row[1]) if most else (low > row[2]) for row in others)
    shown = f"{first} {rows[first][0]:g}" if rows[first][0] > 1 else f"{first} {rows[first][0]:.3f}"
    return ("holds" if above else "fails" if below else "cannot tell", shown)


def _growing(study: Track) -> tuple[str, str]:
    parts = [part.power.summary(study.n) for part in study.buckets if part.kind == "reference size"]
    grows = falls = 0
    for measure in parts[0]["measure"]:
        rows = [part.filter(measure=measure).row(0, named=True) for part in parts]
        grows += all(a["p50"] <= b["p50"] for a, b in pairwise(rows))
        falls += any(a["p50_low"] > b["p50_high"] for i, a in enumerate(rows) for b in rows[i + 1 :])
    count = parts[0].height
    return ("holds" if grows == count else "fails" if falls else "cannot tell", f"{grows} of {count}")


def _cells(study: Track, summary: dict[str, dict[str, float]]) -> tuple[str, str]:
    assert study.grid is not None
    others = [row for m, row in summary.items() if not m.startswith("RDQ")]
    other = max(others, key=lambda row: row["p50"])
    grid = study.grid.summary(study.n)
    above = grid.filter(pl.col("p50_low") > other["p50_high"]).height
    below = grid.filter(pl.col("p50_high") < other["p50_low"]).height
    count = grid.filter(pl.col("p50") > other["p50"]).height
    return ("holds" if above > 12 else "fails" if below > 12 else "cannot tell", f"{count} of {grid.height}")


def _difference(study: Track, a: str, b: str) -> tuple[float, float, float]:
    table = study.power.differences(study.n)
    for one, other, sign in ((a, b, 1), (b, a, -1)):
        for apart, low, high in table.filter(a=one, b=other).select("difference", "low", "high").iter_rows():
            return (apart, low, high) if sign == 1 else (-apart, -high, -low)
    raise KeyError((a, b))


def _with(apart: tuple[float, float, float]) -> str:
    return f"{apart[0]:+.3f} [{apart[1]:+.3f}, {apart[2]:+.3f}]"


def _beaten(study: Track, names: Sequence[str]) -> tuple[str, str]:
    strong = [m for m in names if m.startswith("RDQ") or m == NATIVE]
    weak = [m for m in names if m.startswith(("RBP", "Compat"))]
    found = [(w, s, _difference(study, w, s)) for w in weak for s in strong]
    above = [entry for entry in found if entry[2][0] > 0]
    state = "fails" if any(e[2][1] > 0 for e in found) else "holds" if not above else "cannot tell"
    return (state, f"{len(above)} of {len(found)} pairs of measures")


def tracks(data: Path, quick: bool) -> Iterator[tuple[str, Track]]:
    """Run the study of both sets of public runs."""
    folder = data / "trec-dl/passage"
    with tempfile.TemporaryDirectory() as kept:
        both = Path(kept)
        (both / "runs").mkdir()
        qrels = both / "qrels.txt"
        qrels.write_text("".join((folder / f"qrels.dl{year}-passage.txt").read_text() for year in (19, 20)))
        for path in sorted((folder / "dl19").glob("*.gz")):
            parts = [gzip.decompress((folder / f"dl{year}" / path.name).read_bytes()) for year in (19, 20)]
            (both / "runs" / path.name.removesuffix(".gz")).write_bytes(b"".join(parts))
        yield "DL19–20", run_track(runs_in(both / "runs"), str(qrels), quick=quick)
    newest = folder / "dl21"
    yield "DL21", run_track(runs_in(newest / "runs"), str(newest / "qrels.dl21-passage.txt"), quick=quick)


def main(arguments: list[str] | None = None) -> None:
    """Write the verdicts of all sets of data."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("worlds", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/data/statements.json"))
    parser.add_argument("--quick", action="store_true", help="fewer subsamples and flips")
    given = parser.parse_args(arguments)
    facts = pl.read_csv(given.worlds, infer_schema_length=None)
    columns = {"simulated": simulated(given.quick)}
    columns |= {f"real {name}": world(facts, name) for name in facts["world"].unique(maintain_order=True)}
    columns |= {name: track(study) for name, study in tracks(given.data, given.quick)}
    texts = dict.fromkeys(text for found in columns.values() for text in found)
    table = {
        text: {
            name: dict(zip(("verdict", "found"), found[text], strict=True))
            for name, found in columns.items()
            if text in found
        }
        for text in texts
    }
    content = {"source": "python -m experiments.statements", "paper": published("poi")["source"], "statements": table}
    given.output.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
