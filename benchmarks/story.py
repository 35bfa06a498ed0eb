"""Two systems of TREC Deep Learning 2021 that grades and preferences order differently: the story of README.md.

``python -m benchmarks.story RUNS QRELS PREFERENCES [--keep]``: the folder of the runs, the official qrels, and the
order of passages by preferences, as qrels whose larger numbers are better.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import rankdev as rd
from benchmarks.history import report

TABLE = "Grades and preferences"
SYSTEMS = ("bcai_p_mbert", "NLE_P_quick")
QUERY = "508292"


def order_of(path: Path) -> rd.References:
    numbers: dict[str, dict[str, float]] = defaultdict(dict)
    for line in path.read_text(encoding="utf-8").splitlines():
        query, _, item, number = line.split()
        numbers[query][item] = float(number)
    return rd.References.from_grades(numbers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("qrels", type=Path)
    parser.add_argument("preferences", type=Path)
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    runs = {name: str(next(given.runs.glob(f"*{name}*"))) for name in SYSTEMS}
    found = {
        "nDCG@10": rd.evaluate(str(given.qrels), runs, "nDCG@10"),
        "RDQ@10": rd.evaluate(order_of(given.preferences), runs, "RDQ@10"),
    }
    rows: list[dict[str, str | float]] = [{"system": name} for name in SYSTEMS]
    chance: dict[str, str | float] = {"system": "p of the difference"}
    for measure, scores in found.items():
        for row, mean, value in zip(rows, scores.means[:, 0], scores.select(queries=[QUERY]).means[:, 0], strict=True):
            row[measure] = float(mean)
            row[f"{measure}, query {QUERY}"] = float(value)
        chance[measure] = rd.significance(scores).to_polars()["p"].item()
    report(TABLE, [*rows, chance], keep=given.keep)


if __name__ == "__main__":
    main()
