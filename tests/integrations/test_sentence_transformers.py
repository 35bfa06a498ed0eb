"""sentence-transformers with tiny models made here: evaluator, trainer, and weights of LambdaLoss."""

import numpy as np
import pytest

import rankdev as rd

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
sentence_transformers = pytest.importorskip("sentence_transformers")
from rankdev.integrations.sentence_transformers import RankingEvaluator, RDQScheme  # noqa: E402
from rankdev.integrations.torch import swap_gains  # noqa: E402
from tests.common.tiny_bert import save_tiny_berts  # noqa: E402
from tests.raising import raises  # noqa: E402

WORDS = ["amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "harbor", "island", "jetty", "kelp", "lagoon"]
RNG = np.random.default_rng(0)
QUERIES = {f"q{i}": " ".join(RNG.choice(WORDS, 2)) for i in range(6)}
ITEMS = {f"d{i}": " ".join(RNG.choice(WORDS, 6)) for i in range(30)}
TIERS = {query: [[f"d{3 * i}"], [f"d{3 * i + 1}", f"d{3 * i + 2}"]] for i, query in enumerate(QUERIES)}
CANDIDATES = {query: [item for tier in TIERS[query] for item in tier] + ["d20", "d21", "d22"] for query in QUERIES}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_tiny_berts(folder, WORDS, 32)
    return folder


@pytest.fixture
def bi(folder):
    return sentence_transformers.SentenceTransformer(str(folder / "bi"), device="cpu")


@pytest.fixture
def cross(folder):
    return sentence_transformers.CrossEncoder(str(folder / "cross"), device="cpu")


def test_a_bi_encoder_is_scored_by_its_similarities(bi):
    evaluator = RankingEvaluator(QUERIES, ITEMS, TIERS, ["RDQ@5", "nDCG(gains=linear)@10"], name="dev")
    found = evaluator(bi)
    assert evaluator.primary_metric == "dev_RDQ@5"
    similar = bi.similarity(bi.encode_query(list(QUERIES.values())), bi.encode_document(list(ITEMS.values()))).tolist()
    run = {query: dict(zip(ITEMS, row, strict=True)) for query, row in zip(QUERIES, similar, strict=True)}
    wanted = rd.evaluate(rd.References.from_tiers(TIERS), {"run": run}, evaluator.measures)
    assert list(found.values()) == pytest.approx(wanted.means[0].tolist())
    assert list(found) == ["dev_RDQ@5", "dev_nDCG(gains=linear)@10"]


@pytest.mark.parametrize("kind", ["bi", "cross"])
def test_candidates_are_reranked(kind, request):
    model = request.getfixturevalue(kind)
    evaluator = RankingEvaluator(QUERIES, ITEMS, TIERS, candidates=CANDIDATES)
    run = evaluator.run(model)
    assert {query: set(run[query]) for query in run} == {query: set(found) for query, found in CANDIDATES.items()}
    if kind == "cross":
        scores = model.predict([(QUERIES["q1"], ITEMS[item]) for item in CANDIDATES["q1"]])
        assert run["q1"] == [CANDIDATES["q1"][i] for i in np.argsort(-scores)]
    assert evaluator(model) == {"RDQ@10": pytest.approx(rd.evaluate(TIERS, {"run": run}, "RDQ@10").means[0, 0])}


def test_only_queries_that_are_asked_count(bi):
    """References often know more queries than an evaluator is given; they counted as 0."""
    one = {"q0": QUERIES["q0"]}
    evaluator = RankingEvaluator(one, ITEMS, TIERS)
    wanted = rd.evaluate({"q0": TIERS["q0"]}, {"run": evaluator.run(bi)}, "RDQ@10").means[0, 0]
    assert wanted > 0
    assert evaluator(bi) == {"RDQ@10": wanted}


class Finding:
    """A model that finds items alike as it was told, whatever the query."""

    def __init__(self, similar):
        self.similar = torch.tensor([similar])

    def encode_query(self, texts, **_):
        return torch.zeros(len(texts), 1)

    encode_document = encode_query

    def similarity(self, queries, items):
        return self.similar.expand(len(queries), len(items))


BEYOND_COMPARISON = Finding([0.0, np.nan] + [0.0] * 28)
EQUAL_SCORES = Finding([3.0, 2.0, 2.0, 2.0, 1.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("call", "kind", "fields"),
    [
        (lambda: RankingEvaluator(QUERIES, {}, TIERS), "empty", {"name": "items"}),
        (lambda: RankingEvaluator({1: "a", "1": "b"}, ITEMS, {"1": ["d1"]}), "appears-twice", {"value": "1"}),
        (lambda: RankingEvaluator({"p": "kelp"}, ITEMS, TIERS), "nothing-in-common", {"other": "references"}),
        (lambda: RankingEvaluator(QUERIES, ITEMS, TIERS, batch_size=0), "not-whole", {"name": "batch_size"}),
        (lambda: RankingEvaluator(QUERIES, ITEMS, TIERS, candidates={"q0": "d1"}), "bad-value", {"query": "q0"}),
        (lambda: RankingEvaluator(QUERIES, ITEMS, TIERS, candidates={"p": ["d1"]}), "nothing-in-common", {}),
        (lambda: RankingEvaluator(QUERIES, ITEMS, TIERS, candidates={"q0": ["gone"]}), "no-text", {"item": "gone"}),
        (lambda: RankingEvaluator(QUERIES, ITEMS, TIERS)("a-model"), "not-a-type", {"name": "model"}),
        (
            lambda: RankingEvaluator(QUERIES, ITEMS, TIERS).run(BEYOND_COMPARISON),
            "bad-value",
            {"name": "the similarity"},
        ),
        (lambda: RDQScheme("nDCG@10"), "not-trainable", {"measure": "nDCG@10"}),
    ],
)
def test_wrong_calls_are_refused(call, kind, fields):
    with raises(kind, **fields):
        call()


@pytest.mark.parametrize(("measures", "kept"), [("RDQ@1", "a"), ("RDQ@2", "adcb"), (["RDQ@2", "AP"], "adcbfeg")])
def test_only_what_measures_look_at_is_kept_and_equal_scores_all(measures, kept):
    references = {query: ["a"] for query in QUERIES}
    evaluator = RankingEvaluator(QUERIES, dict.fromkeys("abcdefg", "kelp"), references, measures)
    assert evaluator.run(EQUAL_SCORES)["q0"] == list(kept)


@pytest.mark.slow  # make test-extras runs it; the evaluator itself is tested above
def test_a_trainer_chooses_by_the_evaluator(cross, tmp_path):
    from datasets import Dataset
    from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
    from sentence_transformers.cross_encoder.losses import LambdaLoss

    grade = {query: {item: 2 - t for t, tier in enumerate(tiers) for item in tier} for query, tiers in TIERS.items()}
    data = Dataset.from_dict(
        {
            "query": [QUERIES[query] for query in CANDIDATES],
            "docs": [[ITEMS[item] for item in found] for found in CANDIDATES.values()],
            "labels": [[float(grade[query].get(item, 0)) for item in found] for query, found in CANDIDATES.items()],
        }
    )
    evaluator = RankingEvaluator(QUERIES, ITEMS, TIERS, candidates=CANDIDATES, name="dev")
    before = evaluator(cross)["dev_RDQ@10"]
    settings = CrossEncoderTrainingArguments(
        output_dir=str(tmp_path), max_steps=60, per_device_train_batch_size=6, learning_rate=0.01, report_to="none",
        eval_strategy="steps", eval_steps=20, save_steps=20, load_best_model_at_end=True, seed=1, use_cpu=True,
        metric_for_best_model="eval_dev_RDQ@10", disable_tqdm=True, warmup_steps=0,
    )  # fmt: skip
    loss = LambdaLoss(cross, weighting_scheme=RDQScheme("RDQ@10"))
    trainer = CrossEncoderTrainer(model=cross, args=settings, train_dataset=data, loss=loss, evaluator=evaluator)
    trainer.train()
    logged = [entry["eval_dev_RDQ@10"] for entry in trainer.state.log_history if "eval_dev_RDQ@10" in entry]
    assert len(logged) == 3
    assert trainer.state.best_metric == max(logged)
    assert trainer.state.best_metric == pytest.approx(evaluator(trainer.model)["dev_RDQ@10"], abs=1e-6)
    assert trainer.state.best_metric > before + 0.1


def test_pairs_weigh_what_swapping_gains():
    labels = torch.tensor([[0.0, 3.0, 1.0, 3.0, 0.5], [1.0, 0.0, 0.0, 0.0, 0.0]])
    weights = swap_gains(labels, "RDQ@4")
    for query, row in enumerate(labels.tolist()):
        reference = rd.Reference.from_grades({f"{i}": label for i, label in enumerate(row)})
        for i, a in enumerate(row):
            for j, b in enumerate(row):
                high, low = min(i, j), max(i, j)
                right, wrong = [f"{n}" for n in range(5)], [f"{n}" for n in range(5)]
                right[high], right[low] = f"{i}", f"{j}"
                wrong[high], wrong[low] = f"{j}", f"{i}"
                gain = rd.score(reference, right, "RDQ@4") - rd.score(reference, wrong, "RDQ@4")
                assert weights[query, i, j] == pytest.approx(max(0.0, gain) if a > b else 0.0)


def test_a_cross_encoder_needs_candidates_and_gives_one_number(cross, folder):
    with raises("needed", rd.UsageError, name="candidates"):
        RankingEvaluator(QUERIES, ITEMS, TIERS)(cross)
    several = sentence_transformers.CrossEncoder(str(folder / "bi"), num_labels=3, device="cpu")
    with raises("bad-value", rd.UsageError, name="num_labels", value=3):
        RankingEvaluator(QUERIES, ITEMS, TIERS, candidates=CANDIDATES)(several)
