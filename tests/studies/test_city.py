import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from benchmarks.statements import __main__ as statements
from benchmarks.statements import page
from click.testing import CliRunner

import rankdev as rd
from rankdev.cli import cli
from rankdev.studies.city import _reading as place_tables
from rankdev.studies.city import _rerankers as rerankers
from rankdev.studies.city import worlds
from rankdev.studies.city._places import built_in_city
from rankdev.studies.city._queries import KINDS, Asking
from rankdev.studies.city._reading import read_places
from rankdev.studies.city._rerankers import left_out, mistaken, references_of
from rankdev.studies.city._search import BUCKETS, TIED, Weights, collect, wanted_sizes
from rankdev.studies.city.output import save_worlds_figures, verdict, worlds_report
from rankdev.studies.poi.study import Protocol

TINY = worlds.Size(120, 60, 30, 4, (5,), Protocol(120, (25, 50, 100), 8, 50, 5))
SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "poi" / "osm-helsinki" / "helsinki_pois.csv"
needs_places = pytest.mark.skipif(not SHARED.is_file(), reason=f"the places of Helsinki are not at {SHARED}")


@pytest.fixture(scope="module")
def city():
    return built_in_city(400)


@pytest.fixture(scope="module")
def parts(city):
    return collect(city, Weights(0.35, 0.25), 5, 120, 30, 60)


@pytest.fixture
def tiny(monkeypatch, city):
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(worlds, "QUICK", TINY)
    monkeypatch.setattr(place_tables, "built_in_city", lambda: city)


@pytest.fixture(scope="module")
def found(city):
    pytest.importorskip("lightgbm")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worlds, "QUICK", TINY)
        patch.setattr(place_tables, "built_in_city", lambda: city)
        return worlds.run_worlds(None, ["A", "B"], quick=True)


def write_rows(path, rows):
    pl.DataFrame(rows).write_csv(path)
    return path


def some(count=220):
    return [{"name": f"Place {i}", "lat": 60 + i / 1e4, "lon": 24 + i / 1e4} for i in range(count)]


# --- places


def test_exports_of_openstreetmap_and_overture_give_the_same_places(tmp_path):
    kinds = ["cafe", "bank", "pub", "bar", "cinema"]
    base = [{**row, "kind": kinds[i % 5], "street": f"Main St {i}", "code": "00100"} for i, row in enumerate(some())]
    overpass = [
        {
            "@lat": row["lat"],
            "@lon": row["lon"],
            "name": row["name"],
            "amenity": row["kind"],
            "addr:street": row["street"],
            "addr:postcode": row["code"],
        }
        for row in base
    ]
    features = [
        {
            "type": "Feature",
            "properties": {
                "names": {"primary": row["name"]},
                "categories": {"primary": row["kind"], "alternate": ["food", "drinks"]},
                "addresses": [{"freeform": row["street"], "postcode": row["code"]}],
            },
            "geometry": {"type": "Point", "coordinates": [row["lon"], row["lat"]]},
        }
        for row in base
    ]
    points = [struct.pack("<BIdd", 1, 1, row["lon"], row["lat"]) for row in base]
    nested = pl.DataFrame([feature["properties"] for feature in features]).with_columns(geometry=pl.Series(points))
    nested.write_parquet(tmp_path / "overture.parquet")
    (tmp_path / "overture.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    (tmp_path / "overture.geojsonl").write_text("\n".join(map(json.dumps, features)))
    elements = [
        {"type": "way", "id": i, "center": {"lat": row["@lat"], "lon": row["@lon"]}, "tags": row}
        for i, row in enumerate(overpass)
    ]
    (tmp_path / "overpass.json").write_text(json.dumps({"version": 0.6, "elements": elements}))
    wkt = [{**row, "category": row["kind"], "geometry": f"POINT ({row['lon']} {row['lat']})"} for row in base]
    without = pl.DataFrame(wkt).drop("lat", "lon", "kind").rename({"code": "postcode"})
    files = [
        write_rows(tmp_path / "overpass.csv", overpass),
        tmp_path / "overpass.json",
        tmp_path / "overture.geojson",
        tmp_path / "overture.geojsonl",
        tmp_path / "overture.parquet",
        write_rows(tmp_path / "wkt.csv", without),
    ]
    read = [read_places(file) for file in files]
    for found in read:
        assert found.names == read[0].names
        assert [labels[0] for labels in found.labels] == [labels[0] for labels in read[0].labels]
        assert found.streets == read[0].streets == ["main st"] * 220
        assert found.postcodes == read[0].postcodes
        np.testing.assert_allclose(found.x, read[0].x, atol=0.01)
    assert read[2].cuisines[0] == ["food", "drinks"]


def test_a_building_is_where_its_corners_are_on_average(tmp_path):
    corners = [[24.0, 60.0], [24.2, 60.0], [24.2, 60.4], [24.0, 60.4]]
    square = {"type": "Polygon", "coordinates": [corners]}
    assert place_tables._point(square) == pytest.approx({"lat": 60.2, "lon": 24.1})


def test_only_places_near_the_middle_are_taken_of_a_large_file(tmp_path, monkeypatch):
    monkeypatch.setattr(place_tables, "MOST", 210)
    found = read_places(write_rows(tmp_path / "many.csv", [{**row, "category": "cafe"} for row in some(300)]))
    assert len(found) == 210
    assert found.notes == ("the 210 places nearest to the middle were taken of 300",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lat": "north"}, "lat of place 1 must be a number from -90 to 90; got 'north'"),
        ({"lon": "200"}, "lon of place 1 must be a number from -180 to 180; got '200'"),
        ({"lat": "nan"}, "lat of place 1 must be a number"),
    ],
)
def test_a_wrong_position_is_named(tmp_path, change, message):
    rows = [{"name": "a", "category": "cafe", "lat": "60", "lon": "24"} | change]
    with pytest.raises(rd.DataError, match=message):
        read_places(write_rows(tmp_path / "wrong.csv", rows))


def test_files_that_hold_no_places_are_refused(tmp_path):
    with pytest.raises(rd.DataError, match="no column for category: expected one of category"):
        read_places(write_rows(tmp_path / "a.csv", some()))
    few = write_rows(tmp_path / "b.csv", [{**row, "category": "cafe"} for row in some(9)])
    with pytest.raises(rd.DataError, match="needs at least 200 places with name, category, lat and lon; got 9"):
        read_places(few)
    (tmp_path / "c.geojsonl").write_text('{"name": "a"}\n{broken\n')
    with pytest.raises(rd.DataError, match=r"c.geojsonl.*2.*not JSON"):
        read_places(tmp_path / "c.geojsonl")
    alike = write_rows(tmp_path / "d.csv", [{**row, "category": "cafe"} for row in some()])
    with pytest.raises(rd.UsageError, match="fewer than 5 categories"):
        place_tables.load_places(alike)
    there = [{**row, "category": f"kind {i % 7}", "lat": 60, "lon": 24} for i, row in enumerate(some())]
    with pytest.raises(rd.UsageError, match="less than a metre apart"):
        place_tables.load_places(write_rows(tmp_path / "e.csv", there))


# --- queries and references


def test_queries_are_of_every_kind_that_the_places_allow(city):
    asking = Asking(city, np.random.default_rng(1))
    asked = asking.ask(1200)
    assert {query.kind for query in asked} == set(KINDS)
    assert all(query.street in city.streets for query in asked if query.kind.endswith("street"))
    plainer = replace(city, cuisines=[[] for _ in city.names], names=[names[:1] for names in city.names])
    kinds = {query.kind for query in Asking(plainer, np.random.default_rng(1)).ask(600)}
    assert not kinds & {"cuisine", "cuisine and street", "translated"}
    *_, notes = collect(plainer, Weights(0.35, 0.25), 5, 20, 30, 20)
    assert notes[0] == "kinds of queries that the places give nothing for: translated, cuisine, cuisine and street"


def test_references_have_the_papers_sizes_and_near_unique_ranks(parts):
    train, test, notes = parts
    edges = [0, *(most for most, _ in BUCKETS)]
    assert np.histogram(test.sizes, np.array(edges) + 0.5)[0].tolist() == wanted_sizes(120)
    assert not notes
    references = references_of(test)
    assert references.sizes.tolist() == test.sizes.tolist()
    assert 0.9 < references.tier_counts.sum() / references.sizes.sum() <= 1
    assert {(q.words, round(q.x)) for q in train.queries}.isdisjoint({(q.words, round(q.x)) for q in test.queries})


def test_ranks_follow_the_hidden_utility(parts):
    _, test, _ = parts
    references = references_of(test)
    for i in (0, 17, 80):
        size = test.sizes[i]
        values = test.utility[i, :size]
        expected, rank = [], 1
        for at in range(size):
            rank += at > 0 and values[at - 1] - values[at] >= TIED
            expected.append(rank)
        name = references.queries[i]
        items = [f"p{item:04d}" for item in test.best[i, :size]]
        ranked = references.to_polars().filter(pl.col("query") == name)
        assert dict(zip(ranked["item"], ranked["rank"], strict=True)) == dict(zip(items, expected, strict=True))


def test_candidates_of_a_query_are_different_places(parts):
    _, test, _ = parts
    assert all(len(set(row)) == 30 for row in test.candidates.tolist())
    assert 0.3 < test.recall <= 1


def test_worse_references(parts):
    _, test, _ = parts
    whole = references_of(test)
    fewer = left_out(test, 0.5, np.random.default_rng(1))
    assert 0.35 < fewer.sizes.sum() / whole.sizes.sum() < 0.65
    assert fewer.sizes.min() >= 1
    for query in fewer.queries[:20]:
        assert set(fewer[query]) <= set(whole[query])
    same = mistaken(test, 0.0, np.random.default_rng(1))
    assert same.to_polars().equals(whole.to_polars())
    noisy = mistaken(test, 0.3, np.random.default_rng(1))
    assert noisy.sizes.tolist() == whole.sizes.tolist()
    assert noisy != whole


# --- systems


def test_settings_hide_what_they_say(parts):
    _, test, _ = parts
    distance = {name: rerankers.features(test, "v72", name)[:, -1] for name in rerankers.SETTINGS}
    assert np.isnan(distance["mp3"]).all()
    np.testing.assert_array_equal(distance["mp4"], distance["mp5"])
    assert set(np.unique(rerankers.features(test, "v81", "mp5")[:, -1])) <= {0, 1, 2, 3, 4}
    masked = rerankers.features(test, "v81", "mp3", missing=1.5)[:, -1]
    assert set(np.unique(masked)) == {3}
    categories = {name: rerankers.features(test, "v72", name)[:, -5:-1] for name in rerankers.SETTINGS}
    np.testing.assert_array_equal(categories["mp3"], categories["mp5"])
    assert not np.array_equal(categories["mp4"], categories["mp5"], equal_nan=True)


def test_runs_are_in_order_of_score_and_then_of_id(parts):
    _, test, _ = parts
    run = rerankers.run_of(test, np.round(np.random.default_rng(1).random(test.candidates.shape), 1))
    assert run.reordered("score", "trec_eval") == run


def test_the_description_of_systems_agrees_with_a_plain_count(parts):
    _, test, _ = parts
    references = references_of(test)
    run = rerankers.run_of(test, np.random.default_rng(1).random(test.candidates.shape))
    found = worlds.described(references, {"a": run}).row(0, named=True)
    right, depth, in_order = [], [], []
    ranks = {
        q: dict(part.select("item", "rank").iter_rows()) for (q,), part in references.to_polars().group_by("query")
    }
    for query in references.queries:
        known = ranks[query]
        hits = [known[item] for item in run[query][:5] if item in known]
        right.append(len(hits) / min(5, len(known)))
        if hits and len(known) > 5:
            depth.append((np.mean(hits) - 0.5) / len(known))
        if len(hits) > 1:
            pairs = [(a, b) for i, a in enumerate(hits) for b in hits[i + 1 :]]
            in_order.append(np.mean([1 if a < b else 0.5 if a == b else 0 for a, b in pairs]))
    assert [found["right"], found["depth"], found["in_order"]] == pytest.approx(
        [np.mean(right), np.mean(depth), np.mean(in_order)]
    )


# --- the study


def test_the_worlds_are_those_that_were_written_down():
    assert list(worlds.WORLDS) == ["A", "B", "AC", "C"]
    assert worlds.FULL.seeds == (1, 2, 3)
    assert (worlds.FULL.queries, worlds.FULL.candidates) == (5000, 120)


def test_every_number_of_the_paper_is_there_for_each_world(found):
    facts = found.to_polars()
    for world in ("A", "B"):
        counts = dict(facts.filter(world=world).group_by("part").len().iter_rows())
        assert counts["Table 2"] == 13 * 8
        assert counts["Table 3"] == 13 * 5
        assert counts["Figure 1"] == 25 + 5
        assert counts["statements"] == 8  # the bucket of at most 3 items is too small here
        assert counts["labels, 30% left out"] == 26
    median = facts.filter(part="Table 2", statistic="p50")
    assert (median["low"] <= median["value"]).all()
    assert (median["value"] <= median["high"]).all()


def test_one_row_per_pair(found):
    table = found.pairs
    assert table.height == 2 * 66
    assert dict(table.filter(world="A").group_by("kind").len().iter_rows()) == {
        "same setting": 18,
        "mp3 and mp4": 16,
        "mp3 and mp5": 16,
        "mp4 and mp5": 16,
    }
    for row in table.head(30).iter_rows(named=True):
        effects = {
            name.removeprefix("effect "): abs(value) for name, value in row.items() if name.startswith("effect ")
        }
        assert row["best"] == max(effects, key=effects.get)
        assert row["best_power"] == row[f"power {row['best']}"]
    # all rerank the same candidates, so no two differ in what they lose by retrieval
    assert (table["lost_by_retrieval"].abs() < 1e-9).all()


def test_a_row_of_a_pair_holds_its_power_effect_and_losses(found):
    outcome = found.outcomes[0]
    row = found.pairs.row(7, named=True)
    power = outcome.study.power.to_polars().filter(n=100, a=row["a"], b=row["b"], measure="AP@5")["power"].item()
    assert row["power AP@5"] == pytest.approx(power, abs=1e-4)
    scores = outcome.study.scores
    a, b = (scores.values[scores.systems.index(row[side]), :, scores.measures.index("AP@5")] for side in "ab")
    assert row["effect AP@5"] == pytest.approx((a - b).mean() / (a - b).std(ddof=1), abs=1e-4)
    loss = dict(outcome.systems.select("system", "lost_by_order").iter_rows())
    assert row["lost_by_order"] == pytest.approx(loss[row["a"]] - loss[row["b"]], abs=1e-4)


def test_one_world_is_shown_with_the_papers_tables(found):
    several = [table.title for table in worlds_report(found).tables]
    alone = worlds_report(replace(found, outcomes=found.outcomes[:1]))
    more = [table.title for table in alone.tables][len(several) :]
    assert several[0].startswith("Worlds: power at 100 queries over 66 pairs, seeds 5")
    assert [title.partition(":")[0] for title in more] == ["Table 2", "Table 3"]
    assert "A: distance matters" in alone.text()


def test_each_world_has_a_folder_of_figures(found, tmp_path):
    paths = save_worlds_figures(replace(found, outcomes=found.outcomes[1:]), tmp_path)
    assert [str(path.relative_to(tmp_path)) for path in paths] == ["B/figure1.png", "B/power.png", "B/stability.png"]
    assert all(path.is_file() for path in paths)


def test_the_command_line_gives_the_same_numbers_again(found, tiny, tmp_path):
    pairs = tmp_path / "pairs.csv"
    options = ["--quick", "--world", "B", "--pairs", str(pairs), "-o", str(tmp_path / "facts.parquet")]
    done = CliRunner().invoke(cli, ["study", "poi", "--real", *options])
    assert done.exit_code == 0, done.output
    assert pl.read_parquet(tmp_path / "facts.parquet").equals(found.to_polars().filter(world="B"))
    assert pl.read_csv(pairs).equals(found.pairs.filter(world="B"))


def test_what_is_finished_is_shown_after_an_interruption(found, tiny, monkeypatch):
    def interrupted(world, *_):
        if world == "B":
            raise KeyboardInterrupt
        return found.outcomes[0]

    monkeypatch.setattr(worlds, "_outcome", interrupted)
    begun = worlds.run_worlds(None, ["A", "B"], quick=True)
    assert not begun.complete
    assert begun.names == ["A"]
    assert begun.notes[-1] == "interrupted: 1 of 2 worlds and seeds are shown"


def test_verdicts_need_all_seeds():
    expected = {"holds": [True, True], "fails": [False, False], "cannot tell": [True, False]}
    assert {verdict(seeds): seeds for seeds in expected.values()} == expected
    assert verdict([None, False]) == verdict([True, None]) == "cannot tell"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--real", "--world", "D"], "unknown world 'D'; expected one of A, B, AC, C"),
        (["--world", "A"], "--world, --cross-encoder and --pairs belong to --real"),
        (["--pairs", "x.csv"], "--world, --cross-encoder and --pairs belong to --real"),
        (["--cross-encoder", "x"], "--world, --cross-encoder and --pairs belong to --real"),
        (["--real", "--runs", "x"], "--real makes references and runs of its own"),
        (["--real", "nowhere.csv"], "there is no such file"),
        (["--real", "--pairs", "x.txt"], "a table is written as"),
    ],
)
def test_wrong_options(options, message):
    done = CliRunner().invoke(cli, ["study", "poi", *options])
    assert isinstance(done.exception, rd.RankdevError)
    assert message in str(done.exception)


def test_without_lightgbm_a_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "lightgbm", None)
    with pytest.raises(rd.RankdevError, match=r"needs LightGBM; install it with: pip install 'rankdev\[lightgbm\]'"):
        worlds.run_worlds(None, quick=True)


@needs_places
def test_real_places_are_read_as_they_are():
    found = read_places(SHARED)
    assert len(found) == 1549
    assert found.notes == ("3 places without name, category or position left out",)
    assert found.names[0] == ["helsinki", "helsinki railway station", "helsingfors jarnvagsstation"]
    assert found.streets[0] == "kaivokatu"
    assert Asking(found, np.random.default_rng(0)).missing == []


# --- the pages


def test_the_pages_show_what_the_study_wrote():
    for name in page.PAGES:
        text = (page.DOCS / name).read_text("utf-8")
        assert "<!-- table: " in text
        assert page.page(text) == text, "python -m benchmarks.statements.page brings it up to date"


def test_the_files_of_the_study_are_of_the_plan_and_agree():
    facts, pairs = pl.read_csv(page.FACTS, infer_schema_length=None), pl.read_csv(page.PAIRS)
    done = facts.select("world", "seed").unique()
    assert set(done["world"]) == set(worlds.WORLDS)
    assert set(done["seed"]) <= set(worlds.FULL.seeds)
    assert done.height == len(worlds.WORLDS) * done["seed"].n_unique()  # all worlds, whichever way they fall
    assert pairs.height == 66 * done.height
    for (world, seed), mine in pairs.group_by("world", "seed"):
        for measure in ("RDQ@5", "AP@5"):
            row = facts.filter(world=world, seed=seed, part="Table 2", statistic="p50", measure=measure)
            assert row["value"].item() == pytest.approx(mine[f"power {measure}"].median(), abs=2e-4)


def test_verdicts_on_worlds_follow_from_their_file():
    facts = pl.read_csv(page.FACTS, infer_schema_length=None)
    content = json.loads(page.STATEMENTS.read_text("utf-8"))["statements"]
    for name in worlds.WORLDS:
        for text, (state, ours) in statements.world(facts, name).items():
            assert content[text][f"real {name}"] == {"verdict": state, "found": ours}
