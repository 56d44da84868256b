# Every target is one line below; CI calls nothing else.
CARGO ?= cargo
export CARGO_TERM_PROGRESS_WHEN ?= auto

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench e2e fmt policies

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: policies ## Show the whole of it on a sample cluster (no Kubernetes needed)
	@$(CARGO) build --package plimsoll
	@target/debug/plimsoll demo

test: policies ## Run every test: unit, property, contract, guests, reload, commands
	$(CARGO) test --workspace --no-fail-fast

lint: ## Formatting, clippy, dependency rules, documentation
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- --deny warnings
	$(CARGO) test --quiet --package plimsoll-rules
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --workspace --no-deps --quiet

# The whole workspace, so that no dependency is built again with other features.
bench: policies ## Measure against the aims; writes target/bench/results.json
	$(CARGO) build --workspace --bins
	target/debug/plimsoll-bench

e2e: ## Run against a real kube-scheduler and API server
	@echo "make e2e: the tests against a real kube-scheduler are not built yet; see CHANGELOG.md" >&2; exit 1

fmt: ## Format everything
	$(CARGO) fmt --all

policies: ## Build every sample policy into target/policies
	@plugins/build
	@host/demo-guests/build
