"""PyTorch: RDQ of batches of padded tensors on any device, and a differentiable stand-in to train with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rankdev.arguments import check_number
from rankdev.errors import DataError, MissingExtraError, UsageError
from rankdev.learning.earnings import trainable
from rankdev.measures import Measure
from rankdev.measures.rdq import RDQ
from rankdev.references.references import References

try:
    import torch
    from torch import Tensor
except ImportError:
    raise MissingExtraError("torch", "torch", "RDQ of tensors") from None


def rdq(
    scores: Tensor, ranks: Tensor, measure: str | Measure = "RDQ@10", *, mask: Any = None, reference: Any = None
) -> Tensor:
    """Score every query of a batch: one number each, the same that :func:`rankdev.evaluate` gives.

    ``scores`` and ``ranks`` are [query, item]: what the model says, and the item's rank in the reference, 0 for items
    outside it. ``mask`` is False where there is no item. ``reference`` has the ranks of all items of each reference
    [query, m], 0 where there is none; it is needed where some are not among the items. Of equal scores the first counts
    as higher (``ties="given"``).

    >>> rdq(torch.tensor([[0.9, 0.5, 0.7]]), torch.tensor([[2, 1, 0]]), "RDQ@5").round(decimals=4)
    tensor([0.3943], dtype=torch.float64)
    """
    chosen, scores, ranks, ideal = _checked(measure, scores, ranks, mask, reference)
    if scores.isnan().any():
        raise DataError("a score is not a number")
    order = scores.argsort(dim=1, descending=True, stable=True)[:, : chosen.cutoff]
    found = ranks.gather(1, order)
    places = torch.arange(found.shape[1], device=found.device).expand_as(found)
    return _earned(chosen, places, found, ideal).sum(dim=1).clamp(max=1.0)


def soft_rdq(
    scores: Tensor,
    ranks: Tensor,
    measure: str | Measure = "RDQ@10",
    *,
    temperature: float = 1.0,
    mask: Any = None,
    reference: Any = None,
) -> Tensor:
    """Score every query in a way that has a gradient: ``loss = 1 - soft_rdq(…).mean()``.

    The position of an item is 1 + Σ σ((s_other − s_item) ÷ temperature) over the others of its query, and what it earns
    is interpolated between whole positions. The lower the temperature, the nearer to RDQ, and the steeper.
    """
    chosen, scores, ranks, ideal = _checked(measure, scores, ranks, mask, reference)
    check_number("temperature", temperature, 0)
    beats = torch.sigmoid((scores[:, None, :] - scores[:, :, None]) / temperature)
    present = torch.isfinite(scores)[:, None, :] & ~torch.eye(scores.shape[1], dtype=torch.bool, device=scores.device)
    position = torch.where(present, beats, 0.0).sum(dim=2)  # from 0
    above = position.detach().floor().clamp(max=chosen.cutoff)
    share = position - above
    whole = above.long()
    earned = (1 - share) * _earned(chosen, whole, ranks, ideal).to(scores.dtype)
    return (earned + share * _earned(chosen, whole + 1, ranks, ideal).to(scores.dtype)).sum(dim=1)


def swap_gains(labels: Tensor, measure: str | Measure = "RDQ@10") -> Tensor:
    """Weigh pairs of items in the order in which a model ranks them: [query, item, other].

    Labels read as grades: every distinct positive one is a tier. Where the item is the better one, its weight is what
    RDQ gains if the higher of their two positions is its own and not the other's, and 0 where that loses.
    """
    chosen = trainable(measure)
    cutoff, length = chosen.cutoff or 0, labels.shape[1]
    ranks = _tiers(labels)
    ideal = _Ideal(ranks)
    positions = range(min(cutoff, length))
    earned = torch.stack([_earned(chosen, torch.full_like(ranks, place), ranks, ideal) for place in positions], dim=1)
    table = torch.nn.functional.pad(earned, (0, 0, 0, length - len(positions)))  # [query, position, item]
    own = table.diagonal(dim1=1, dim2=2)
    gain = own[:, :, None] + own[:, None, :] - table - table.transpose(1, 2)
    place = torch.arange(length, device=labels.device)
    weight = torch.relu(gain * torch.sign(place[None, :] - place[:, None]))
    return torch.where(labels[:, :, None] > labels[:, None, :], weight, 0.0)


def padded(references: References, items: Mapping[str, Iterable[str]]) -> tuple[Tensor, Tensor, Tensor]:
    """Lay out the items of some queries for :func:`rdq`: their ranks, the mask, and the ranks of the whole references.

    >>> ranks, mask, reference = padded(References.from_lists({"q": ["a", "b"]}), {"q": ["x", "b"]})
    >>> ranks.tolist(), mask.tolist(), reference.tolist()
    ([[0, 2]], [[True, True]], [[1, 2]])
    """
    found = {query: list(entries) for query, entries in items.items()}
    for query in found:
        if query not in references:
            raise DataError(f"query {query!r} has no reference; leave it out")
    chosen = [references[query] for query in found]
    ranks = [
        torch.tensor([reference.get(item, 0) for item in entries], dtype=torch.long)
        for reference, entries in zip(chosen, found.values(), strict=True)
    ]
    mask = [torch.ones(len(entries), dtype=torch.bool) for entries in found.values()]
    whole = [torch.tensor(list(reference.values()), dtype=torch.long) for reference in chosen]
    pad = torch.nn.utils.rnn.pad_sequence
    return pad(ranks, batch_first=True), pad(mask, batch_first=True), pad(whole, batch_first=True)


class _Ideal:
    """The references of a batch: their ranks in ascending order, and how many items and tiers they have."""

    def __init__(self, ranks: Tensor) -> None:
        last = torch.iinfo(torch.long).max
        self.sizes = (ranks > 0).sum(dim=1, keepdim=True)
        self.tiers = ranks.amax(dim=1, keepdim=True)
        self._sorted = torch.where(ranks > 0, ranks, last).sort(dim=1).values

    def at(self, places: Tensor) -> Tensor:
        """Ideal ranks at positions from 0; past the reference they go on by one per position."""
        inside = self._sorted.gather(1, places.clamp(max=self._sorted.shape[1] - 1))
        return torch.where(places < self.sizes, inside, self.tiers + places + 1 - self.sizes)


def _tiers(labels: Tensor) -> Tensor:
    """Rank labels within each query: 1 for the highest, equal ones alike, 0 for those of 0 or less."""
    ordered, order = labels.sort(dim=1, descending=True)
    steps = torch.nn.functional.pad(ordered[:, 1:] != ordered[:, :-1], (1, 0), value=True).cumsum(dim=1)
    ranks = torch.empty_like(steps).scatter_(1, order, steps)
    return torch.where(labels > 0, ranks, 0)


def _earned(measure: RDQ, places: Tensor, ranks: Tensor, ideal: _Ideal) -> Tensor:
    """What items of some ranks add to RDQ at some positions from 0; past the cutoff nothing."""
    cutoff = measure.cutoff
    assert cutoff is not None
    weights = torch.tensor(measure.position_weights.relative(cutoff), device=ranks.device)
    best = weights.cumsum(0)[ideal.sizes.clamp(1, cutoff) - 1]
    counted = (ranks > 0) & (places < cutoff)
    rank, should = ranks.clamp(min=1).double(), ideal.at(places).double()
    if measure.penalty == "m1":
        credit = (should / rank).clamp(max=1.0)
    else:
        tolerance = ideal.sizes.clamp(min=1).double().sqrt() * measure.alpha * (1 + measure.lam * (rank - 1))
        credit = torch.exp(-(should - rank).abs() / tolerance)
    return torch.where(counted, weights[places.clamp(max=cutoff - 1)] * credit / best, 0.0)


def _checked(
    measure: str | Measure, scores: Tensor, ranks: Tensor, mask: Any, reference: Any
) -> tuple[RDQ, Tensor, Tensor, _Ideal]:
    chosen = trainable(measure)
    shapes = [tuple(tensor.shape) for tensor in (scores, ranks, *([] if mask is None else [mask]))]
    if len(set(shapes)) > 1 or scores.dim() != 2:
        raise UsageError(
            f"scores, ranks and mask must have one shape, [query, item]; got {', '.join(map(str, shapes))}"
        )
    if reference is not None and (reference.dim() != 2 or len(reference) != len(scores)):
        raise UsageError(f"reference must be [query, m] for {len(scores)} queries; got {tuple(reference.shape)}")
    if mask is not None:
        scores, ranks = scores.masked_fill(~mask, -torch.inf), ranks.masked_fill(~mask, 0)
    return chosen, scores, ranks.long(), _Ideal((ranks if reference is None else reference).long())
