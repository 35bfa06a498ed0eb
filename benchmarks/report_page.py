"""The report's page: its size, and how long a browser takes to open it and to follow a choice.

The wall-clock time to open is what a person waits, from the address to a page that is laid out; on a busy machine it is
longer. Milliseconds are of the page's own thread, which a busy machine does not lengthen: scripts, layout and painting.

Needs Playwright and the system's Chromium: python -m benchmarks.report_page --keep
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import rankdev as rd
from benchmarks.history import report

DATA = Path(os.environ.get("RANKDEV_DATA", Path(__file__).parents[2] / "shared/data"))
CHOICES = {
    "another measure": "choose({measure: (state.measure + 1) % report.measures.length})",
    "another system": "choose({a: (state.a + 1) % report.systems.length})",
    "sort": "choose({sort: state.sort === 'query' ? 'size' : 'query'})",
    "search": "choose({search: state.search + '1'})",
    "open a query": "openQuery(state.query + 1)",
    "next page": "choose({page: 1 - state.page})",
}


def real():
    """63 systems × 53 queries × 13 measures."""
    folder = DATA / "trec-dl/passage/dl21"
    runs = {path.name.removeprefix("input.").removesuffix(".gz"): path for path in sorted(folder.glob("runs/*.gz"))}
    return folder / "qrels.dl21-passage.txt", runs, ["paper@5"]


def synthetic(systems=12, queries=5000, pool=30):
    """12 systems × 5,000 queries: each list holds the better items of a pool, more or less in order."""
    rng = np.random.default_rng(0)
    ids = rng.integers(10**6, 10**7, (queries, pool))
    references = {f"q{q}": [f"d{item}" for item in ids[q, :8]] for q in range(queries)}
    runs = {}
    for s in range(systems):
        order = np.argsort(np.arange(pool) + rng.normal(0, 3 + s, (queries, pool)), axis=1)[:, :10]
        runs[f"s{s}"] = {f"q{q}": [f"d{item}" for item in ids[q, order[q]]] for q in range(queries)}
    return references, runs, ["RDQ@10", "AP@10"]


def measure(browser, name, inputs):
    """Return what one page takes, and each choice on it."""
    begin = time.perf_counter()
    page = rd.report(*inputs)
    made = time.perf_counter() - begin
    path = Path(tempfile.mkdtemp()) / "report.html"
    page.save(path)
    view = browser.new_page(viewport={"width": 1200, "height": 900})
    session = view.context.new_cdp_session(view)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent():
        metrics = session.send("Performance.getMetrics")["metrics"]
        return 1000 * next(entry["value"] for entry in metrics if entry["name"] == "TaskDuration")

    opened, waited = [], []
    for _ in range(9):
        view.goto("about:blank")
        before, begin = spent(), time.perf_counter()
        view.goto(path.as_uri())
        view.wait_for_selector("body[data-ready]")
        waited.append(time.perf_counter() - begin)
        opened.append(spent() - before)
    row = {
        "page": name,
        "MB": path.stat().st_size / 1e6,
        "seconds to make": made,
        "seconds to open": statistics.median(waited),
        "at most": max(waited),
        "ms of the page's thread": statistics.median(opened),
    }
    choices = []
    for section in ("glance", "pairs", "queries"):
        view.evaluate(f"document.getElementById('{section}').scrollIntoView()")
        if section == "pairs":
            view.evaluate("byId('matrix-part').open = true")  # of many systems it is folded
        for choice, script in CHOICES.items():
            took = []
            for _ in range(5):
                view.wait_for_timeout(100)
                before = spent()
                view.evaluate(f"() => {{ {script}; document.body.offsetHeight }}")
                took.append(spent() - before)
            choices.append({"page": f"{name}, {section}: {choice}", "ms": statistics.median(took), "most": max(took)})
    return row, choices


def main():
    """Print the tables, and keep them where asked to."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--keep", action="store_true", help="add the tables to the history")
    keep = options.parse_args().keep
    with sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-gpu"]
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        pages = {"63 × 53 × 13": real()} if DATA.exists() else {}
        found = [measure(chromium, name, inputs) for name, inputs in {**pages, "12 × 5,000 × 2": synthetic()}.items()]
    report("Report", [row for row, _ in found], keep=keep)
    report("Report, choices", [row for _, rows in found for row in rows], keep=keep)


if __name__ == "__main__":
    main()
