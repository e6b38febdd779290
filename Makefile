# Every command a contributor needs. `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

READY := .venv/.ready
# Two workers; each takes a file, or all that runs on the cluster of one API profile (tests/conftest.py): an end-to-end
# test mostly waits. The long ones come first, the many short tests last.
WORKERS ?= 2
PYTEST := .venv/bin/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
RESULTS := .pytest_cache/results.xml
PYTHON_CODE := src tests hack

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(READY) ## Make .venv with everything in it (Python 3.11 or newer is all it takes)

$(READY): pyproject.toml uv.lock hack/setup
	@hack/setup
	@touch $@

.PHONY: control-plane
control-plane: $(READY) ## Build the local control plane (minutes the first time, then cached outside the clone)
	@hack/cluster build >/dev/null

.PHONY: test
test: $(READY) control-plane ## Everything, with smaller counts where an honest number takes too long
	$(PYTEST) -m "not full" --junitxml=$(RESULTS)
	@.venv/bin/python hack/conformance_page.py --results $(RESULTS)

.PHONY: test-full
test-full: $(READY) control-plane ## Everything, with the whole counts (an hour or more)
	$(PYTEST) --junitxml=$(RESULTS)
	@.venv/bin/python hack/conformance_page.py --results $(RESULTS)

.PHONY: unit
unit: $(READY) ## The tests that need no cluster (seconds)
	$(PYTEST) tests/unit tests/faults -m "not full and not e2e"

.PHONY: e2e
e2e: $(READY) control-plane ## The tests on a real control plane (or on MUSTER_E2E_KUBECONFIG)
	$(PYTEST) tests/e2e tests/conformance -m "not full"

.PHONY: demo
demo: $(READY) control-plane ## See a gang wait, and start as a whole (KEEP=1 leaves the cluster up)
	@hack/demo

.PHONY: fmt
fmt: $(READY) ## Format the code
	.venv/bin/ruff format $(PYTHON_CODE)
	.venv/bin/ruff check --fix-only $(PYTHON_CODE)

.PHONY: lint
lint: $(READY) ## Style, types, direction of imports, size budgets
	.venv/bin/ruff format --check $(PYTHON_CODE)
	.venv/bin/ruff check $(PYTHON_CODE)
	.venv/bin/mypy src hack tests
	.venv/bin/lint-imports
	.venv/bin/python hack/budgets.py

.PHONY: generate
generate: $(READY) ## Write what is generated from the code
	.venv/bin/python hack/reasons_page.py
	.venv/bin/python hack/crd_files.py
	.venv/bin/python hack/conformance_page.py

.PHONY: verify
verify: lint ## What CI checks besides the tests: lint, the lock file, nothing generated is stale
	@hack/verify-generated

.PHONY: clean
clean: ## Remove what make made in the clone (the control plane's cache stays: `hack/cluster` says where)
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist
