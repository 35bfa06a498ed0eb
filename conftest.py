"""Run the examples of README.md and docs/: Python prompts, and `$ rankdev …` commands with their output.

`make test` leaves out tests that are marked slow. One that is slow and not marked is listed at the end, by its CPU
time, which a busy machine hardly changes; far above the limit it fails.
"""

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.pages_of_docs import PAGES

ROOT = Path(__file__).parent
OPTIONAL = {  # modules that cannot be imported without a library, which may not be here
    "src/rankdev/integrations/ir_measures.py": "ir_measures",
    "src/rankdev/integrations/spark.py": "pyspark",
    "src/rankdev/integrations/_executors.py": "pyarrow",
    "src/rankdev/integrations/sklearn.py": "sklearn",
    "src/rankdev/integrations/torch.py": "torch",
    "src/rankdev/integrations/sentence_transformers.py": "sentence_transformers",
}
collect_ignore = [module for module, library in OPTIONAL.items() if not find_spec(library)]
collect_ignore_glob = ["docs/*/*.py"]
if not hasattr(sys.modules["__main__"], "__file__"):  # in a worker of xdist; PySpark would think that its doctests run
    sys.modules["__main__"].__file__ = __file__

# small matrices, and a process for each core already: threads would wait for each other, and burn CPU time meanwhile
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

pytest_collect_file = PAGES.pytest()


def pytest_configure(config: pytest.Config) -> None:
    """Compile the modules of rankdev once: pytest rewrites the asserts of every package that has a plugin."""
    hook: Any = config.pluginmanager.rewrite_hook
    hook._must_rewrite.discard("rankdev")
    hook._marked_for_rewrite_cache.clear()


@pytest.hookimpl(wrapper=True, specname="pytest_collect_file")
def pytest_collect_optional(file_path: Path, parent: pytest.Collector) -> Iterator[Any]:
    """Skip a module that is named on the command line, and whose library is not here; tests have no doctests."""
    found = yield
    if file_path in [ROOT / module for module in collect_ignore]:
        return [_Skipped.from_parent(parent, path=file_path)]
    if ROOT / "tests" in file_path.parents:
        return [collector for collector in found if type(collector).__name__ != "DoctestModule"]
    return found


class _Skipped(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield _Skip.from_parent(self, name="needs a library")


class _Skip(pytest.Item):
    def runtest(self) -> None:
        pytest.skip(f"{OPTIONAL[self.path.relative_to(ROOT).as_posix()]} is not installed")


CPU_SECONDS, MOST_CPU_SECONDS = 2.5, 60.0  # from which a test is listed, and fails: compiled code may be built first
FAST = os.environ.get("RANKDEV_PROFILE", "fast") == "fast"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Measure the CPU time of a test and its children."""
    before = sum(os.times()[:4])
    try:
        return (yield)
    finally:
        item.user_properties.append(("cpu", round(sum(os.times()[:4]) - before, 2)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    """Fail a test that no noise explains."""
    report = yield
    if (seconds := _unmarked(report)) > MOST_CPU_SECONDS and report.passed:
        report.outcome, report.longrepr = "failed", f"took {seconds} s of CPU; make it smaller or mark it slow"
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List what takes longer than a test of `make test` should."""
    reports = [report for key in ("passed", "failed") for report in terminalreporter.getreports(key)]
    long = sorted(((_unmarked(one), one.nodeid) for one in reports if _unmarked(one) > CPU_SECONDS), reverse=True)
    if long:
        terminalreporter.section("make these smaller or mark them slow: seconds of CPU")
    for seconds, name in long:
        terminalreporter.write_line(f"{seconds:7.2f} {name}")


def _unmarked(report: pytest.TestReport) -> float:
    if not FAST or report.when != "call" or "slow" in report.keywords:
        return 0.0
    return float(dict(report.user_properties).get("cpu", 0.0))
