# On a fresh machine with Python 3.11 or newer, pip and make, `make run` is all you need.
# Each step leaves a stamp file and runs again when its inputs change; a second `make run` starts at once.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install run test-install test fast check lint types contracts format docs bench lock dist clean

BIN := .venv/bin
MODEL := src/acumen/llm/minilm
SWAGGER := src/acumen/api/static/swagger
SWAGGER_FILES := swagger-ui-bundle.js swagger-ui.css favicon-32x32.png LICENSE
VENDOR := src/acumen/web/static/vendor
DIST := dist
ARGS ?=

# The first Python on this machine that is new enough.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$name -c 'import sys; sys.version_info >= (3, 11) or sys.exit(1); print(sys.executable)' 2>/dev/null && break; done)

# Always use .venv, whatever environment the shell has activated.
unexport VIRTUAL_ENV PYTHONHOME PYTHONPATH

# No notices of pip about its version or about root.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

UV := tools/uv
# Compiled at set-up, even where PYTHONDONTWRITEBYTECODE is set: a start takes a third of the time.
LOCKED = $(UV) pip install --quiet --compile-bytecode --no-deps --require-hashes

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: .venv/.acumen $(MODEL)/recipe.sha256 $(SWAGGER)/LICENSE $(VENDOR)/htmx.min.js ## Set up .venv/bin/acumen, the embedding model and the assets

run: install ## Set up if needed, then serve on http://127.0.0.1:8061 (options: ARGS="--port 9000")
	$(BIN)/acumen serve $(ARGS)

test-install: install .venv/.test .venv/.browser ## Set up the tools of the tests: PostgreSQL, a browser, ruff, mypy

# Assertions are rewritten once and not in every process, even where PYTHONDONTWRITEBYTECODE is set.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest

test: test-install ## Run all tests, on both databases and all cores (a subset: ARGS=tests/recall)
	$(PYTEST) -n auto --dist loadfile --no-loadscope-reorder $(ARGS)

fast: test-install ## Run the tests that need no server process, Postgres or browser: about a minute of processor time
	$(PYTEST) -n auto --dist loadfile -q -m fast $(ARGS)

check: lint types contracts test ## All checks: ruff, mypy strict, import contracts, all tests

lint: test-install
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: test-install
	$(BIN)/mypy

contracts: test-install
	$(BIN)/lint-imports

format: test-install ## Fix and format with ruff
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

docs: install ## Write docs/reference/endpoints*, cli.md and sdk.md from the code, and the demo sample of the README
	$(BIN)/python -m tools.reference
	$(BIN)/python -m tools.demo_sample

# The data sets are not ours to ship: they are searched in bench/data, then in the data folder of a sibling directory.
bench: export ACUMEN_BENCH_DATA ?= $(abspath $(firstword $(dir $(wildcard bench/data/locomo* ../*/data/locomo*))))
bench: test-install ## Measure every number we claim (one line: ARGS=NAME)
	$(BIN)/python -m bench $(ARGS)

COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	--no-emit-index-url --no-emit-find-links $(ARGS)
OURS = --excludes requirements/excludes.in

lock: .tools/bin/uv ## Rewrite requirements/*.txt from pyproject.toml and requirements/*.in (newer versions: ARGS=--upgrade)
	$(COMPILE) $(OURS) --no-emit-package acumen-client pyproject.toml -o requirements/runtime.txt
	$(COMPILE) --excludes requirements/test-excludes.in requirements/test.in -o requirements/test.txt
	$(COMPILE) $(OURS) requirements/build.in -o requirements/build.txt
	$(COMPILE) $(OURS) requirements/uv.in -o requirements/uv.txt
	$(COMPILE) --no-deps requirements/assets.in -o requirements/assets.txt
	$(COMPILE) --excludes scripts/minilm/excludes.txt scripts/minilm/requirements.in -o scripts/minilm/requirements.txt

dist: install ## Build wheels and sources of server and client into dist/
	for place in . src/acumen_client; do \
		PYTHONPATH="$(CURDIR)/.tools/build" $(UV) build --quiet --no-build-isolation --out-dir $(DIST) $$place || exit; done

clean: ## Delete everything that make creates; nothing that git tracks
	rm -rf .venv .tools .cache dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .schemathesis
	rm -rf $(MODEL) $(SWAGGER) $(VENDOR)
	find src tests bench scripts tools -name __pycache__ -prune -exec rm -rf {} +

# --------------------------------------------------------------------------------------------------------- the steps

# The machine's uv where there is one, else our own by pip; --target also works where pip may not touch the system.
.tools/bin/uv:
	@mkdir -p .tools/bin
	@$(if $(PYTHON),,echo "Acumen needs Python 3.11 or newer; none was found. Name one: make PYTHON=/path/to/python" && exit 1)
	@if uv --version >/dev/null 2>&1; then ln -sf "$$(command -v uv)" $@; else \
		"$(PYTHON)" -m pip install --quiet --no-deps --require-hashes --upgrade --target .tools -r requirements/uv.txt; fi

$(BIN)/python: | .tools/bin/uv
	$(UV) venv --quiet --clear --python "$(PYTHON)" .venv

.venv/.runtime: requirements/runtime.txt | $(BIN)/python
	$(LOCKED) --python $(BIN)/python -r $<
	@touch $@

.tools/.build: requirements/build.txt | $(BIN)/python
	$(LOCKED) --python $(BIN)/python --target .tools/build -r $<
	@touch $@

# Both distributions are installed as editable, so that an edit needs no second install.
.venv/.acumen: pyproject.toml src/acumen_client/pyproject.toml .tools/.build .venv/.runtime
	PYTHONPATH="$(CURDIR)/.tools/build" $(UV) pip install --quiet --no-deps --no-build-isolation --python $(BIN)/python \
		--editable src/acumen_client --editable .
	@$(BIN)/python -m compileall -q src/acumen src/acumen_client
	@touch $@

.venv/.test: requirements/test.txt requirements/reflexio.txt .venv/.runtime
	$(LOCKED) --python $(BIN)/python -r requirements/test.txt
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --ignore-requires-python --upgrade \
		--target .venv/reflexio -r requirements/reflexio.txt
	@touch $@

$(MODEL)/recipe.sha256: scripts/build_model.py $(wildcard scripts/minilm/*.*) | .venv/.runtime
	ORT_DISABLE_TELEMETRY=1 UV="$(CURDIR)/$(UV)" $(BIN)/python scripts/build_model.py --out $(MODEL)
	@touch $@

.tools/.assets: requirements/assets.txt | $(BIN)/python
	$(LOCKED) --python $(BIN)/python --target .tools/assets -r $<
	@touch $@

$(VENDOR)/htmx.min.js: .tools/.assets
	@mkdir -p $(@D)
	cp .tools/assets/uplot/static/uPlot.iife.js .tools/assets/uplot/static/uPlot.min.css $(@D)/
	cp .tools/assets/django_htmx/static/django_htmx/htmx-2.min.js $@
	@touch $@

# The browser tests drive chromium; on Debian as root it is installed, elsewhere a sentence says what to do.
.venv/.browser: | .venv/.test
	@if command -v chromium >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get install -y -qq chromium >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq chromium >/dev/null; }; \
	else echo "The browser tests need chromium, and this user cannot install it: apt-get install chromium"; exit 1; fi
	@touch $@

$(SWAGGER)/LICENSE: .tools/.assets
	@mkdir -p $(@D)
	cd .tools/assets/drf_spectacular_sidecar/static/drf_spectacular_sidecar/swagger-ui-dist && \
		cp $(SWAGGER_FILES) "$(CURDIR)/$(@D)/"
	@touch $@
