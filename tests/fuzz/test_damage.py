"""Flipped bits and cut ends: packed text is never read as something else, and nothing ends in a traceback."""

import gzip
import warnings
from pathlib import Path

import polars as pl
import zstandard

from rankdev import RankdevError, Run
from rankdev.data.files import read_run
from tests.data.samples import parquet
from tests.fuzz.files import seeds

LINES = [(f"q{i // 40}", f"doc-{i * 7919 % 1000}", i * 37 % 101 / 7) for i in range(400)]
TREC = "".join(f"{query} Q0 {item} 1 {score} t\n" for query, item, score in LINES).encode()
FRAME = pl.DataFrame(LINES, schema=["query", "item", "score"], orient="row")
PACKED = {
    "gz": gzip.compress(TREC, mtime=0),
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress(TREC),
    "jsonl.gz": gzip.compress(FRAME.write_ndjson().encode(), mtime=0),
    "parquet.gz": gzip.compress(parquet(FRAME), mtime=0),
}


def read(path: Path, content: bytes) -> Run | None:
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return read_run(path)
        except RankdevError:
            return None


def flipped(content: bytes, bit: int) -> bytes:
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def test_packed_text_is_whole_or_refused(tmp_path: Path) -> None:
    whole = {suffix: read(tmp_path / f"whole.{suffix}", content) for suffix, content in PACKED.items()}
    assert all(run == Run.of(FRAME) for run in whole.values())
    for seed, chance in enumerate(seeds()):
        suffix, content = chance.choice(list(PACKED.items()))
        damaged = flipped(content, chance.randrange(8 * len(content)))
        if chance.random() < 0.2:
            damaged = content[: chance.randrange(len(content))]
        run = read(tmp_path / f"file.{suffix}", damaged)
        assert run is None or run == whole[suffix], f"seed {seed}: .{suffix} is read as something else"
