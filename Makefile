# Every command a contributor needs. `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
# With `make -j release release-check`, the check must not begin before the release is built.
.NOTPARALLEL:
# Where this is set, each of the hundreds of processes that the tests start compiles every module that it imports.
unexport PYTHONDONTWRITEBYTECODE

READY := .venv/.ready
# Two workers on two cores: with three, tests that count lost requests lose some to the machine. Each takes a file, or all
# that runs on the cluster of one API profile (tests/conftest.py). The long ones come first, the many short tests last.
WORKERS ?= 2
PYTEST := .venv/bin/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# These tests measure the latency of valid requests. They run alone: other tests on two cores would distort the result. On
# somebody's own cluster all tests run so: they borrow its nodes, and two workers would borrow the same.
PYTEST_ALONE := .venv/bin/pytest
RESULTS := .pytest_cache/results.xml
# What Muster's accounts did on each cluster of the tests, from the API server's log.
USED_RIGHTS := $(CURDIR)/.pytest_cache/used-rights
PYTHON_CODE := src tests hack
FUZZ_SECONDS ?= 60
PARSER ?=
SHELL_SCRIPTS := .ci/run hack/bench hack/cluster hack/demo hack/image-build hack/release hack/release-check hack/release_build/kubectl-muster hack/release_build/image-archive hack/setup hack/tool hack/uv hack/verify-generated $(wildcard hack/kind-*) \
	hack/kind/debian hack/kind/places hack/kind/busybox-image hack/kind/engine hack/kind/image-bases hack/kind/node-image hack/kind/registry \
	hack/kind/node/kindnetd hack/kind/runc-bounded

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(READY) ## Create .venv with everything in it (requires only Python 3.11 or newer)

$(READY): pyproject.toml uv.lock hack/setup hack/uv
	@hack/setup
	@touch $@

.PHONY: control-plane
control-plane: $(READY) ## Build the local control plane (minutes the first time, then cached outside the clone)
	@hack/cluster build >/dev/null

.PHONY: tools
tools: $(READY) ## Build Helm, promtool and actionlint (minutes the first time, then cached outside the clone)
	@hack/tool build

.PHONY: test
test: $(READY) control-plane tools ## All tests, with reduced counts where the full count takes too long
	@rm -rf $(USED_RIGHTS)
	MUSTER_USED_RIGHTS=$(USED_RIGHTS) $(PYTEST) -m "not full and not quiet" --junitxml=$(RESULTS)
	MUSTER_USED_RIGHTS=$(USED_RIGHTS) $(PYTEST_ALONE) -m "not full and quiet"
	@.venv/bin/python hack/conformance_page.py --results $(RESULTS)
	@.venv/bin/python hack/used_rights.py --sample $(USED_RIGHTS)

.PHONY: test-full
test-full: $(READY) control-plane tools ## All tests, with the full counts (an hour or more)
	@rm -rf $(USED_RIGHTS)
	MUSTER_USED_RIGHTS=$(USED_RIGHTS) $(PYTEST) -m "not quiet" --junitxml=$(RESULTS)
	MUSTER_USED_RIGHTS=$(USED_RIGHTS) $(PYTEST_ALONE) -m quiet
	@.venv/bin/python hack/conformance_page.py --results $(RESULTS)
	@.venv/bin/python hack/used_rights.py $(USED_RIGHTS)
	@hack/kind/engine try $(MAKE) kind-test kind-profiles

.PHONY: unit
unit: $(READY) ## The tests that need no cluster (seconds)
	$(PYTEST) tests/unit tests/faults -m "not full and not e2e"

.PHONY: e2e
e2e: $(READY) control-plane tools ## The tests on a real control plane (or on MUSTER_E2E_KUBECONFIG)
	$(if $(MUSTER_E2E_KUBECONFIG),MUSTER_E2E_PATIENCE=$${MUSTER_E2E_PATIENCE:-3} $(PYTEST_ALONE),$(PYTEST)) tests/e2e tests/conformance -m "not full"

.PHONY: fuzz
fuzz: $(READY) ## Search for input that breaks a parser (FUZZ_SECONDS=60 for each, PARSER=intent for one)
	.venv/bin/python -m tests.fuzz.fuzz --seconds $(FUZZ_SECONDS) $(PARSER)

.PHONY: bench
bench: $(READY) control-plane ## Muster beside the in-tree controller: ratios of time and CPU (BENCH="--rounds 1 --only one Job of 8 pods")
	@hack/bench $(BENCH)

.PHONY: demo
demo: $(READY) control-plane ## See a gang wait, and start as a whole (KEEP=1 leaves the cluster up)
	@hack/demo

.PHONY: fmt
fmt: $(READY) ## Format the code
	.venv/bin/ruff format $(PYTHON_CODE)
	.venv/bin/ruff check --fix-only $(PYTHON_CODE)

.PHONY: lint
lint: $(READY) ## Style, types, direction of imports, size budgets, plain English, scripts, workflows
	.venv/bin/ruff format --check $(PYTHON_CODE)
	.venv/bin/ruff check $(PYTHON_CODE)
	.venv/bin/mypy src hack tests
	.venv/bin/lint-imports
	.venv/bin/python hack/budgets.py
	.venv/bin/python hack/plain_english.py
	.venv/bin/shellcheck --external-sources $(SHELL_SCRIPTS)
	hack/tool actionlint -shellcheck .venv/bin/shellcheck

.PHONY: generate
generate: $(READY) ## Write what is generated from the code
	.venv/bin/python hack/version_files.py
	.venv/bin/python hack/reasons_page.py
	.venv/bin/python hack/crd_files.py
	.venv/bin/python hack/conformance_page.py
	.venv/bin/python hack/chart_readme.py
	.venv/bin/python hack/manifests.py

.PHONY: verify
verify: lint tools ## What CI checks besides the tests: lint, the lock file, nothing generated is stale
	@hack/verify-generated

.PHONY: kind-up kind-load kind-install kind-e2e kind-down
kind-up: $(READY) ## A kind cluster, PROFILE=native|crd|stock (needs Docker, or Debian and root: then it is installed)
	@hack/kind-up
kind-load: $(READY) ## Build the image and put it on the kind cluster
	@hack/kind-load
kind-install: $(READY) ## Install the chart on the kind cluster
	@hack/kind-install
kind-e2e: $(READY) ## Run the end-to-end tests against the kind cluster
	@hack/kind-e2e
kind-down: $(READY) ## Remove the kind cluster
	@hack/kind-down

.PHONY: image-pins
image-pins: $(READY) ## Pin the images that Muster's is built from, and kind's nodes, to today's digests (needs a registry)
	@.venv/bin/python hack/image_pins.py

.PHONY: kind-test kind-profiles
kind-test: $(READY) control-plane tools ## Image and chart on real nodes: upgrades, outages, uninstalls (10 minutes)
	@hack/kind-test
kind-profiles: $(READY) control-plane tools ## The end-to-end tests on a kind cluster of each profile
	@hack/kind-profiles

# A release is built from the tag on HEAD: VERSION_TAG=v1.2.3 if there are several, SNAPSHOT=1 for a dry run without one.
RELEASE_FLAGS := $(if $(SNAPSHOT),--snapshot) $(if $(SKIP_IMAGE),--skip-image)
.PHONY: release release-check
release: $(READY) tools ## Everything that a release consists of, into dist/ (SNAPSHOT=1 without a tag, SKIP_IMAGE=1 without Docker)
	@hack/release $(RELEASE_FLAGS)
release-check: $(READY) control-plane tools ## Install each file of dist/ into a fresh environment, and run a gang with it
	@hack/release-check

.PHONY: clean
clean: ## Remove what make made in the clone (the control plane's cache stays: `hack/cluster` says where)
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist
