"""Where do the paper's statements hold? ``python -m experiments.statements DATA docs/data/poi-worlds.csv -o FILE``.

Reads what ``experiments.city`` wrote, runs the simulated study with three seeds and the study of TREC Deep Learning on
public runs (2019 and 2020 pooled, 2021), and writes docs/data/statements.json: a verdict, what was found. A statement
about worlds or simulated data holds, or does not, where all seeds agree and no measures tie. One about TREC holds, or
does not, on these queries: other ones could tell otherwise. Power is at 25 queries there, and measures are at 10.
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

from rankdev.data.tables import runs_in
from rankdev.studies._published import published
from rankdev.studies.poi import run_poi, statements_of
from rankdev.studies.track import Track, run_track

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
    powers = {measure: row["p50"] for measure, row in summary.items()}
    assert study.stability is not None
    order = study.stability.to_polars().filter(n=study.n)
    taus = dict(order.select("measure", "tau").iter_rows())
    found: Found = {
        "fewest queries for power .8": _extreme("RDQ@10", {m: row["n80"] for m, row in summary.items()}, False),
        "most stable order (auc)": _extreme("RDQ@10", taus, True),
        "least stable order (auc)": _extreme("AP@10", taus, False),
        "power grows with reference size": _growing(study),
        "above 0 with ≤3 reference items": ("cannot tell", "no such references"),
        "most of 25 cells beat the best other measure": _cells(study, powers),
        "M1 and native nDCG are alike at 25 queries": ("cannot tell", f"{powers[M1] - powers[NATIVE]:+.3f}"),
        "native nDCG is above M1 at 100 queries": ("cannot tell", "fewer than 100 queries"),
    }
    for text, (wanted, family) in STRONGEST.items():
        found[text] = _extreme(wanted, {m: value for m, value in powers.items() if m.startswith(family)}, True)
    strong = [m for m in powers if m.startswith("RDQ") or m == NATIVE]
    weak = [m for m in powers if m.startswith(("RBP", "Compat"))]
    above = sum(powers[w] > powers[s] for w in weak for s in strong)
    shown = f"{above} of {len(weak) * len(strong)} pairs of measures"
    found["no RBP or Compat beats an RDQ or native nDCG"] = ("fails" if above else "holds", shown)
    return found


def _extreme(wanted: str, values: dict[str, float], most: bool) -> tuple[str, str]:
    """Return whether a measure is first, alone."""
    best = (max if most else min)(values.values())
    first = [measure for measure, value in values.items() if value == best]
    shown = f"{' = '.join(first)} {best:g}" if best > 1 else f"{' = '.join(first)} {best:.3f}"
    return ("fails" if wanted not in first else "holds" if first == [wanted] else "cannot tell", shown)


def _growing(study: Track) -> tuple[str, str]:
    parts = [part.power.summary(study.n)["p50"] for part in study.buckets if part.kind == "reference size"]
    grows = sum(all(a <= b for a, b in pairwise(values)) for values in zip(*parts, strict=True))
    return ("holds" if grows == len(parts[0]) else "fails", f"{grows} of {len(parts[0])}")


def _cells(study: Track, powers: dict[str, float]) -> tuple[str, str]:
    assert study.grid is not None
    other = max(value for measure, value in powers.items() if not measure.startswith("RDQ"))
    cells = study.grid.summary(study.n)["p50"]
    count = int((cells > other).sum())
    return ("holds" if count > len(cells) / 2 else "fails", f"{count} of {len(cells)}")


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
