"""BM25: the candidates of every query, with their texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rankdev.errors import MissingExtraError

DEPTH = 100
K1, B = 0.9, 0.4  # what Anserini and Pyserini use by default
LUCENE_INDEX = "msmarco-v2-doc"


@dataclass(frozen=True)
class Candidates:
    """Scores of the items found for each query, and the text of each item."""

    scores: Mapping[str, Mapping[str, float]]
    texts: Mapping[str, str] = field(repr=False)

    def to_polars(self) -> pl.DataFrame:
        """One row a candidate: query, item, score."""
        rows = [(query, item, score) for query, found in self.scores.items() for item, score in found.items()]
        return pl.DataFrame(rows, schema={"query": pl.String, "item": pl.String, "score": pl.Float64}, orient="row")


def search_texts(queries: Mapping[str, str], texts: Mapping[str, str], depth: int = DEPTH) -> Candidates:
    """Search one's own texts with bm25s, in Lucene's scoring, with English stop words and Porter's stemmer."""
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
