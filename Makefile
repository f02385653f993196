# make demo | test | check | bench: each builds .venv first where it is missing or out of date.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DEV := .venv/.dev

.PHONY: demo test check bench clean

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -e .
	touch $@

$(DEV): $(READY)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -e '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/lveg demo

test: $(DEV)
	$(BIN)/python -m pytest -n auto --dist worksteal

check: $(DEV)
	$(BIN)/ruff check src tests benchmarks experiments
	$(BIN)/ruff format --check src tests benchmarks experiments
	$(BIN)/mypy

bench: $(DEV)
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf .venv build *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
