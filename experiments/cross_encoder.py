"""Rerankers that read text: a cross-encoder of sentence-transformers, trained from a model folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from experiments.places import Floats, Places
from experiments.queries import Query
from experiments.rerankers import BINS, Score, model_seed, training_sample
from experiments.search import Part

FAR = ("very near", "near", "not far", "far", "very far")  # the bins of distance
LEARNING_RATE = 2e-5
WARM_UP = 0.1  # of all steps
QUERIES_A_STEP = 4
BATCH = 64  # pairs scored at once
LONGEST = 96  # tokens of a query and a place


class CrossEncoders:
    """A cross-encoder over a query and one line about a place."""

    def __init__(self, folder: str, places: Places, epochs: int) -> None:
        self.folder, self.places, self.epochs = folder, places, epochs
        self._scale = places.scale

    def _load(self, seed: int) -> Any:
        """Load the model in single precision; a head that it lacks is drawn from the seed."""
        from sentence_transformers import CrossEncoder

        with _seeded(seed):
            encoder = CrossEncoder(self.folder, num_labels=1, local_files_only=True)
        encoder.max_seq_length = min(LONGEST, encoder.max_seq_length or LONGEST)
        return encoder.float()

    def train(self, part: Part, model: str, *, queries: int, dropout: bool, seed: int) -> Score:
        """Train by LambdaLoss; what a setting hides is left out of the line, with and without dropout."""
        import torch

        sample = training_sample(part, model, queries=queries, dropout=dropout, seed=seed)
        ends = np.cumsum(sample.groups)
        lists = []
        for rows, grades, setting in zip(
            np.split(sample.rows, ends[:-1]), np.split(sample.grades, ends[:-1]), sample.settings, strict=True
        ):
            texts = self.texts(part, rows.tolist(), model, setting)
            lists.append((texts[0][0], [text for _, text in texts], grades))
        own = model_seed(model, seed)
        encoder = self._load(own)
        order = np.random.default_rng([seed, 29])
        with _seeded(own):
            _fit(encoder, [lists[i] for _ in range(self.epochs) for i in order.permutation(len(lists))])

        def score(asked: Part, setting: str) -> Floats:
            texts = self.texts(asked, range(asked.candidates.size), model, setting)
            found = encoder.predict(texts, batch_size=BATCH, activation_fn=torch.nn.Identity(), show_progress_bar=False)
            return np.asarray(found, float).reshape(asked.candidates.shape)

        return score

    def texts(self, part: Part, rows: Sequence[int], model: str, setting: str) -> list[tuple[str, str]]:
        """Return the query and the line about the place for some candidates."""
        found = []
        for row in rows:
            query, at = divmod(row, part.candidates.shape[1])
            place, steps = int(part.candidates[query, at]), float(part.steps[query, at])
            found.append((query_text(part.queries[query]), self._line(place, steps, model, setting)))
        return found

    def _line(self, place: int, steps: float, model: str, setting: str) -> str:
        places = self.places
        labels = places.labels[place][:1] if setting == "mp4" else places.labels[place]
        parts = [", ".join(places.names[place]), ", ".join(labels).replace("_", " ")]
        parts.append(f"{places.streets[place]} {places.postcodes[place]}".strip())
        if setting != "mp3":
            parts.append(FAR[int(np.digitize(steps, BINS))] if model == "v81" else f"{steps * self._scale:.0f} m")
        return "; ".join(filter(None, parts))


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed PyTorch's global generators, from which heads and dropout are drawn, and restore them afterwards."""
    import torch

    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield


def query_text(query: Query) -> str:
    """Return a query as it is typed."""
    return " ".join(filter(None, [query.words, query.street, query.postcode, query.near and f"near {query.near}"]))


def _fit(encoder: Any, lists: Sequence[tuple[str, list[str], Any]]) -> None:
    import torch
    from sentence_transformers.cross_encoder.losses import LambdaLoss, LambdaRankScheme

    loss = LambdaLoss(encoder, weighting_scheme=LambdaRankScheme(), k=10, mini_batch_size=BATCH)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=LEARNING_RATE)
    steps = -(-len(lists) // QUERIES_A_STEP)
    warm = max(1, round(WARM_UP * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (steps - step) / max(1, steps - warm))
    )
    encoder.train()
    for begin in range(0, len(lists), QUERIES_A_STEP):
        queries, texts, grades = zip(*lists[begin : begin + QUERIES_A_STEP], strict=True)
        labels = [torch.tensor(each, dtype=torch.float32, device=encoder.device) for each in grades]
        optimizer.zero_grad()
        loss([list(queries), list(texts)], labels).backward()
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    encoder.eval()
