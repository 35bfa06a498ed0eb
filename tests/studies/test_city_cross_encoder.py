"""Cross-encoders of a few thousand weights, made here, in the study of points of interest."""

import string
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from tests.common.tiny_bert import save_tiny_berts

import rankdev as rd
from rankdev.cli import cli
from rankdev.studies.city import _cross_encoder, worlds
from rankdev.studies.city import _reading as place_tables
from rankdev.studies.city._cross_encoder import BINS, FAR, TextReranker, query_text
from rankdev.studies.city._places import built_in_city
from rankdev.studies.city._queries import Query
from rankdev.studies.city._search import Weights, collect
from rankdev.studies.poi.study import Protocol

TINY = worlds.Size(100, 16, 10, 1, (5,), Protocol(100, (25, 50, 100), 4, 20, 3))
SIGNS = [*string.ascii_lowercase, *string.digits, ";", ","]


@pytest.fixture(scope="module")
def city():
    return built_in_city(300)


@pytest.fixture(scope="module")
def parts(city):
    return collect(city, Weights(0.35, 0.25), 5, 40, 12, 16)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    pytest.importorskip("sentence_transformers", reason="pip install 'rankdev[sentence-transformers]'")
    folder = tmp_path_factory.mktemp("models")
    save_tiny_berts(folder, [*SIGNS, *(f"##{sign}" for sign in SIGNS)], 64)
    return folder


@pytest.fixture
def reading(city, monkeypatch):
    """Return a reranker whose model is never loaded, to see its texts."""
    monkeypatch.setattr(TextReranker, "_load", lambda *_: SimpleNamespace(device=SimpleNamespace(type="cpu")))
    monkeypatch.setattr(TextReranker, "_check_words", lambda *_: None)
    return TextReranker("folder", city, 1)


# --- texts


def test_a_line_has_what_its_setting_shows(reading, city, parts):
    _, test, _ = parts
    scale = city.scale
    for row in range(test.candidates.size):
        query, at = divmod(row, 12)
        place, steps = test.candidates[query, at], test.steps[query, at]
        lines = {setting: reading.texts(test, [row], "v72", setting)[0][1] for setting in ("mp3", "mp4", "mp5")}
        asked = reading.texts(test, [row], "v72", "mp3")[0][0]
        assert asked == query_text(test.queries[query])
        metres = f"; {steps * scale:.0f} m"
        assert lines["mp5"] == lines["mp3"] + metres
        assert lines["mp4"].endswith(metres)
        names, *others = lines["mp5"].split("; ")
        assert names.split(", ") == list(city.names[place])
        assert others[0].split(", ") == [label.replace("_", " ") for label in city.labels[place]]
        assert lines["mp4"].split("; ")[1] == city.labels[place][0].replace("_", " ")
        address = f"{city.streets[place]} {city.postcodes[place]}".strip()
        assert others[1:-1] == ([address] if address else [])
        in_bins = reading.texts(test, [row], "v81", "mp5")[0][1]
        assert in_bins == f"{lines['mp3']}; {FAR[sum(steps >= edge for edge in BINS)]}"
        assert reading.texts(test, [row], "v81", "mp3")[0][1] == lines["mp3"]


def test_a_query_is_read_as_it_is_typed():
    assert query_text(Query("category and street", "cafe", 0, 0, street="main st", label="pub")) == "cafe main st"
    assert query_text(Query("category near a place", "cafe", 0, 0, near="city hall")) == "cafe near city hall"


# --- training


def test_training_repeats_itself_and_leaves_the_global_state(models, city, parts):
    import torch

    train, test, _ = parts
    before = torch.get_rng_state()
    reranker = TextReranker(models / "bi", city, 2)  # without a head, which is made from the seed
    options = {"queries": 12, "dropout": True}
    first, again, other = (reranker.train(train, "v72", seed=seed, **options)(test, "mp5") for seed in (1, 1, 2))
    assert torch.equal(before, torch.get_rng_state())
    assert first.shape == test.candidates.shape
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_model_in_half_precision_is_trained_in_single(models, city, tmp_path):
    import sentence_transformers
    import torch

    sentence_transformers.CrossEncoder(str(models / "cross"), device="cpu").bfloat16().save_pretrained(str(tmp_path))
    encoder = TextReranker(tmp_path, city, 1)._load(1)
    assert {weights.dtype for weights in encoder.parameters()} == {torch.float32}


def test_training_puts_first_what_has_the_better_grade(models, city, monkeypatch):
    monkeypatch.setattr(_cross_encoder, "LEARNING_RATE", 0.01)
    encoder = TextReranker(models / "cross", city, 1)._load(1)
    texts = ["x 1", "y 1", "z 1"]
    orders = [np.random.default_rng(i).permutation(3) for i in range(120)]
    _cross_encoder._fit(encoder, [("a", [texts[i] for i in order], 2 - order) for order in orders])
    best, middle, worst = encoder.predict([("a", text) for text in texts], show_progress_bar=False)
    assert best > middle > worst


def test_a_model_is_seen_in_other_settings_only_with_dropout(models, city, parts, monkeypatch):
    seen = []
    monkeypatch.setattr(
        _cross_encoder, "_fit", lambda _, lists: seen.append([text for _, texts, _ in lists for text in texts])
    )
    reranker = TextReranker(models / "cross", city, 1)
    for dropout in (True, False):
        reranker.train(parts[0], "v72", queries=12, dropout=dropout, seed=1)
    with_dropout, without = (np.mean([text.endswith(" m") for text in texts]) for texts in seen)
    assert 0.3 < with_dropout < 0.95
    assert without == 1


def test_scores_that_are_not_numbers_are_refused(models, city, parts, monkeypatch):
    monkeypatch.setattr(_cross_encoder, "LEARNING_RATE", float("inf"))
    reranker = TextReranker(models / "cross", city, 1)
    score = reranker.train(parts[0], "v75", queries=12, dropout=True, seed=1)
    with pytest.raises(rd.DataError, match="training v75 did not converge"):
        score(parts[1], "mp5")


# --- the study


@pytest.mark.slow  # twelve systems; make test-extras runs it
def test_the_study_runs_without_lightgbm(models, city, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "lightgbm", None)
    monkeypatch.setattr(worlds, "QUICK_TEXT", TINY)
    monkeypatch.setattr(place_tables, "built_in_city", lambda: city)
    options = ["--world", "A", "--quick", "--cross-encoder", str(models / "cross")]
    done = CliRunner().invoke(cli, ["study", "poi", "--real", *options, "-o", str(tmp_path / "facts.parquet")])
    assert done.exit_code == 0, done.output
    found = worlds.run_worlds(None, ["A"], cross_encoder=models / "cross", quick=True)
    assert pl.read_parquet(tmp_path / "facts.parquet").equals(found.to_polars())
    assert found.outcomes[0].systems["system"].n_unique() == 12
    assert f"rerankers: cross-encoders trained from {models / 'cross'} on " in found.notes[0]


@pytest.mark.parametrize("names", [[], ["config.json"]])
def test_a_folder_without_a_model_is_refused(tmp_path, city, names):
    pytest.importorskip("sentence_transformers")
    for name in names:
        (tmp_path / name).write_text("{}")
    with pytest.raises(rd.UsageError, match=r"expected a folder of a language model") as caught:
        TextReranker(tmp_path, city, 1)
    assert str(caught.value).startswith(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_a_model_that_cannot_read_the_places_is_refused(models, city):
    foreign = replace(city, names=[[chr(0x4E00 + i)] for i in range(len(city))])
    with pytest.raises(rd.UsageError, match="reads most names of places as the same"):
        TextReranker(models / "cross", foreign, 1)


def test_without_the_library_a_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(rd.RankdevError, match=r"needs sentence-transformers; .*'rankdev\[sentence-transformers\]'"):
        worlds.run_worlds(None, cross_encoder="folder", quick=True)
