"""rankdev measures, and measures from a file."""

import pytest
from tests.measures.test_plugins import FOUND

from rankdev.measures import REGISTRY


@pytest.fixture(autouse=True)
def same_registry():
    yield
    REGISTRY.pop("Found", None)


def test_a_file_with_a_measure(rankdev, folder):
    (folder / "found.py").write_text(FOUND, encoding="utf-8")
    (folder / "q.qrels").write_text("q 0 d1 1\nq 0 d2 1\n", encoding="utf-8")
    (folder / "a.run").write_text("q Q0 d1 1 2 t\nq Q0 d2 2 1 t\n", encoding="utf-8")
    done = rankdev("eval", "q.qrels", "a.run", "--import", "found.py", "-m", "Found@2,P@1", "--format", "csv")
    assert (done.status, done.out.split()) == (0, ["system,query,measure,value", "a,,Found@2,2.0", "a,,P@1,1.0"])
    listed = rankdev("measures", "--import", "found.py", "--format", "csv")
    assert ",Number of reference items in the first k" in listed.out
