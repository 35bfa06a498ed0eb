"""README.md on a package index, which knows nothing of the repository's files: no link there leads nowhere."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

for_package_index = pytest.importorskip("hatch_build", reason="hatchling builds the package").for_package_index

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINKS = re.compile(r"\]\(([^)\s]+)\)")


def test_links_of_the_readme_are_absolute_once_there_is_an_address():
    made = for_package_index(README, "https://example.org/rankdev")
    assert all(link.startswith("https://") for link in LINKS.findall(made))
    assert len(LINKS.findall(made)) == len(LINKS.findall(README))
    own = re.findall(r"https://example.org/rankdev/(?:raw|blob)/main/([^)#]+)", made)
    assert len(own) > 40
    assert all((ROOT / path).exists() for path in own)
    assert "https://example.org/rankdev/raw/main/docs/images/rankdev.webp" in made


def test_without_an_address_there_are_no_links_to_files():
    made = for_package_index(README, "")
    assert all(link.startswith("https://") for link in LINKS.findall(made))
    assert "(more)" not in made
    assert "five minutes, then one of four paths" in made


def test_the_package_has_the_readme_of_the_index():
    command = [sys.executable, "-m", "hatchling", "metadata"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    text = json.loads(done.stdout)["readme"]["text"]
    assert text.startswith("# rankdev")
    assert "](docs/" not in text
