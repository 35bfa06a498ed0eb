"""After a fork, work goes on where it can and is refused where it would hang."""

import subprocess
import sys
from multiprocessing import get_all_start_methods

import pytest

from rankdev._common import work

SCRIPT = """
import faulthandler, multiprocessing
from concurrent.futures import ProcessPoolExecutor
import rankdev as rd

def references():
    return rd.References.from_lists({{f"q{{i}}": ["a", "b", "c"] for i in range(500)}})

def work(what):
    faulthandler.dump_traceback_later(60, exit=True)  # tells where it hangs, if it does
    try:
        if what == "evaluate":
            run = {{f"q{{i}}": ["b", "a", "c"] for i in range(500)}}
            return round(float(rd.evaluate(known, {{"x": run}}, ["RDQ@5"]).means[0, 0]), 4)
        if what == "lists":
            return len(references())
        rd.read_run(__file__)
    except rd.RankdevError as error:
        return str(error)
    finally:
        faulthandler.cancel_dump_traceback_later()

if __name__ == "__main__":
    known = references() if {first} else None
    {before}
    with ProcessPoolExecutor(1, multiprocessing.get_context({method!r})) as pool:
        print(*pool.map(work, {calls!r}), sep="\\n")
"""


def run(tmp_path, **fields):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(**fields))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not fork by default")
def test_a_fork_after_polars_was_used_refuses_files_and_tables_and_does_not_hang(tmp_path):
    before = "known.to_polars().sort('item')"
    *in_memory, read = run(tmp_path, first=True, before=before, method="fork", calls=["evaluate", "lists", "read"])
    assert in_memory == ["0.7123", "500"]
    assert read.startswith("this process was forked after its parent had used rankdev, and would hang; start")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not fork by default")
def test_a_fork_before_the_first_use_works(tmp_path):
    assert run(tmp_path, first=False, before="import polars", method="fork", calls=["lists"]) == ["500"]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_that_are_started_as_advised_work(tmp_path, method):
    if method not in get_all_start_methods():
        pytest.skip(f"this system has no {method}")
    assert run(tmp_path, first=True, before="", method=method, calls=["lists"]) == ["500"]


def test_a_thread_that_ends_while_they_are_listed_hides_no_other(tmp_path, monkeypatch):
    (tmp_path / "1/comm").mkdir(parents=True)  # cannot be read, as that of a thread that has ended
    (tmp_path / "2").mkdir()
    (tmp_path / "2/comm").write_text("polars-0\n")
    monkeypatch.setattr(work, "_TASKS", tmp_path)
    monkeypatch.setattr(work._Threads, "parent_has", False)
    work._look()
    assert work._Threads.parent_has
