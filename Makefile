# `make demo` and `make test` need Python 3.11+ and make; both build .venv first.
PYTHON ?= python3
BIN := .venv/bin
# tests start many processes, and each would compile every module again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test test-rest test-all test-lowest test-newest mutate conformance calibrate test-extras test-spark fuzz check examples notebooks figures docs test-site wheel lock clean

setup: .venv/.done

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "rankdev needs Python 3.11 or newer; say make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.done: pyproject.toml requirements.lock | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@

# the demo needs rankdev alone; setup installs what tests and docs need besides
.venv/.demo: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e .
	@touch $@

demo: $(if $(wildcard .venv/.done),setup,.venv/.demo)
	$(BIN)/rankdev demo

# the core; without tests marked slow, with few random examples; files stay in one process, as examples need those before
PYTEST = $(BIN)/python -m pytest -n auto --dist loadfile
ROOMS = judging learning studies integrations
ROOM_PAGES = $(addprefix docs/,judging.md language-models.md research.md integrations.md)
REST = $(ROOMS:%=tests/%) $(ROOMS:%=src/rankdev/%) $(addprefix tests/,cli/processes pages fuzz real peers calibration conformance)
test: export POLARS_MAX_THREADS = 1
# glibc keeps what is freed: to get large arrays from the system again and again takes a tenth of the time
test: export MALLOC_MMAP_THRESHOLD_ = 268435456
test: export MALLOC_TRIM_THRESHOLD_ = 536870912
test: setup
	$(PYTEST) README.md docs tests src/rankdev $(addprefix --ignore ,$(ROOM_PAGES) $(REST) tests/repository)

# what the core never imports, processes, other programs, published data, fuzzers, short simulations, and pages (with Chromium)
test-rest: setup
	$(PYTEST) $(ROOM_PAGES) $(REST) --ignore tests/pages/test_site.py

# everything, with many random examples
test-all: export RANKDEV_PROFILE = thorough
test-all: setup
	$(PYTEST) -m ""

# what needs neither PyTorch nor a browser, at the lowest versions that pyproject.toml declares
PARTS = $(addprefix tests/,measures data statistics preferences evaluation cli display peers) --ignore tests/cli/processes \
  $(addprefix tests/integrations/test_,tables.py ir_measures.py sklearn.py boosting.py)
EXTRAS = $(foreach extra,fast pandas plot sklearn lightgbm peers spark,--extra $(extra))
TOOLS = pytest pytest-xdist hypothesis sybil krippendorff
test-lowest: setup
	mkdir -p build && $(BIN)/uv pip compile --quiet --resolution lowest-direct --python-version 3.11 $(EXTRAS) pyproject.toml -o build/lowest.txt
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python build/lowest
	$(BIN)/uv pip install --quiet --python build/lowest/bin/python -r build/lowest.txt
	$(BIN)/uv pip install --quiet --python build/lowest/bin/python -c build/lowest.txt $(TOOLS)
	$(BIN)/uv pip install --quiet --python build/lowest/bin/python --no-deps -e .
	build/lowest/bin/python -m pytest -n auto --dist loadfile $(PARTS)

# the same with the newest versions on the newest Python here; pyenv's, or say PYTHON_NEWEST=python3.14
PYTHON_NEWEST ?= $(lastword python3 $(sort $(wildcard $(HOME)/.pyenv/versions/3.1[1-9]*/bin/python)))
test-newest: setup
	$(BIN)/uv venv --quiet --clear --python $(PYTHON_NEWEST) build/newest
	$(BIN)/uv pip install --quiet --compile-bytecode --python build/newest/bin/python -e ".[fast,pandas,plot,sklearn,lightgbm,peers,spark]" $(TOOLS)
	build/newest/bin/python --version && build/newest/bin/python -m pytest -n auto --dist loadfile $(PARTS)

# faults put into the arithmetic, and those that no test notices, in build/mutants.md; N=200 SEED=1 for others
mutate: setup
	$(BIN)/python -m tests.mutants -n $(or $(N),100) --seed $(or $(SEED),0) $(PACKAGES)

# what needs PyTorch or PyTerrier: integrations, and cross-encoders of the experiments
test-extras: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-extras.txt
	$(PYTEST) -m "" tests/studies/test_experiments.py tests/integrations docs/integrations.md

# the Spark integration on real Spark, which needs Java 17; make test-rest uses Sail, which needs none
SPARK ?= 3.5 4
test-spark: setup
	for release in $(SPARK); do \
	  $(PYTHON) -m venv build/spark-$$release && \
	  build/spark-$$release/bin/python -m pip install --quiet --disable-pip-version-check "pyspark~=$$release.0" pandas pyarrow pytest hypothesis sybil -e . && \
	  PYSPARK_PYTHON=$(CURDIR)/build/spark-$$release/bin/python build/spark-$$release/bin/python -m pytest tests/integrations/test_spark.py || exit 1; \
	done

# what make test-rest does for a few seconds, at length: up to 30,000 files for each fuzzer; see docs/trust.md
fuzz: setup
	RANKDEV_FUZZ=$(or $(FILES),30000) RANKDEV_SIGNALS=160 $(BIN)/python -m pytest -m "" tests/fuzz tests/cli/processes/test_signals.py

# the same values as other programs? builds trec_eval from the archives in TREC_EVAL; writes docs/coming-from.md and docs/trust.md
conformance: setup
	$(BIN)/python -m tests.conformance $(if $(TREC_EVAL),--trec-eval "$(TREC_EVAL)")

# every statistical claim at length; writes docs/calibration.csv and its worst rows in docs/trust.md
calibrate: setup
	$(BIN)/python -m benchmarks.calibration

# the code and the text of this repository, without what it computes
check: setup
	$(BIN)/ruff check src tests benchmarks experiments
	$(BIN)/ruff format --check src tests benchmarks experiments
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.pages.scripts
	$(BIN)/check-jsonschema --builtin-schema vendor.github-actions action.yml
	$(PYTEST) tests/repository

# what the examples of README.md and docs print, written into the pages
examples: setup
	$(BIN)/python -m tests.examples

# what the notebooks of docs show, written into them; .ci/nightly says where that changed
notebooks: setup
	$(BIN)/python -m tests.notebooks

# the figures of docs, drawn again, and the screenshots of pages and the animation if there is Chromium
figures: setup
	$(BIN)/python docs/images/figures.py
	if command -v chromium >/dev/null; then $(BIN)/python docs/images/screenshots.py && $(BIN)/python docs/images/animation.py; fi

# the site, in build/site; a link that leads nowhere is an error
docs: export NO_MKDOCS_2_WARNING = 1
docs: setup
	$(BIN)/mkdocs build --quiet

# every page of it in Chromium, on a desk and on a phone
test-site: setup
	$(PYTEST) -m "" tests/pages/test_site.py

# what `pip install rankdev` would give: a wheel, installed into an empty environment, runs the demo there
wheel: setup
	rm -rf build/wheel && $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir build/wheel .
	$(PYTHON) -m venv --clear build/wheel/empty
	build/wheel/empty/bin/python -m pip install --quiet --disable-pip-version-check build/wheel/*.whl
	cd build/wheel && empty/bin/rankdev demo > demo.txt && empty/bin/rankdev --version

lock: setup
	mkdir -p build
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url --generate-hashes --quiet --upgrade -o requirements.lock
	@sed -n '/^#/p' requirements-extras.txt > build/head
	$(BIN)/uv pip compile requirements-extras.in $(if $(PIP_FIND_LINKS),--find-links "$(PIP_FIND_LINKS)") --python-version 3.11 --no-header --no-annotate --no-emit-index-url --no-emit-find-links --generate-hashes --quiet --upgrade -o requirements-extras.txt
	@cat build/head requirements-extras.txt > build/extras && mv build/extras requirements-extras.txt

clean:
	rm -rf .venv
