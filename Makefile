# The whole developer interface. `make` alone lists it.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SPREAD := --numprocesses auto --maxprocesses 4
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Bytecode is kept, whatever the environment says: tests start hundreds of processes, and each would compile it all anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help try demo serve check test platforms torture fuzz bench docs pictures lock advisories clean system

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

try: $(VENV)/server ## one event and its approval, in a throw-away region; EVENT=preempt (or another type) instead of reboot
	@$(BIN)/forewarn try $(EVENT)

demo: $(VENV)/server ## see the product do its job: a region of a dozen VMs, one story for each event type
	@$(BIN)/forewarn demo

serve: $(VENV)/server ## a region that stays, in ./forewarn-data
	@$(BIN)/forewarn serve

check: system-check $(VENV)/dev ## the fast part: style, types, import layers, unit tests (some three minutes)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python requirements/audit.py
	$(BIN)/pytest -q $(SPREAD) --dist loadfile tests/unit tests/docs

test: system-test check .build/az/ready .build/sdk/ready .build/js/ready .build/portal/ready ## everything, as CI runs it
	$(BIN)/pytest -q $(SPREAD) --dist loadfile --no-loadscope-reorder --ignore=tests/unit --ignore=tests/docs --ignore=tests/platforms

platforms: system-platforms $(VENV)/dev ## events on real machines: engines of Debian, started in namespaces (needs root), see docs/machines.md
	$(BIN)/pytest -q -rs tests/platforms

torture: system-test $(VENV)/dev ## nodes, wires, clocks, disks, power and database fail for MINUTES (20); nothing may be lost, see docs/loss.md
	$(BIN)/python -m tests.loss --minutes $(or $(MINUTES),20) --seed $(or $(SEED),1)

fuzz: $(VENV)/dev ## look for input that breaks a reader, for MINUTES (10); what does is kept, see docs/security.md
	$(BIN)/python -m tests.fuzz --minutes $(or $(MINUTES),10)

bench: system-bench $(VENV)/dev ## measure against peers in one run; see docs/performance.md
	$(BIN)/python -m bench

docs: $(VENV)/dev ## write the generated parts of docs/ (diagram, settings, command line) and wrap its prose
	$(BIN)/python -m tests.docs.generate
	$(BIN)/python -m tests.docs.wrap

pictures: system-test $(VENV)/dev ## take the pictures of README and docs/portal.md anew, in Chromium
	$(BIN)/python -m tests.portal.pictures

lock: $(VENV)/dev ## pin the dependencies anew
	$(PIP) install uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --extra server --extra postgresql --extra sim -o requirements/server.txt pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --extra server --extra postgresql --extra sim -o requirements/dev.txt pyproject.toml requirements/dev.in
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o requirements/build.txt requirements/build.in
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o requirements/az.txt requirements/az.in
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o requirements/sdk.txt requirements/sdk.in
	cd tests/e2e/js && npm install --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund --silent
	cd tests/portal/js && npm install --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund --silent

advisories: $(VENV)/dev ## fetch the kept list of known vulnerabilities anew (needs a network that reaches osv.dev)
	$(BIN)/python requirements/audit.py --refresh

clean: ## forget the environment and all caches
	rm -rf $(VENV) .build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist

system: system-bench ## install the Debian packages that tests and benchmark drive (needs root only when one is missing)

system-%:
	@bash requirements/system.sh $*

# The clients that the end-to-end tests drive, each in a place of its own: nothing of forewarn is in there.
.build/az/ready: requirements/az.txt requirements/az.sh
	@PYTHON=$(PYTHON) bash requirements/az.sh
	@touch $@

.build/sdk/ready: requirements/sdk.txt
	@echo "installing the Azure SDK for Python ..."
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/sdk.txt
	@touch $@

.build/js/ready: tests/e2e/js/package.json tests/e2e/js/package-lock.json
	@echo "installing the Azure SDK for JavaScript ..."
	@mkdir -p $(@D)
	@cp $^ $(@D)
	@cd $(@D) && npm ci --no-audit --no-fund --silent
	@touch $@

.build/portal/ready: tests/portal/js/package.json tests/portal/js/package-lock.json
	@echo "installing axe and the TypeScript compiler ..."
	@mkdir -p $(@D)
	@cp $^ $(@D)
	@cd $(@D) && npm ci --no-audit --no-fund --silent
	@touch $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "forewarn needs Python 3.11 or newer; set PYTHON=..."; exit 1; }
	@echo "making $(VENV) ..."
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "Python's venv module is missing: apt-get install python3-venv"; exit 1; }

$(VENV)/server: requirements/server.txt pyproject.toml | $(VENV)/bin/python
	@echo "installing the server ..."
	@$(PIP) install --require-hashes -r requirements/build.txt -r requirements/server.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev: requirements/dev.txt $(VENV)/server
	@echo "installing the tools ..."
	@$(PIP) install --require-hashes -r requirements/build.txt -r requirements/dev.txt
	@touch $@
