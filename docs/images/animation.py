"""Make the animation of README.md: the verdict of a report, its worst query, a terminal. Needs Playwright and Chromium."""

import html
import io
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import rankdev as rd

COMMANDS = (
    "rankdev compare places.jsonl popular.run blended.run -m RDQ@5",
    "rankdev report places.jsonl *.run -m RDQ@5 -m AP@5 --item-texts texts.jsonl -o report.html",
)
SIZE = {"width": 1160, "height": 680}
TERMINAL = """<!doctype html><body style="margin:0;background:#1e2129;color:#e6e6e6;font:17px/1.45 monospace">
<div style="padding:10px 16px;background:#2b2f3a;color:#a9adb8">rankdev</div>
<pre style="margin:0;padding:14px 16px;white-space:pre-wrap;font:inherit">{}</pre>"""
PROMPT = '<b style="color:#7ee0a3">$</b> '


def main() -> None:
    """Record the frames and write them as one picture."""
    folder = Path(tempfile.mkdtemp())
    with sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        typed = terminal(browser.new_page(viewport=SIZE), folder)  # which writes the report
        frames = [*report(browser.new_page(viewport=SIZE), folder), *typed]
        browser.close()
    images, durations = zip(*frames, strict=True)
    images[0].save(
        Path(__file__).with_name("rankdev.webp"),
        save_all=True,
        append_images=images[1:],
        duration=durations,
        loop=0,
        lossless=False,
        quality=80,
        method=6,
    )


def terminal(page: Page, folder: Path) -> list[tuple[Image.Image, int]]:
    """Type each command and show what it prints."""
    shutil.copytree(str(files("rankdev").joinpath("data/demo")), folder, dirs_exist_ok=True)
    frames, shown = [], ""
    for command in COMMANDS:
        for end in [*range(0, len(command), 12), len(command)]:
            page.set_content(TERMINAL.format(f"{shown}{PROMPT}{command[:end]}▌"))
            frames.append((picture(page), 90))
        environment = {**os.environ, "COLUMNS": "90"}
        called = f"{shlex.quote(sys.executable)} -m {command}"
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run(["bash", "-c", called], cwd=folder, env=environment, check=True, **both)
        shown += f"{PROMPT}{command}\n{html.escape(done.stdout)}\n"
        page.set_content(TERMINAL.format(f"{shown}{PROMPT}▌"))
        frames.append((picture(page), 2600))
    return frames


def report(page: Page, folder: Path) -> list[tuple[Image.Image, int]]:
    """Open the report, which begins with the verdict, then the worst query of the system that loses."""
    scores = rd.evaluate(str(folder / "places.jsonl"), {"popular": str(folder / "popular.run")}, "RDQ@5")
    worst = scores.to_polars().sort("value")["query"][0]
    address = (folder / "report.html").as_uri()
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    frames = [(picture(page), 2800)]
    page.goto(f"{address}#query={worst}&a=blended&b=popular")
    page.wait_for_selector("#query:not([hidden])")
    return [*frames, (picture(page), 4200)]


def picture(page: Page) -> Image.Image:
    """Take a picture of what is on the screen."""
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


if __name__ == "__main__":
    main()
