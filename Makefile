# make install | demo | test | check | bench | docs: each builds .venv first where it is missing or out of date.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DEV := .venv/.dev
export PYTHONDONTWRITEBYTECODE :=  # otherwise every process would parse every imported module again

.PHONY: install demo test check bench docs clean

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -e '.[serve]'
	touch $@

$(DEV): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-compile -e '.[dev]'
	touch $(READY) $@

install: $(READY)
	@echo "ready: $(BIN)/lveg --help"

demo: $(READY)
	$(BIN)/lveg demo

test: $(DEV)
	$(BIN)/lveg warm --quiet  # otherwise each of the parallel processes would compile the kernels
	$(BIN)/python -m pytest -n auto --dist worksteal

check: $(DEV)
	$(BIN)/ruff check src tests benchmarks experiments docs
	$(BIN)/ruff format --check src tests benchmarks experiments docs
	$(BIN)/mypy

bench: $(DEV)
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

docs: $(READY)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -e '.[docs]'
	$(BIN)/python docs/make_reference.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open build/site/index.html"

clean:
	rm -rf .venv build *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
