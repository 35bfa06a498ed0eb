"""PyTorch: RDQ of batches of padded tensors on any device, and a differentiable surrogate for training."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rankdev._common.checks import bad_type, check_kind, check_number, is_list
from rankdev.data.files import load_references
from rankdev.data.ids import as_id
from rankdev.data.references import ReferencesLike
from rankdev.errors import DataError, MissingExtraError, UsageError
from rankdev.learning.training import trainable
from rankdev.measures import Measure
from rankdev.measures.rdq import RDQ

try:
    import torch
    from torch import Tensor
except ImportError:
    raise MissingExtraError("torch", "torch", "RDQ of tensors") from None


def rdq(
    scores: Tensor, ranks: Tensor, measure: str | Measure = "RDQ@10", *, mask: Any = None, reference: Any = None
) -> Tensor:
    """Score every query of a batch, as :func:`rankdev.evaluate` does.

    Of equal scores the first counts as higher (``ties="given"``). Values are computed in double precision.

    Parameters
    ----------
    scores : Tensor
        ``[query, item]``: scores of a model.
    ranks : Tensor
        ``[query, item]``: rank of the item in the reference, 0 for items outside it.
    measure : str or Measure, default "RDQ@10"
        RDQ with a cutoff.
    mask : Tensor, optional
        ``[query, item]``: False where there is no item.
    reference : Tensor, optional
        ``[query, m]``: ranks of all items of each reference, 0 where there is none; needed where some of them are
        not among the items.

    Returns
    -------
    Tensor
        One value per query.

    Examples
    --------
    >>> rdq(torch.tensor([[0.9, 0.5, 0.7]]), torch.tensor([[2, 1, 0]]), "RDQ@5").round(decimals=4)
    tensor([0.3943], dtype=torch.float64)
    """
    chosen, ranks, real, ideal = _checked(measure, scores, ranks, mask, reference)
    if (scores.isnan() & real).any():
        raise DataError("bad-value", name="a score", value=math.nan, expected="a number")
    order = scores.argsort(dim=1, descending=True, stable=True)
    if mask is not None:  # behind all items, even those with the lowest possible score
        order = order.gather(1, real.gather(1, order).byte().argsort(dim=1, descending=True, stable=True))
    order = order[:, : chosen.cutoff]
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
    """Score every query with a differentiable approximation of RDQ: ``loss = 1 - soft_rdq(…).mean()``.

    The position of an item is 1 + Σ σ((s_other − s_item) ÷ temperature) over the others of its query, and its gain
    is interpolated between whole positions. Scores of half precision, which cannot count positions, are converted to
    single precision.

    Parameters
    ----------
    scores : Tensor
        ``[query, item]``: scores of a model, floating-point numbers.
    ranks : Tensor
        ``[query, item]``: rank of the item in the reference, 0 for items outside it.
    measure : str or Measure, default "RDQ@10"
        RDQ with a cutoff.
    temperature : float, default 1.0
        The lower, the nearer to RDQ, and the steeper.
    mask : Tensor, optional
        ``[query, item]``: False where there is no item.
    reference : Tensor, optional
        ``[query, m]``: ranks of all items of each reference, as for :func:`rdq`.

    Returns
    -------
    Tensor
        One value per query, with a gradient.

    Examples
    --------
    >>> scores = torch.tensor([[0.9, 0.5, 0.7]], requires_grad=True)
    >>> soft_rdq(scores, torch.tensor([[2, 1, 0]]), "RDQ@5").mean().backward()
    >>> scores.grad.shape
    torch.Size([1, 3])
    """
    chosen, ranks, real, ideal = _checked(measure, scores, ranks, mask, reference)
    check_number("temperature", temperature, 0)
    if not scores.is_floating_point():
        expected, remedy = "floating-point numbers", "others have no gradient"
        raise UsageError("not-a-type", name="scores", expected=expected, value=str(scores.dtype), remedy=remedy)
    wrong = real & ~scores.isfinite()
    if wrong.any():
        expected = "a finite number; give mask=… where there is no item"
        raise DataError("bad-value", name="a score", value=scores[wrong][0].item(), expected=expected)
    scores = scores.masked_fill(~real, 0.0).to(torch.promote_types(scores.dtype, torch.float32))
    beats = torch.sigmoid((scores[:, None, :] - scores[:, :, None]) / temperature)
    others = real[:, None, :] & ~torch.eye(scores.shape[1], dtype=torch.bool, device=scores.device)
    position = torch.where(others, beats, 0.0).sum(dim=2)  # from 0
    above = position.detach().floor().clamp(max=chosen.cutoff)
    fraction = position - above
    whole = above.long()
    earned = (1 - fraction) * _earned(chosen, whole, ranks, ideal).to(scores.dtype)
    return (earned + fraction * _earned(chosen, whole + 1, ranks, ideal).to(scores.dtype)).sum(dim=1)


def swap_gains(labels: Tensor, measure: str | Measure = "RDQ@10") -> Tensor:
    """Weight pairs of items, in the order in which a model ranks them, by what a swap gains.

    Where the item is the better one, its weight is what RDQ gains if the higher of their two positions is its own and
    not the other's, and 0 where that loses.

    Parameters
    ----------
    labels : Tensor
        ``[query, item]``, in the order of the model. Labels read as grades: every distinct positive one is a tier.
    measure : str or Measure, default "RDQ@10"
        RDQ with a cutoff.

    Returns
    -------
    Tensor
        Weights, ``[query, item, other]``.

    Examples
    --------
    >>> swap_gains(torch.tensor([[0, 1]]), "RDQ@2").shape
    torch.Size([1, 2, 2])
    """
    chosen = trainable(measure)
    if not isinstance(labels, Tensor) or labels.dim() != 2:
        raise bad_type(
            "labels", "a tensor [query, item]", labels, "they are in the order in which the model ranks them"
        )
    if labels.isnan().any():
        raise DataError("bad-value", name="a label", value=math.nan, expected="a number")
    cutoff, length = chosen.cutoff or 0, labels.shape[1]
    if not length:
        return torch.zeros(len(labels), 0, 0, dtype=torch.double, device=labels.device)
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


def padded(references: ReferencesLike, items: Mapping[Any, Iterable[Any]]) -> tuple[Tensor, Tensor, Tensor]:
    """Lay out the items of some queries as tensors for :func:`rdq`.

    Parameters
    ----------
    references : References, path, table or dict
        Ideal order of each query: lists, tiers or grades.
    items : dict of str to list of str
        Items of each query, in the order of the scores.

    Returns
    -------
    ranks : Tensor
        ``[query, item]``: rank of each item, 0 outside the reference.
    mask : Tensor
        ``[query, item]``: False where there is no item.
    reference : Tensor
        ``[query, m]``: ranks of all items of each reference.

    Examples
    --------
    >>> ranks, mask, reference = padded({"q": ["a", "b"]}, {"q": ["x", "b"]})
    >>> ranks.tolist(), mask.tolist(), reference.tolist()
    ([[0, 2]], [[True, True]], [[1, 2]])
    """
    known = load_references(references)
    if not items:
        raise DataError("empty", name="items", expected="{query: [item, …]}")
    ranks, whole = [], []
    for query, entries in items.items():
        name = as_id(query)
        if name not in known:
            raise DataError("no-reference", query=query)
        if not is_list(entries):
            raise DataError("bad-value", query=query, name="items", value=entries, expected="a list of items")
        names = [as_id(item) for item in entries]
        for item, times in Counter(names).items():
            if times > 1:
                raise DataError("appears-twice", query=query, what="item", value=item)
        reference = known[name]
        ranks.append(torch.tensor([reference.get(item, 0) for item in names], dtype=torch.long))
        whole.append(torch.tensor(list(reference.values()), dtype=torch.long))
    mask = [torch.ones(len(row), dtype=torch.bool) for row in ranks]
    return _stacked(ranks), _stacked(mask), _stacked(whole)


def _stacked(rows: list[Tensor]) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


class _Ideal:
    """The references of a batch: their ranks in ascending order, and how many items and tiers they have."""

    def __init__(self, ranks: Tensor) -> None:
        last = torch.iinfo(torch.long).max
        ranks = torch.nn.functional.pad(ranks, (0, int(not ranks.shape[1])))  # at least one column
        self.sizes = (ranks > 0).sum(dim=1, keepdim=True)
        self.tiers = ranks.amax(dim=1, keepdim=True)
        self._sorted = torch.where(ranks > 0, ranks, last).sort(dim=1).values

    def at(self, places: Tensor) -> Tensor:
        """Return ideal ranks at positions from 0; past the reference they increase by one per position."""
        inside = self._sorted.gather(1, places.clamp(max=self._sorted.shape[1] - 1))
        return torch.where(places < self.sizes, inside, self.tiers + places + 1 - self.sizes)

    def has_gaps(self) -> Tensor:
        """Find the queries whose ranks do not begin at 1 or skip one."""
        inside = torch.arange(self._sorted.shape[1], device=self._sorted.device) < self.sizes
        steps = self._sorted.diff(dim=1, prepend=torch.zeros_like(self.sizes))
        return (inside & (steps > 1)).any(dim=1)


def _tiers(labels: Tensor) -> Tensor:
    """Rank labels within each query: 1 for the highest, equal ones alike, 0 for those of 0 or less."""
    ordered, order = labels.sort(dim=1, descending=True)
    steps = torch.nn.functional.pad(ordered[:, 1:] != ordered[:, :-1], (1, 0), value=True).cumsum(dim=1)
    ranks = torch.empty_like(steps).scatter_(1, order, steps)
    return torch.where(labels > 0, ranks, 0)


def _earned(measure: RDQ, places: Tensor, ranks: Tensor, ideal: _Ideal) -> Tensor:
    """Return what items of some ranks add to RDQ at some positions from 0; past the cutoff nothing."""
    cutoff = measure.cutoff
    assert cutoff is not None
    weights = torch.as_tensor(measure.position_weights.relative(cutoff), device=ranks.device)
    best = weights.cumsum(0)[ideal.sizes.clamp(1, cutoff) - 1]
    counted = (ranks > 0) & (places < cutoff)
    rank, ideal_rank = ranks.clamp(min=1).double(), ideal.at(places).double()
    if measure.penalty == "m1":
        credit = (ideal_rank / rank).clamp(max=1.0)
    else:
        tolerance = ideal.sizes.clamp(min=1).double().sqrt() * measure.alpha * (1 + measure.lam * (rank - 1))
        credit = torch.exp(-(ideal_rank - rank).abs() / tolerance)
    return torch.where(counted, weights[places.clamp(max=cutoff - 1)] * credit / best, 0.0)


def _checked(
    measure: str | Measure, scores: Any, ranks: Any, mask: Any, reference: Any
) -> tuple[RDQ, Tensor, Tensor, _Ideal]:
    """Return the measure, ranks with 0 where there is no item, the mask, and the ideal ranks."""
    chosen = trainable(measure)
    given = {"scores": scores, "ranks": ranks, "mask": mask, "reference": reference}
    tensors = {name: value for name, value in given.items() if value is not None}
    for name, value in tensors.items():
        check_kind(name, value, Tensor, "make it with torch.tensor")
        if value.device != scores.device:
            raise UsageError("two-devices", name=name, one=str(scores.device), other=str(value.device))
    shapes = [tuple(value.shape) for name, value in tensors.items() if name != "reference"]
    if len(set(shapes)) > 1 or scores.dim() != 2:
        raise UsageError("bad-shape", names=("scores", "ranks", "mask"), expected="[query, item]", shapes=shapes)
    if reference is not None and (reference.dim() != 2 or len(reference) != len(scores)):
        expected, shapes = f"[query, m] for {len(scores)} queries", [tuple(reference.shape)]
        raise UsageError("bad-shape", names=("reference",), expected=expected, shapes=shapes)
    if mask is not None and mask.is_floating_point():
        expected, remedy = "True where there is an item", "numbers could mean the opposite"
        raise UsageError("not-a-type", name="mask", expected=expected, value=str(mask.dtype), remedy=remedy)
    real = torch.ones_like(ranks, dtype=torch.bool) if mask is None else mask.bool()
    placed = _whole("ranks", torch.where(real, ranks, 0))
    if reference is None:
        ideal = _Ideal(placed)
        _refuse(ideal.has_gaps(), "rank-gap")
        return chosen, placed, real, ideal
    listed = _whole("reference", reference)
    ideal = _Ideal(listed)
    _refuse(ideal.has_gaps(), "rank-gap")
    _refuse(_strangers(placed, listed), "surplus-items")
    return chosen, placed, real, ideal


def _whole(name: str, values: Tensor) -> Tensor:
    if values.is_floating_point() and (wrong := values != values.round()).any():
        expected = "whole numbers, 1 for the best"
        raise DataError("bad-value", name=name, value=values[wrong][0].item(), expected=expected)
    return values.long().clamp(min=0)


def _strangers(ranks: Tensor, reference: Tensor) -> Tensor:
    """Find the queries with more items of some rank than their reference has; its ranks have no gaps."""
    last = reference.shape[1] + 1  # no reference has so high a rank
    none = torch.zeros(len(ranks), last + 1, dtype=torch.long, device=ranks.device)
    found, there = (
        none.scatter_add(1, values.clamp(max=last), torch.ones_like(values)) for values in (ranks, reference)
    )
    return (found > there)[:, 1:].any(dim=1)


def _refuse(wrong: Tensor, kind: str) -> None:
    if wrong.any():
        raise DataError(kind, query=int(wrong.nonzero()[0]))
