"""Make the judgments, candidates and runs of a year, step by step."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rankdev.core.references import References
from rankdev.core.runs import Run
from rankdev.errors import DataError, UsageError
from rankdev.io import read_references, read_run
from rankdev.io.tables import runs_in
from rankdev.studies.trec_dl._rankers import (
    MODELS,
    Cache,
    Candidates,
    Reranker,
    Reranking,
    default_folder,
    fingerprint,
    read_texts,
    search_lucene,
    search_texts,
    write_texts,
)

DATASET = "msmarco-document-v2/trec-dl-{year}/judged"


class MissingStepError(DataError):
    """A step that could not be done here, and the file that would replace it."""

    def __init__(self, year: str, step: str, why: object, remedy: str) -> None:
        reason = " ".join(str(why).split()) or type(why).__name__
        super().__init__(f"{year}: no {step} ({reason[:200]}); {remedy} replaces this step")


def load_judgments(year: str, dataset: str = DATASET) -> bytes:
    """Return the judgments as TREC qrels."""
    try:
        rows = _dataset(year, dataset).qrels_iter()
        return "".join(f"{row.query_id} 0 {row.doc_id} {row.relevance}\n" for row in rows).encode()
    except Exception as error:  # whatever a download can raise
        raise MissingStepError(year, "judgments", error, f"--qrels {year}=FILE") from error


def load_queries(year: str, dataset: str = DATASET) -> dict[str, str]:
    """Return the text of each query."""
    try:
        return {row.query_id: row.default_text() for row in _dataset(year, dataset).queries_iter()}
    except Exception as error:
        raise MissingStepError(year, "queries", error, f"--query-texts {year}=FILE") from error


def _dataset(year: str, dataset: str) -> Any:
    try:
        import ir_datasets
    except ImportError:
        raise ImportError("ir_datasets is not installed: pip install 'rankdev[trec-dl]'") from None
    return ir_datasets.load(dataset.format(year=year))


YEARS = ("2019", "2020", "2021", "2022")


@dataclass(frozen=True)
class Collection:
    """One year: references, and the run of each system."""

    references: References
    runs: Mapping[str, Run]


@dataclass(frozen=True)
class Pipeline:
    """Where each step comes from: files by year, or the libraries. ``texts`` may name one file for all years ("")."""

    qrels: Mapping[str, str] = field(default_factory=dict)
    queries: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    runs: Mapping[str, str] = field(default_factory=dict)
    models: Sequence[str] = MODELS
    dataset: str = DATASET
    device: str | None = None
    cache: Path = field(default_factory=default_folder)
    report: Callable[[str], None] = lambda line: None

    def __post_init__(self) -> None:
        names = [Reranker(model).name for model in self.models]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(
                    f"two models are called {name!r}; rename one folder, since systems need different names"
                )

    def collect(self, year: str) -> Collection:
        """Do every step of a year that no file replaces."""
        references = self.judgments(year)
        if year in self.runs:
            return Collection(references, {name: read_run(path) for name, path in runs_in(self.runs[year]).items()})
        queries = {query: text for query, text in self.topics(year).items() if query in set(references)}
        if not queries:
            raise DataError(f"{year}: the queries and the judgments have no query in common")
        return Collection(references, self.reranked(year, queries, self.candidates(year, queries)))

    def judgments(self, year: str) -> References:
        """Return the references of a year: positive grades as tiers."""
        if year in self.qrels:
            return read_references(self.qrels[year])
        return read_references(self._step(f"{year}/qrels.txt", partial(load_judgments, year, self.dataset)))

    def topics(self, year: str) -> dict[str, str]:
        """Return the text of each query."""
        if year in self.queries:
            return read_texts(self.queries[year])
        path = self._step(f"{year}/queries.jsonl", lambda: write_texts(load_queries(year, self.dataset)))
        return read_texts(path)

    def candidates(self, year: str, queries: Mapping[str, str]) -> Candidates:
        """Return the BM25 candidates, over given texts or the Lucene index of the whole collection."""
        source = self.texts.get(year, self.texts.get(""))
        inputs = [json.dumps(list(queries.items()))]
        if source is not None:
            inputs.append(fingerprint(Path(source).read_bytes()) if Path(source).is_file() else source)
        path = self.open_cache.step(f"{year}/candidates.json", inputs, lambda: self._search(year, queries, source))
        return Candidates(**json.loads(path.read_bytes()))

    def reranked(self, year: str, queries: Mapping[str, str], candidates: Candidates) -> dict[str, Run]:
        """Return the run of each cross-encoder."""
        runs = {}
        for i, model in enumerate(self.models, start=1):
            reranker = Reranker(model, self.device)
            self.report(f"{year}: {reranker.name} ({i} of {len(self.models)}), {len(queries)} queries")
            try:
                runs[reranker.name] = Reranking(self.open_cache, reranker).run(year, queries, candidates)
            except Exception as error:  # no network, no such model, not enough memory
                remedy = f"--model FOLDER (for {model}) or --runs {year}=DIR"
                raise MissingStepError(year, f"reranked run of {reranker.name}", error, remedy) from error
        return runs

    @property
    def open_cache(self) -> Cache:
        """The folder of cached steps."""
        return Cache(self.cache, self.report)

    def _step(self, name: str, make: Callable[[], bytes]) -> Path:
        return self.open_cache.step(name, [self.dataset], make)

    def _search(self, year: str, queries: Mapping[str, str], source: str | None) -> bytes:
        self.report(f"{year}: BM25 over {source or 'the Lucene index'}")
        try:
            found = search_lucene(queries) if source is None else search_texts(queries, read_texts(source))
        except (DataError, UsageError):
            raise
        except Exception as error:
            remedy = f"--item-texts {year}=FILE (BM25 over your texts) or --runs {year}=DIR"
            raise MissingStepError(year, "BM25 candidates", error, remedy) from error
        content: dict[str, Any] = {"scores": found.scores, "texts": found.texts}
        return json.dumps(content).encode()
