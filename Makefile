# Everything on a fresh clone with Python 3.11+ and make alone: `make demo`, `make test`.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

export OMP_NUM_THREADS ?= 1

.PHONY: demo test test-slow lint format bench bench-engine docs dist test-wheel clean

demo: $(READY)
	$(BIN)/ipds demo

test: lint
	$(BIN)/pytest -q -n 2

# what takes minutes: 150 kills of solves that save themselves, and the like
test-slow: $(READY)
	$(BIN)/pytest -q -n 2 -m slow

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	@for name in convex_reliability models overhead prox_speed "baselines --trade-off"; do \
		echo "== $$name"; set -- $$name; file=$$1; shift; $(BIN)/python benchmarks/$$file.py "$$@" || exit 1; done

# the engine beside specialists: about ten minutes; `make bench-engine ARGS=--quick` takes two
bench-engine: $(READY)
	$(BIN)/python benchmarks/engine.py $(ARGS)

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ipds needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,lint,plot]'
	@touch $@

# the site, with the gallery run: open build/site/index.html
docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/site
	@echo "the site: build/site/index.html"

# wheel and sdist into dist/
dist: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dist]'
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*

# the wheel alone in a new environment: import, solve, command line, types
test-wheel: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dist]'
	$(BIN)/python tests/wheel/check.py

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
