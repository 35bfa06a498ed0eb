"""BM25, cross-encoders, and a cache of their results."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from rankdev.core.runs import Run
from rankdev.errors import FileFormatError, MissingExtraError
from rankdev.io.streams import Source
from rankdev.io.writing import writing

DEPTH = 100
K1, B = 0.9, 0.4  # what Anserini and Pyserini use by default
LUCENE_INDEX = "msmarco-v2-doc"


@dataclass(frozen=True)
class Candidates:
    """Scores of the items found for each query, and the text of each item."""

    scores: Mapping[str, Mapping[str, float]]
    texts: Mapping[str, str] = field(repr=False)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per candidate: query, item, score."""
        rows = [(query, item, score) for query, found in self.scores.items() for item, score in found.items()]
        return pl.DataFrame(rows, schema={"query": pl.String, "item": pl.String, "score": pl.Float64}, orient="row")


def search_texts(queries: Mapping[str, str], texts: Mapping[str, str], depth: int = DEPTH) -> Candidates:
    """Search given texts with bm25s, in Lucene's scoring, with English stop words and Porter's stemmer."""
    try:
        import bm25s
        import Stemmer
    except ImportError as error:
        raise MissingExtraError(error.name or "bm25s", "trec-dl", "BM25 over texts") from None
    words: dict[str, Any] = {"stopwords": "en", "stemmer": Stemmer.Stemmer("porter"), "show_progress": False}
    index = bm25s.BM25(method="lucene", k1=K1, b=B)
    names = list(texts)
    index.index(bm25s.tokenize(list(texts.values()), **words), show_progress=False)
    tokens = bm25s.tokenize(list(queries.values()), return_ids=False, **words)
    found, scores = index.retrieve(tokens, k=min(depth, len(names)), show_progress=False, backend_selection="numpy")
    ranked = {
        query: {names[i]: float(score) for i, score in zip(row, values, strict=True) if score > 0}
        for query, row, values in zip(queries, found, scores, strict=True)
    }
    return Candidates(ranked, {item: texts[item] for items in ranked.values() for item in items})


def search_lucene(queries: Mapping[str, str], index: str = LUCENE_INDEX, depth: int = DEPTH) -> Candidates:
    """Search Pyserini's prebuilt Lucene index, as in the paper; needs Java and some 60 GB for the default index."""
    try:
        from pyserini.search.lucene import LuceneSearcher
    except ImportError:
        raise ImportError("the whole collection needs Pyserini and Java: pip install pyserini") from None
    searcher = LuceneSearcher.from_prebuilt_index(index)
    if searcher is None:
        raise ConnectionError(f"the index {index} could not be fetched")
    searcher.set_bm25(K1, B)
    scores, texts = {}, {}
    for query, text in queries.items():
        hits = searcher.search(text, k=depth)
        scores[query] = {hit.docid: float(hit.score) for hit in hits}
        texts.update({hit.docid: _plain(searcher.doc(hit.docid).raw()) for hit in hits if hit.docid not in texts})
    return Candidates(scores, texts)


def _plain(raw: str) -> str:
    record = json.loads(raw)
    return " ".join(record[part] for part in ("title", "headings", "body", "contents") if record.get(part))


IDS = ("id", "_id", "item", "query", "docid", "doc_id", "qid", "query_id")
TEXTS = ("text", "contents", "body")


def read_texts(path: str | Path) -> dict[str, str]:
    """Read a file of texts, which may be compressed with gzip or zstd."""
    texts: dict[str, str] = {}
    with Source(path) as source:
        for number, line in enumerate(source.read().decode("utf-8", errors="replace").split("\n"), start=1):
            if line.strip():
                name, text = _entry(str(path), number, line.rstrip("\r"))
                texts[name] = text
    return texts


def write_texts(texts: Mapping[str, str]) -> bytes:
    """Write texts as JSONL."""
    lines = (json.dumps({"id": name, "text": text}, ensure_ascii=False) for name, text in texts.items())
    return "".join(f"{line}\n" for line in lines).encode()


def _entry(path: str, number: int, line: str) -> tuple[str, str]:
    if not line.startswith("{"):
        name, tab, text = line.partition("\t")
        if not tab or not name:
            raise FileFormatError(path, "expected an id, a tab and a text, or a JSON object", number)
        return name, text
    try:
        record = json.loads(line)
    except ValueError as error:
        raise FileFormatError(path, f"this is not JSON ({error})", number) from None
    known = [record[key] for key in IDS if key in record]
    parts = [str(record[key]) for key in ("title", "headings", *TEXTS) if record.get(key)]
    if not known or not any(key in record for key in TEXTS):
        raise FileFormatError(path, f"expected an id ({', '.join(IDS)}) and a text ({', '.join(TEXTS)})", number)
    return str(known[0]), " ".join(parts)


def default_folder() -> Path:
    """Return the user's cache folder for this study."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "rankdev" / "trec-dl"


@dataclass(frozen=True)
class Cache:
    """A folder of results. Next to each file a seal holds its size, its checksum and what it was made from."""

    folder: Path
    report: Callable[[str], None] = lambda line: None

    def step(self, name: str, inputs: Sequence[str], make: Callable[[], bytes]) -> Path:
        """Return the file of a step, made by ``make`` where it is missing, out of date, cut short or changed.

        ``inputs`` is everything the result depends on; other inputs make it out of date.
        """
        path = self.folder / name
        key = fingerprint("\n".join(inputs).encode())
        state = self._state(path, key)
        if state == "whole":
            return path
        if state == "damaged":
            self.report(f"{path}: damaged or incomplete; redone")
        content = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        _seal(path).unlink(missing_ok=True)
        with writing(path) as stream:
            stream.write(content)
        seal = {"key": key, "size": path.stat().st_size, "sha256": fingerprint(path.read_bytes())}
        with writing(_seal(path)) as stream:
            stream.write(json.dumps(seal).encode())
        return path

    def _state(self, path: Path, key: str) -> str:
        if not path.exists():
            return "missing"
        try:
            seal = json.loads(_seal(path).read_bytes())
            if seal["key"] != key:
                return "out of date"
            whole = path.stat().st_size == seal["size"] and fingerprint(path.read_bytes()) == seal["sha256"]
        except (OSError, ValueError, KeyError, TypeError):
            return "damaged"
        return "whole" if whole else "damaged"


def fingerprint(content: bytes) -> str:
    """Return the checksum of some bytes."""
    return sha256(content).hexdigest()


def _seal(path: Path) -> Path:
    return path.with_name(f"{path.name}.seal")


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
        """Name of the system: the last part of the model's name."""
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
        """Return the reranked run."""
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
