"""Where do the paper's statements hold? ``python -m experiments.statements DATA docs/data/poi-worlds.csv -o FILE``.

Reads what ``experiments.city`` wrote, runs the simulated study with three seeds and the study of TREC Deep Learning on
public runs (2019 and 2020 pooled, 2021), and writes docs/data/statements.json: a verdict, what was found. A statement
about worlds or simulated data holds, or does not, where all seeds agree and no measures tie. One about TREC holds, or
does not, on these queries: other ones could tell otherwise. Power is at 25 queries there, and measures are at 10.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import polars as pl

from rankdev.data.files import runs_in
from rankdev.studies.poi import published, run_poi
from rankdev.studies.track import Track, run_track

SEEDS = (0, 1, 2)
Values = dict[str, float]
Found = dict[str, tuple[str, str]]  # statement: verdict, and what was found


class Numbers(NamedTuple):
    """What the statements are about, by measure; ``sizes`` has the power in each range of reference sizes."""

    power: Values
    n80: Values
    stable: Values
    sizes: list[Values]
    cells: list[float]


def of_places(facts: pl.DataFrame) -> Numbers:
    """Take the numbers of a study of points of interest."""

    def values(part: str, statistic: str) -> Values:
        found = facts.filter(pl.col("value").is_not_null(), part=part, statistic=statistic)
        return dict(found.select("measure", "value").iter_rows())

    sizes = [values("Table 2", name) for name in ("≤3", "(3,10]", "(10,20]", ">20")]
    columns = [values("Table 2", name) for name in ("p50", "n80")]
    return Numbers(*columns, values("Table 3", "auc"), sizes, list(values("Figure 1", "p50").values()))


def of_track(study: Track) -> Numbers:
    """Take the numbers of a track; the stability is τ at the same number of queries."""
    (part,), n = study.parts, study.plan.n
    powers, n80 = (dict(part.power.summary(n).select("measure", name).iter_rows()) for name in ("p50", "n80"))
    stable = dict(part.stability.to_polars().filter(n=n).select("measure", "tau").iter_rows())
    buckets = [bucket for bucket in part.buckets if bucket.kind == "reference size"]
    sizes = [dict(bucket.power.summary(n).select("measure", "p50").iter_rows()) for bucket in buckets]
    assert part.grid is not None
    return Numbers(powers, n80, stable, [{}, *sizes], part.grid.power.tolist())


def verdicts(found: Numbers, k: int) -> Found:
    """Test the paper's statements about points of interest, for measures at a cutoff."""

    def best(text: str, values: Values, pick: Callable[..., float] = max, family: str = "") -> tuple[str, str]:
        values = {measure: value for measure, value in values.items() if measure.startswith(family)}
        most = pick(values.values())
        first = [measure for measure, value in values.items() if value == most]
        shown = f"{' = '.join(first)} {most:g}" if most > 1 else f"{' = '.join(first)} {most:.3f}"
        wanted = f"{text}@{k}"
        return ("fails" if wanted not in first else "holds" if first == [wanted] else "cannot tell", shown)

    by_measure = [[values[m] for values in found.sizes if values] for m in found.power]
    grows = sum(all(a <= b for a, b in pairwise(row)) for row in by_measure)
    other = max(value for measure, value in found.power.items() if not measure.startswith("RDQ"))
    above = sum(cell > other for cell in found.cells)
    few = sorted(measure for measure, value in found.sizes[0].items() if value)
    told = ("holds" if few == ["RDQ(alpha=4)@5", "RDQ(penalty=m1)@5"] else "fails", ", ".join(few) or "none")
    return {
        "highest median power": best("RDQ", found.power),
        "fewest queries for power .8": best("RDQ", found.n80, min),
        "most stable order (auc)": best("RDQ", found.stable),
        "least stable order (auc)": best("AP", found.stable, min),
        "strongest RBP (median power)": best("RBP(p=0.9)", found.power, family="RBP"),
        "strongest Compat (median power)": best("Compat(p=0.95)", found.power, family="Compat"),
        "power grows with reference size": (
            "holds" if grows == len(found.power) else "fails",
            f"{grows} of {len(found.power)}",
        ),
        "above 0 with ≤3 reference items": told if found.sizes[0] else ("cannot tell", "no such references"),
        "most of 25 cells beat the best other measure": (
            "holds" if above > len(found.cells) / 2 else "fails",
            f"{above}",
        ),
    }


def on_track(study: Track) -> Found:
    """Test these statements, and those about TREC Deep Learning."""
    numbers = of_track(study)
    native, m1 = "nDCG(dcg=exp-log2)@10", "RDQ(penalty=m1)@10"
    powers = numbers.power
    own = {measure: value for measure, value in powers.items() if measure.startswith("RDQ")}
    weak = [value for measure, value in powers.items() if measure.startswith(("RBP", "Compat"))]
    strong = [*own.values(), powers[native]]
    above = sum(w > s for w in weak for s in strong)
    first = [measure for measure, value in own.items() if value == max(own.values())]
    return verdicts(numbers, 10) | {
        "M1 and native nDCG are alike at 25 queries": ("cannot tell", f"{powers[m1] - powers[native]:+.3f}"),
        "native nDCG is above M1 at 100 queries": ("cannot tell", "fewer than 100 queries"),
        "M1 is the strongest RDQ where tiers are large": ("holds" if first == [m1] else "fails", " = ".join(first)),
        "no RBP or Compat beats an RDQ or native nDCG": (
            "fails" if above else "holds",
            f"{above} of {len(weak) * len(strong)} pairs of measures",
        ),
    }


def over_seeds(studies: Sequence[pl.DataFrame]) -> Found:
    """Join the verdicts of several seeds."""
    each = [verdicts(of_places(facts), 5) for facts in studies]
    found = {}
    for text in each[0]:
        said = [one[text][0] for one in each]
        verdict = "holds" if {*said} == {"holds"} else "fails" if {*said} == {"fails"} else "cannot tell"
        found[text] = (verdict, "; ".join(dict.fromkeys(one[text][1] for one in each)))
    return found


def tracks(data: Path, quick: bool) -> Mapping[str, Track]:
    """Run the study of both sets of public runs."""
    folder = data / "trec-dl/passage"
    files = {f"20{year}": (folder / f"qrels.dl{year}-passage.txt", runs_in(folder / f"dl{year}")) for year in (19, 20)}
    newest = (folder / "dl21/qrels.dl21-passage.txt", runs_in(folder / "dl21/runs"))
    return {"DL19–20": run_track(files, quick=quick), "DL21": run_track({"2021": newest}, quick=quick)}


def main(arguments: list[str] | None = None) -> None:
    """Write the verdicts of all sets of data."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("worlds", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/data/statements.json"))
    parser.add_argument("--quick", action="store_true", help="fewer subsamples and flips")
    given = parser.parse_args(arguments)
    facts = pl.read_csv(given.worlds, infer_schema_length=None)
    columns = {"simulated": over_seeds([run_poi(quick=given.quick, seed=seed).to_polars() for seed in SEEDS])}
    for (world,), part in facts.group_by("world", maintain_order=True):
        columns[f"real {world}"] = over_seeds(part.partition_by("seed", maintain_order=True))
    columns |= {name: on_track(study) for name, study in tracks(given.data, given.quick).items()}
    table = {
        text: {
            name: dict(zip(("verdict", "found"), found[text], strict=True))
            for name, found in columns.items()
            if text in found
        }
        for text in dict.fromkeys(text for found in columns.values() for text in found)
    }
    content = {"source": "python -m experiments.statements", "paper": published()["source"], "statements": table}
    given.output.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
