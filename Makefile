# Each target makes what it needs. All Python runs in .venv, against the installed wheel.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
PYTEST_ARGS ?=
SECONDS ?= 60
FUZZ_TARGETS := $(basename $(notdir $(wildcard fuzz/targets/*.rs)))
TARGET ?= $(FUZZ_TARGETS)

VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
PIP_INSTALL := -m pip install --quiet --no-input
WHEELS := target/wheels
# Each takes 6 GB, and the frameworks exclude each other's transformers: an environment for each.
FRAMEWORKS := trl verl

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# One interpreter for every build of the binding, so that PyO3 is not built anew between them.
export PYO3_PYTHON := $(BIN)/python

# Folders are listed too: their time changes when a file is removed.
SOURCES := Cargo.toml Cargo.lock README.md LICENSE $(shell find src python -not -path '*/__pycache__*')
# Python that is type-checked; a folder that does not exist yet is left out.
TYPED := $(wildcard python examples benches/python tools tests/python)

.PHONY: help demo test test-rust test-python test-frameworks $(FRAMEWORKS:%=test-%) fuzz fuzz-corpus lint lint-workflows deny docs bench instructions accuracy dist fmt clean

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.wheel ## Replay the sample rollouts, draw the budgets into demo-out/
	mkdir -p demo-out
	$(BIN)/toggle-rs replay examples/rollouts_*.jsonl.gz \
	    --m 5 --lambda 0.5 --percentile 80 --warmup 5 \
	    --png demo-out/replay.png --report demo-out/report.html

test: test-rust test-python ## Run every test: cargo's, and pytest against the installed wheel

test-rust: ## Rust tests and doc tests; needs no Python
	cargo test --locked

test-python: $(VENV)/.wheel ## Python tests; PYTEST_ARGS="-k name" picks some
	$(BIN)/python -I -m pytest $(PYTEST_ARGS)

test-frameworks: $(FRAMEWORKS:%=test-%) ## Tests inside of TRL, verl, torch.distributed, Ray; installs torch, no part of test

test-trl: $(VENV)-trl/.wheel
	$(VENV)-trl/bin/python -I -m pytest tests/frameworks/with_trl $(PYTEST_ARGS)

# torch.distributed and Ray come with verl, and the torch for which `make test` skips some tests.
test-verl: $(VENV)-verl/.wheel
	$(VENV)-verl/bin/python -I -m pytest tests/python/test_toggle_arrays.py tests/python/test_state.py -k torch $(PYTEST_ARGS)
	$(VENV)-verl/bin/python -I -m pytest tests/frameworks/with_ray $(PYTEST_ARGS)
	$(VENV)-verl/bin/python -I -m pytest tests/frameworks/with_verl $(PYTEST_ARGS)

fuzz: ## Fuzz the estimators, SECONDS=60 each; TARGET="p2 gk" picks some
	command -v cargo-fuzz > /dev/null || cargo install --locked cargo-fuzz
	for target in $(TARGET); do \
	    mkdir -p fuzz/target/corpus/$$target; \
	    cargo fuzz run --sanitizer none $$target fuzz/target/corpus/$$target fuzz/corpus/$$target -- \
	        -max_total_time=$(SECONDS) -timeout=20 -len_control=10; \
	done

fuzz-corpus: ## Run the fuzz targets once on the inputs that are kept; needs no cargo-fuzz
	cargo build --locked --manifest-path fuzz/Cargo.toml
	for target in $(FUZZ_TARGETS); do fuzz/target/debug/$$target fuzz/corpus/$$target; done

# Tests inside of a framework find their modules in their own folder, and each has a conftest.py:
# mypy takes one folder at a time.
lint: $(VENV)/.wheel lint-workflows ## rustfmt, clippy, rustdoc, ruff, mypy, stubtest, zizmor
	cargo fmt --check
	cargo fmt --check --manifest-path fuzz/Cargo.toml
	cargo clippy --locked --manifest-path fuzz/Cargo.toml -- -D warnings
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --all-targets --features python -- -D warnings
	cargo clippy --locked --no-default-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy $(TYPED)
	for tests in tests/frameworks/with_*; do MYPYPATH=$$tests:examples:examples/recipes $(BIN)/mypy $$tests; done
	$(BIN)/python -I -m mypy.stubtest toggle_rs._core

# actionlint has no package that brings its binary along: it runs where it is installed.
lint-workflows: $(VENV)/.tools
	$(BIN)/zizmor --quiet --no-progress --offline --persona pedantic .github
	if command -v actionlint > /dev/null; then actionlint; else echo "actionlint is not installed: left out"; fi

deny: ## Licences, sources and versions of the crates that it depends on; ADVISORIES=advisories asks for known faults, too
	command -v cargo-deny > /dev/null || cargo install --locked cargo-deny
	cargo deny --locked --all-features check bans licenses sources $(ADVISORIES)

docs: $(VENV)/.wheel $(VENV)/.docs ## The documentation, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -I -m mkdocs build --quiet
	! grep --recursive --include='*.html' --extended-regexp '(<(script|img)[^>]* src|<link[^>]* href)="?(https?:)?//' site

bench: $(VENV)/.wheel $(VENV)/.peers ## Every benchmark, beside its peers; tables and a plot go into docs/
	cargo bench --locked
	$(BIN)/python benches/python/rust_report.py
	for script in tracker estimators toggle traces; do $(BIN)/python benches/python/bench_$$script.py --docs; done
	$(BIN)/python benches/python/bench_snapshots.py
	$(BIN)/python benches/python/plot.py

instructions: $(VENV)/.tools ## Count the instructions of fixed work; more than before fails. Needs valgrind
	$(BIN)/python tools/instructions.py

accuracy: $(VENV)/.wheel $(VENV)/.peers ## Errors of each estimator and of its peers, into docs/; ROLLOUTS="FILES" adds your lengths
	$(BIN)/python benches/python/accuracy.py --docs docs $(ROLLOUTS)

dist: $(VENV)/.wheel ## Wheel and sdist in dist/, each tried in an empty environment; the crate builds from its package
	rm -rf dist && mkdir dist
	cp $(WHEELS)/*.whl dist/
	$(BIN)/maturin sdist --out dist
	$(BIN)/python tools/check_dist.py dist/*
	$(call try_alone,dist/*.whl)
	$(call try_alone,dist/*.tar.gz)
	cargo package --quiet --locked --allow-dirty

fmt: $(VENV)/.tools ## Format Rust and Python
	cargo fmt
	cargo fmt --manifest-path fuzz/Cargo.toml
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format

clean: ## Remove all that was made
	cargo clean
	cargo clean --manifest-path fuzz/Cargo.toml
	rm -rf $(VENV) $(FRAMEWORKS:%=$(VENV)-%) dist demo-out site .hypothesis .mypy_cache .pytest_cache .ruff_cache

# Installs $(1) into an environment of its own and uses it from an empty folder.
define try_alone
scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; \
	$(PYTHON) -m venv "$$scratch/env"; \
	CARGO_TARGET_DIR=$(CURDIR)/target/alone "$$scratch/env/bin/python" $(PIP_INSTALL) $(1); \
	mkdir "$$scratch/empty"; cd "$$scratch/empty"; \
	"$$scratch/env/bin/python" -I $(CURDIR)/tools/smoke.py
endef

$(VENV)/.tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP_INSTALL) --upgrade "pip>=25.1"
	$(BIN)/python $(PIP_INSTALL) --group dev
	touch $@

$(VENV)/.docs: $(VENV)/.tools
	$(BIN)/python $(PIP_INSTALL) --group docs
	touch $@

$(VENV)/.peers: $(VENV)/.tools
	$(BIN)/python $(PIP_INSTALL) --group bench
	touch $@

$(VENV)/.wheel: $(VENV)/.tools $(SOURCES)
	rm -rf $(WHEELS)
	$(BIN)/maturin build --quiet --release --interpreter $(BIN)/python --out $(WHEELS)
	$(BIN)/python $(PIP_INSTALL) --force-reinstall --no-deps $(WHEELS)/*.whl
	$(BIN)/python $(PIP_INSTALL) "$$(echo $(WHEELS)/*.whl)[report]"
	touch $@

# uv keeps one copy of what both environments have, torch above all.
$(FRAMEWORKS:%=$(VENV)-%/.tools): $(VENV)-%/.tools: pyproject.toml $(VENV)/.tools
	$(PYTHON) -m venv $(@D)
	$(BIN)/uv pip install --quiet --python $(@D)/bin/python --group $*
	touch $@

$(FRAMEWORKS:%=$(VENV)-%/.wheel): $(VENV)-%/.wheel: $(VENV)/.wheel $(VENV)-%/.tools
	$(BIN)/uv pip install --quiet --python $(@D)/bin/python --reinstall --no-deps $(WHEELS)/*.whl
	touch $@
