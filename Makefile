# The two commands that need nothing but Python: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# The demo's own environment is light; testing needs the extra `dev`, benchmarks the extra `bench`.

# Pinned to what the tests were run with: the newest torch may come for CUDA only, in several GB.
TORCH ?= torch==2.13.0

.PHONY: help demo test test-models check bench bench-scale clean
help:                         ## what there is to type
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/ -/'

$(BIN)/build-bench: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/dev: pyproject.toml $(BIN)/build-bench
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(VENV)/models: pyproject.toml $(VENV)/dev
	$(BIN)/pip install --quiet --disable-pip-version-check '$(TORCH)' --editable '.[predict]'
	@touch $@

$(VENV)/bench: pyproject.toml $(BIN)/build-bench
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@

demo: $(BIN)/build-bench      ## build a small dataset of raw files that it draws itself, and say where it is
	$(BIN)/build-bench all --demo

test: $(VENV)/dev             ## run the tests, on all cores
	$(BIN)/python -m pytest -n auto --dist loadfile

test-models: $(VENV)/models   ## run the tests of models on this machine: installs torch and transformers, about 1 GB
	$(BIN)/python -m pytest tests/test_hugging_face.py

check: $(VENV)/dev            ## format, lint, types, import contracts, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	rm -rf build/check && $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --target build/check .
	cd build/check && MYPYPATH=. ../../$(BIN)/mypy --config-file ../../pyproject.toml --python-executable ../../$(BIN)/python
	PYTHONPATH=build/check $(BIN)/lint-imports
	$(BIN)/python -m pytest -n auto --dist loadfile

bench: $(VENV)/dev $(VENV)/bench  ## measure against the nearest peers, side by side: docs/benchmarks.md
	$(BIN)/python -u bench/report.py

bench-scale: $(VENV)/dev $(VENV)/bench    ## cost against size: three sizes, each ten times the one before
	$(BIN)/python -u bench/report.py --only linear

clean:                        ## remove what make made, not what was built with it
	rm -rf $(VENV) build dist *.egg-info
