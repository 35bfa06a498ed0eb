"""The pages of the gallery that are not text: reports on simulated and built-in data, and the playground."""

import json
from importlib.resources import files as resources
from typing import Any

import numpy as np
from mkdocs.structure.files import File, Files

import rankdev as rd
from rankdev.html_report.playground import playground
from rankdev.results import ReportPage
from rankdev.studies import simulate

MODELS = {"ada": 0.7, "bee": 0.8, "cat": 0.9, "dog": 1.0, "elk": 1.1, "fox": 1.3, "gnu": 1.6}
SETTINGS = {str(setting): 0.9 + 0.05 * setting for setting in range(9)}


def leaderboard() -> ReportPage:
    """Compare 63 simulated systems, seven models in nine settings each, on 53 queries."""
    made = simulate(53, seed=21, models=MODELS, settings=SETTINGS)
    return rd.report(made.references, made.runs, ["RDQ@10", "AP@10"])


def recommendation() -> ReportPage:
    """Compare three recommenders of films: what is famous, what one user likes, and a hybrid of the two."""
    rng = np.random.default_rng(7)
    fame, noise = rng.normal(0, 1, 40), np.repeat([2.0, 0.8], [25, 35])[:, None]
    taste = 0.6 * fame + rng.normal(0, 1, (60, 40))
    guess = taste + noise * rng.normal(0, 1, taste.shape)
    stars = np.digitize(taste, [0.8, 1.3, 1.8])
    systems = {"famous": np.tile(fame, (60, 1)), "personal": guess, "hybrid": guess / (1 + noise**2) + 0.4 * fame}
    references = rd.References.from_grades(_by_user(stars))
    segments = {f"user-{i:02}": "newcomer" if i < 25 else "regular" for i in range(60)}
    runs = {name: _by_user(values) for name, values in systems.items()}
    return rd.report(references, runs, ["RDQ(weights=carousel)@5", "nDCG@5"], segments=segments)


def search() -> ReportPage:
    """Compare the demo's three rankers, with the texts of places."""
    demo = resources("rankdev").joinpath("data/demo")
    runs = {name: str(demo.joinpath(f"{name}.run")) for name in ("nearest", "popular", "blended")}
    texts = [json.loads(line) for line in demo.joinpath("texts.jsonl").read_text(encoding="utf-8").splitlines()]
    shown = {text["item"]: f"{text['title']}: {text['text']}" for text in texts}
    return rd.report(str(demo.joinpath("places.jsonl")), runs, ["RDQ@5", "AP@5", "P@5"], item_texts=shown)


REPORTS = {
    "gallery/leaderboard.html": leaderboard,
    "gallery/recommendation.html": recommendation,
    "gallery/search.html": search,
}


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the reports and the playground, so that pages can link to them."""
    files.append(File.generated(config, "playground.html", content=playground()))
    for name, report in REPORTS.items():
        files.append(File.generated(config, name, content=report().html))
    return files


def _by_user(values: Any) -> dict[str, dict[str, float]]:
    return {f"user-{i:02}": {f"film-{j:02}": float(v) for j, v in enumerate(row)} for i, row in enumerate(values)}
