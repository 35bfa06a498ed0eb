"""rankdev weights."""

import numpy as np
import polars as pl
from tests.learning.simulate import position_based_log

TRUTH = np.array([1.0, 0.62, 0.46, 0.38, 0.32])


def test_the_command_reads_a_log_and_draws_it(rankdev, folder):
    log = position_based_log(np.random.default_rng(0), TRUTH, sessions=500).rename({"clicked": "was"})
    path, picture, rows = folder / "log.csv", folder / "weights.png", folder / "rows.csv"
    log.write_csv(path)
    options = ("--columns", "clicked=was", "--figure", str(picture), "-o", str(rows))
    assert rankdev("weights", str(path), *options).status == 0
    assert pl.read_csv(rows)["position"].to_list() == [1, 2, 3, 4, 5]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "'clicked'" in rankdev("weights", str(path)).err
