# make test      installs what the tests need and is missing, then runs everything
# make run       the server with the embedded engine, dashboard on http://127.0.0.1:7070/
# make tools     only installs
# make pages     lint, format and types of the pages; make pages-fix writes what can be written
# make quick     format, lints, and tests on the embedded engine: needs nothing but Rust
# make torture   the tests, much longer: PROPTEST_CASES=20000 and every long form
# make dist      static binary, Debian package and root of an image in target/dist, each started once
# make bench     measures the parts, release build; `cargo run --release -p worldkeep-bench` measures beside the peers

CARGO ?= cargo
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
STEP := @.ci/step
export WORLDKEEP_TEST_STORES ?= embedded,redis,valkey,cluster
# What is random is the same in every run; `make torture` takes another seed each time, and a failure prints it.
export SIM_SEED ?= 42

# nextest when it is there: one process and one time limit per test. Otherwise what comes with Rust.
TESTS := $(shell command -v cargo-nextest >/dev/null 2>&1 \
	&& echo "$(CARGO) nextest run --workspace --locked --no-fail-fast" \
	|| echo "$(CARGO) test --workspace --locked --no-fail-fast --lib --bins --tests --examples")

.PHONY: test quick tools run torture dist bench fmt lint pages pages-fix tests doctests browser

test:
	@rm -f target/steps.txt target/retried-browser.txt $(TARGET)/nextest/default/junit.xml
	$(STEP) "install what the tests need" .ci/tools
	$(STEP) "format" $(CARGO) fmt --all --check
	$(STEP) "lints" $(CARGO) clippy --workspace --all-targets --locked --quiet -- -D warnings
	$(STEP) "pages: lint, format, types" .ci/pages
	$(STEP) "tests on $(WORLDKEEP_TEST_STORES)" $(TESTS)
	$(STEP) "examples in the documentation" $(CARGO) test --workspace --doc --locked --quiet
	$(STEP) "browser tests" $(MAKE) --no-print-directory browser
	@printf '\n'; cat target/steps.txt; .ci/retried $(TARGET); echo 'make test: all passed'

quick: export WORLDKEEP_TEST_STORES = embedded
quick: fmt lint tests

tools:
	@.ci/tools

run:
	$(CARGO) run --release --locked

# Property tests try 80 times as much, tests with a long form take it, and the seed is new.
torture: export PROPTEST_CASES ?= 20000
torture: export NEXTEST_PROFILE = torture
torture: export WORLDKEEP_TORTURE = 1
torture: export SIM_SEED := $(shell date +%s)
torture: tools tests

dist:
	@packaging/dist $(TRIPLE)

# The server beside is the redis-server on PATH; REDIS=redis://... measures one of yours through link.
bench:
	$(CARGO) bench --locked -p worldkeep-kernel
	$(CARGO) bench --locked -p worldkeep-engine --bench engine
	$(CARGO) run --release --locked -p worldkeep-link --example overhead -- $(REDIS)
	WORLDKEEP_TIMING=1 $(CARGO) test --release --locked -p worldkeep-link -p worldkeep-jobs --test it -- \
		--test-threads=1 heal faults cluster sentinel picks_a_job_up away restarts

# The single steps, for those who want one.
fmt:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# The pages and the browser tests: their scripts, styles and types.
pages:
	@.ci/pages

pages-fix:
	@.ci/pages --fix

tests:
	$(TESTS)

doctests:
	$(CARGO) test --workspace --doc --locked

# Uses the binary that the tests were just run with.
browser:
	@WORLDKEEP_BIN=$(TARGET)/debug/worldkeep .ci/browser
