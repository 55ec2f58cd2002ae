# Every target sets up what it needs: a bare clone, Python 3.11 or newer and a C++ compiler are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(shell find cpp -name '*.hpp' -o -name '*.cpp') CMakeLists.txt pyproject.toml
PIP := $(BIN)/python -m pip --disable-pip-version-check

# What takes minutes has a smallest form, which runs every part of it once and writes no record: SIZE=smallest.
SIZE :=

# Data sets that lie beside the checkout are used, unless another folder is named.
ifneq ($(wildcard ../shared/data),)
export THRESHER_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test test-system lint format bench bench-members paper clean help

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

demo: $(VENV)/.installed  ## the main job on generated data
	@$(BIN)/thresher demo

test: $(VENV)/.installed $(VENV)/.test  ## all tests that need nothing but Python and a C++ compiler
	@mkdir -p build
	$(BIN)/cmake -S . -B build/core-tests -G Ninja -DTHRESHER_PYTHON=OFF -DTHRESHER_TESTS=ON \
	    -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja > build/core-tests.log || (cat build/core-tests.log; exit 1)
	$(BIN)/cmake --build build/core-tests
	build/core-tests/core_tests
	$(BIN)/python -m pytest -n auto -m 'not timed'
	$(BIN)/python -m pytest -m timed

test-system: $(VENV)/.installed $(VENV)/.test  ## tests that need Debian packages (installed here if you are root): clang
	tests/system/run $(CURDIR)/$(BIN)

lint: $(VENV)/.installed $(VENV)/.test $(VENV)/.lint  ## style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run -Werror $(shell find cpp -name '*.hpp' -o -name '*.cpp')

format: $(VENV)/.lint  ## put everything into the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(shell find cpp -name '*.hpp' -o -name '*.cpp')

bench: $(VENV)/.installed $(VENV)/.bench  ## speed beside peers, ten minutes; rewrites benchmarks/RESULTS.md (SIZE=quick: two)
	$(BIN)/python benchmarks/run.py $(SIZE:%=--%)

bench-members: $(VENV)/.installed build/bench/member_sets  ## ways to keep ShadowSOFS's members; rewrites benchmarks/MEMBERS.md
	$(BIN)/python benchmarks/members.py build/bench/member_sets $(SIZE:%=--%)

build/bench/member_sets build/bench/instructions: $(CORE) $(VENV)/.test
	@mkdir -p build
	$(BIN)/cmake -S . -B build/bench -G Ninja -DTHRESHER_PYTHON=OFF -DTHRESHER_BENCH=ON \
	    -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja > build/bench.log || (cat build/bench.log; exit 1)
	$(BIN)/cmake --build build/bench --target $(notdir $@)
	@touch $@

paper: $(VENV)/.installed $(VENV)/.paper  ## the paper's tables and figures beside ours, over an hour; rewrites experiments/
	$(BIN)/python -m experiments run all $(SIZE:%=--%)
	$(BIN)/python -m experiments remedies $(SIZE:%=--%)
	$(BIN)/python -m experiments gamma-auto $(SIZE:%=--%)
	$(BIN)/python -m experiments stability $(SIZE:%=--%)
	$(BIN)/python -m experiments memory $(SIZE:%=--%)
	$(BIN)/python -m experiments names $(SIZE:%=--%)

clean:  ## remove everything that was made here
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: each says that a step was taken since its inputs last changed. Python sources need no step: the install is
# editable.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"thresher needs Python 3.11 or newer; this is {v.major}.{v.minor}. Try: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -q --upgrade 'pip>=25.1'
	@touch $@

# The build's own requirements are installed here too: in pip's isolated builds their paths are new each time, and every
# object would be compiled again.
$(VENV)/.installed: $(VENV)/.made $(CORE)
	$(PIP) install -q --group build
	PATH=$(CURDIR)/$(BIN):$$PATH $(PIP) install -q --no-build-isolation -e .
	@touch $@

$(VENV)/.test: $(VENV)/.made pyproject.toml
	$(PIP) install -q --group test
	@touch $@

$(VENV)/.bench: $(VENV)/.made pyproject.toml
	$(PIP) install -q --group bench
	@touch $@

$(VENV)/.paper: $(VENV)/.made pyproject.toml
	$(PIP) install -q --group paper
	@touch $@

$(VENV)/.lint: $(VENV)/.made pyproject.toml
	$(PIP) install -q --group lint
	@touch $@
