# `make demo` and `make test` need Python 3.11+ and make; both build .venv first.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test test-extras check lock clean

setup: .venv/.done

.venv/.done: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "rankdev needs Python 3.11 or newer; say make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

demo: setup
	$(BIN)/rankdev demo

test: setup
	$(BIN)/python -m pytest

# what needs PyTorch: the TREC Deep Learning pipeline with its real libraries, and the torch engine
test-extras: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-extras.txt
	$(BIN)/python -m pytest tests/studies/test_trec_dl_pipeline.py tests/meta/test_flips.py

check: setup
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

lock: setup
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url --quiet --upgrade -o requirements.lock

clean:
	rm -rf .venv
