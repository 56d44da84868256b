# Every target is one line below; CI calls nothing else.
CARGO ?= cargo
export CARGO_TERM_PROGRESS_WHEN ?= auto

.DEFAULT_GOAL := help
.PHONY: help generate demo demo-cluster dist test simulate oracle lint advisories bench throughput waiting soak fuzz e2e matrix fmt guests policies

# The tests that could not run on this machine, with the reason; `make test` prints them at its end.
SKIPPED := $(CURDIR)/target/skipped-tests

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: first-build policies ## Show the whole of it on a sample cluster (no Kubernetes needed); DEMO='--pods 100'
	@$(CARGO) build --workspace --bin plimsoll --bin plimsoll-demo
	@target/debug/plimsoll-demo $(DEMO)

.PHONY: first-build
first-build:
	@[ -x target/debug/plimsoll ] || echo "The first build takes about 6 minutes on two cores. Cargo names what it builds: the sample policies, then plimsoll with wasmtime. Then the demo prints within seconds what each pod gets, and why."

demo-cluster: first-build policies ## The same story in front of a real API server and kube-scheduler (needs Go and openssl)
	@tests/e2e/control-plane/build
	@$(CARGO) build --workspace --bin plimsoll --bin plimsoll-demo-cluster
	@target/debug/plimsoll-demo-cluster

dist: ## Build the binary to ship, for Linux with glibc 2.28 or newer, with checksums, in target/dist (needs Python's pip); DIST='amd64 arm64'
	@.ci/dist

# What other languages than Rust and Go need minutes for.
NIGHTLY_FEATURES := plimsoll-commands/nightly,plimsoll-policies/nightly

test: policies ## Run every test: unit, property, contract, guests, reload, commands; NIGHTLY=1 also each page and sample in every language
	@mkdir -p target && rm -f $(SKIPPED)
	@status=0; PLIMSOLL_SKIPPED=$(SKIPPED) $(CARGO) test --workspace --no-fail-fast $(if $(NIGHTLY),--features $(NIGHTLY_FEATURES)) || status=$$?; \
	if [ -s $(SKIPPED) ]; then echo; echo "$$(sort -u $(SKIPPED) | wc -l) tests were skipped:"; sort -u $(SKIPPED); fi; \
	exit $$status

WORLDS ?= 100000
simulate: ## Two gateways in random worlds (WORLDS=100000; SEED=N runs one again): no device twice, no pod lost
	$(if $(SEED),PLIMSOLL_SEED=$(SEED)) PLIMSOLL_SIMULATION_WORLDS=$(WORLDS) $(CARGO) test --package plimsoll-cluster --lib simulation::in_no -- --nocapture

ORACLE_NODES ?= 10000
oracle: ## Hold what policies read, rules in CEL, and the filters of `run`, to what Kubernetes' own code computes, as a table (needs Go; ORACLE_NODES=10000, SEED=N)
	$(if $(SEED),PLIMSOLL_SEED=$(SEED)) PLIMSOLL_ORACLE_NODES=$(ORACLE_NODES) $(CARGO) test --workspace --test contract -- oracle:: filters:: cel:: --nocapture

TOOLS := target/tools/bin

lint: ## Formatting, clippy, dependencies, documentation
	@.ci/get-tools
	$(CARGO) fmt --all --check
	$(TOOLS)/cargo-deny --log-level warn --locked check --hide-inclusion-graph bans licenses sources
	$(TOOLS)/cargo-shear --locked --deny-warnings --check-test-targets
	$(CARGO) clippy --workspace --all-targets --features plimsoll-e2e/nightly,$(NIGHTLY_FEATURES) -- --deny warnings
	$(CARGO) test --quiet --workspace --test rules --test deploy --test defaults --test imports --test links --test generated
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --workspace --no-deps --quiet

# The whole workspace, so that no dependency is built again with other features.
bench: policies ## Measure against the aims and a Go extender (needs Go); BENCH=--quick takes a minute
	$(CARGO) build --workspace --profile measured --bin plimsoll --bin plimsoll-bench
	target/measured/plimsoll-bench $(BENCH)

throughput: policies ## Pods per second of a real kube-scheduler, by extender (needs Go and openssl)
	tests/e2e/control-plane/build
	$(CARGO) build --workspace --profile measured --bin plimsoll --bin plimsoll-throughput --features plimsoll-e2e/control-plane
	$(if $(wildcard /dev/shm),TMPDIR=/dev/shm) target/measured/plimsoll-throughput $(THROUGHPUT)

waiting: policies ## What pods wait for on a real kube-scheduler, and attempts meanwhile; WAITING='--only needle --plimsoll FILE' (needs Go and openssl)
	tests/e2e/control-plane/build
	$(CARGO) build --workspace --bin plimsoll --bin plimsoll-waiting --features plimsoll-e2e/control-plane
	$(if $(wildcard /dev/shm),TMPDIR=/dev/shm) target/debug/plimsoll-waiting $(WAITING)

# The whole workspace, so that no dependency is built again with other features.
soak: policies ## Everything at once for ten minutes, with memory and descriptors over time; SOAK='--minutes 60'
	$(CARGO) build --workspace --profile measured --bin plimsoll --bin plimsoll-soak
	target/measured/plimsoll-soak $(SOAK)

fuzz: policies ## Feed generated and broken modules to the loader for a minute; FUZZ="--minutes 60" for longer
	$(CARGO) build --workspace --bin plimsoll --bin plimsoll-fuzz
	$(CARGO) build --manifest-path tests/fuzz/generator/Cargo.toml --target-dir target/fuzz/build
	target/debug/plimsoll-fuzz $(FUZZ)

e2e: policies ## Run in front of a real kube-scheduler and API server (needs Go and openssl)
	tests/e2e/control-plane/build
	tests/e2e/helm/build
	$(CARGO) build --workspace --bin plimsoll
	$(CARGO) test --workspace --test e2e --features plimsoll-e2e/$(if $(NIGHTLY),nightly,control-plane)

KUBERNETES ?= v1.33.13 v1.34.4 v1.35.4 v1.36.3 v1.37.2
matrix: policies ## Run the end-to-end tests on each version of Kubernetes, and write the table in docs/kubernetes.md; KUBERNETES='v1.36.3'
	tests/e2e/helm/build
	$(CARGO) build --workspace --bin plimsoll
	tests/e2e/matrix $(KUBERNETES)

# Apart from lint: it needs the network, and what it says changes without a commit.
advisories: ## Look for known vulnerabilities in the dependencies
	@.ci/get-tools
	$(TOOLS)/cargo-deny check advisories

# After a change of policy.wit or reads.yaml; `make lint` fails where it was forgotten.
generate: ## Write the code that follows from the contract (plugin-sdk/wit)
	$(CARGO) build --workspace --bin plimsoll-generate
	target/debug/plimsoll-generate

guests: ## Build the guest for CEL again, to the same bytes (plugin-sdk/cel/cel.wasm)
	@plugin-sdk/cel/build

fmt: ## Format everything
	$(CARGO) fmt --all

policies: ## Build every sample policy into target/policies
	@plugins/build
	@tests/demo/guests/build
	@plugin-sdk/rust/build-wasm --package plimsoll-policy --example conformance --example licence_seats >/dev/null
