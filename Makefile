# Two commands on a fresh machine with Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
# Many containers tell Python to keep no compiled modules: then every process of a sweep or a test
# compiles all of JAX's again, which takes 5 s instead of 1.5 s.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo results test test-random test-clock test-all lint docs format bench clean

demo: $(VENV)/.demo  ## Train a plain and a randomized encoding, and see which one generalizes
	$(BIN)/randpos reproduce curves --budget laptop --tasks even_pairs \
		--encodings sincos randomized-sincos --store demo/runs --out demo

# Most of the tests' time is compilation: programs that run for a moment need few optimisations,
# and fusion emitters, which randpos's own programs never use, double it for the smallest ones.
QUICK := XLA_FLAGS="--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true \
	--xla_cpu_use_fusion_emitters=false"
PYTEST := $(BIN)/pytest -q
# One process more than there are cores: some tests wait for processes that they started.
PARALLEL := -n $(shell expr $(JOBS) + 1) --dist loadfile --no-loadscope-reorder
# Every process of pytest imports what its tests import, and PyTorch and transformers take most of
# the time of that: one process has all tests that need them.
TORCH := tests/benchmark tests/huggingface tests/pytorch tests/recipes tests/test_docs.py \
	tests/test_docstrings.py tests/test_notebooks.py tests/test_samplers.py
test: $(VENV)/.dev  ## Everything that must hold: lint, types, import contract, documents, tests
	$(MAKE) -j 4 test-core test-torch lint docs  # tests wait now and then; lint fills the cores

.PHONY: test-core test-torch
test-core: $(VENV)/.dev browser
	$(QUICK) $(PYTEST) $(PARALLEL) -m "not slow" $(ORDER) $(TORCH:%=--ignore=%)

test-torch: $(VENV)/.dev
	$(QUICK) $(PYTEST) -m "not slow" $(ORDER) $(TORCH)

ORDERS ?= 1 2 3
test-random: $(VENV)/.dev  ## The tests in random order, once for each seed of ORDERS
	for seed in $(ORDERS); do \
		$(MAKE) -j 2 test-core test-torch ORDER="-p randomly --randomly-seed=$$seed" || exit; done

# What looks at the clock: progress, sweeps, the report's server, checkpoints. TESTS=tests: all.
TESTS ?= tests/test_clock.py tests/test_progress.py tests/cli tests/results/page/test_serve.py \
	tests/sweeps tests/training/test_interruption.py
test-clock: $(VENV)/.dev  ## Tests with a monotonic clock that starts at 0, as on a machine that was just booted
	RANDPOS_TEST_CLOCK=0 PYTHONPATH=$(CURDIR)/tests/clock $(QUICK) $(PYTEST) $(PARALLEL) -m "not slow" $(TESTS)

test-all: $(VENV)/.all  ## The same with the slow tests, compiled as for users
	$(MAKE) -j $(JOBS) lint docs browser
	$(PYTEST) $(PARALLEL)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	PYTHONPATH=src $(BIN)/lint-imports

docs: $(VENV)/.dev  ## The site, into site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The runs of results/, in parts. Stopped, each part continues where it was. Hours are of two cores with nothing beside.
RUNS := runs/results
SWEEP := $(BIN)/randpos sweep
# The recipe of docs/recipe.md, 3 seeds.
LAPTOP := --budget laptop --seeds 0 1 2 --store $(RUNS)-laptop
CORE := none sincos relative randomized-sincos randomized-relative
# 1 seed: 12 runs of an hour or two of one core each.
OVERNIGHT := --budget overnight --seeds 0 --store $(RUNS)
SLOW_TASKS := reverse_string stack_manipulation odds_first binary_addition duplicate_string compute_sqrt

.PHONY: results-small results-laptop results-ablations results-overnight results-open-questions results-pages
results: results-small results-laptop results-ablations results-overnight results-open-questions results-pages  ## All runs of results/, then its pages

# The paper's settings but for steps, batch and M, mostly 1 seed: 96 runs, about 4 hours.
SMALL := --budget paper --steps 3000 --batch 32 --rates 5e-4 --seeds 0 --test-length 200 \
	--stride 20 --examples 100 --store $(RUNS)
SMALL_TASKS := even_pairs modular_arithmetic_simple parity_check cycle_navigation stack_manipulation \
	reverse_string modular_arithmetic solve_equation missing_duplicate odds_first binary_addition \
	bucket_sort
results-small: $(VENV)/.demo
	$(SWEEP) table1 $(SMALL) --tasks $(SMALL_TASKS) --encodings $(CORE)
	$(SWEEP) table1 $(SMALL) --tasks bucket_sort missing_duplicate
	$(SWEEP) table1 $(SMALL) --tasks missing_duplicate --seeds 1
	$(SWEEP) readings $(SMALL) --tasks missing_duplicate
	$(SWEEP) max-position $(SMALL) --tasks missing_duplicate
	$(SWEEP) ablation-sorting $(SMALL) --tasks bucket_sort missing_duplicate
	$(SWEEP) geometric $(SMALL) --tasks bucket_sort --encodings geometric

results-laptop: $(VENV)/.demo  ## 317 runs, about 8 hours
	$(SWEEP) table1 $(LAPTOP) --encodings $(CORE) rope randomized-rope
	$(PLAYER) --task bucket_sort --encoding randomized-sincos --seed 0
	$(PLAYER) --task reverse_string --encoding randomized-relative --seed 1
# Models of the playground, with positions for inputs of 500 symbols and their answers.
PLAYER := $(BIN)/randpos train --budget laptop --positions.maximum 2048 --store $(RUNS)

results-ablations: $(VENV)/.demo  ## Readings, L, sorting, geometric attention, efficiency: 62 runs, about 1.5 hours
	$(SWEEP) readings $(LAPTOP) --tasks missing_duplicate
	$(SWEEP) max-position $(LAPTOP) --seeds 0 1 --tasks even_pairs missing_duplicate
	$(SWEEP) ablation-sorting $(LAPTOP) --tasks bucket_sort even_pairs
	$(SWEEP) geometric $(LAPTOP) --tasks bucket_sort even_pairs --encodings geometric
	$(SWEEP) examples/grids/efficiency-short.toml --store $(RUNS)
	$(SWEEP) examples/grids/efficiency-long.toml --store $(RUNS)

results-overnight: $(VENV)/.demo
	$(SWEEP) table1 $(OVERNIGHT) --tasks $(SLOW_TASKS) --encodings relative randomized-relative

OPEN := --budget laptop --seeds 0 1 2 --store runs/open-questions
results-open-questions: $(VENV)/.demo  ## The runs of docs/open-questions.md and docs/decoder.md
	$(SWEEP) choose-L $(OPEN) --seeds 0 1
	$(SWEEP) draws $(OPEN)
	$(SWEEP) peaked $(OPEN)
	$(SWEEP) peaked $(OPEN) --seeds 0 1 --tasks missing_duplicate --test-length 500 --stride 50
	$(SWEEP) other-tasks $(OPEN) --encodings relative randomized-relative
	$(SWEEP) examples/grids/decoder-copy.toml --store runs/decoders
	$(SWEEP) examples/grids/decoder-addition.toml --store runs/decoders

results-pages: $(VENV)/.demo  ## Pack what is complete, draw the figures, write docs/results.md and the README's table
	mkdir -p $(RUNS) && cp -rn $(RUNS)-laptop/. $(RUNS)/
	$(BIN)/randpos runs pack results --store $(RUNS) --status complete --keep $(KEEP)
	for name in efficiency pca attention overview; do \
		$(BIN)/randpos figure $$name --store results --out docs/figures || exit; done
	$(BIN)/randpos figure max-position --store results --out docs/figures --tasks even_pairs missing_duplicate
	$(BIN)/randpos figure curves --store $(RUNS)-laptop --out docs/figures --encodings $(PAIRS)
	$(BIN)/randpos figure curves --store $(RUNS)-laptop --out docs/figures/first \
		--tasks even_pairs reverse_string missing_duplicate bucket_sort --encodings $(PAIRS)
	$(BIN)/randpos report results --out docs/results.md
	$(BIN)/python docs/found.py
PAIRS := sincos relative randomized-sincos randomized-relative
# Runs whose models are committed, for PCA, attention and the playground.
KEEP := f63821dfb0237418 4558ffa0dc4bd41f 0e9e6b481d0aff40 fdcb633e790b4ba8

.PHONY: playground
playground: $(VENV)/.demo  ## Write playground.html, which runs the trained models of results/ in the browser
	$(BIN)/randpos playground --store results --out playground.html

bench: $(VENV)/.dev  ## The tables of docs/performance.md and docs/tasks.md
	$(BIN)/python benchmarks/tasks.py
	$(BIN)/python benchmarks/model.py
	$(BIN)/python benchmarks/training.py

.PHONY: compile-all
compile-all: $(VENV)/.dev  ## Every program that users ask for, compiled with the compiler's defaults
	$(BIN)/python benchmarks/compile_all.py -j $(JOBS)

.PHONY: fuzz bounds
COUNT ?= 500
fuzz: $(VENV)/.dev  ## Generated bad input, COUNT inputs in every test
	RANDPOS_FUZZ=$(COUNT) $(BIN)/pytest -q tests/fuzz

.PHONY: torture
SEED ?= 1
torture: COUNT = 100
torture: $(VENV)/.dev  ## Kill a sweep COUNT times at random moments and compare its store with an undisturbed one
	$(BIN)/python -m tests.faults.torture --seed $(SEED) --count $(COUNT)

bounds: $(VENV)/bin/python  ## A part of the tests with the oldest and the newest dependencies
	$(BIN)/python tests/bounds.py lowest .venv/lowest
	$(BIN)/python tests/bounds.py newest .venv/newest

.PHONY: release-check
release-check: $(VENV)/bin/python  ## Build the wheel, install it into an empty environment, and train there
	rm -rf dist .venv/release
	$(BIN)/pip install --quiet "build>=1.2,<2"
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv .venv/release
	.venv/release/bin/pip install --quiet dist/*.whl
	cd .venv/release && bin/randpos train --preset smoke --store smoke

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

INSTALL := $(BIN)/python .ci/install.py

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(INSTALL) --editable ".[report]"
	touch $@

# PyTorch exactly: a CPU build of this version serves all that the tests need.
$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(INSTALL) "torch==2.13.0" --editable ".[benchmark,dev,docs,huggingface,ray,report,torch,tracking]"
	touch $@ $(VENV)/.demo

# Packages that only a few slow tests need: PEFT, TRL, Flax, Keras and the evaluation harness.
$(VENV)/.all: $(VENV)/.dev
	$(INSTALL) --editable ".[harness,recipes]"
	touch $@

.PHONY: browser
browser: $(VENV)/.dev  ## Find or install a browser for the tests of the report page
	$(BIN)/python tests/browser.py

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
