"""The command gate: exit codes, files for continuous integration, unchanged lists."""

import pytest

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
        ("bad.run good.run", 0, "Pass: good is better on 30 of 30 queries"),
        ("good.run bad.run", 3, "Fail: nDCG@3: worse"),
        ("good.run odd.run", 0, "Cannot tell"),
        ("good.run odd.run --undecided fail", 4, "Cannot tell"),
        ("good.run new/good.run --undecided fail", 0, "candidate returns the same lists as baseline"),
        ("good.run deep.run --undecided fail", 0, "returns the same lists"),
        ("bad.run good.run --margin -1", 2, ""),
        ("bad.run", 2, ""),
    ],
)
def test_exit_codes(files, rankdev, words, status, said):
    done = rankdev("gate", "qrels.txt", *words.split(), "-m", "nDCG@3")
    assert done.status == status, done.err
    assert said in done.out
    assert bool(done.err) == (status == 2)


def test_files_for_continuous_integration(files, rankdev):
    done = rankdev("gate", "qrels.txt", "good.run", "bad.run", "-m", "nDCG@3", "--junit", "j.xml", "--comment", "c.md")
    assert done.status == 3
    assert "<failure>nDCG@3: worse" in (files / "j.xml").read_text()
    assert "| q1 |" in (files / "c.md").read_text()


def test_scores_from_elsewhere(files, rankdev):
    rankdev("eval", "qrels.txt", "good.run", "bad.run", "-m", "nDCG@3", "-q", "-o", "s.csv")
    words = ("gate", "--scores", "s.csv", "--candidate", "bad")
    assert rankdev(*words, "--baseline", "good").status == 3
    assert rankdev(*words).err == "rankdev: name the --baseline of --scores\n"


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
    assert "Fail: nDCG@3 in segment head: worse by more than 0.01" in " ".join(done.out.split())
    assert rankdev(*words, "--segments", "qrels.txt").status == 1
