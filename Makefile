# make help lists the targets. Needed: make and Python 3.11, 3.12 or 3.13; nothing else for the demo.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
# The first one that runs and can make a virtual environment (a name on the PATH may be a shim of an absent version).
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null && echo $$p && break; done)
BENCH_ARGS ?=

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | sort | awk -F'\t' '{printf "  make %-16s %s\n", $$1, $$2}'

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "clearcall needs Python 3.11, 3.12 or 3.13 with venv: none is on the PATH" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# What the installation is made of; the C sources give the fast matcher, where there is a compiler.
INSTALLED := pyproject.toml $(wildcard setup.py src/clearcall/scoring/*.c src/clearcall/scoring/kernel/*.h)

# The stamps say what is installed: the demo's part, and everything that development needs.
$(VENV)/.demo: $(INSTALLED) | $(BIN)/python
	@echo "installing (once) ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[demo]'
	@touch $@

$(VENV)/.dev: $(INSTALLED) | $(BIN)/python
	@echo "installing (once) ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $(VENV)/.demo $@

.PHONY: venv
venv: $(VENV)/.dev ## virtual environment with everything that development needs

.PHONY: demo
demo: $(VENV)/.demo ## clean the sample calls: broker, database and recorded answers included
	$(BIN)/clearcall demo

.PHONY: lint
lint: venv ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.PHONY: test
test: lint ## lint, then every test; CLEARCALL_SKIP_CHAOS=1 leaves out the three minutes of faults
	$(BIN)/pytest -q

.PHONY: bench-scoring
bench-scoring: venv ## fragments scored per second, beside plain difflib
	$(BIN)/python tests/benchmarks/bench_scoring.py $(BENCH_ARGS)

.PHONY: bench-pipeline
bench-pipeline: venv ## chunks per second and memory on a real Kafka, beside bare Faust and bare aiokafka
	$(BIN)/python tests/benchmarks/bench_pipeline.py $(BENCH_ARGS)

MINUTES ?= 10
SEED ?= 7
CHAOS_ARGS ?=
FUZZ_ARGS ?=

.PHONY: chaos
chaos: venv ## faults of every kind for MINUTES=10 by SEED=7, and what was lost or doubled
	$(BIN)/python tests/chaos/chaos_run.py --minutes $(MINUTES) --seed $(SEED) $(CHAOS_ARGS)

.PHONY: fuzz
fuzz: venv ## fuzz every decoder for MINUTES=10 together; FUZZ_ARGS="--only messages", --keep
	@$(BIN)/python -c 'import atheris' 2> /dev/null || $(BIN)/python -m pip install -q --disable-pip-version-check -e '.[fuzz]' || true
	$(BIN)/python tests/fuzz/fuzz_run.py --minutes $(MINUTES) $(FUZZ_ARGS)

.PHONY: bench-backpressure
bench-backpressure: venv ## memory with a slow model, large dead letters, rubbish and a hot call
	$(BIN)/python tests/benchmarks/bench_backpressure.py $(BENCH_ARGS)

.PHONY: bench-outage
bench-outage: venv ## a model server stopped under real chunks: BENCH_ARGS='--start "vllm serve …" --url … --model …'
	$(BIN)/python tests/benchmarks/bench_outage.py $(BENCH_ARGS)

.PHONY: clean
clean: ## remove what was built, caches and out/; the virtual environment stays
	rm -rf build dist out .mypy_cache .pytest_cache .ruff_cache .hypothesis src/*.egg-info
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
