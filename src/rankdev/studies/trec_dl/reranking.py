"""Cross-encoders: a score for each query and candidate, in batches, on a GPU where there is one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from rankdev.errors import MissingExtraError
from rankdev.runs import Run
from rankdev.studies.trec_dl.cache import Cache, fingerprint
from rankdev.studies.trec_dl.retrieval import Candidates

MODELS = (
    "cross-encoder/ms-marco-MiniLM-L6-v2",
    "cross-encoder/ms-marco-MiniLM-L12-v2",
    "BAAI/bge-reranker-base",
    "BAAI/bge-reranker-large",
)
BLOCK = 10  # queries kept on disk together: what an interruption can cost


@dataclass(frozen=True)
class Reranker:
    """A cross-encoder by its name or folder, loaded when it is first needed."""

    model: str
    device: str | None = None
    batch_size: int = 64
    max_length: int = 512

    @property
    def name(self) -> str:
        """What the system is called: the last part of the model's name."""
        return self.model.rstrip("/").rpartition("/")[2]

    @property
    def identity(self) -> str:
        """The model's name, and for a folder what its files are, so that a retrained model is another one."""
        folder = Path(self.model)
        files = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
        return json.dumps([self.model, *((path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files)])

    @cached_property
    def _encoder(self) -> Any:
        try:
            from sentence_transformers import CrossEncoder
        except ImportError:
            raise MissingExtraError("sentence-transformers", "trec-dl", "reranking") from None
        return CrossEncoder(self.model, device=self.device, max_length=self.max_length)

    def score(self, pairs: list[tuple[str, str]]) -> list[float]:
        """Score pairs of query and text; raw outputs, since a sigmoid would make the best of them equal."""
        from torch.nn import Identity

        options: dict[str, Any] = {"activation_fn": Identity(), "show_progress_bar": False}
        scores = self._encoder.predict(pairs, batch_size=self.batch_size, **options)
        return [float(score) for score in scores]


@dataclass(frozen=True)
class Reranking:
    """Reranks the candidates of all queries, block by block, each kept on disk."""

    cache: Cache
    reranker: Reranker

    def run(self, year: str, queries: Mapping[str, str], candidates: Candidates) -> Run:
        """Give the reranked run."""
        names = [query for query in queries if candidates.scores.get(query)]
        rows: list[dict[str, Any]] = []
        for start in range(0, len(names), BLOCK):
            block = names[start : start + BLOCK]
            path = self._block(year, start // BLOCK, {query: queries[query] for query in block}, candidates)
            rows += [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return Run.from_table(pl.DataFrame(rows))

    def _block(self, year: str, number: int, queries: Mapping[str, str], candidates: Candidates) -> Path:
        entries = [(query, item) for query in queries for item in candidates.scores[query]]
        pairs = [(queries[query], candidates.texts[item]) for query, item in entries]

        def make() -> bytes:
            scores = self.reranker.score(pairs)
            rows = zip(entries, scores, strict=True)
            lines = (json.dumps({"query": query, "item": item, "score": score}) for (query, item), score in rows)
            return "".join(f"{line}\n" for line in lines).encode()

        content = fingerprint(json.dumps([entries, pairs]).encode())
        inputs = [self.reranker.identity, str(self.reranker.max_length), content]
        return self.cache.step(f"{year}/{self.reranker.name}/{number:03}.jsonl", inputs, make)
