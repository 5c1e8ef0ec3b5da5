# The project's commands. `make demo` and `make test` set up everything they need.
# A venv in .venv holds the Python side; cargo alone builds the command line.

PYTHON ?= $(shell for p in python3.13 python3.12 python3; do $$p -c '' 2>/dev/null && echo $$p && break; done)
VENV := .venv
STAMP := $(VENV)/.installed

.PHONY: help new-user notebooks doc docs package demo test test-all check build test-rust test-cluster test-python test-package test-release test-c test-arm test-clang test-wasm c-library lint miri test-sanitizer fuzz fuzz-check bench bench-oracle bench-conversions bench-scores bench-prune bench-certificates bench-cluster bench-wall bench-embedded bench-limits bench-pack bench-quantised soak catboost-rows clean bench-peers experiments test-report test-highs

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

# Without the tables in Parquet, whose compiler time is a third of the whole: the demo reads none.
demo: ## the main job on an embedded model, start to finish
	cargo run --release --locked --quiet -p secateur-cli --no-default-features --bin secateur -- demo --dir target/demo

test: ## all checks and tests, Rust and Python, in ten minutes; a table at the end
	@$(PYTHON) tests/run.py

test-all: ## everything there is: full seeds, clusters, packages, other compilers and machines; says what it could not run
	@$(PYTHON) tests/run.py --all

check: ## for a commit: formatting, clippy and the tests of the crates that differ from the main branch
	@$(PYTHON) tests/run.py --changed

# One build for all tests, the commands and the Python module: the same members and features everywhere, or cargo builds it all again.
build: ## the crates, their tests and the Python module, with every check on
	cargo build --profile test --workspace --lib --bins --tests --locked --features secateur-wheel/extension-module

test-rust: ## the Rust tests
	cargo test --workspace --tests --locked --features secateur-wheel/extension-module
	cargo test --workspace --doc --locked --features secateur-wheel/extension-module

DEVELOP := $(VENV)/bin/python tests/develop.py

test-cluster: $(STAMP) ## searches on a process pool, Dask and Ray, two workers each; part of test-python
	$(DEVELOP)
	$(VENV)/bin/python -m pytest python/tests/test_cluster.py python/tests/test_verify_many.py

test-python: $(STAMP) ## the Python tests, against the real libraries
	$(DEVELOP)
	$(VENV)/bin/python -m pytest -n 2 --dist worksteal -m 'not alone'
	$(VENV)/bin/python -m pytest -m alone

new-user: $(STAMP) ## a new user's first hour on a terminal, from the wheel alone; writes docs/new-user/transcript.md
	rm -rf target/new-user
	$(VENV)/bin/maturin build --release --locked --quiet --out target/new-user
	$(PYTHON) docs/new-user/play.py target/new-user/*.whl

# Nothing unwinds there, so that no tables for it are needed. The compiler copies functions less often into others than elsewhere; what is hot in
# the runtime does not rely on that.
SMALL := -C force-unwind-tables=no -C llvm-args=-inline-threshold=40 -C llvm-args=-unroll-threshold=90 -C llvm-args=-unroll-runtime=false -C link-arg=-Wl,--no-eh-frame-hdr
c-library: ## the C library without Rust's standard library, in target/small, with its size
	RUSTFLAGS="$(SMALL)" cargo build --locked --profile small -p secateur-c --no-default-features
	@ls -l target/small/libsecateur_c.* crates/run/c/include/secateur_runtime.h

test-c: c-library ## the C example with that library, static and shared
	SECATEUR_C_LIBRARY=$(abspath target/small/libsecateur_c.a) cargo test --locked -p secateur-c --test example
	SECATEUR_C_LIBRARY=$(abspath target/small/libsecateur_c.so) cargo test --locked -p secateur-c --test example

# The tests are linked without a C compiler for ARM, and an emulator runs them.
ARM := aarch64-unknown-linux-musl
test-arm: ## the runtime on ARM with NEON; needs `rustup target add aarch64-unknown-linux-musl` and qemu-user
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER=qemu-aarch64 \
	  cargo test --locked -p secateur-runtime --lib --target $(ARM)

test-clang: $(STAMP) ## emitted C and the C library again, compiled with clang, which must be installed
	CC=clang cargo test --locked -p secateur-emit -p secateur-c
	CC=clang cargo test --locked -p secateur-cli --test black_box pack_source
	$(DEVELOP)
	CC=clang $(VENV)/bin/python -m pytest python/tests/test_source.py

test-wasm: $(STAMP) ## models as WebAssembly in Node and a headless Chromium (apt-get install nodejs chromium)
	$(DEVELOP)
	PYTHONPATH=python/tests $(VENV)/bin/python -m pytest python/web

test-package: $(STAMP) ## a fresh venv, pip install, and the README's script: from the folder and from an sdist
	$(VENV)/bin/python python/tests/fresh_install.py

# Its own venv: cmake and libclang come from there, so that nothing else needs them.
HIGHS := target/highs-venv
WITH_HIGHS = PATH="$(abspath $(HIGHS))/bin:$$PATH" \
	LIBCLANG_PATH="$$(dirname $$(find $(abspath $(HIGHS)) -name 'libclang.*' | head -1))" \
	BINDGEN_EXTRA_CLANG_ARGS="-I$$(cc -print-file-name=include)"

test-highs: $(HIGHS)/.installed ## the LP suite and pruning on HiGHS too, whose first build takes minutes
	$(WITH_HIGHS) cargo test --locked --target-dir target/highs -p secateur-lp -p secateur-prune -p secateur-cli \
	  --features secateur-lp/highs,secateur-prune/highs,secateur-cli/highs \
	  --lib --test it --test black_box

$(HIGHS)/.installed:
	$(PYTHON) -m venv $(HIGHS)
	$(HIGHS)/bin/pip install --quiet --disable-pip-version-check 'cmake>=3.24,<5' 'libclang>=18,<19'
	touch $@

# Our crates that each of them may be made of, in the order of the alphabet: no search, and in the checker nothing that knows a file of a model.
CHECKER := secateur-certificate secateur-checker secateur-kernel secateur-lower secateur-model
CHECK := secateur-certificate secateur-check secateur-checker secateur-formats secateur-kernel secateur-lower secateur-model secateur-runtime secateur-source

lint: $(STAMP) ## formatting, clippy and ruff, warnings as errors, and what the trusted crates depend on
	$(VENV)/bin/ruff check --quiet
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --features secateur-wheel/extension-module,secateur-check/program -- -D warnings
	@echo "what the checker depends on, and the program that reads files for it:"
	cargo tree --package secateur-checker --edges normal --locked
	cargo tree --package secateur-check --edges normal --locked
	@for crate in kernel runtime; do \
	  test "$$(cargo tree --package secateur-$$crate --edges normal --prefix none --locked | wc -l)" = 1 \
	    || { echo "the $$crate must depend on nothing"; exit 1; }; \
	done
	@own=$$(cargo tree --package secateur-checker --edges normal --prefix none --locked | grep -oE '^secateur[a-z-]*' | sort -u | tr '\n' ' '); \
	  test "$$own" = "$(CHECKER) " || { echo "the checker may depend on $(CHECKER) alone, and has $$own"; exit 1; }
	@own=$$(cargo tree --package secateur-check --edges normal --prefix none --locked | grep -oE '^secateur[a-z-]*' | sort -u | tr '\n' ' '); \
	  test "$$own" = "$(CHECK) " || { echo "secateur-check may depend on $(CHECK) alone, and has $$own"; exit 1; }

doc: ## the crates' documentation, warnings as errors
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

# A workspace of its own, which is why `make lint` does not see it.
fuzz-check: ## the fuzz targets compile; they are not linked, which takes a nightly compiler and C++
	cargo check --manifest-path fuzz/Cargo.toml --no-default-features --locked --target-dir target

test-release: ## what is handed out has none of the hooks that tests use
	cargo build --release --locked --quiet -p secateur-cli --bins
	@! grep -l SECATEUR_TEST_ target/release/secateur target/release/secateur-check \
	  || { echo "a release must not listen to SECATEUR_TEST_..."; exit 1; }

# What is published, as it would be: every crate builds from its own package, and the sdist's description is one that PyPI shows.
PACKAGES := --workspace --exclude secateur-testkit --exclude secateur-wheel --exclude secateur-python

package: $(STAMP) ## crates, wheel and sdist as they are published; nothing is uploaded
	cargo package $(PACKAGES) --locked --allow-dirty
	rm -rf target/packages
	$(VENV)/bin/maturin build --profile dist --locked --sdist --out target/packages
	$(VENV)/bin/pip install --quiet --disable-pip-version-check 'twine>=6,<7'
	$(VENV)/bin/python -m twine check --strict target/packages/*

# Its own venv: the site's tools are for writing only.
DOCS := target/docs-venv

docs: $(DOCS)/.installed ## the documentation site in target/site, links checked, with the Rust reference beside it
	rm -rf target/site
	$(DOCS)/bin/sphinx-build -q -W --keep-going -c docs . target/site
	cargo doc --no-deps --locked --quiet -p secateur -p secateur-runtime -p secateur-checker -p secateur-certificate
	cp -r target/doc target/site/rust
	echo '<meta http-equiv="refresh" content="0; url=docs/index.html">' > target/site/index.html
	@echo "open target/site/index.html"

$(DOCS)/.installed: docs/requirements.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/pip install --quiet --disable-pip-version-check -r docs/requirements.txt
	touch $@

notebooks: $(STAMP) ## makes and executes the notebooks in docs/notebooks
	VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop --release --quiet
	$(VENV)/bin/pip install --quiet --disable-pip-version-check 'nbclient>=0.10,<0.12' 'ipykernel>=6,<8'
	mkdir -p target && PATH="$(abspath $(VENV))/bin:$$PATH" $(VENV)/bin/python docs/notebooks/make.py

# The share of it that `make test` runs is python/tests/test_soak.py.
SOAK_SECONDS ?= 3600

soak: $(STAMP) ## random models of every library, every cell decided by it, and forged certificates, for an hour (SOAK_SECONDS=)
	VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop --release --quiet
	$(VENV)/bin/python soak/run.py --seconds $(SOAK_SECONDS) $(SOAK_OPTIONS)

CATBOOST_ROWS := target/catboost-rows

catboost-rows: $(STAMP) ## 10,000 hostile rows for every CatBoost fixture, by CatBoost 1.2 and 1.2.10; needs Python 3.8 to 3.11
	$(PYTHON) -m venv $(CATBOOST_ROWS)/venv-1.2
	$(CATBOOST_ROWS)/venv-1.2/bin/pip install --quiet "catboost==1.2" "numpy<2" "pandas<2.3"
	mkdir -p $(CATBOOST_ROWS)/1.2 $(CATBOOST_ROWS)/1.2.10
	$(CATBOOST_ROWS)/venv-1.2/bin/python testdata/models/catboost/make.py $(CATBOOST_ROWS)/1.2 10000
	$(VENV)/bin/python testdata/models/catboost/make.py $(CATBOOST_ROWS)/1.2.10 10000
	set -e; for version in 1.2 1.2.10; do \
	  CATBOOST_FIXTURES=$(abspath $(CATBOOST_ROWS))/$$version cargo test --release --locked --quiet -p secateur-formats --test it catboost_fixtures::scores_and_classes; \
	done

# The runtime under Miri, which sees reads outside of a table and undefined behaviour: the paths without wider instructions, as Miri has none.
miri: ## the runtime's tests under Miri (needs nightly Rust with its component miri; takes minutes)
	cargo +nightly miri test --package secateur-runtime --lib --target-dir target/miri

# AddressSanitizer with the stable compiler, which has it behind a door. Rust's standard library is not instrumented: what it does itself with wrong
# arguments is not seen, what the runtime reads and writes of its memory is. Programs of C are compiled with the sanitizer of the C compiler.
SANITIZED := x86_64-unknown-linux-gnu
test-sanitizer: ## the runtime on every instruction set and the C library under AddressSanitizer (x86-64 Linux; takes minutes)
	RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address SECATEUR_C_FLAGS=-fsanitize=address \
	  cargo test --locked -p secateur-runtime -p secateur-c --lib --tests --target $(SANITIZED) --target-dir target/sanitizer

FUZZ_SECONDS ?= 60

fuzz: ## every reader in libFuzzer for a minute each (FUZZ_SECONDS=3600 FUZZ_TARGETS="packed onnx"); says what it needs (fuzz/README.md)
	$(PYTHON) fuzz/run.py --seconds $(FUZZ_SECONDS) $(FUZZ_TARGETS)

bench: $(STAMP) ## reading and prediction against the libraries; tables with ratios
	VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop --release --quiet
	$(VENV)/bin/python bench/formats.py --save

$(STAMP): requirements-test.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r requirements-test.txt
	touch $@

# Its own venv: HiGHS is for measuring only.
BENCH := target/bench-venv
DATASETS ?= ../shared/datasets

bench-oracle: $(BENCH)/.installed ## the oracle beside the paper's MILP on HiGHS (DATASETS=folder; WALL=1: large searches)
	cargo build --release --locked --quiet -p secateur-oracle --example measure
	VIRTUAL_ENV=$(abspath $(BENCH)) $(BENCH)/bin/maturin develop --release --quiet
	$(BENCH)/bin/python bench/oracle/run.py --datasets $(DATASETS) $(if $(WALL),--wall) $(BENCH_OPTIONS)

bench-conversions: $(BENCH)/.installed ## models against their ONNX conversions (DATASETS=folder)
	VIRTUAL_ENV=$(abspath $(BENCH)) $(BENCH)/bin/maturin develop --release --quiet
	$(BENCH)/bin/python bench/oracle/conversions.py --datasets $(DATASETS) $(BENCH_OPTIONS)
	$(BENCH)/bin/python bench/scores/conversions.py --datasets $(DATASETS) $(BENCH_OPTIONS)

bench-scores: $(BENCH)/.installed ## prune --within and leaves rounded to 16 and 8 bits (DATASETS=folder; BENCH_OPTIONS=--save)
	VIRTUAL_ENV=$(abspath $(BENCH)) $(BENCH)/bin/maturin develop --release --quiet
	$(BENCH)/bin/python bench/scores/run.py --datasets $(DATASETS) $(BENCH_OPTIONS)

bench-quantised: $(BENCH)/.installed ## models as C with leaves of 16 and 8 bits: bound, size, 100,000 rows (DATASETS=folder; BENCH_OPTIONS=--save; needs cc)
	VIRTUAL_ENV=$(abspath $(BENCH)) $(BENCH)/bin/maturin develop --release --quiet
	$(BENCH)/bin/python bench/quantised/run.py --datasets $(DATASETS) $(BENCH_OPTIONS)

bench-prune: $(BENCH)/.installed ## sizes, proofs and times of prune on six groups of models (DATASETS=folder; BENCH_OPTIONS=--quick)
	cargo build --release --locked --quiet --bins
	cargo build --release --locked --quiet -p secateur-prune --example certificate_cost
	VIRTUAL_ENV=$(abspath $(BENCH)) $(BENCH)/bin/maturin develop --release --quiet
	$(BENCH)/bin/python bench/prune/run.py --datasets $(DATASETS) $(BENCH_OPTIONS)

bench-cluster: $(STAMP) ## a long search with two processes beside two threads, and simulated on 1 to 1,000 workers (BENCH_OPTIONS=--save)
	VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop --release --quiet
	$(VENV)/bin/python bench/cluster/run.py $(BENCH_OPTIONS)
	$(VENV)/bin/python bench/cluster/simulate.py $(BENCH_OPTIONS)

bench-wall: $(STAMP) ## comparisons beyond an hour of one machine, with checkpoints (DATASETS=folder BENCH_OPTIONS="--minutes 30 --save")
	VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop --release --quiet
	$(VENV)/bin/python bench/cluster/wall.py --datasets $(DATASETS) --keep target/wall $(BENCH_OPTIONS)

bench-certificates: $(BENCH)/.installed ## what proofs of millions of steps cost to write and to check (DATASETS=folder)
	cargo build --release --locked --quiet -p secateur-prune --example certificate_cost
	$(BENCH)/bin/python bench/certificates/run.py --datasets $(DATASETS) $(BENCH_OPTIONS)

bench-limits: $(STAMP) ## large forests and deep trees: time, memory, and limits asked and kept (BENCH_OPTIONS=--only=28k)
	cargo build --release --locked --quiet --bin secateur
	VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop --release --quiet
	$(VENV)/bin/python bench/limits/run.py --save $(BENCH_OPTIONS)

$(BENCH)/.installed: bench/requirements-bench.txt requirements-test.txt
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/pip install --quiet --disable-pip-version-check -r requirements-test.txt -r bench/requirements-bench.txt
	touch $@

# Its own venv: the other predictors are for measuring only.
PACK := target/pack-venv

bench-pack: $(PACK)/.installed ## packed models beside the libraries and other predictors (DATASETS=folder; BENCH_OPTIONS=--quick, --resume)
	VIRTUAL_ENV=$(abspath $(PACK)) $(PACK)/bin/maturin develop --release --quiet
	cargo build --release --locked --quiet -p secateur-c
	$(PACK)/bin/python bench/pack/run.py --datasets $(DATASETS) $(BENCH_OPTIONS)

$(PACK)/.installed: bench/pack/requirements.txt requirements-test.txt
	$(PYTHON) -m venv $(PACK)
	# shap needs a newer llvmlite than lleaves does.
	grep -v '^shap' requirements-test.txt > $(PACK)/requirements.txt
	$(PACK)/bin/pip install --quiet --disable-pip-version-check -r $(PACK)/requirements.txt -r bench/pack/requirements.txt
	touch $@

# Flash and instructions on a Cortex-M4. Needs arm-none-eabi-gcc with newlib, and for YDF's C++ its C++ library: in Debian gcc-arm-none-eabi,
# libnewlib-arm-none-eabi and libstdc++-arm-none-eabi-newlib.
EMBEDDED := target/embedded-venv

bench-embedded: $(EMBEDDED)/.installed ## models as C on an emulated Cortex-M4, beside other generators (DATASETS=folder; needs arm-none-eabi-gcc)
	@command -v arm-none-eabi-gcc > /dev/null || { echo "bench-embedded needs arm-none-eabi-gcc: apt install gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib"; exit 1; }
	cargo build --release --locked --quiet -p secateur-cli --bins
	$(EMBEDDED)/bin/python bench/embedded/run.py --datasets $(DATASETS) $(BENCH_OPTIONS)

$(EMBEDDED)/.installed: bench/embedded/requirements.txt requirements-test.txt
	$(PYTHON) -m venv $(EMBEDDED)
	$(EMBEDDED)/bin/pip install --quiet --disable-pip-version-check -r requirements-test.txt -r bench/embedded/requirements.txt
	touch $@

# fipepy needs Python 3.12 and brings its solver's size-limited licence; without it that peer is shown as missing.
FIPE := target/fipe-venv
PYTHON312 ?= python3.12

bench-peers: $(BENCH)/.installed ## secateur beside the paper's method on HiGHS and fipepy (DATASETS=folder)
	cargo build --release --locked --quiet --bin secateur
	-test -e $(FIPE)/.installed || { $(PYTHON312) -m venv $(FIPE) && \
	  $(FIPE)/bin/pip install --quiet --disable-pip-version-check -r bench/peers/requirements-fipe.txt && touch $(FIPE)/.installed; }
	$(BENCH)/bin/python bench/peers/run.py --datasets $(DATASETS) \
	  $(if $(wildcard $(FIPE)/.installed),--fipe-python $(FIPE)/bin/python) $(BENCH_OPTIONS)

experiments: $(STAMP) ## the paper's tables: AdaBoost and the appendix at M=50 (DATASETS=folder, EXPERIMENTS=all: everything)
	cargo build --release --locked --quiet --bins
	$(VENV)/bin/python experiments/run.py $(or $(EXPERIMENTS),main) --datasets $(DATASETS) $(EXPERIMENT_OPTIONS)

test-report: $(STAMP) ## the report pages in a headless Chromium (apt-get install chromium)
	cargo build --release --locked --quiet --bin secateur
	rm -rf target/report-pages target/report-shots
	cargo run --quiet --locked -p secateur-report --example pages -- target/report-pages
	$(VENV)/bin/python crates/front/report/browser/outcomes.py target/release/secateur target/report-pages
	$(VENV)/bin/python crates/front/report/browser/check.py target/report-pages --shots target/report-shots --need 14

clean: ## remove everything that was built
	rm -rf target $(VENV)
