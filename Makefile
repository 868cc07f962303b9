# Needs only make and Python 3.11 or later; everything else is installed into .venv.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
PLAIN := .venv-plain
SPARK := .venv-spark
RELEASE := .venv-release
DOCS := .venv-docs
JS := clients/js

# The first of these that is recent enough makes the environment; PYTHON=... overrides.
PYTHON ?=
CANDIDATES := $(or $(PYTHON),python3 python3.11 python3.12 python3.13 python3.14)

WORKERS := logical
PYTEST = -m pytest -n $(WORKERS) --dist worksteal
# make test leaves out what needs more than requirements/test.txt, and what is long.
SHORT := -m "not (browser or frames or long or node or numba or postgres or spark)"

# What make quick runs: the story, the vectors, and one example of each protocol but RAPPOR, which takes as
# long as all others.
HEART := tests/test_story.py tests/test_vectors.py tests/test_conformance.py -k "not cohorts"

# What make test-plain runs: only kernels have compiled twins, so these are the kernels, all that calls
# them, and what goes through them from end to end.
KERNELS := tests/kernels tests/protocols tests/discovery tests/test_accumulator.py tests/test_accuracy.py \
	tests/test_conformance.py tests/test_law.py tests/test_previous_version.py tests/test_story.py \
	tests/test_vectors.py tests/cli/test_commands.py tests/tools/test_vectors.py \
	src/deniable/kernels src/deniable/protocols

# Modules are compiled when they are first imported, and most never are; what is compiled is kept,
# since tests start many processes. Bars are for terminals.
export PYTHONDONTWRITEBYTECODE :=
PIP := -m pip --disable-pip-version-check --no-input install --no-compile \
	$(if $(MAKE_TERMOUT),,--progress-bar off)
LOCKED := $(PIP) --require-hashes --requirement
OURSELVES := $(PIP) --quiet --no-deps --no-build-isolation --editable .
# What is installed of the package itself: a change of either is installed again.
ABOUT := pyproject.toml src/deniable/version.py

COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	--fork-strategy fewest --generate-hashes --custom-compile-command "make lock" $(UPGRADE)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(VENV)/.runtime ## show what the library does, with five million simulated people
	$(BIN)/deniable demo

.PHONY: serve
serve: $(VENV)/.runtime ## start a collector with its dashboard, and simulated people who answer
	$(BIN)/deniable serve --demo $(ARGS)

# The workers of pytest use all cores; threads of BLAS in each of them would wait for each other.
quick test test-full test-plain: export OMP_NUM_THREADS := 1
# Long tests wait for browsers, clocks and disks, hence two workers for each core.
test-full: WORKERS := $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN))

.PHONY: quick
quick: $(VENV)/.test ## check style and the heart of the library in seconds
	@if [ -x $(BIN)/ruff ]; then $(BIN)/ruff check --quiet && $(BIN)/ruff format --check --quiet; fi
	QUICK=1 $(BIN)/python $(PYTEST) --quiet $(SHORT) $(or $(ARGS),$(HEART))

.PHONY: test
test: $(VENV)/.test ## test the whole behaviour in a few minutes; ARGS="tests/test_audit.py" runs some of it
	$(BIN)/python $(PYTEST) $(SHORT) $(ARGS)
	@echo "make test-all adds what is long (full-size laws, races, faults, audits of leaks) and what needs" \
		"more: browser, Node, PostgreSQL, data frames, Numba, Spark."

.PHONY: test-all
test-all: test-full $(if $(ARGS),,test-plain test-spark test-dist) ## run all tests, with Numba and without, of Spark and of the archives

.PHONY: test-full
test-full: $(VENV)/.dev $(JS)/node_modules/.installed $(DOCS)/.installed ## run all tests but those of Spark, with Numba
	$(BIN)/python $(PYTEST) $(ARGS)

.PHONY: test-plain
test-plain: $(PLAIN)/.installed ## run what depends on kernels in an environment without Numba
	$(PLAIN)/bin/python $(PYTEST) $(SHORT) $(or $(ARGS),$(KERNELS))

.PHONY: test-spark
test-spark: $(SPARK)/.installed ## run the tests of Spark; brings Java if there is none
	$(SPARK)/bin/python $(PYTEST) -m spark tests/spark $(ARGS)

.PHONY: test-dist
test-dist: $(RELEASE)/.installed $(JS)/node_modules/.installed ## build the archives twice, and try each in a new environment
	$(RELEASE)/bin/python -m pytest tests/artifacts $(ARGS)

.PHONY: test-image
test-image: $(VENV)/.created ## build the container as root with buildah, and run it with podman on a disk that fails
	$(BIN)/python -m tests.artifacts.image $(ARGS)

.PHONY: dist
dist: $(RELEASE)/.installed $(JS)/node_modules/.installed ## build the archives of a release into dist, with an SBOM and checksums
	$(RELEASE)/bin/python -m tools.distribution build

.PHONY: audit
audit: $(RELEASE)/.installed $(JS)/node_modules/.installed ## look for known vulnerabilities, and for licences that are not allowed
	$(RELEASE)/bin/python -m tools.distribution audit

.PHONY: lint
lint: $(VENV)/.dev $(JS)/node_modules/.installed ## check style, types and layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	cd $(JS) && "$(CURDIR)/$(BIN)/node" node_modules/typescript/bin/tsc --noEmit
	cd $(JS) && "$(CURDIR)/$(BIN)/node" node_modules/typescript/bin/tsc -p pages.json

.PHONY: client
client: $(JS)/node_modules/.installed ## build the browser client
	cd $(JS) && "$(CURDIR)/$(BIN)/node" build.mjs

.PHONY: torture
torture: $(VENV)/.dev ## run the long fault tests of the collector; ARGS="kill --count 50" runs some of them
	$(BIN)/python -m tests.faults $(ARGS)

.PHONY: bench
bench: $(VENV)/.dev $(PEERS)/.installed ## run the benchmarks; ARGS=all adds the longest ones
	$(BIN)/python -m benchmarks $(ARGS)

.PHONY: docs
docs: $(DOCS)/.installed ## build the documentation site into site/; any warning or dead link fails
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --quiet
	@echo "The site is in site/: open site/index.html, or run $(DOCS)/bin/mkdocs serve"

.PHONY: vectors
vectors: $(VENV)/.runtime ## rewrite the test vectors
	$(BIN)/python -m tools vectors vectors --force

.PHONY: lock
lock: $(VENV)/.dev ## resolve the requirements again; UPGRADE=--upgrade moves to newer versions
	$(COMPILE) pyproject.toml --group build --extra fast --extra server \
		--output-file requirements/runtime.txt
	$(COMPILE) pyproject.toml --group build --group test --extra plot --extra rappor --extra server \
		--constraints requirements/runtime.txt --output-file requirements/test.txt
	$(COMPILE) pyproject.toml --group build --group dev --extra all --constraints requirements/runtime.txt \
		--constraints requirements/test.txt --output-file requirements/dev.txt
	$(COMPILE) pyproject.toml --group build --extra postgres --extra server --constraints requirements/dev.txt \
		--output-file requirements/server.txt
	$(COMPILE) requirements/peers.in --output-file requirements/peers.txt
	$(COMPILE) requirements/docs.in --output-file requirements/docs.txt
	$(COMPILE) requirements/spark-build.in --output-file requirements/spark-build.txt
	$(COMPILE) requirements/spark.in --constraints requirements/runtime.txt \
		--output-file requirements/spark.txt
	$(COMPILE) requirements/release.in --constraints requirements/runtime.txt \
		--output-file requirements/release.txt

.PHONY: clean
clean: ## remove the environments, the caches and what was built
	rm -rf $(VENV) $(PEERS) $(PLAIN) $(SPARK) $(RELEASE) $(DOCS) site $(JS)/node_modules $(JS)/dist $(JS)/*.tgz build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	@rm -rf $(VENV)
	@for python in $(CANDIDATES); do \
		if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			echo "Making $(VENV) with $$($$python --version)"; \
			$$python -m venv $(VENV) && touch $@; \
			exit; \
		fi; \
	done; \
	echo "deniable needs Python 3.11 or later, and none of these is: $(CANDIDATES)." >&2; \
	echo "Install one, or name it: make PYTHON=path/to/python3" >&2; \
	exit 1

# One environment grows: what make demo needs, what make test needs, everything.
$(VENV)/.runtime: requirements/runtime.txt $(ABOUT) | $(VENV)/.created
	@echo "Installing deniable and what it needs into $(VENV): about 400 MB, once"
	$(BIN)/python $(LOCKED) $<
	$(BIN)/python $(OURSELVES)
	@touch $@

$(VENV)/.test: requirements/test.txt $(ABOUT) | $(VENV)/.created
	@echo "Installing what the tests need into $(VENV): about 350 MB, once"
	$(BIN)/python $(LOCKED) $<
	$(BIN)/python $(OURSELVES)
	@touch $@

# The development lock contains the two others, hence all stamps.
$(VENV)/.dev: requirements/dev.txt $(ABOUT) | $(VENV)/.created
	@echo "Installing all tools into $(VENV): about 1.7 GB, once"
	$(BIN)/python $(LOCKED) $<
	$(BIN)/python $(OURSELVES)
	@touch $(VENV)/.runtime $(VENV)/.test $@

# What make test needs and nothing else, hence no Numba.
$(PLAIN)/.installed: requirements/test.txt $(ABOUT) | $(VENV)/.created
	@rm -rf $(PLAIN)
	$(BIN)/python -m venv $(PLAIN)
	$(PLAIN)/bin/python $(LOCKED) $<
	$(PLAIN)/bin/python $(OURSELVES)
	@touch $@

# The build tools of the browser client; Node comes with the development lock.
$(JS)/node_modules/.installed: $(JS)/package-lock.json | $(VENV)/.dev
	cd $(JS) && PATH="$(CURDIR)/$(BIN):$$PATH" npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

# What the benchmarks compare with, and its old dependencies, stay out of our environment.
$(PEERS)/.installed: requirements/peers.txt | $(VENV)/.created
	@rm -rf $(PEERS)
	$(BIN)/python -m venv $(PEERS)
	$(PEERS)/bin/python $(LOCKED) $<
	@touch $@

# What builds and checks archives, and nothing of the package.
$(RELEASE)/.installed: requirements/release.txt | $(VENV)/.created
	@rm -rf $(RELEASE)
	$(BIN)/python -m venv $(RELEASE)
	$(RELEASE)/bin/python $(LOCKED) $<
	@touch $@

# MkDocs and its theme; the site needs nothing of ours but the files.
$(DOCS)/.installed: requirements/docs.txt | $(VENV)/.created
	@rm -rf $(DOCS)
	$(BIN)/python -m venv $(DOCS)
	$(DOCS)/bin/python $(LOCKED) $<
	@touch $@

# pyspark is built from source by tools that are locked too, so they come first.
$(SPARK)/.installed: requirements/spark.txt requirements/spark-build.txt pyproject.toml | $(VENV)/.created
	@rm -rf $(SPARK)
	$(BIN)/python -m venv $(SPARK)
	$(SPARK)/bin/python $(LOCKED) requirements/spark-build.txt
	$(SPARK)/bin/python $(LOCKED) $< --no-build-isolation
	$(SPARK)/bin/python $(OURSELVES)
	@touch $@
