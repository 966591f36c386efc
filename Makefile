# `make serve` and `make test` are all a newcomer needs: each does its own set-up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: serve test lint bench venv lock clean

serve: venv  ## start ZooKeeper, six simulated brokers and the server; Ctrl-C ends them all
	$(BIN)/kafka-reassign-rpc serve

test: venv  ## all tests
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

lint: venv  ## style, types, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: venv  ## what the README claims, with stock Kafka measured in the same run
	$(BIN)/python -m benchmarks

venv: $(VENV)/.ready  ## the set-up alone: a virtual environment with pinned dependencies

$(VENV)/.ready: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

lock:  ## pin every dependency again, after a change in pyproject.toml
	$(BIN)/uv pip compile --universal --quiet --python-version 3.11 --generate-hashes --no-header --all-extras --group dev --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) .data build dist *.egg-info
