"""Where batches end and how deep a run is kept change neither its order nor what is refused."""

import warnings
from pathlib import Path
from random import Random

import pytest

from rankdev import RankdevError, Run
from rankdev.data.files import read_run
from rankdev.data.options import Order, Ties
from tests.fuzz.files import seeds, small_batches

ORDERS: list[tuple[Order, Ties]] = [
    ("score", "trec_eval"),
    ("score", "ascending"),
    ("score", "given"),
    ("rank", "trec_eval"),
]


def made(chance: Random) -> str:
    """Queries one after the other, with ties and repeats; now and then two scores of an item or two items of a rank."""
    lines = []
    for query in range(chance.randint(1, 4)):
        items = chance.sample(range(30), chance.randint(1, 12))
        rows = [(item, rank, chance.choice([1, 2, 2.5, 1e300, 1e301])) for rank, item in enumerate(items, start=1)]
        if chance.random() < 0.1:
            item, rank, score = chance.choice(rows)
            rows.append((item, chance.choice([rank, 99]), chance.choice([score, 0.5])))
        if chance.random() < 0.1:
            rows.append((31, chance.choice(rows)[1], 0.25))
        if chance.random() < 0.5:
            chance.shuffle(rows)
        lines += [f"q{query} Q0 d{item} {rank} {score} t\n" for item, rank, score in rows]
    return "".join(lines)


def read(path: Path, order: Order, ties: Ties, depth: int | None) -> Run | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return read_run(path, order=order, ties=ties, depth=depth)
        except RankdevError:
            return None


def test_batches_and_depth_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    for seed, chance in enumerate(seeds()):
        path.write_text(made(chance))
        order, ties = chance.choice(ORDERS)
        monkeypatch.undo()
        whole = read(path, order, ties, None)
        small_batches(chance, monkeypatch)
        depth = chance.choice([None, 1, 2, 5])
        cut = read(path, order, ties, depth)
        what = f"seed {seed}: {order} {ties} {depth}\n{path.read_text()}"
        assert (cut is None) == (whole is None), what
        if cut is not None and whole is not None:
            assert list(cut) == list(whole), what
            for query, items in whole.items():
                assert cut[query] == items[: len(cut[query])], what
                assert len(cut[query]) >= min(len(items), depth or len(items)), what
