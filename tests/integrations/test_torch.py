"""PyTorch: batches score as rd.evaluate does, and the soft measure has the gradient it says and the right limit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd

torch = pytest.importorskip("torch")
from rankdev.integrations.torch import padded, rdq, soft_rdq, swap_gains  # noqa: E402
from tests.common.examples import examples  # noqa: E402
from tests.raising import raises  # noqa: E402

ONE = torch.ones(1, 1)

MEASURES = ["RDQ@3", "RDQ(penalty=m1)@4", "RDQ(alpha=2,lam=0,weights=carousel)@5", "RDQ(weights=[2,1],tail=0.5)@10"]


@st.composite
def batches(draw):
    """Tiers of up to nine items, and some of these with others, scored on a grid where scores are often equal."""
    references, items, scores = {}, {}, {}
    for query in ("q1", "q2", "q3"):
        sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
        names = iter(f"d{i}" for i in range(20))
        references[query] = [[next(names) for _ in range(size)] for size in sizes]
        known = [item for tier in references[query] for item in tier]
        items[query] = draw(st.lists(st.sampled_from([*known, "x", "y", "z"]), unique=True, min_size=1))
        scores[query] = [draw(st.integers(0, 4)) / 2 for _ in items[query]]
    return rd.References.from_tiers(references), items, scores


def laid_out(scores, mask):
    table = torch.zeros(mask.shape, dtype=torch.float64)
    for row, values in enumerate(scores.values()):
        table[row, : len(values)] = torch.tensor(values)
    return table


@pytest.mark.parametrize("measure", MEASURES)
@examples(30)
@given(batches())
def test_batches_score_as_evaluate_does(measure, drawn):
    references, items, scores = drawn
    ranks, mask, reference = padded(references, items)
    found = rdq(laid_out(scores, mask), ranks, measure, mask=mask, reference=reference)
    ordered = {
        query: [entries[i] for i in np.argsort([-s for s in scores[query]], kind="stable")]
        for query, entries in items.items()
    }
    wanted = rd.evaluate(references, {"run": ordered}, measure)
    np.testing.assert_allclose(found, wanted.values[0, :, 0], atol=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
@examples(15)
@given(batches(), st.integers(0, 1000))
def test_the_soft_measure_nears_rdq_as_it_gets_cold(measure, drawn, seed):
    references, items, _ = drawn
    ranks, mask, reference = padded(references, items)
    scores = torch.tensor(np.random.default_rng(seed).permuted(np.tile(np.arange(mask.shape[1]) * 1.0, (3, 1)), axis=1))
    cold = soft_rdq(scores, ranks, measure, temperature=0.01, mask=mask, reference=reference)
    torch.testing.assert_close(cold, rdq(scores, ranks, measure, mask=mask, reference=reference))


@pytest.mark.parametrize("measure", MEASURES)
def test_gradients_are_those_of_differences(measure):
    torch.manual_seed(0)
    ranks = torch.tensor([[1, 2, 0, 2, 3, 0], [0, 1, 0, 0, 0, 0]])
    mask = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    scores = torch.randn(2, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: soft_rdq(s, ranks, measure, mask=mask), (scores,))
    soft_rdq(scores, ranks, measure, mask=mask).sum().backward()
    assert scores.grad[1, 4:].tolist() == [0, 0]
    assert scores.grad[:, :4].abs().min() > 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.int32])
def test_any_type_of_score_orders_the_same(dtype):
    scores = torch.tensor([[3, 1, 2, 2], [7, 9, 9, 0]])
    ranks, mask = torch.tensor([[2, 1, 0, 3], [1, 2, 0, 0]]), torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    assert rdq(scores.to(dtype), ranks, mask=mask).equal(rdq(scores.double(), ranks, mask=mask.bool()))


def test_padding_stands_behind_every_item_wherever_it_is():
    """Also where a model gives an item the lowest score there is; and what is in the padding does not matter."""
    ranks, mask = torch.tensor([[0, 1]]), torch.tensor([[False, True]])
    for filling in (9.0, torch.nan, torch.inf, -torch.inf):
        scores = torch.tensor([[filling, -torch.inf]])
        assert rdq(scores, ranks, mask=mask).tolist() == [1.0]
        scores = torch.tensor([[filling, 0.5]], requires_grad=True)
        value = soft_rdq(scores, ranks, mask=mask)
        value.sum().backward()
        assert value.tolist() == [1.0]
        assert scores.grad.tolist() == [[0, 0]]


def test_half_precision_counts_positions_of_long_lists():
    """Sums of sigmoids past 2,048 are not exact in half precision."""
    scores = torch.linspace(3, -3, 3000, dtype=torch.float16)[None]
    ranks = torch.zeros(1, 3000, dtype=torch.long)
    ranks[0, 2900] = 1
    wanted = soft_rdq(scores.double(), ranks, "RDQ(weights=uniform)@3000", temperature=0.01)
    assert soft_rdq(scores, ranks, "RDQ(weights=uniform)@3000", temperature=0.01) == pytest.approx(wanted, rel=1e-4)


def test_a_query_without_reference_items_scores_0_and_pulls_nowhere():
    scores = torch.randn(1, 3, requires_grad=True)
    nothing = torch.zeros(1, 3, dtype=torch.long)
    assert rdq(scores, nothing).tolist() == [0.0]
    soft_rdq(scores, nothing).sum().backward()
    assert scores.grad.tolist() == [[0, 0, 0]]


@pytest.mark.parametrize(
    ("call", "kind", "fields"),
    [
        (lambda: rdq(torch.zeros(2, 3), torch.zeros(2, 4)), "bad-shape", {"shapes": ((2, 3), (2, 4))}),
        (lambda: rdq(torch.zeros(3), torch.zeros(3)), "bad-shape", {"shapes": ((3,), (3,))}),
        (lambda: rdq(ONE, ONE, reference=torch.ones(2, 1)), "bad-shape", {"names": ("reference",)}),
        (lambda: rdq(torch.full((1, 1), torch.nan), ONE), "bad-value", {"name": "a score"}),
        (lambda: rdq([[1.0]], ONE), "not-a-type", {"name": "scores", "value": "list"}),
        (lambda: rdq(torch.zeros(1, 1, device="meta"), ONE), "two-devices", {"one": "meta", "other": "cpu"}),
        (lambda: rdq(ONE, ONE, mask=torch.zeros(1, 1)), "not-a-type", {"name": "mask", "value": "torch.float32"}),
        (lambda: rdq(torch.zeros(1, 2), torch.tensor([[1.0, 1.5]])), "bad-value", {"name": "ranks", "value": 1.5}),
        (lambda: rdq(torch.zeros(2, 2), torch.tensor([[1, 2], [1, 3]])), "rank-gap", {"query": 1}),
        (lambda: rdq(torch.zeros(1, 2), torch.tensor([[0, 2]])), "rank-gap", {"query": 0}),
        (lambda: rdq(ONE, ONE, reference=torch.tensor([[1, 3]])), "rank-gap", {"query": 0}),
        (lambda: rdq(torch.zeros(1, 2), torch.tensor([[1, 2]]), reference=torch.ones(1, 2)), "surplus-items", {}),
        (lambda: rdq(ONE, torch.full((1, 1), 1e12), reference=ONE), "surplus-items", {"query": 0}),
        (lambda: soft_rdq(ONE.long(), ONE), "not-a-type", {"name": "scores", "value": "torch.int64"}),
        (lambda: soft_rdq(torch.full((1, 2), torch.nan), torch.ones(1, 2)), "bad-value", {"name": "a score"}),
        (lambda: soft_rdq(torch.full((1, 2), torch.inf), torch.ones(1, 2)), "bad-value", {"name": "a score"}),
        (lambda: soft_rdq(ONE, ONE, temperature=0), "not-a-number", {"name": "temperature"}),
        (lambda: soft_rdq(ONE, ONE, "AP@5"), "not-trainable", {"measure": "AP@5"}),
        (lambda: swap_gains(torch.zeros(3)), "not-a-type", {"name": "labels"}),
        (lambda: swap_gains(torch.full((1, 2), torch.nan)), "bad-value", {"name": "a label"}),
        (lambda: padded({"q": ["a"]}, {"q": ["a", "a"]}), "appears-twice", {"query": "q", "value": "a"}),
        (lambda: padded({"q": ["a"]}, {"q": "abc"}), "bad-value", {"query": "q", "value": "abc"}),
        (lambda: padded({"q": ["a"]}, {}), "empty", {"name": "items"}),
        (lambda: padded({"q": ["a"]}, {"p": ["a"]}), "no-reference", {"query": "p"}),
    ],
)
def test_wrong_calls_are_refused(call, kind, fields):
    with raises(kind, **fields):
        call()
