# `make setup` is enough to use `.venv/bin/assent`. CONTRIBUTING.md says which target to use when.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q
CORE   := $(VENV)/core/bin/python -m pip --disable-pip-version-check -q

# Keep compiled bytecode: otherwise every process that the tests start compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run demo test quick check suite tools core bench crash kill golden freeze screenshots setup format lock clean

run: setup            ## the daemon, on SQLite, with a link to log in
	@$(BIN)/assent serve --link

demo: setup           ## show how Assent decides
	@$(BIN)/assent demo

# The pure part and what needs only Python and bash: no system packages, browser, database or sandbox.
PURE_TESTS := tests/model tests/catalog tests/analysis tests/policy tests/test_budget.py tests/test_lazy_regex.py \
	tests/corpora/test_corpora.py $(wildcard tests/promises/test_p01_* tests/promises/test_p02_* \
	tests/promises/test_p03_* tests/promises/test_p07_* tests/promises/test_p12_*)

quick: $(VENV)/.dev   ## the tests of the pure part, under a minute
	$(BIN)/python -m pytest -n 2 --dist worksteal $(PURE_TESTS)

test:                 ## everything: checks and the whole suite, in parallel
	@$(MAKE) --no-print-directory -j 3 check suite

suite: $(VENV)/.dev tools
	$(BIN)/python -m pytest -n 4 --dist worksteal --cov=assent --cov-branch --cov-report= tests
	$(BIN)/coverage report --include='src/assent/model/*,src/assent/catalog/*,src/assent/analysis/*,src/assent/analysis/*/*,src/assent/policy/*,src/assent/policy/*/*' --fail-under=100

check: $(VENV)/.dev   ## format, lint, types, import direction
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# What the tests use: system packages, agents, and scripts that run inside the browser.
tools: $(VENV)/.python
	@$(BIN)/python requirements/system.py
	@$(BIN)/python requirements/agents.py
	@$(MAKE) -s $(VENV)/.browser

core: $(VENV)/.run    ## install the built wheel without extras into an empty environment, and use it
	@rm -rf $(VENV)/core $(VENV)/wheel
	$(BIN)/python -m hatchling build -t wheel -d $(VENV)/wheel
	$(PYTHON) -m venv $(VENV)/core
	$(CORE) install --no-deps --require-hashes -r requirements/core.lock
	$(CORE) install --no-deps $(VENV)/wheel/*.whl
	$(CORE) check
	$(VENV)/core/bin/python -P tests/core.py

bench: $(VENV)/.dev   ## measurements, as ratios within one run
	@$(BIN)/python requirements/system.py
	@$(BIN)/python requirements/agents.py
	@$(BIN)/python -m compileall -q src/assent
	$(BIN)/python bench/run.py

crash: $(VENV)/.dev   ## kill the daemon at random moments under load, and compare its records with its answers
	PYTHONPATH=tests $(BIN)/python tests/crash.py --rounds 200
	PYTHONPATH=tests $(BIN)/python tests/crash.py --rounds 20 --postgresql

golden: $(VENV)/.dev  ## compare decisions, APIs, help and logs with what was frozen; FREEZE=1 freezes them, QUICK=1 takes a sample
	@PYTHONPATH=tests $(BIN)/python -m golden.run $(if $(FREEZE),--freeze) $(if $(QUICK),--quick) $(if $(STRICT),--strict)

freeze:               ## the same as `make golden FREEZE=1`
	@$(MAKE) --no-print-directory golden FREEZE=1

screenshots: $(VENV)/.dev   ## take the pictures in docs/pictures: light, dark and on a phone
	PYTHONPATH=tests $(BIN)/python tests/pictures.py

kill: $(VENV)/.dev    ## kill a thousand sandboxes at random moments, and check that nothing is left behind
	ASSENT_KILL_ROUNDS=500 $(BIN)/python -m pytest --timeout 3600 -o faulthandler_timeout=3600 tests/sandbox/test_killed.py

setup: $(VENV)/.run   ## the Python environment, and a working .venv/bin/assent

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Assent needs Python 3.11 or newer; set PYTHON=…")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

# The locks name every package with its dependencies, so pip resolves no versions.
$(VENV)/.run: $(VENV)/.python pyproject.toml requirements/run.lock requirements/build.lock
	$(PIP) install --no-deps --require-hashes -r requirements/build.lock -r requirements/run.lock
	$(PIP) install --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src/assent
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.lock
	$(PIP) install --no-deps --require-hashes -r requirements/dev.lock
	@touch $@

# Scripts that the tests run inside the browser: by names, versions and hashes, from the configured npm registry.
$(VENV)/.browser: $(VENV)/.python requirements/browser/package-lock.json
	@mkdir -p $(VENV)/browser
	@cp requirements/browser/package.json requirements/browser/package-lock.json $(VENV)/browser
	npm ci --silent --ignore-scripts --no-audit --no-fund --prefix $(VENV)/browser
	@touch $@

lock:                 ## renew the locks: names, versions and hashes, no addresses
	$(PYTHON) requirements/lock.py

clean:
	rm -rf $(VENV) .golden .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*
