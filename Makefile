# `make serve`, `make serve-kraft` and `make test` are all a newcomer needs: each does its own set-up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
BUDGET := $(BIN)/python -m tests.budget
TESTS = env PYTHONDONTWRITEBYTECODE= $(PYTEST) --numprocesses $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder --keep-first-failures
# Half of the time of all tests is spent waiting for processes: four at a time keep two cores busy.
TEST_PROCESSES ?= 4

# Tests that start no process: what decides, plans and encodes, and the handlers on a model of the node.
PURE := tests/api tests/core $(wildcard tests/kraft/test_*.py) tests/planner tests/properties tests/protocol tests/status_page/test_documents.py tests/status_page/test_costs.py

# What mypy knows of the message classes: made of the schemas, ours and those of the pinned kafka-python. It is not in git.
TYPES := kafka_reassign_rpc/protocol/messages.pyi

.PHONY: help serve serve-kraft check pure test test-gate test-all compiled campaign fuzz lint coverage docs bench venv kerberos lock clean

help:  ## the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 12

serve: $(if $(wildcard $(VENV)/.ready),venv,$(VENV)/.serves)  ## start ZooKeeper, six simulated brokers and the server with its page; Ctrl-C ends them all
	$(BIN)/kafka-reassign-rpc serve --metrics-listener 127.0.0.1:9404 --status-page full

serve-kraft: $(if $(wildcard $(VENV)/.ready),venv,$(VENV)/.serves)  ## start three brokers of Kafka in KRaft mode and the service in front of them with its page, or in front of yours: make serve-kraft BOOTSTRAP=broker1:9092
	$(BIN)/kafka-reassign-rpc serve $(if $(BOOTSTRAP),--bootstrap-server $(BOOTSTRAP),--own-cluster kraft) --metrics-listener 127.0.0.1:9404 --status-page full

check: venv  ## the inner loop, a minute: style, types, import contracts, and the tests that start no process
	$(BUDGET) check -- $(MAKE) --no-print-directory lint pure

pure: venv  ## the tests that start no process and take no long time
	PYTHONDONTWRITEBYTECODE= $(PYTEST) --quiet --numprocesses 2 --dist worksteal -m "not stock and not long" $(PURE)

test: compiled  ## what a newcomer runs: about ten minutes
	$(BUDGET) test -- $(TESTS) --run test

test-gate: compiled  ## what `.ci/run` has on top: see tests/tiers.py
	@$(BIN)/python -m tests.stock.jars --all
	$(BUDGET) gate -- $(TESTS) --run gate --no-skips

test-all: compiled  ## everything, more than an hour: before a release, or after a change of protocol, api, channel or stock versions
	@$(BIN)/python -m tests.stock.jars --all
	$(TESTS) --run all
	$(MAKE) coverage WHOLE=1

compiled: venv
	@$(BIN)/python -m compileall -q kafka_reassign_rpc  # else each of the many processes compiles it
	@$(BIN)/python -m tests.stock.jars

campaign: venv  ## stock brokers and our servers under load and under all that may happen to them: make campaign SEED=7 MINUTES=5; on KRaft: KRAFT=1, or KRAFT=4.4.0 (test-gate has one short seed for sure, another one each time)
	$(BIN)/python -m tests.campaign $(if $(SEED),--seed $(SEED)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SECURED),--secured) $(if $(KRAFT),--kraft $(KRAFT)) $(CAMPAIGN)

fuzz: venv  ## anything at all is sent to a server, which has to go on working: make fuzz SEED=7 MINUTES=5
	$(BIN)/python -m tests.fuzz $(if $(SEED),--seed $(SEED)) $(if $(MINUTES),--minutes $(MINUTES)) $(FUZZ)

lint: venv $(TYPES)  ## style, types, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

coverage: venv  ## branch coverage of core, planner and protocol by their own tests, without the long ones; fails below the floor in pyproject.toml
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest --quiet --numprocesses 2 --dist worksteal -m "not stock$(if $(WHOLE),, and not long)" $(PURE)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

docs: venv  ## the documentation as a site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

bench: venv  ## what docs/benchmarks.md claims, with stock Kafka in the same run; results also in docs/benchmarks.json
	$(BIN)/python -m benchmarks

venv: $(VENV)/.ready  ## the set-up alone: a virtual environment with pinned dependencies

# $(1): the lock file with all that is installed
define INSTALL
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement $(1)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
endef

$(VENV)/.serves: pyproject.toml setup.py requirements-demo.lock  # what `make serve` needs, and no more
	$(call INSTALL,requirements-demo.lock)
	@touch $@

$(VENV)/.ready: pyproject.toml setup.py requirements.lock
	$(call INSTALL,requirements.lock)
	@$(BIN)/kafka-reassign-rpc prepare || echo "Jobs of the pipeline start slower; all else works"
	@touch $@

$(TYPES): $(wildcard schemas/*.json) kafka_reassign_rpc/protocol/generate_stubs.py kafka_reassign_rpc/protocol/messages.py setup.py requirements.lock | $(VENV)/.ready
	$(BIN)/python -c 'import setup; setup.write_types()'

kerberos: venv  ## what the tests of Kerberos need: they run where a KDC, its headers and a compiler are (CONTRIBUTING.md)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check gssapi==1.12.0 k5test==0.10.4 decorator==5.3.1

COMPILE = $(BIN)/uv pip compile --universal --quiet --python-version 3.11 --generate-hashes --no-header

lock:  ## pin every dependency again, after a change in pyproject.toml
	$(COMPILE) --extra all --group dev --output-file requirements.lock pyproject.toml
	$(COMPILE) --extra server --constraint requirements.lock --output-file requirements-production.lock pyproject.toml
	$(COMPILE) --extra demo --group build --constraint requirements.lock --output-file requirements-demo.lock pyproject.toml
	$(COMPILE) --group build --constraint requirements.lock --output-file requirements-build.lock

clean:  ## remove what was built and installed, and the data of `make serve`
	rm -rf $(VENV) .data build dist site .coverage .coverage.* *.egg-info
