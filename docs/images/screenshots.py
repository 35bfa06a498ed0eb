"""Take the screenshots of the report: needs Playwright and the system's Chromium."""

import io
import json
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import rankdev as rd

demo = files("rankdev").joinpath("data/demo")
runs = {name: str(demo.joinpath(f"{name}.run")) for name in ("nearest", "popular", "blended")}
page = Path(tempfile.mkdtemp()) / "report.html"
lines = map(json.loads, demo.joinpath("texts.jsonl").read_text(encoding="utf-8").splitlines())
texts = {line["item"]: line["text"] for line in lines}
measures = ["RDQ@5", "AP@5", "Compat(p=0.95)@5"]
rd.report(str(demo.joinpath("places.jsonl")), runs, measures, item_texts=texts).save(page)


def save(name: str, content: bytes) -> None:
    """Save with few colours, for a small file."""
    image = Image.open(io.BytesIO(content)).convert("RGB").quantize(256)
    image.save(Path(__file__).with_name(name), optimize=True)


with sync_playwright() as driver:
    browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
    view = browser.new_page(viewport={"width": 1160, "height": 900}, device_scale_factor=1.25)
    view.goto(page.as_uri())
    view.wait_for_selector("body[data-ready]")
    save("report.png", view.screenshot())
    view.goto(page.as_uri() + "#query=museums&a=blended&b=nearest")
    view.wait_for_selector("#query:not([hidden])")
    view.set_viewport_size({"width": 1160, "height": 452})
    save("report-query.png", view.locator("#query").screenshot())
    browser.close()
