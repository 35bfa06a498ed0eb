"""The command gate: exit codes, files for continuous integration, saved baselines."""

import pytest

import rankdev as rd

REFERENCES = "".join(f"q{i} 0 d{j} {3 - j}\n" for i in range(30) for j in range(3))


def run_of(order):
    return "".join(
        f"q{i} Q0 d{item} {place} {9 - place} x\n" for i in range(30) for place, item in enumerate(order(i), 1)
    )


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(REFERENCES)
    (tmp_path / "good.run").write_text(run_of(lambda i: (0, 1, 2)))
    (tmp_path / "bad.run").write_text(run_of(lambda i: (2, 1, 0) if i % 2 else (2, 0, 1)))
    (tmp_path / "deep.run").write_text(run_of(lambda i: (0, 1, 2, 5)))
    (tmp_path / "odd.run").write_text(run_of(lambda i: (0, 1, 2) if i else (1, 0, 2)))
    (tmp_path / "new").mkdir()
    (tmp_path / "new/good.run").write_text(run_of(lambda i: (0, 1, 2)))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("bad.run good.run", 0, "Ship good: not worse than bad by more than 0.01."),
        ("good.run bad.run", 3, "Don't ship bad: bad is worse than good by more than 0.01 in nDCG@3"),
        ("good.run odd.run", 0, "Don't know yet: odd may be up to "),
        ("good.run odd.run --undecided fail", 4, "Don't know yet"),
        ("good.run new/good.run --undecided fail", 0, "Ship candidate: it scores the same on every query as baseline."),
        ("good.run deep.run --undecided fail", 0, "it scores the same on every query"),
        ("bad.run good.run --margin -1", 2, ""),
        ("bad.run", 2, ""),
    ],
)
def test_exit_codes(files, rankdev, words, status, said):
    done = rankdev("gate", "qrels.txt", "-m", "nDCG@3", "--margin", "0.01", *words.split())
    assert done.status == status, done.err
    assert said in " ".join(done.out.split())
    assert bool(done.err) == (status == 2)


def test_files_for_continuous_integration(files, rankdev):
    words = ("gate", "qrels.txt", "good.run", "bad.run", "-m", "nDCG@3", "--margin", "0.01")
    done = rankdev(*words, "--junit", "j.xml", "--comment", "c.md")
    assert done.status == 3
    assert "<failure>bad is worse than good" in (files / "j.xml").read_text()
    assert "| q1 |" in (files / "c.md").read_text()


@pytest.mark.parametrize("command", ["compare", "gate", "leaderboard", "table"])
def test_ids_that_do_not_match_end_every_command_without_a_decision(files, rankdev, command):
    text = (files / "good.run").read_text()
    (files / "other.run").write_text(text.replace(" d", " doc-"))
    gate = ("--margin", "0.01", "--junit", "j.xml", "--comment", "c.md", "--save", "next.parquet")
    words = (command, "qrels.txt", "good.run", "other.run", "-m", "nDCG@3", *(gate if command == "gate" else ()))
    done = rankdev(*words)
    assert done.status == 1
    assert done.out.startswith("No decision: other returns no relevant item for any query.")
    assert "'doc-0', the references' like 'd0'" in " ".join(done.out.split())
    assert "No decision" in rankdev(*words, "--format", "json").out
    if command == "gate":
        assert "<error>No decision" in (files / "j.xml").read_text()
        assert "No decision" in (files / "c.md").read_text()
        assert not (files / "next.parquet").exists()


def test_scores_from_elsewhere(files, rankdev):
    rankdev("eval", "qrels.txt", "good.run", "bad.run", "-m", "nDCG@3", "-q", "-o", "s.csv")
    words = ("gate", "--scores", "s.csv", "--candidate", "bad", "--margin", "0.01")
    assert rankdev(*words, "--baseline", "good").status == 3


def test_segments_guard(files, rankdev):
    orders = [(2, 1, 0), (1, 2, 0), (2, 0, 1), (0, 2, 1)]
    (files / "mixed.run").write_text(run_of(lambda i: orders[i % 4] if i < 20 else (0, 1, 2)))
    (files / "old.run").write_text(run_of(lambda i: (0, 1, 2) if i < 20 else orders[i % 3]))
    rows = [f"q{i},{'head' if i < 20 else 'tail'}" for i in range(30)]
    (files / "segments.csv").write_text("\n".join(["query,segment", *rows]))
    words = ("gate", "qrels.txt", "old.run", "mixed.run", "-m", "nDCG@3", "--margin", "0.01")
    assert rankdev(*words).status == 0
    done = rankdev(*words, "--segments", "segments.csv")
    assert done.status == 3
    assert "worse than old by more than 0.01 in nDCG@3 of segment head" in " ".join(done.out.split())
    assert rankdev(*words, "--segments", "qrels.txt").status == 1


@pytest.fixture
def saved(files, rankdev):
    def save(name="good", path="base.parquet", **options):
        words = [word for key, value in options.items() for word in (f"--{key}", value)]
        done = rankdev("gate", "qrels.txt", f"{name}.run", "-m", "nDCG@3", "-m", "RR", "--save", path, *words)
        assert (done.status, done.out, done.err) == (0, "", "")
        return path

    return save


def test_a_saved_baseline_decides_as_its_run_does(files, rankdev, saved):
    path = saved("good")
    for candidate in ("bad", "odd", "deep", "new/good"):
        words = ("-m", "nDCG@3", "-m", "RR", "--format", "json", "--margin", "0.01")
        run = rankdev("gate", "qrels.txt", "good.run", f"{candidate}.run", *words, "--name", "good", "--name", "new")
        again = rankdev("gate", "qrels.txt", f"{candidate}.run", *words, "--name", "new", "--against", path)
        assert (again.status, again.out, again.err) == (run.status, run.out, run.err)


def test_a_candidate_that_fails_is_not_saved(files, rankdev, saved):
    words = ("-m", "nDCG@3", "--margin", "0.01", "--against", saved(), "--save", "next.parquet")
    assert rankdev("gate", "qrels.txt", "bad.run", *words).status == 3
    assert not (files / "next.parquet").exists()
    assert rankdev("gate", "qrels.txt", "odd.run", *words).status == 0
    assert list(rd.read_scores("next.parquet").systems) == ["odd"]


CHANGES = {
    "another query": (lambda text: text + "q99 0 d0 1\n", [], "q99"),
    "no more query": (lambda text: text.replace("q3 0 d0 3\nq3 0 d1 2\nq3 0 d2 1\n", ""), [], "q3"),
    "another grade": (lambda text: text.replace("q3 0 d0 3", "q3 0 d0 5"), [], "grades"),
    "another item": (lambda text: text + "q3 0 d9 1\n", [], "q3"),
    "ties": (None, ["--ties", "descending"], "--ties"),
    "order": (None, ["--order", "rank"], "--order"),
    "empty": (None, ["--empty", "skip"], "--empty"),
    "collapse": (None, ["--collapse", "#"], "--collapse"),
    "measure": (None, ["-m", "AP@3"], "AP@3"),
    "cutoff": (None, ["-m", "nDCG@2"], "nDCG@2"),
}


@pytest.mark.parametrize(("change", "words", "said"), CHANGES.values(), ids=CHANGES)
def test_a_baseline_made_in_another_way_is_refused(files, rankdev, saved, change, words, said):
    base = saved()
    if change is not None:
        (files / "qrels.txt").write_text(change(REFERENCES))
    done = rankdev("gate", "qrels.txt", "good.run", "-m", "nDCG@3", "--against", base, *words)
    assert (done.status, done.out) == (1, "")
    assert "rankdev: base.parquet: " in done.err
    assert said in done.err
    assert done.err.endswith("score that run again with rankdev gate REFERENCES RUN --save FILE\n")


def test_references_in_another_order_are_the_same(files, rankdev, saved):
    base = saved()
    (files / "qrels.txt").write_text("\n".join(reversed(REFERENCES.splitlines())))
    assert rankdev("gate", "qrels.txt", "odd.run", "-m", "nDCG@3", "--margin", "0.01", "--against", base).status == 0
