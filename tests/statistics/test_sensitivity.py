import numpy as np

import rankdev as rd
from rankdev.errors import UsageError
from rankdev.statistics.sensitivity import PAPER_GRID, grid_measures
from tests.raising import raises


def test_a_cell_has_the_median_power_of_its_measure():
    rng = np.random.default_rng(0)
    references = {f"q{i}": list("abcdef") for i in range(30)}
    runs = {
        name: {query: sorted("abcdef", key=lambda item, n=noise: ord(item) + n * rng.normal()) for query in references}
        for name, noise in (("x", 1), ("y", 3), ("z", 6))
    }
    options = {"subsamples": 8, "permutations": 99}
    found = rd.sensitivity(references, runs, grid={"alpha": [1, 4], "lam": [0, 0.2]}, n=10, **options)
    frame = found.to_polars()
    assert frame.select("alpha", "lam", "n").rows() == [(1, 0.0, 10), (1, 0.2, 10), (4, 0.0, 10), (4, 0.2, 10)]
    texts = ["RDQ(lam=0)@5", "RDQ@5", "RDQ(alpha=4,lam=0)@5", "RDQ(alpha=4)@5"]
    expected = rd.power(rd.evaluate(references, runs, texts), sizes=[10], **options)
    assert frame["power"].to_list() == np.median(expected.power[:, :, 0], axis=1).tolist()
    three = rd.sensitivity(
        references, runs, grid={"alpha": [1, 1.0, 4], "lam": [0], "penalty": ["m1", "m2"]}, n=10, **options
    )
    assert three.to_polars().height == 4
    assert "4, 0 " in str(three)


def test_the_grid_of_the_paper_and_wrong_ones():
    _, cells, texts = grid_measures("RDQ@5", PAPER_GRID)
    assert cells[0] == (0.5, 0)
    assert len(set(texts)) == 25
    with raises("not-a-choice", UsageError, name="parameter", value="alpa", near="alpha"):
        grid_measures("RDQ@5", {"alpa": [1]})
    with raises("bad-value", UsageError, name="grid"):
        grid_measures("RDQ@5", {"alpha": []})
