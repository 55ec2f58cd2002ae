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

# Tests of what reads files that somebody else can have written; they run under the sanitizers too. Those of forks and of
# failing reads can't: a child of several threads can wait for the sanitizer's own locks, and both want to be preloaded.
SANITIZED := $(wildcard $(addprefix tests/*/test_,$(addsuffix .py,streams svmlight vw names longest_line cache_footer \
    model_files checkpoints core_state merging fuzz)))
NATIVE_TARGETS := $(addprefix fuzz_,svmlight vw json_lines text cache_block)
CLANG := clang++ clang libclang-rt-dev

# Tests start hundreds of processes, and without its bytecode each of them would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

# How long each fuzz target runs.
SECONDS := 60

# Configures and builds a preset of CMakePresets.json: $(1); $(2) are more options, $(3) the targets.
define built
@mkdir -p build
$(BIN)/cmake --preset $(1) -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja $(2) > build/$(1).log || (cat build/$(1).log; exit 1)
$(BIN)/cmake --build build/$(1) $(3:%=--target %)
endef
WITH_PYTHON = -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir)

.PHONY: demo test test-system sanitize sanitize-module arm arm-run fuzz fuzz-run fuzz-programs faults lint format docs \
    bench paper clean help

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

demo: $(VENV)/.installed  ## the main job on generated data
	@$(BIN)/thresher demo

test: $(VENV)/.installed $(VENV)/.test  ## the tests that need nothing but Python and a C++ compiler
	$(call built,asan)
	build/asan/core_tests
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'not timed and not slow'

test-system: $(addprefix $(VENV)/.,installed test system docs bench paper)  ## tests that need Ray and Debian packages (as root, installed): clang, Chromium
	tests/system/run $(CURDIR)/$(BIN)

sanitize: $(VENV)/.installed $(VENV)/.test  ## C++ tests under ASan, UBSan and TSan; with clang, also the extension's
	$(call built,tsan,$(if $(shell tests/system/have $(CLANG) > /dev/null && echo yes),-DCMAKE_CXX_COMPILER=clang++))
	tests/system/under tsan build/tsan/core_tests
ifneq ($(SIZE),smallest)
	$(call built,asan)
	build/asan/core_tests
	@if tests/system/have $(CLANG); then $(MAKE) sanitize-module; fi
endif

arm: $(VENV)/.test  ## C++ tests for aarch64 under qemu-user, with models of the same bits as here
	@if tests/system/have aarch64-linux-gnu-g++ g++-aarch64-linux-gnu && tests/system/have qemu-aarch64 qemu-user; then \
	    $(MAKE) arm-run; fi

arm-run:
	$(call built,arm)
	$(call built,asan)
	tests/system/same_digests build/asan/core_tests qemu-aarch64 -L /usr/aarch64-linux-gnu build/arm/core_tests

sanitize-module: fuzz-programs
	$(BIN)/python cpp/fuzz/run.py --replay
	tests/system/under asan build/fuzz/env/bin/python -m pytest -p no:cacheprovider -n auto -m 'not timed and not memory' \
	    $(SANITIZED)

fuzz: $(VENV)/.installed $(VENV)/.test  ## every fuzz target for SECONDS=60 each, with clang; writes build/fuzz.json
	@if tests/system/have $(CLANG); then $(MAKE) fuzz-run; fi

ifeq ($(SIZE),smallest)
fuzz-run:
	$(call built,fuzz,$(WITH_PYTHON),$(NATIVE_TARGETS))
	$(BIN)/python cpp/fuzz/run.py --native --replay
	$(BIN)/python cpp/fuzz/run.py --native --seconds 2 --no-record
else
fuzz-run: fuzz-programs
	$(BIN)/python cpp/fuzz/run.py --seconds $(SECONDS)
endif

fuzz-programs:
	$(call built,fuzz,$(WITH_PYTHON))
	$(BIN)/python tests/system/environment.py build/fuzz

lint: $(VENV)/.installed $(VENV)/.test $(VENV)/.lint  ## style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run -Werror $(shell find cpp -name '*.hpp' -o -name '*.cpp')

format: $(VENV)/.lint  ## put everything into the house style; estimators get the parameters of methods.py
	PYTHONPATH=src $(BIN)/python tools/write_estimators.py
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(shell find cpp -name '*.hpp' -o -name '*.cpp')

docs: $(VENV)/.installed $(VENV)/.docs  ## the site, build/docs/index.html: no warning and no broken link allowed
	rm -rf build/docs  # or pages that are gone would stay, and menus would show old titles
	$(BIN)/python -m sphinx -q -n -W --keep-going -c docs . build/docs
	$(BIN)/python docs/links.py build/docs

# Times are compared here alone: machines differ, and a busy one must not fail a test.
bench: $(VENV)/.installed $(VENV)/.test $(VENV)/.bench  ## speed beside peers, ten minutes; rewrites benchmarks/RESULTS.md (SIZE=quick: two)
	$(BIN)/python benchmarks/run.py $(SIZE:%=--%)
	$(if $(SIZE),,$(BIN)/python -m pytest -m timed)

build/bench/instructions: $(CORE) $(VENV)/.test
	@mkdir -p build
	$(BIN)/cmake -S . -B build/bench -G Ninja -DTHRESHER_PYTHON=OFF -DTHRESHER_BENCH=ON \
	    -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja > build/bench.log || (cat build/bench.log; exit 1)
	$(BIN)/cmake --build build/bench --target $(notdir $@)
	@touch $@

faults: $(VENV)/.installed $(VENV)/.test  ## kills, full disks, damaged files and more, half an hour; rewrites docs/reliability.md
	$(BIN)/python -m faults run $(SIZE:%=--%)

paper: $(VENV)/.installed $(VENV)/.paper  ## the paper's tables and figures beside ours, hours; rewrites experiments/, docs/scale.md, probabilities.md and tables.md
	$(BIN)/python -m experiments run all $(SIZE:%=--%)
	$(BIN)/python -m experiments layers $(SIZE:%=--%)
	$(BIN)/python -m experiments gamma-auto $(SIZE:%=--%)
	$(BIN)/python -m experiments stability $(SIZE:%=--%)
	$(BIN)/python -m experiments memory $(SIZE:%=--%)
	$(BIN)/python -m experiments names $(SIZE:%=--%)
	$(BIN)/python -m experiments numbers $(SIZE:%=--%)
	$(BIN)/python -m experiments probabilities $(SIZE:%=--%)
	$(BIN)/python -m experiments scale $(SIZE:%=--%)
	$(BIN)/python -m experiments tables $(SIZE:%=--%)

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
# object would be compiled again. For the same reason its folder is not that of `pip install .`.
$(VENV)/.installed: $(VENV)/.made $(CORE)
	$(PIP) install -q --group build
	@echo 'compiling the core: a minute on two cores, less after a change'
	PATH=$(CURDIR)/$(BIN):$$PATH $(PIP) install -q --no-build-isolation -C build-dir='build/editable/{wheel_tag}' -e .
	@touch $@

# What a job needs is the group of its name in pyproject.toml.
$(VENV)/.%: $(VENV)/.made pyproject.toml
	$(PIP) install -q --group $*
	@touch $@
