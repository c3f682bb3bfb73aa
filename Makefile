# Everything on a fresh clone with Python 3.11+ and make alone: `make demo`, `make test`.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
READY_DEMO := .venv/.ready-demo
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check

export OMP_NUM_THREADS ?= 1

.PHONY: demo help test test-slow test-locked test-newest test-oldest audit lock fuzz lint format bench bench-engine bench-certify bench-zoo bench-peers bench-floor bench-scaling bench-large bench-backends reproduce docs dist test-wheel clean

demo: $(READY_DEMO)
	$(BIN)/ipds demo --force

help:
	@sed -n 's/^| `\(make.*\)` | \(.*\) |$$/\1: \2/p' CONTRIBUTING.md | tr -d '`'

test: lint
	$(BIN)/pytest -q -n 2

# what takes minutes: 150 kills of solves that save themselves, and the like
test-slow: $(READY)
	@$(PIP) benchopt 2>/dev/null || echo "benchopt cannot be installed here: its tests will be skipped"
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

# convex problems beside Clarabel, HiGHS and OSQP: about five minutes; `make bench-certify ARGS=--quick` takes one
bench-certify: $(READY)
	$(BIN)/python benchmarks/certify.py --write docs/performance_log.md $(ARGS)
	$(BIN)/python benchmarks/certify_nonconvex.py --write docs/performance_log.md $(ARGS)
	$(BIN)/python -m benchmarks.chart

# problems as modellers write them, judged by other solvers: about ten minutes; `make bench-zoo ARGS="--only lasso"`
bench-zoo: $(READY)
	$(BIN)/python -m benchmarks.zoo --write docs/zoo.md $(ARGS)

# packages one could use instead, in an environment of their own: about ten minutes; `make bench-peers ARGS=--quick`
bench-peers: $(READY)
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -e '.[peers]'
	@benchmarks/build_peers.sh .venv-peers/bin/python || echo "cyipopt or prox_tv cannot be built here: their rows will say so"
	.venv-peers/bin/python -W ignore -m benchmarks.beside_peers --write docs/comparison.md $(ARGS)

# distributed solves with 1 and 2 workers; `make bench-scaling ARGS="--big DIR"` solves 20 GB on disk
bench-scaling: $(READY)
	$(BIN)/python benchmarks/scaling.py $(ARGS)
# whole fits of large data; `make bench-large ARGS=TDT2.mat` takes the text, too
bench-large: $(READY)
	$(BIN)/python -m benchmarks.large $(ARGS)

# one iteration and one solve beside what they cannot avoid, growth with size, memory: about ten minutes
bench-floor: $(READY)
	$(BIN)/python benchmarks/solves.py --write docs/performance_log.md
	$(BIN)/python benchmarks/floor.py --write docs/performance_log.md $(ARGS)
	$(BIN)/python benchmarks/growth.py --write docs/performance_log.md $(ARGS)

# NumPy, PyTorch and JAX, size by size: a few minutes
bench-backends: $(READY)
	$(BIN)/python benchmarks/backends.py --write docs/backends.md $(ARGS)

# the paper's experiment and its report; `make reproduce ARGS="--data-dir DIR --publish docs/results"`
reproduce: $(READY)
	$(BIN)/ipds reproduce $(ARGS)

# set-up for the demo alone takes a fraction of the set-up for the tests
# with LOCK=requirements-ci.lock: the versions of that file, by their hashes, where Python is the one they are for
$(READY_DEMO): EXTRAS := plot
$(READY): EXTRAS := test,lint,plot
$(READY_DEMO) $(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ipds needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@if [ -n "$(LOCK)" ] && $(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
		&& $(PIP) --require-hashes -r $(LOCK); then \
		$(PIP) --no-deps --no-build-isolation -e .; \
	else \
		if [ -n "$(LOCK)" ]; then echo "$(LOCK) cannot be installed here: the newest versions instead"; fi; \
		$(PIP) -e '.[$(EXTRAS)]'; \
	fi
	@if [ "$@" = "$(READY)" ]; then for library in jax==0.10.2 torch==2.13.0; do $(PIP) $$library 2>/dev/null \
		|| echo "$$library cannot be installed here: its tests will be skipped"; done; fi
	@touch $@

# versions: those of the lock, the newest and the oldest that pyproject.toml allows; each in an environment of its own
test-locked test-newest test-oldest: $(READY)
	$(BIN)/python tests/versions.py $(@:test-%=%)

# the lock anew, of the newest versions
lock: $(READY)
	$(PIP) uv
	printf 'hatchling\neditables\n' | $(BIN)/uv pip compile --quiet --generate-hashes --no-header --no-annotate \
		--python-version 3.11 --extra test --extra lint --extra plot pyproject.toml - -o requirements-ci.lock

# known vulnerabilities of what the lock names; fails, and says so, where the service it asks cannot be reached
audit: $(READY)
	$(PIP) pip-audit
	$(BIN)/pip-audit --strict --require-hashes --disable-pip -r requirements-ci.lock

# random problems for MINUTES, damaged files, hostile arguments: all three, whatever one of them finds
MINUTES ?= 15
fuzz: $(READY)
	@seed=$$(date +%s); failed=0; \
	for run in "fuzz --minutes $(MINUTES)" "fuzz_files --cases 20000" "fuzz_arguments --cases 1000" "../properties/judge --cases 5000" \
		"../properties/judge --kind infeasible --cases 360" "../properties/judge --kind unbounded --cases 250" \
		"../properties/judge --kind known --cases 2000" "../properties/judge --kind parts --cases 500"; do \
		set -- $$run; file=$$1; shift; echo "== $$file $$@ --seed $$seed"; \
		PYTHONPATH=tests $(BIN)/python tests/hostile/$$file.py "$$@" --seed $$seed || failed=1; done; \
	echo "== random models --seed $$seed"; \
	$(BIN)/python tests/modelling/random_models.py --draws 10000 --seed $$seed || failed=1; exit $$failed

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
	rm -rf .venv .venv-peers .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
