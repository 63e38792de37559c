# torsweep: every target first sets up what it needs in .venv, and repeats that only when its inputs change.

VENV := .venv
BIN := $(VENV)/bin
# Programs in Rust: one folder each in the workspace at the root.
PROGRAMS := $(patsubst %/Cargo.toml,%,$(wildcard */Cargo.toml))
PROGRAM_SOURCES := Cargo.toml Cargo.lock src/torsweep/engines/tables.json $(wildcard */Cargo.toml */build.rs) \
	$(shell find $(addsuffix /src,$(PROGRAMS)) -name '*.rs')
CORES ?= $(shell nproc)
# Overrides for the pipeline, such as CONFIG='network=laptop replicates=2'. Experiments run in the model unless CONFIG
# names an engine (the last one given counts). Shadow needs an hour of a core for each run on the ticket's network.
CONFIG ?=
# A tarball of tor's source, where Debian's source package is not available.
TOR_SOURCE ?=
# The linker of a wheel's programs, with an old C library; maturin refuses a wheel that needs a newer one.
ZIG := ziglang==0.17.1
# Machines that get a wheel; rustup, where it is, fetches what Rust lacks for them.
WHEEL_TARGETS ?= x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu

# Rules of the pipeline call `torsweep` and `cellsim` by name, as in an activated environment.
ACTIVATED := PATH="$(CURDIR)/$(BIN):$$PATH"

.DEFAULT_GOAL := help
.PHONY: help setup programs refill_sweep scheduler_choice starvation cell_trace clock_source latency_breakdown nagle scale report publish test test_programs test_python test_real_time test-tor fuzz lint format bench \
	docs-tables reference site lock dist clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z_-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' Makefile

setup: $(VENV)/torsweep.stamp ## Python packages, programs and command line, into .venv

# The packages come over the network while the programs compile: a second make runs the two at once.
$(VENV)/torsweep.stamp: pyproject.toml requirements.lock $(PROGRAM_SOURCES) $(wildcard setup/*.sh setup/wheel/*/*)
	@setup/check.sh >/dev/null
	@$(MAKE) --no-print-directory -j 2 $(VENV)/packages.stamp programs
	@echo "setup: installing torsweep and $(PROGRAMS) into $(VENV)"
	@$(ACTIVATED) python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/packages.stamp: requirements.lock
	@echo "setup: Python packages of requirements.lock (about a minute)"
	@$(BIN)/python -c '' 2>/dev/null || "$$(setup/check.sh)" -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

# cargo chooses its own number of jobs, not the two of the make above.
programs:
	@echo "setup: compiling $(PROGRAMS) (a minute or two the first time)"
	@MAKEFLAGS= cargo build --release --locked --bins

refill_sweep: ## refill interval and circuit policy (Tor ticket 4086)
scheduler_choice: ## KIST, KISTLite and Vanilla, as users see them
starvation: ## the streams of one circuit, and which of them starve
cell_trace: ## where cells spend their time inside a relay
clock_source: ## what the step of a coarse clock does to buckets
latency_breakdown: ## what downloads wait for until their first and last byte
nagle: ## what Nagle's algorithm costs downloads, and what switching it off costs on the wire
scale: ## what scaling the public network down does to an answer
refill_sweep scheduler_choice starvation cell_trace clock_source latency_breakdown nagle scale: setup
	$(ACTIVATED) snakemake --cores $(CORES) $@ --config engine=cellsim $(CONFIG)
	@echo "Figures are in results/figures/$@, the numbers and verdicts behind them in results/summaries/$@."

report: ## one page to read for each experiment, into results/reports/
publish: ## the page and all that belongs to it, as a folder and a zip, into results/publish/ and results/bundles/
report publish: setup
	$(ACTIVATED) snakemake --cores $(CORES) $@ --config engine=cellsim $(CONFIG)

# Tests by name, or `@FILE` with a name on each line, in place of all.
TESTS ?=

# Emulations come last, one at a time, with no other test beside them.
test: setup ## every test: those of the programs, then the pipeline's
	@$(MAKE) --no-print-directory --jobs=1 --keep-going test_programs test_python test_real_time

test_programs: setup
	cargo test --quiet --release --locked --workspace

test_real_time: setup
	@$(ACTIVATED) python -m pytest -m real_time $(TESTS)

test_python: setup
	@$(ACTIVATED) python -m pytest -n $(CORES) --dist loadfile --no-loadscope-reorder -m "not real_time" $(TESTS)

test-tor: setup ## tor's own tests of what the patches touch, and cellsim's rules beside tor's (minutes; builds tor's tests)
	$(ACTIVATED) python -m bench.tor_rules oracle --out results/tools/tor/answers.txt $(if $(TOR_SOURCE),--source $(TOR_SOURCE))
	TOR_ORACLE_VECTORS=$(CURDIR)/results/tools/tor/answers.txt cargo test --quiet --release --locked --package cellsim --test oracle
	$(ACTIVATED) python -m bench.tor_rules test --jobs $(CORES) $(if $(TOR_SOURCE),--source $(TOR_SOURCE))

fuzz: setup ## damage documents of every format and see that no command breaks
	$(ACTIVATED) FUZZ_EXAMPLES=$(or $(EXAMPLES),2000) pytest --quiet --numprocesses $(CORES) tests/fuzz

lint: setup ## format, lint and types of Python, Snakemake and Rust files
	@$(ACTIVATED) setup/lint.sh

format: setup ## rewrite Python, Snakemake and Rust files in the project's format
	$(BIN)/ruff check --quiet --fix-only .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile rules
	cargo fmt --all

bench: setup ## speed and memory of engine and sampler, coverage of intervals, into bench/results/
	$(ACTIVATED) python -m bench
	$(ACTIVATED) python -m bench.coverage

docs-tables: setup ## write the numbers of docs/tables/ into the tables of documents
	$(ACTIVATED) python -m bench.doc_tables

reference: setup ## write docs/reference and configs/schema.json from the code's declarations
	$(ACTIVATED) python -m docs.generate

site: $(VENV)/site.stamp ## the documentation as a site with search, into site/; a broken link is an error
	rm -rf site
	$(ACTIVATED) python -m sphinx --quiet --nitpicky --fail-on-warning --keep-going --conf-dir docs --doctree-dir $(VENV)/site . site
	@echo "The site is in site/; begin at site/index.html."

$(VENV)/site.stamp: setup/site.lock $(VENV)/torsweep.stamp
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r setup/site.lock
	@touch $@

lock: ## choose the versions in requirements.lock and setup/site.lock anew (needs uv)
	setup/lock.sh

# Wheels come from the checkout: in a source package the command `torsweep` is not executable.
dist: setup ## wheels and a source package to hand on, into dist/ (minutes: everything compiles anew)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(ZIG)
	rm -f dist/torsweep-*
	! command -v rustup >/dev/null || rustup target add $(WHEEL_TARGETS)
	for target in $(WHEEL_TARGETS); do \
	  $(ACTIVATED) CARGO_TARGET_DIR=$(CURDIR)/target maturin build --release --zig --target $$target \
	    --compatibility manylinux2014 --out dist || exit; \
	done
	$(ACTIVATED) maturin sdist --out dist

clean: ## remove what set-up, builds and tests have made; results/ stays
	rm -rf $(VENV) site target .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './results/*' -prune -exec rm -rf {} +
