# What one starts most. `make demo` and `make test` set up everything they need.
# The parts of the tests are in tests/run.py, the benchmarks in bench/__main__.py; each is started by name.

PYTHON ?= $(shell for p in python3.13 python3.12 python3; do $$p -c '' 2>/dev/null && echo $$p && break; done)
PART := $(PYTHON) tests/run.py

.PHONY: help demo test test-all check lint docs package c-library bench experiments soak fuzz clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14
	@echo
	@echo "More of the tests: python3 tests/run.py --list. The benchmarks: python3 -m bench."

# Without the tables in Parquet and Arrow, whose compiler time is a third of the whole: the demo reads none.
demo: ## the main job on an embedded model, start to finish
	cargo run --profile quick --locked --quiet -p secateur-cli --no-default-features --bin secateur -- demo --dir target/demo

test: ## all checks and tests, Rust and Python, in about a quarter of an hour; a table at the end
	@$(PART)

test-all: ## all seeds, clusters, packages, other compilers and machines; says what it could not run
	@$(PART) --all

check: ## for a commit: formatting, clippy and the tests of the crates that differ from the main branch
	@$(PART) --changed

lint: ## formatting, clippy and ruff, warnings as errors, and what the trusted crates depend on
	@$(PART) lint

docs: ## the documentation site in target/site, links checked, with the Rust reference beside it
	@$(PART) docs

package: ## crates, wheel and sdist as they are published; nothing is uploaded
	@$(PART) package

# Nothing unwinds there, so that no tables for it are needed. The compiler copies functions less often
# into others than elsewhere; what is hot in the runtime does not rely on that.
SMALL := -C force-unwind-tables=no -C llvm-args=-inline-threshold=40 -C llvm-args=-unroll-threshold=90 \
  -C llvm-args=-unroll-runtime=false -C link-arg=-Wl,--no-eh-frame-hdr

c-library: ## the C library without Rust's standard library, in target/small, with its size
	RUSTFLAGS="$(SMALL)" cargo build --locked --profile small -p secateur-c --no-default-features
	@ls -l target/small/libsecateur_c.* crates/run/c/include/secateur_runtime.h

bench: ## a benchmark (NAME=pack DATASETS=folder BENCH_OPTIONS=--quick); without NAME: which ones there are
	@$(PYTHON) -m bench $(NAME) $(if $(DATASETS),--datasets $(DATASETS)) $(BENCH_OPTIONS)

experiments: ## the paper's tables (DATASETS=folder; EXPERIMENTS=all: everything; a night)
	$(PYTHON) dev/environment.py test
	cargo build --release --locked --quiet --bins
	.venv/bin/python experiments/run.py $(or $(EXPERIMENTS),main) --datasets $(or $(DATASETS),../shared/datasets) $(EXPERIMENT_OPTIONS)

soak: ## random models of every library and forged certificates, for an hour (SOAK_SECONDS=)
	@$(PART) soak

fuzz: ## every reader in libFuzzer for a minute (FUZZ_SECONDS=3600 FUZZ_TARGETS="packed onnx")
	@$(PART) fuzz

clean: ## remove everything that was built
	rm -rf target .venv
